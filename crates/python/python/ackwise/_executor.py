"""Tasks on an executor's workers."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from typing import NamedTuple, TypeVar

from ._errors import Error

_T = TypeVar("_T")

# Tasks for each worker that are in flight at once: some wait, so that no worker does. Our choice.
_IN_FLIGHT = 4
# How often a task is begun whose worker fails: it may run out of memory, lose its file system or be killed. Our choice.
_TRIES = 5
# How often Ctrl-C is looked for, in seconds.
_TICK = 0.1


class Failed(NamedTuple):
    """A task that was given up."""

    tries: int
    reason: str


def threads() -> ThreadPoolExecutor:
    """Threads of this process, one for each core."""
    return ThreadPoolExecutor(os.cpu_count())


def workers(executor: Executor) -> int:
    """How many there are, as far as an executor says."""
    found: int | None = getattr(executor, "_max_workers", None)
    return found or os.cpu_count() or 1


def each(executor: Executor, tasks: Sequence[Callable[[], _T]]) -> list[_T | Failed]:
    """What the tasks return, in order.

    One that fails is begun again, five times in all at most. Once the executor has broken, none is. What Ackwise itself
    refuses is raised, and cancels what has not begun.
    """
    results: dict[int, _T | Failed] = {}
    running: dict[Future[_T], int] = {}
    tries = [0] * len(tasks)
    waiting = list(reversed(range(len(tasks))))
    most = workers(executor) * _IN_FLIGHT
    try:
        while len(results) < len(tasks):
            while waiting and len(running) < most:
                number = waiting.pop()
                running[executor.submit(tasks[number])] = number
                tries[number] += 1
            done, _ = wait(running, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                number = running[future]
                try:
                    results[number] = future.result()
                except (Error, BrokenExecutor, CancelledError):
                    raise
                except Exception as error:
                    if tries[number] == _TRIES:
                        results[number] = Failed(_TRIES, reason(error))
                    else:
                        waiting.append(number)
                del running[future]
    except BrokenExecutor as broken:
        for future, number in running.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                results[number] = future.result()
        for number in range(len(tasks)):
            results.setdefault(number, Failed(tries[number], reason(broken)))
    finally:
        for future in running:
            future.cancel()
    return [results[number] for number in range(len(tasks))]


def reason(error: BaseException) -> str:
    """An error in one line."""
    return traceback.format_exception_only(error)[-1].strip()
