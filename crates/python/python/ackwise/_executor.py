"""Tasks on an executor's workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from typing import TypeVar

_T = TypeVar("_T")

# Tasks for each worker that are in flight at once: some wait, so that no worker does. Our choice.
_IN_FLIGHT = 4
# How often Ctrl-C is looked for, in seconds.
_TICK = 0.1


def each(executor: Executor, tasks: Sequence[Callable[[], _T]]) -> list[_T]:
    """What the tasks return, in order. The first failure cancels what has not begun."""
    workers: int = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    results: dict[int, _T] = {}
    running: dict[Future[_T], int] = {}
    left = iter(enumerate(tasks))
    try:
        while len(results) < len(tasks):
            while len(running) < workers * _IN_FLIGHT and (task := next(left, None)) is not None:
                running[executor.submit(task[1])] = task[0]
            done, _ = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                results[running.pop(future)] = future.result()
    finally:
        for future in running:
            future.cancel()
    return [results[number] for number in range(len(tasks))]
