"""Whether an executor's workers have this build, and the store of this process."""

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
from ._place import Store, joined


class _Answer(NamedTuple):
    """What a worker found."""

    worker: str
    build: str
    # The name of a file that it has written, or why there is none.
    token: str | None
    reason: str


def check(executor: Executor, store: Store | None) -> None:
    """Raise `Error` if a worker has another build, another store of this name, or fails. No file is left.

    Dask runs this on each worker. Of other executors no worker can be named: as many tasks as there are workers are
    submitted, which need not reach all of them. So each task of a store looks for the plan as well.

    Args:
        store: One that has a plan. Default: there is none.
    """
    probe = f".probe-{uuid.uuid4().hex}"
    asked = (None, None, probe) if store is None else (store.name, store.plan(), probe)
    try:
        answers = _asked(executor, *asked)
        written = set() if store is None else set(store.names())
    finally:
        if store is not None:
            _clear(store, probe)
    for answer in answers:
        if answer.build != _native.build():
            raise _other_build(answer.worker, answer.build, _native.build())
        if store is not None and answer.token not in written:
            why = answer.reason or "what it has written there is not here"
            expected = "a directory that all workers share, or a URL"
            raise Error(f"cannot use {store.name}: {answer.worker}: {why} (expected {expected})")


def expect_build(build: str) -> None:
    """Raise `Error` unless this process, a worker, has the build of the one that submits tasks."""
    if build != _native.build():
        raise _other_build(_worker(), _native.build(), build)


def _other_build(worker: str, build: str, expected: str) -> Error:
    return Error(f"cannot use {worker}: build is {build} (expected {expected}, that of the caller)")


def _asked(executor: Executor, store: str | None, plan: bytes | None, probe: str) -> list[_Answer]:
    """What the workers answer, once no probe runs any more."""
    client: Any = getattr(executor, "_client", None)
    try:
        if hasattr(client, "run"):
            return list(_by_dask(client, store, plan, probe))
        return _by_tasks(executor, store, plan, probe)
    except Exception as error:
        raise Error(f"cannot use the executor: probing its workers failed: {reason(error)}") from error


def _by_tasks(executor: Executor, store: str | None, plan: bytes | None, probe: str) -> list[_Answer]:
    futures: list[Future[_Answer]] = []
    try:
        for _ in range(workers(executor)):
            futures.append(executor.submit(_answer, store, plan, probe))
        wait(futures)
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()
        # Then none writes a file any more.
        wait(futures)


def _by_dask(client: Any, store: str | None, plan: bytes | None, probe: str) -> Iterable[_Answer]:
    for found in client.run(_answer, store, plan, probe, on_error="return").values():
        if isinstance(found, _Answer):
            yield found
        elif not isinstance(found, OSError):
            raise found
        # Else the worker has just ended.


def _answer(store: str | None, plan: bytes | None, probe: str) -> _Answer:
    worker, build = _worker(), _native.build()
    if store is None:
        return _Answer(worker, build, None, "")
    token = f"{probe}-{uuid.uuid4().hex}"
    try:
        with joined(store) as own:
            if own.plan() != plan:
                return _Answer(worker, build, None, "it has another plan.json there")
            own.create(token)
            return _Answer(worker, build, token, "")
    except (Error, OSError) as error:
        return _Answer(worker, build, None, str(error))


def _worker() -> str:
    return f"worker {os.getpid()} on {socket.gethostname()}"


def _clear(store: Store, probe: str) -> None:
    """Removes what the workers have written."""
    with contextlib.suppress(OSError):
        for name in store.names():
            if name.startswith(probe):
                store.remove(name)
