"""Experiments whose rows may be run on other processes and machines."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any

from . import _native, _toml
from ._errors import Error
from ._executor import Failed, each, threads
from ._experiment import Result, failures, read_arguments
from ._place import absolute, is_url, joined, opened
from ._probe import check, expect_build


def sweep(
    experiment: str | os.PathLike[str] | Mapping[str, Any],
    *,
    grid: Mapping[str, Iterable[Any]] | None = None,
    seeds: int | Iterable[int] | None = None,
    executor: Executor | None = None,
    store: str | os.PathLike[str] | None = None,
) -> Result:
    """Run an experiment over further axes, here or by an executor's workers, and keep its rows in a directory.

    Rows and trace hashes are the same wherever they are run.

    Args:
        experiment: The path of a TOML file, the name of a built-in experiment, or what such a file says, as a dict.
        grid: Values to try, by their path: ``{"link.wire.delay": ["1 ms", "50 ms"]}``. An axis of the file that varies
            the same path is replaced; others stay.
        seeds: The seeds 1 to N, or which ones, instead of the experiment's own.
        executor: Who runs the rows: any `concurrent.futures.Executor`. A task is a chunk of rows that takes about a
            second on one thread; for each worker at most 4 are in flight. For Dask, give
            ``Client.get_executor(pure=False)``. Default: threads of this process.
        store: A directory for the rows, which all workers share, or a URL that fsspec knows, such as
            ``s3://bucket/sweep``. It is that of ``ackwise run --store``: what was interrupted is resumed. Default: rows
            come back through the executor.

    Returns:
        All rows, or those that are there, with a `RuntimeWarning`: a chunk whose worker fails five times is a row of
        ``.failed``, and when the executor breaks, all chunks that are not there are. The same call with a store runs
        them again.

    Raises:
        FileNotFoundError: There is no such file, and no built-in experiment of this name.
        ExperimentError: The experiment is wrong, a case does not run to its end, or the store is another one's.
        Error: A worker has another build, does not share the store's directory, or cannot be probed.
        TypeError: An axis is no list of values.

    Example:
        >>> with concurrent.futures.ProcessPoolExecutor() as pool:
        ...     result = ackwise.sweep("stalls", grid={"link.ethernet.delay": ["1 ms", "50 ms"]}, executor=pool)
    """
    name, document, settings = read_arguments(experiment, {}, seeds)
    axes = tuple((path, _values(path, values)) for path, values in (grid or {}).items())
    native = _native.Sweep(name, document, list(settings), list(axes))
    where = None if store is None else absolute(store)
    if executor is None and (where is None or not is_url(where)):
        return Result(native.run(None, where))
    if document is None and os.path.exists(name):
        # Workers may not see the file.
        with open(name, encoding="utf-8") as file:
            document = file.read()
    what = (_native.build(), name, document, tuple(settings), axes)
    with threads() if executor is None else nullcontext(executor) as workers:
        if where is None:
            return _through_executor(native, what, workers)
        return _through_store(native, what, workers, where)


def _through_executor(native: _native.Sweep, what: _What, executor: Executor) -> Result:
    check(executor, None)
    chunks = native.chunks()
    results = each(executor, [functools.partial(_run_rows, what, begin, end) for begin, end in chunks])
    rows = [result for result in results if isinstance(result, str)]
    failed = [(*chunk, result) for chunk, result in zip(chunks, results) if isinstance(result, Failed)]
    return _result(native.join(rows), failed, len(chunks))


def _through_store(native: _native.Sweep, what: _What, executor: Executor, where: str) -> Result:
    with opened(where) as store:
        chunks = native.missing(store.directory)
        if not store.publish():
            chunks = native.missing(store.directory)
        if not chunks:
            return Result(native.stored(store.directory, []))
        check(executor, store)
        results = each(executor, [functools.partial(_run_chunk, what, where, chunk) for chunk, _, _ in chunks])
        failed = {chunk: result for (chunk, _, _), result in zip(chunks, results) if isinstance(result, Failed)}
        # Other processes may have finished what failed here.
        store.refresh()
        left = native.missing(store.directory)
        for chunk, _, _ in left:
            if chunk not in failed:
                what_is_missing = f"chunk {chunk} is not there, but a worker has written it"
                raise Error(f"cannot use {where}: {what_is_missing} (expected a directory that all workers share)")
        still_failed = [(begin, end, failed[chunk]) for chunk, begin, end in left]
        rows = native.stored(store.directory, [chunk for chunk, _, _ in left])
    return _result(rows, still_failed, len(chunks))


def _result(rows: _native.Rows, failed: list[tuple[int, int, Failed]], of: int) -> Result:
    if failed:
        message = f"{len(failed)} of {of} chunks failed; .failed of the result says why"
        warnings.warn(message, RuntimeWarning, stacklevel=4)
    return Result(rows, failures(failed))


def _values(path: str, values: Iterable[Any]) -> str:
    if isinstance(values, str):
        raise TypeError(f"grid {path!r} is {values!r} (expected a list of values)")
    return _toml.value(list(values))


# The caller's build, and an experiment with its settings and axes.
_What = tuple[str, str, "str | None", tuple[str, ...], tuple[tuple[str, str], ...]]


# One experiment is what a worker has at a time, and two may follow one another in the same pool.
@functools.lru_cache(maxsize=2)
def _native_of(what: _What) -> _native.Sweep:
    build, name, document, settings, axes = what
    expect_build(build)
    return _native.Sweep(name, document, list(settings), list(axes))


def _run_rows(what: _What, begin: int, end: int) -> str:
    return _native_of(what).run_rows(begin, end)


def _run_chunk(what: _What, where: str, chunk: int) -> None:
    with joined(where) as store:
        _native_of(what).run_chunk(store.directory, chunk)
        store.publish()
