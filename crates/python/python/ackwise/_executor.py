"""Tasks on an executor's workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from typing import TypeVar

from ._errors import Error

_T = TypeVar("_T")

# Tasks for each worker that are in flight at once: some wait, so that no worker does. Our choice.
_IN_FLIGHT = 4
# How often a task is begun whose worker fails: it may run out of memory, lose its file system or be killed. Our choice.
_TRIES = 5
# How often Ctrl-C is looked for, in seconds.
_TICK = 0.1


def each(executor: Executor, tasks: Sequence[Callable[[], _T]]) -> list[_T]:
    """What the tasks return, in order. The first one that fails for good cancels what has not begun.

    What Ackwise itself refuses fails for good, and so does everything once the executor has broken.
    """
    workers: int = getattr(executor, "_max_workers", None) or os.cpu_count() or 1
    results: dict[int, _T] = {}
    running: dict[Future[_T], int] = {}
    tries = [0] * len(tasks)
    waiting = list(reversed(range(len(tasks))))
    try:
        while len(results) < len(tasks):
            while waiting and len(running) < workers * _IN_FLIGHT:
                number = waiting.pop()
                tries[number] += 1
                running[executor.submit(tasks[number])] = number
            done, _ = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                number = running.pop(future)
                try:
                    results[number] = future.result()
                except (Error, BrokenExecutor, CancelledError):
                    raise
                except Exception:
                    if tries[number] == _TRIES:
                        raise
                    waiting.append(number)
    finally:
        for future in running:
            future.cancel()
    return [results[number] for number in range(len(tasks))]
