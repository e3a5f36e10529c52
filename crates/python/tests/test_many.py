"""`ackwise.explain_many` gives what `explain` gives of each capture."""

import concurrent.futures
import multiprocessing
import os
import pickle
from pathlib import Path

import ackwise
import duckdb
import polars
import pyarrow
import pytest
from ackwise import _many, _native
from test_sweep import Failing


@pytest.fixture
def folder(captures: dict[str, str], tmp_path: Path) -> Path:
    """Three captures that can be read, one that cannot, and one that is none."""
    for number, end in enumerate(("client", "server", "client")):
        (tmp_path / f"{number}.pcap").write_bytes(Path(captures[end]).read_bytes())
    (tmp_path / "text.pcap").write_text("no capture")
    return tmp_path


def test_rows_are_those_of_each_capture_with_its_path(folder: Path) -> None:
    paths = [*sorted(folder.iterdir()), folder / "missing.pcap"]
    many = ackwise.explain_many(paths)
    table = pyarrow.table(many)
    assert many.columns == ["path", *ackwise.explain(paths[0]).exchanges.columns]
    for path in paths[:3]:
        own = [row for row in table.to_pylist() if row.pop("path") == str(path)]
        assert own == pyarrow.table(ackwise.explain(path).exchanges).to_pylist()
        assert len(own) == 60
    assert len(many) == len(table) == 180
    failed = pyarrow.table(many.failed).to_pylist()
    assert [row["path"] for row in failed] == [str(path) for path in paths[3:]]
    assert "text.pcap" in failed[0]["error"] and "missing.pcap" in failed[1]["error"]
    assert len(many.to_pandas()) == len(many.to_polars()) == 180
    assert (many.to_dicts(), many.failed.to_dicts()) == (table.to_pylist(), failed)


def test_workers_give_the_same(folder: Path) -> None:
    paths = sorted(folder.iterdir())
    here = ackwise.explain_many(paths)
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
        there = ackwise.explain_many(paths, executor=pool)
    copy = pickle.loads(pickle.dumps(here))
    for other in (there, copy):
        assert pyarrow.table(other) == pyarrow.table(here)
        assert pyarrow.table(other.failed) == pyarrow.table(here.failed)


def test_without_a_readable_capture_there_are_columns_and_no_rows() -> None:
    nothing = ackwise.explain_many([])
    assert len(nothing) == len(nothing.failed) == 0
    assert nothing.columns[0] == "path" and len(nothing.columns) > 10 and len(nothing.to_pandas()) == 0
    assert pickle.loads(pickle.dumps(nothing)).columns == nothing.columns


def test_what_is_wrong_with_all_of_them_is_an_error(folder: Path) -> None:
    with pytest.raises(ackwise.Error, match="filter"):
        ackwise.explain_many(folder.glob("*.pcap"), filter="udp prot 53")
    with pytest.raises(TypeError, match="several paths"):
        ackwise.explain_many("capture.pcap")


def test_a_name_that_is_not_utf_8_is_a_row_of_failed(folder: Path, tmp_path: Path) -> None:
    odd = os.path.join(folder, os.fsdecode(b"caf\xe9.pcap"))
    Path(odd).write_bytes((folder / "0.pcap").read_bytes())
    for store in (None, tmp_path / "store"):
        many = ackwise.explain_many([odd, folder / "0.pcap"], store=store)
        assert set(pyarrow.table(many)["path"].to_pylist()) == {str(folder / "0.pcap")} and len(many) == 60
        shown = str(folder / "caf\\udce9.pcap")
        assert pyarrow.table(many.failed).to_pylist() == [{"path": shown, "error": f"{shown}: name is not UTF-8"}]


def test_a_worker_of_another_build_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawn) as pool:
        pool.submit(os.getpid).result()
        monkeypatch.setattr(_native, "build", lambda: "0.0.1")
        with pytest.raises(ackwise.Error, match=r"build is \d.*expected 0.0.1"):
            ackwise.explain_many([folder / "0.pcap"], executor=pool)
    # A worker that no probe has reached.
    with pytest.raises(ackwise.Error, match=r"build is 0.0.1 \(expected 0.0.2"):
        _many._exchanges(str(folder / "0.pcap"), [], None, "0.0.2")


def contents(store: Path) -> dict[str, tuple[int, int]]:
    """The files of a store, each with its inode and time."""
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in store.glob("*.parquet")}


