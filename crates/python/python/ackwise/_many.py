"""Many captures, each explained by itself."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any, TypeAlias

from . import _native
from ._errors import CaptureError, Error
from ._executor import Failed, each, threads
from ._place import Object, absolute, is_url, joined, opened
from ._probe import check, expect_build
from ._report import Path, explain
from ._table import Table


class Exchanges(Table):
    """A row for each exchange of many captures, as `Report.exchanges` has them, with the ``path`` of its capture first."""

    __slots__ = ("_failed",)

    def __init__(self, batch: _native.Batch, failed: Table) -> None:
        super().__init__(batch)
        self._failed = failed

    @property
    def failed(self) -> Table:
        """A row for each capture that could not be read: its ``path`` and the ``error``."""
        return self._failed

    def __getstate__(self) -> Any:
        return super().__getstate__(), self._failed

    def __setstate__(self, state: Any) -> None:
        parts, self._failed = state
        super().__setstate__(parts)


def explain_many(
    paths: Iterable[Path],
    *,
    keys: Path | Iterable[Path] = (),
    filter: str | None = None,
    executor: Executor | None = None,
    store: Path | None = None,
) -> Exchanges:
    """Explain captures that have nothing to do with one another, and put their exchanges into one table.

    Args:
        paths: Files, each a capture, or URLs that fsspec knows, such as ``s3://bucket/a.pcap``.
        keys: Files with TLS secrets, for all captures.
        filter: Analyse only matching packets.
        executor: Who explains them: any `concurrent.futures.Executor`. A task is a capture, on one thread; for each
            worker at most 4 are in flight. Default: threads of this process, one for each core.
        store: A directory for the exchanges, which all workers share, or a URL: a Parquet file for each capture, with
            its absolute ``path`` or URL, ``size``, ``modified_ns`` and ``etag`` first. The same call explains only
            captures that are new or have changed (size, time of the last change or an object's ETag, also of
            `keys`), and reads the others from there.
            Calls with different `keys` need different stores: each replaces what the other has of its captures.
            Default: exchanges come back through the executor.

    Returns:
        The exchanges of all captures. A capture that cannot be read, or whose name is not UTF-8, is a row of
        ``.failed``; so is one whose worker fails five times, and when the executor breaks, each that is not explained.

    Raises:
        Error: The filter or a file of secrets is wrong, the store is of another build or filter, or a worker has
            another build, does not share the store, or cannot be probed.
        FileNotFoundError: There is no such file of secrets.

    Example:
        >>> exchanges = ackwise.explain_many(pathlib.Path("captures").glob("*.pcap"), store="explained")
        >>> exchanges.to_pandas().groupby(["path", "cause"]).cause_ms.sum()
    """
    if isinstance(paths, (str, bytes)):
        raise TypeError("expected several paths (for one capture: ackwise.explain)")
    files = [os.fsdecode(path) for path in paths]
    several = [keys] if isinstance(keys, (str, os.PathLike)) else keys
    paths_of_keys = [os.fsdecode(path) for path in several]
    for path in (path for path in paths_of_keys if is_url(path)):
        raise Error(f"cannot use {path}: secrets are an object (expected a file)")
    for why in _not_text(paths_of_keys).values():
        raise Error(why)
    secrets = [Object(path).stamp() for path in paths_of_keys]
    with threads() if executor is None else nullcontext(executor) as workers:
        if store is None:
            return _through_executor(files, secrets, filter, workers)
        return _through_store(files, secrets, filter, workers, absolute(store))


_Stamp: TypeAlias = tuple[str, int, "int | None", "str | None"]
_Key: TypeAlias = tuple[_Stamp, list[_Stamp]]


def _through_executor(
    files: list[str], secrets: list[_Stamp], filter: str | None, executor: Executor
) -> Exchanges:
    reasons = _not_text(files)
    places = [at for at in range(len(files)) if at not in reasons]
    if places:
        check(executor, None)
    what = ([path for path, *_ in secrets], filter, _native.build())
    results = each(executor, [functools.partial(_exchanges, absolute(files[at]), *what) for at in places])
    tables: dict[int, _native.Batch] = {}
    for at, result in zip(places, results):
        if isinstance(result, Table):
            tables[at] = result._batch
        else:
            reasons[at] = _reason(result)
    return _table(files, tables, reasons)


def _through_store(
    files: list[str], secrets: list[_Stamp], filter: str | None, executor: Executor, where: str
) -> Exchanges:
    # A store with a wrong filter would be of no use.
    _native.Request([], None, None, [], filter, 1)
    keys: dict[int, _Key] = {}
    reasons = _not_text(files)
    for at, file in enumerate(files):
        if at not in reasons:
            try:
                keys[at] = (Object(file).stamp(), secrets)
            except OSError as error:
                reasons[at] = str(error)
    places = list(keys)
    with opened(where) as store:
        captures = _native.Captures.open(store.directory, filter)
        missing = {places[place]: earlier for place, earlier in captures.missing(list(keys.values()))}
        if not store.publish():
            captures = _native.Captures.open(store.directory, filter)
        if missing:
            check(executor, store)
        tasks = [functools.partial(_store, where, filter, keys[at], earlier) for at, earlier in missing.items()]
        results = each(executor, tasks)
        reasons.update((at, _reason(result)) for at, result in zip(missing, results) if result is not None)
        store.refresh()
        found = [at for at in places if at not in reasons]
        tables: dict[int, _native.Batch] = {}
        for at, batch in zip(found, captures.read([keys[at] for at in found])):
            if batch is None:
                expected = "a directory that all workers share, and no call at the same time with other keys or contents"
                reasons[at] = f"{files[at]}: {where} no longer has its exchanges (expected {expected})"
            else:
                tables[at] = batch
    return _table(files, tables, reasons)


def _not_text(paths: list[str]) -> dict[int, str]:
    """Why a path cannot be in a table: it, or its directory, is not UTF-8."""
    whole = [os.path.abspath(path) for path in paths]
    return {at: f"{_shown(paths[at])}: name is not UTF-8" for at, path in enumerate(whole) if _shown(path) != path}


def _shown(path: str) -> str:
    """A path as text: each byte that is not UTF-8 as `repr` has it."""
    return path.encode(errors="backslashreplace").decode()


def _reason(result: Failed | str) -> str:
    return result if isinstance(result, str) else result.reason


def _table(files: list[str], tables: dict[int, _native.Batch], reasons: dict[int, str]) -> Exchanges:
    read = [(files[at], tables[at]) for at in sorted(tables)]
    failed = sorted(reasons)
    errors = [("path", [_shown(files[at]) for at in failed]), ("error", [reasons[at] for at in failed])]
    stacked = _native.stacked("path", read, _native.no_exchanges())
    return Exchanges(stacked, Table(_native.table([], errors)))


def _exchanges(file: str, keys: list[str], filter: str | None, build: str) -> Table | str:
    """The exchanges of one capture, or why there are none."""
    expect_build(build)
    try:
        with Object(file).local() as local:
            return explain([local], keys=keys, filter=filter, threads=1).exchanges
    except (CaptureError, OSError) as error:
        return str(error)


def _store(where: str, filter: str | None, key: _Key, earlier: list[str]) -> str | None:
    """Writes the exchanges of one capture, unless they are there, instead of `earlier`. Returns why there are none."""
    with joined(where) as store:
        captures = _native.Captures.join(store.directory, filter)
        if captures.has(key):
            return None
        (file, *_), secrets = key
        try:
            with Object(file).local() as local:
                explained = _native.Request([local], None, None, [path for path, *_ in secrets], filter, 1).explain()
            if Object(file).stamp() != key[0]:
                return f"{file}: changed while it was explained"
        except (CaptureError, OSError) as error:
            return str(error)
        captures.write(key, explained, earlier)
        store.publish()
        store.forget(earlier)
    return None
