"""Whether an executor's workers have this build, and the directory of this process."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Iterable
from concurrent.futures import Executor
from typing import Any, NamedTuple

from . import _native
from ._errors import Error
from ._executor import workers


class _Answer(NamedTuple):
    """What a worker found."""

    worker: str
    build: str
    # The name of a file that it has written, or why there is none.
    token: str | None
    reason: str


def check(executor: Executor, directory: str | None) -> None:
    """Raise `Error` if a worker has another build, or another directory of this name.

    Dask runs this on each worker. Of other executors no worker can be named: as many tasks as there are workers are
    submitted, which need not reach all of them. So each task of a store looks for the plan as well.

    Args:
        directory: That of a store that has a plan. Default: there is no store.
    """
    answers = list(_asked(executor, directory, None if directory is None else _plan(directory)))
    # All of them, so that no file is left.
    shared = [directory is None or _take(directory, answer.token) for answer in answers]
    for answer, is_shared in zip(answers, shared):
        if answer.build != _native.build():
            raise _other_build(answer.worker, answer.build, _native.build())
        if not is_shared:
            why = answer.reason or "what it has written there is not here"
            raise Error(f"cannot use {directory}: {answer.worker}: {why} (expected a directory that all workers share)")


def expect_build(build: str) -> None:
    """Raise `Error` unless this process, a worker, has the build of the one that submits tasks."""
    if build != _native.build():
        raise _other_build(_worker(), _native.build(), build)


def _other_build(worker: str, build: str, expected: str) -> Error:
    return Error(f"cannot use {worker}: build is {build} (expected {expected}, that of the caller)")


def _asked(executor: Executor, directory: str | None, plan: bytes | None) -> Iterable[_Answer]:
    client: Any = getattr(executor, "_client", None)
    if hasattr(client, "run"):
        return _by_dask(client, directory, plan)
    futures = [executor.submit(_answer, directory, plan) for _ in range(workers(executor))]
    return [future.result() for future in futures]


def _by_dask(client: Any, directory: str | None, plan: bytes | None) -> Iterable[_Answer]:
    for found in client.run(_answer, directory, plan, on_error="return").values():
        if isinstance(found, _Answer):
            yield found
        elif not isinstance(found, OSError):
            raise found
        # Else the worker has just ended.


def _answer(directory: str | None, plan: bytes | None) -> _Answer:
    worker, build = _worker(), _native.build()
    if directory is None:
        return _Answer(worker, build, None, "")
    token = f".probe-{uuid.uuid4().hex}"
    try:
        if _plan(directory) != plan:
            return _Answer(worker, build, None, "it has another plan.json there")
        with open(os.path.join(directory, token), "x", encoding="utf-8"):
            return _Answer(worker, build, token, "")
    except OSError as error:
        return _Answer(worker, build, None, str(error))


def _worker() -> str:
    return f"worker {os.getpid()} on {socket.gethostname()}"


def _plan(directory: str) -> bytes:
    with open(os.path.join(directory, "plan.json"), "rb") as file:
        return file.read()


def _take(directory: str, token: str | None) -> bool:
    """Whether the file is there. Removes it."""
    if token is None:
        return False
    try:
        os.remove(os.path.join(directory, token))
    except FileNotFoundError:
        return False
    return True
