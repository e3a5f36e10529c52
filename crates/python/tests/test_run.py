"""`ackwise.run` gives the rows that the command gives."""

import json
import os
import pickle
from pathlib import Path

import ackwise
import pyarrow
import pytest
from conftest import command

SMALL = {
    "duration": "1 s",
    "host": {"client": {}, "server": {}},
    "link": {"wire": {"ends": ["client", "server"], "rate": "1 Mb/s", "delay": "1 ms"}},
    "application": {
        "web": {
            "kind": "web",
            "client": "client",
            "server": "server",
            "workload": "heidemann",
            "transfer": "serial",
        }
    },
    "grid": {"application.web.users": [1, 2]},
}


def test_rows_are_those_of_the_command() -> None:
    result = ackwise.run("stalls", set={"duration": "2 s"}, seeds=2, threads=1)
    arguments = ["run", "stalls", "--set=duration=2 s", "--seeds=2"]
    assert result.to_dict() == json.loads(command(*arguments, "--json"))
    assert str(result) + "\n" == command(*arguments)
    assert len(result) == len(result.to_dict()["rows"])


def test_a_result_is_a_table_of_cases_seeds_and_metrics() -> None:
    result = ackwise.run(SMALL, seeds=[3, 7])
    table = pyarrow.table(result)
    assert table["application.web.users"].to_pylist() == [1, 1, 2, 2]
    assert table["seed"].to_pylist() == [3, 7, 3, 7]
    rows = result.to_dict()["rows"]
    for name in ["web.rate_mean", "work.events"]:
        assert table[name].to_pylist() == [row["measures"].get(name) for row in rows]
    assert result.to_polars().height == 4 and len(result.to_pandas()) == 4
    assert table["trace"].to_pylist() == [row["trace"] for row in rows]
    assert ackwise.run(SMALL, seeds=[7, 3]).to_dict() == result.to_dict()


def test_settings_have_the_types_of_python() -> None:
    set = {"link.wire.rate": "2 Mb/s", "grid": {"application.web.users": [4]}}
    result = ackwise.run(SMALL, set=set)
    assert pyarrow.table(result)["application.web.users"].to_pylist() == [4]
    with pytest.raises(TypeError, match="cannot say"):
        ackwise.run(SMALL, set={"duration": None})


def test_a_result_pickles() -> None:
    result = ackwise.run(SMALL)
    copy = pickle.loads(pickle.dumps(result))
    assert pyarrow.table(copy) == pyarrow.table(result)
    assert (str(copy), copy.to_dict()) == (str(result), result.to_dict())


def test_errors_say_where(tmp_path: Path) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text('duration = "1 s"\nhost.client = {}\nhost.server = { tcp = "none" }\n')
    with pytest.raises(ackwise.ExperimentError) as wrong:
        ackwise.run(file)
    assert (wrong.value.path, wrong.value.line) == ("host.server.tcp.preset", 3)
    assert str(wrong.value).startswith(f"{file}:3:")
    copy = pickle.loads(pickle.dumps(wrong.value))
    assert (str(copy), copy.path, copy.line) == (str(wrong.value), "host.server.tcp.preset", 3)
    with pytest.raises(ackwise.ExperimentError) as wrong:
        ackwise.run("stalls", set={"duration": "long"})
    assert (wrong.value.path, wrong.value.line) == ("duration", None)
    with pytest.raises(FileNotFoundError, match="no built-in experiment"):
        ackwise.run("missing")
    with pytest.raises(ValueError, match="expected sim"):
        ackwise.run("stalls", on="elsewhere")  # type: ignore[arg-type]


@pytest.mark.skipif(not os.path.exists("/dev/net/tun") or os.geteuid() != 0, reason="needs root, for namespaces")
def test_the_kernel_plays_an_experiment_in_a_child() -> None:
    document = {**SMALL, "tcp": {"preset": "linux-6"}, "grid": {}}
    before = os.readlink("/proc/self/ns/net")
    result = ackwise.run(document, on="kernel")
    assert os.readlink("/proc/self/ns/net") == before
    assert pyarrow.table(result)["experiment"].to_pylist() == ["experiment"]
    assert "web.documents" in result.columns and str(result)
