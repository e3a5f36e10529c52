"""`ackwise.sweep` gives the same rows wherever they are run."""

import concurrent.futures
import json
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import ackwise
import pyarrow
import pytest
from ackwise import _native, _probe
from conftest import command
from test_run import SMALL

# Losses give every seed a trace of its own.
WIRE = {"ends": ["client", "server"], "rate": "1 Mb/s", "delay": "1 ms", "loss": "2 %"}
SWEEP = {**SMALL, "duration": "20 s", "link": {"wire": WIRE}}
GRID = {"link.wire.delay": ["1 ms", "20 ms", "50 ms"]}


@pytest.fixture(scope="module")
def pool() -> Iterator[concurrent.futures.Executor]:
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
        yield pool


@pytest.fixture(scope="module")
def local() -> ackwise.Result:
    return ackwise.sweep(SWEEP, grid=GRID, seeds=3)


def test_axes_are_added_to_those_of_the_file(local: ackwise.Result) -> None:
    with_both = {**SWEEP, "grid": {"application.web.users": [1, 2], **GRID}}
    assert local.to_dict() == ackwise.run(with_both, seeds=3).to_dict()
    replaced = ackwise.sweep(SMALL, grid={"application.web.users": range(3, 5)})
    assert pyarrow.table(replaced)["application.web.users"].to_pylist() == [3, 4]
    with pytest.raises(ackwise.ExperimentError, match="has a part in common"):
        ackwise.sweep(SMALL, grid={"application.web": ["x"]})
    with pytest.raises(TypeError, match="expected a list of values"):
        ackwise.sweep(SMALL, grid={"link.wire.rate": "1 Mb/s"})


def test_workers_give_the_rows_of_this_process(
    local: ackwise.Result, pool: concurrent.futures.Executor, tmp_path: Path
) -> None:
    through = ackwise.sweep(SWEEP, grid=GRID, seeds=3, executor=pool)
    assert through.to_dict() == local.to_dict()
    assert str(through) == str(local)
    store = tmp_path / "store"
    stored = ackwise.sweep(SWEEP, grid=GRID, seeds=3, executor=pool, store=store)
    assert stored.to_dict() == local.to_dict()
    traces = pyarrow.table(stored)["trace"].to_pylist()
    assert traces == pyarrow.table(local)["trace"].to_pylist() and len(set(traces)) == len(traces) == 18
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        assert ackwise.sweep(SWEEP, grid=GRID, seeds=3, executor=threads).to_dict() == local.to_dict()


