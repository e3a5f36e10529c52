"""Whether an executor's workers have this build, and the directory of this process."""

from __future__ import annotations

import contextlib
import os
import socket
import uuid
from collections.abc import Iterable
from concurrent.futures import Executor, Future, wait
from typing import Any, NamedTuple

from . import _native
from ._errors import Error
from ._executor import reason, workers


class _Answer(NamedTuple):
    """What a worker found."""

    worker: str
    build: str
    # The name of a file that it has written, or why there is none.
    token: str | None
    reason: str


def check(executor: Executor, directory: str | None) -> None:
    """Raise `Error` if a worker has another build, another directory of this name, or fails. No file is left.

    Dask runs this on each worker. Of other executors no worker can be named: as many tasks as there are workers are
    submitted, which need not reach all of them. So each task of a store looks for the plan as well.

    Args:
        directory: That of a store that has a plan. Default: there is no store.
    """
    plan = None if directory is None else _plan(directory)
    probe = f".probe-{uuid.uuid4().hex}"
    try:
        answers = _asked(executor, directory, plan, probe)
        shared = [directory is None or _is_there(directory, answer.token) for answer in answers]
    finally:
        if directory is not None:
            _clear(directory, probe)
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


def _asked(executor: Executor, directory: str | None, plan: bytes | None, probe: str) -> list[_Answer]:
    """What the workers answer, once no probe runs any more."""
    client: Any = getattr(executor, "_client", None)
    try:
        if hasattr(client, "run"):
            return list(_by_dask(client, directory, plan, probe))
        return _by_tasks(executor, directory, plan, probe)
    except Exception as error:
        raise Error(f"cannot use the executor: probing its workers failed: {reason(error)}") from error


def _by_tasks(executor: Executor, directory: str | None, plan: bytes | None, probe: str) -> list[_Answer]:
    futures: list[Future[_Answer]] = []
    try:
        for _ in range(workers(executor)):
            futures.append(executor.submit(_answer, directory, plan, probe))
        wait(futures)
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
        # Then none writes a file any more.
        wait(futures)


def _by_dask(client: Any, directory: str | None, plan: bytes | None, probe: str) -> Iterable[_Answer]:
    for found in client.run(_answer, directory, plan, probe, on_error="return").values():
        if isinstance(found, _Answer):
            yield found
        elif not isinstance(found, OSError):
            raise found
        # Else the worker has just ended.


def _answer(directory: str | None, plan: bytes | None, probe: str) -> _Answer:
    worker, build = _worker(), _native.build()
    if directory is None:
        return _Answer(worker, build, None, "")
    token = f"{probe}-{uuid.uuid4().hex}"
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


def _is_there(directory: str, token: str | None) -> bool:
    return token is not None and os.path.exists(os.path.join(directory, token))


def _clear(directory: str, probe: str) -> None:
    """Removes what the workers have written."""
    with contextlib.suppress(OSError):
        for name in os.listdir(directory):
            if name.startswith(probe):
                os.remove(os.path.join(directory, name))
