"""Sweeps on a Dask cluster: a scheduler, and workers that are processes."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ackwise
import pytest
from ackwise._executor import Failed, each
from dask.config import set as configured
from distributed import Client, LocalCluster, Status
from test_sweep import GRID, SWEEP

# Long enough for some kills.
LONG = {**SWEEP, "duration": "3000 s"}
MOST_KILLS = 10


@pytest.fixture
def cluster() -> Iterator[Any]:
    options: dict[str, Any] = {"dashboard_address": ":0"}
    # By default, a worker that takes 15 s to start again, as on a busy machine, is given up.
    patient = configured({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    with patient, LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **options) as cluster:
        yield cluster


@pytest.fixture
def killer(cluster: Any) -> Iterator[list[int]]:
    """Kills one worker every second; the nannies of Dask start others. Yields the processes that were killed.

    Only workers that have started: a nanny whose worker is killed before that gives up. And not for ever: on a busy machine,
    a worker may run for less than a chunk takes.
    """
    killed: list[int] = []
    done = threading.Event()

    def kill() -> None:
        while len(killed) < MOST_KILLS and not done.wait(1.0):
            started = [it.process for it in cluster.workers.values() if it.status == Status.running and it.process]
            alive = [it.pid for it in started if it.status == Status.running and it.pid not in killed]
            if alive:
                killed.append(random.choice(alive))
                os.kill(killed[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    yield killed
    done.set()
    thread.join()


def test_killed_workers_change_no_row(cluster: Any, killer: list[int], tmp_path: Path) -> None:
    with Client(cluster) as client:
        executor = client.get_executor(pure=False)
        there = ackwise.sweep(LONG, grid=GRID, seeds=4, executor=executor, store=tmp_path / "store")
    assert killer, "no worker was killed"
    assert there.to_dict() == ackwise.sweep(LONG, grid=GRID, seeds=4).to_dict()


class Flaky(ThreadPoolExecutor):
    """Each task fails as often as `failures` says."""

    def __init__(self, failures: int, error: Exception) -> None:
        super().__init__(1)
        self.left, self.error = failures, error

    def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
        if self.left == 0:
            return super().submit(*arguments, **options)
        self.left -= 1
        future: Future[Any] = Future()
        future.set_exception(self.error)
        return future


def test_a_task_is_begun_up_to_five_times() -> None:
    with Flaky(4, OSError("no route to the file system")) as executor:
        assert each(executor, [lambda: "a", lambda: "b"]) == ["a", "b"]
    with Flaky(5, OSError("no route to the file system")) as executor:
        assert each(executor, [lambda: "a"]) == [Failed(5, "OSError: no route to the file system")]


def test_what_is_refused_is_not_tried_again() -> None:
    with Flaky(1, ackwise.ExperimentError("wrong")) as executor, pytest.raises(ackwise.ExperimentError):
        each(executor, [lambda: "a"])
    broken: Executor = ThreadPoolExecutor(1)
    broken.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        each(broken, [lambda: "a"])