def test_a_store_gives_the_same_and_explains_only_what_is_new_or_has_changed(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    paths = [*sorted(folder.glob("*.pcap")), folder / "missing.pcap"]
    without = ackwise.explain_many(paths)
    with_store = ackwise.explain_many(paths, store=store)
    assert pyarrow.table(with_store) == pyarrow.table(without)
    failed = pyarrow.table(with_store.failed).to_pylist()
    assert failed == pyarrow.table(without.failed).to_pylist() and len(failed) == 2
    first = contents(store)
    assert len(first) == 3
    # No file is written again, and none of the captures is needed.
    assert pyarrow.table(ackwise.explain_many(paths, store=store)) == pyarrow.table(without)
    assert contents(store) == first
    # One that has changed, and a new one.
    paths[0].write_bytes(paths[1].read_bytes())
    (folder / "3.pcap").write_bytes(paths[1].read_bytes())
    paths.append(folder / "3.pcap")
    again = ackwise.explain_many(paths, store=store)
    assert pyarrow.table(again) == pyarrow.table(ackwise.explain_many(paths))
    second = contents(store)
    assert len(second) == 4 and len(first.items() & second.items()) == 2
    # One that can no longer be read keeps what it had.
    paths[0].write_text("no capture")
    assert len(ackwise.explain_many(paths, store=store).failed) == 3
    assert contents(store) == second


def test_a_store_can_be_queried(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    paths = sorted(folder.glob("?.pcap"))
    few = ackwise.explain_many(paths[:2], store=store)
    total = "SELECT count(*), sum(cause_ms) FROM read_parquet($files)"
    files = {"files": str(store / "*.parquet")}
    assert duckdb.execute(total, files).fetchall() == [(120, pytest.approx(few.to_pandas().cause_ms.sum()))]
    ackwise.explain_many(paths, store=store)
    assert duckdb.execute(total, files).fetchall()[0][0] == 180
    frame = polars.read_parquet(store / "*.parquet")
    assert frame.columns == ["path", "size", "modified_ns", "etag", *few.columns[1:]]
    assert set(frame["path"]) == {str(path) for path in paths}
    assert set(frame["size"]) == {path.stat().st_size for path in paths}


def test_workers_fill_a_store(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    paths = sorted(folder.glob("*.pcap"))
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
        there = ackwise.explain_many(paths, executor=pool, store=store)
    here = ackwise.explain_many(paths)
    assert pyarrow.table(there) == pyarrow.table(here)
    assert pyarrow.table(there.failed) == pyarrow.table(here.failed)
    assert sorted(path.suffix for path in store.iterdir()) == [".json", ".parquet", ".parquet", ".parquet"]


def test_a_store_of_something_else_is_refused(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    paths = sorted(folder.glob("?.pcap"))
    with pytest.raises(ackwise.Error, match="filter"):
        ackwise.explain_many(paths, store=store, filter="udp prot 53")
    ackwise.explain_many(paths, store=store, filter="tcp")
    with pytest.raises(ackwise.Error, match="another filter: filter is no filter"):
        ackwise.explain_many(paths, store=store)
    plan = store / "plan.json"
    plan.write_text(plan.read_text().replace('"build": "', '"build": "9.'))
    with pytest.raises(ackwise.Error, match="another build: build is "):
        ackwise.explain_many(paths, store=store, filter="tcp")
    with pytest.raises(ackwise.Error, match="no plan.json"):
        ackwise.explain_many(paths, store=folder)
    with pytest.raises(OSError, match="0.pcap"):
        ackwise.explain_many(paths, store=paths[0])


def test_secrets_that_have_changed_are_another_capture(folder: Path, tmp_path: Path) -> None:
    store, secrets = tmp_path / "store", tmp_path / "keys.log"
    paths = sorted(folder.glob("?.pcap"))
    with pytest.raises(FileNotFoundError, match="keys.log"):
        ackwise.explain_many(paths, keys=secrets, store=store)
    line = "CLIENT_RANDOM " + "0" * 64 + " " + "1" * 96 + "\n"
    secrets.write_text(line)
    ackwise.explain_many(paths, keys=secrets, store=store)
    first = contents(store)
    secrets.write_text(line * 2)
    ackwise.explain_many(paths, keys=[secrets], store=store)
    assert len(first) == len(contents(store)) == 3 and not first.keys() & contents(store).keys()


def test_a_worker_that_fails_five_times_is_the_reason(folder: Path) -> None:
    with Failing("1.pcap", MemoryError()) as executor:
        many = ackwise.explain_many(sorted(folder.glob("?.pcap")), executor=executor)
    assert len(many) == 120
    assert pyarrow.table(many.failed).to_pylist() == [{"path": str(folder / "1.pcap"), "error": "MemoryError"}]