def test_a_store_is_that_of_the_command(
    pool: concurrent.futures.Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = ackwise.sweep("stalls", seeds=2, executor=pool, store="store")
    chunks = sorted(tmp_path.glob("store/*.parquet"))
    assert len(chunks) > 1
    chunks[0].unlink()
    printed = command("run", "stalls", "--seeds=2", "--store=store", "--json")
    assert json.loads(printed) == result.to_dict()
    assert ackwise.sweep("stalls", seeds=2, store="store").to_dict() == result.to_dict()
    with pytest.raises(ackwise.ExperimentError, match="the store of another experiment: seeds is"):
        ackwise.sweep("stalls", seeds=3, executor=pool, store="store")


def test_a_failure_of_a_worker_has_the_words_of_the_command(pool: concurrent.futures.Executor) -> None:
    tiny = {**SMALL, "max_events": 10, "duration": "1000 s"}
    with pytest.raises(ackwise.ExperimentError, match="more than 10 events"):
        ackwise.sweep(tiny, executor=pool)


class Counting(concurrent.futures.ThreadPoolExecutor):
    """Counts the tasks in flight."""

    most = 0

    def submit(self, *arguments, **options):  # type: ignore[no-untyped-def]
        future = super().submit(*arguments, **options)
        self.most = max(self.most, self._work_queue.qsize())
        return future


def test_few_tasks_are_in_flight() -> None:
    with Counting(1) as executor:
        result = ackwise.sweep(SMALL, seeds=30, executor=executor)
    assert len(result) == 60
    assert 1 <= executor.most <= 4


class Failing(concurrent.futures.ThreadPoolExecutor):
    """Tasks with this word in their arguments fail, each time."""

    def __init__(self, word: str, error: Exception) -> None:
        super().__init__(2)
        self.word, self.error, self.submitted = word, error, 0

    def submit(self, function, *arguments, **options):  # type: ignore[no-untyped-def, override]
        if self.word not in repr(function):
            return super().submit(function, *arguments, **options)
        self.submitted += 1
        future: concurrent.futures.Future[object] = concurrent.futures.Future()
        future.set_exception(self.error)
        return future


def test_a_chunk_that_fails_five_times_is_a_row_of_failed(local: ackwise.Result, tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Failing("_run_chunk", OSError("no space left")) as executor:
        with pytest.warns(RuntimeWarning, match="18 of 18 chunks failed"):
            nothing = ackwise.sweep(SWEEP, grid=GRID, seeds=3, executor=executor, store=store)
    assert (len(nothing), executor.submitted) == (0, 18 * 5)
    chunk = {"first_row": 5, "last_row": 5, "tries": 5, "error": "OSError: no space left"}
    assert pyarrow.table(nothing.failed).to_pylist()[5] == chunk
    assert str(nothing) == "no rows" and pickle.loads(pickle.dumps(nothing)).failed.columns == list(chunk)
    # The same call again runs what failed.
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        again = ackwise.sweep(SWEEP, grid=GRID, seeds=3, executor=threads, store=store)
    assert again.to_dict() == local.to_dict() and len(again.failed) == 0


def test_rows_that_come_back_are_kept_when_others_fail(local: ackwise.Result) -> None:
    with Failing(", 4, 5)", OSError("no route")) as executor, pytest.warns(RuntimeWarning, match="1 of 18"):
        result = ackwise.sweep(SWEEP, grid=GRID, seeds=3, executor=executor)
    rows = local.to_dict()["rows"]
    assert result.to_dict()["rows"] == rows[:4] + rows[5:]
    assert pyarrow.table(result.failed)["first_row"].to_pylist() == [4]


def test_a_broken_pool_ends_the_call_with_what_is_stored(local: ackwise.Result, tmp_path: Path) -> None:
    store = tmp_path / "store"
    long = {**SWEEP, "duration": "2000 s"}
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:

        def kill() -> None:
            deadline = time.monotonic() + 60
            while not list(store.glob("*.parquet")) and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(next(iter(pool._processes)), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.warns(RuntimeWarning, match="chunks failed"):
            some = ackwise.sweep(long, grid=GRID, seeds=3, executor=pool, store=store)
        killer.join()
    failed = pyarrow.table(some.failed)
    assert len(some) > 0 and len(failed) > 0 and len(some) + len(failed) == 18
    assert all("BrokenProcessPool" in error for error in failed["error"].to_pylist())
    whole = ackwise.sweep(long, grid=GRID, seeds=3, store=store)
    rows = [row for row in whole.to_dict()["rows"] if row["row"] not in failed["first_row"].to_pylist()]
    assert some.to_dict()["rows"] == rows


def elsewhere(directory: str | None, plan: bytes | None, probe: str) -> _probe._Answer:
    """What a worker answers whose own disk has a directory of this name, with the same plan."""
    answer = _probe._answer(directory, plan, probe)
    assert directory is not None and answer.token is not None
    Path(directory, answer.token).unlink()
    return answer


class Elsewhere(concurrent.futures.ThreadPoolExecutor):
    """Workers that do not share the directory."""

    def submit(self, function, *arguments, **options):  # type: ignore[no-untyped-def, override]
        function = elsewhere if function is _probe._answer else function
        return super().submit(function, *arguments, **options)


def test_a_directory_that_is_not_shared_is_an_error(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with Elsewhere(2) as executor, pytest.raises(ackwise.Error, match="that all workers share"):
        ackwise.sweep(SMALL, executor=executor, store=store)
    assert [path.name for path in store.iterdir()] == ["plan.json"]
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        ackwise.sweep(SMALL, executor=executor, store=store)
    assert not list(store.glob(".probe-*"))
    # A worker that no probe has reached.
    native = _native.Sweep("stalls", None, [], [])
    with pytest.raises(ackwise.Error, match="no plan.json"):
        native.run_chunk(str(tmp_path / "other"), 0)


class Breaking(concurrent.futures.ThreadPoolExecutor):
    """The second probe writes its file, and its worker ends before it answers."""

    probes = 0

    def submit(self, function, *arguments, **options):  # type: ignore[no-untyped-def, override]
        future = super().submit(function, *arguments, **options)
        self.probes += function is _probe._answer
        if self.probes != 2:
            return future
        future.result()
        lost: concurrent.futures.Future[object] = concurrent.futures.Future()
        lost.set_exception(concurrent.futures.BrokenExecutor("a process was terminated"))
        return lost


def test_a_probe_that_breaks_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    for name in ("sweep", "explain_many"):
        store, capture = tmp_path / name, tmp_path / "one.pcap"
        capture.write_text("no capture")
        with Breaking(3) as executor, pytest.raises(ackwise.Error, match="probing its workers failed: .*terminated"):
            if name == "sweep":
                ackwise.sweep(SMALL, executor=executor, store=store)
            else:
                ackwise.explain_many([capture], executor=executor, store=store)
        assert [path.name for path in store.iterdir()] == ["plan.json"]


def test_a_worker_of_another_build_is_refused(pool: concurrent.futures.Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "build", lambda: "0.0.1")
    with pytest.raises(ackwise.Error, match=r"build is \d.*expected 0.0.1"):
        ackwise.sweep(SMALL, executor=pool)
    with pytest.raises(ackwise.Error, match=r"build is 0.0.1 \(expected 0.0.2"):
        _probe.expect_build("0.0.2")
