"""`ackwise.sweep` gives the same rows wherever they are run."""

import concurrent.futures
import json
import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import ackwise
import pyarrow
import pytest
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
