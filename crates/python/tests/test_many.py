"""`ackwise.explain_many` gives what `explain` gives of each capture."""

import concurrent.futures
import multiprocessing
import pickle
from pathlib import Path

import ackwise
import pyarrow
import pytest


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
