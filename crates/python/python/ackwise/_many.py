"""Many captures, each explained by itself."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from . import _native
from ._errors import CaptureError
from ._executor import each
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
) -> Exchanges:
    """Explain captures that have nothing to do with one another, and put their exchanges into one table.

    Args:
        paths: Files, each a capture. A file that cannot be read is a row of ``.failed``.
        keys: Files with TLS secrets, for all captures.
        filter: Analyse only matching packets.
        executor: Who explains them: any `concurrent.futures.Executor`. A task is a capture, on one thread; for each
            worker at most 4 are in flight. Default: threads of this process, one for each core.

    Raises:
        Error: The filter or a file of secrets is wrong.

    Example:
        >>> exchanges = ackwise.explain_many(pathlib.Path("captures").glob("*.pcap"))
        >>> exchanges.to_pandas().groupby(["path", "cause"]).cause_ms.sum()
    """
    if isinstance(paths, (str, bytes)):
        raise TypeError("expected several paths (for one capture: ackwise.explain)")
    files = [os.fspath(path) for path in paths]
    secrets = [os.fspath(keys)] if isinstance(keys, (str, os.PathLike)) else [os.fspath(path) for path in keys]
    tasks = [functools.partial(_exchanges, file, secrets, filter) for file in files]
    if executor is None:
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            results = each(threads, tasks)
    else:
        results = each(executor, tasks)
    read = [(file, table._batch) for file, table in zip(files, results) if isinstance(table, Table)]
    failed = [(file, error) for file, error in zip(files, results) if isinstance(error, str)]
    errors = [("path", [file for file, _ in failed]), ("error", [error for _, error in failed])]
    return Exchanges(_native.stacked("path", read, _native.no_exchanges()), Table(_native.texts(errors)))


def _exchanges(file: str, keys: list[str], filter: str | None) -> Table | str:
    """The exchanges of one capture, or why there are none."""
    try:
        return explain([file], keys=keys, filter=filter, threads=1).exchanges
    except (CaptureError, OSError) as error:
        return str(error)
