"""`ackwise.explain` says what the command says."""

import io
import json
import pickle
from pathlib import Path
from typing import Any

import ackwise
import pandas
import polars
import pyarrow
import pytest
from conftest import command

TABLES = ["exchanges", "causes", "totals", "connections", "failures"]


def test_a_report_prints_what_the_command_prints(capture: str) -> None:
    report = ackwise.explain(capture)
    assert str(report) + "\n" == command("explain", capture)
    assert report.to_dict() == json.loads(command("explain", "--json", capture))
    assert report.summary == report.to_dict()["summary"]
    assert repr(report).startswith("<ackwise.Report of client.pcap: ")


def test_bytes_file_objects_and_lists_are_the_same_capture(capture: str) -> None:
    expected = ackwise.explain(capture).to_dict()
    content = Path(capture).read_bytes()
    same: Any
    for same in [Path(capture), content, memoryview(content), io.BytesIO(content), [capture]]:
        assert ackwise.explain(same).to_dict() == expected
    assert ackwise.explain(capture, threads=1).to_dict() == expected


def test_options_are_those_of_the_command(captures: dict[str, str]) -> None:
    client, server = captures["client"], captures["server"]
    pair = ackwise.explain(pair=(client, server))
    assert pair.to_dict() == json.loads(command("explain", "--json", "--pair", client, server))
    none = ackwise.explain(client, filter="tcp port 1")
    assert len(none.exchanges) == 0 and none.to_dict()["left_out"]["filter"] > 0
    for filter in ["tcp port", "nonsense"]:
        with pytest.raises(ackwise.Error, match="^filter: "):
            ackwise.explain(client, filter=filter)


@pytest.mark.parametrize("name", ["exchanges", "connections", "failures", "totals"])
def test_columns_have_the_values_of_json(capture: str, name: str) -> None:
    report = ackwise.explain(capture)
    rows, table = report.to_dict()[name], pyarrow.table(getattr(report, name))
    assert len(rows) == table.num_rows
    shared = [column for column in table.column_names if rows and column in rows[0]]
    assert len(shared) >= 9 or not rows
    for column in shared:
        assert table[column].to_pylist() == [row[column] for row in rows], column


def test_the_times_of_causes_add_up(capture: str) -> None:
    report = ackwise.explain(capture)
    exchanges = report.exchanges.to_pandas().set_index("id")
    sums = report.causes.to_pandas().groupby("exchange").ms.sum()
    assert len(exchanges) > 0
    assert ((exchanges.duration_ms - sums).abs() < 1e-6).all()
    assert (exchanges.cause_ms <= exchanges.duration_ms + 1e-6).all()


def test_every_library_reads_the_same_memory(capture: str) -> None:
    table = ackwise.explain(capture).exchanges
    first, second = pyarrow.table(table), pyarrow.table(table)
    frame = pyarrow.table(table).to_pandas(types_mapper=pandas.ArrowDtype)
    series = polars.DataFrame(table)["duration_ms"]
    address = first["duration_ms"].chunk(0).buffers()[1].address
    assert second["duration_ms"].chunk(0).buffers()[1].address == address
    assert frame["duration_ms"].array.__arrow_array__().chunk(0).buffers()[1].address == address
    assert series.to_arrow().buffers()[1].address == address
    assert series.to_list() == first["duration_ms"].to_pylist()
    assert len(table) == first.num_rows and table.columns == first.column_names
    assert repr(table) == f"<ackwise.Table: {len(table):,} rows, {len(table.columns)} columns>"
    assert pyarrow.schema(table) == first.schema


def test_a_report_pickles_with_all_its_tables(capture: str) -> None:
    report = ackwise.explain(capture)
    copy = pickle.loads(pickle.dumps(report))
    assert (str(copy), repr(copy), copy.summary) == (str(report), repr(report), report.summary)
    assert copy.to_dict() == report.to_dict()
    for name in TABLES:
        assert pyarrow.table(getattr(copy, name)) == pyarrow.table(getattr(report, name)), name


def test_the_page_is_written_whole(capture: str, tmp_path: Path) -> None:
    report = ackwise.explain(capture)
    page, same = tmp_path / "python.html", tmp_path / "command.html"
    report.save_html(page)
    command("explain", capture, f"--html={same}")
    assert page.read_text() == same.read_text()
    assert report._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(FileNotFoundError):
        report.save_html(tmp_path / "missing" / "page.html")


def test_errors_are_what_python_expects(tmp_path: Path, capture: str) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        ackwise.explain(tmp_path / "missing.pcap")
    assert missing.value.filename == str(tmp_path / "missing.pcap")
    with pytest.raises(ackwise.CaptureError, match="not a pcap or pcapng file"):
        ackwise.explain(b"no packets")
    keys = tmp_path / "keys"
    keys.write_text("nothing")
    with pytest.raises(ackwise.Error, match="no TLS secrets"):
        ackwise.explain(capture, keys=keys)
    with pytest.raises(TypeError):
        ackwise.explain()
    with pytest.raises(TypeError):
        ackwise.explain(capture, pair=(capture, capture))
    assert issubclass(ackwise.CaptureError, ackwise.Error)
