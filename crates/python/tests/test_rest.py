"""What is small: models, schemas, equations, and the commands in child processes."""

import ackwise
import pytest


def test_the_model_has_the_options_of_the_command() -> None:
    slow, fast = ackwise.model(network="modem"), ackwise.model(network="ethernet")
    assert slow["format"]["name"] == "ackwise-model" and slow != fast
    with pytest.raises(ackwise.Error, match="network"):
        ackwise.model(network="pigeon")
    with pytest.raises(ackwise.Error, match="unexpected argument"):
        ackwise.model(nothing=1)


def test_schemas_are_those_of_the_command() -> None:
    assert {"check", "explain", "load", "run"} <= set(ackwise.schema())
    assert "exchanges" in ackwise.schema("explain")["properties"]
    with pytest.raises(ackwise.Error, match="expected one of"):
        ackwise.schema("nothing")


def test_equations_take_numbers_and_sequences() -> None:
    one, two = ackwise.tuning.pftk([0.01, 0.0], 0.1, 1.0, max_window=8)
    # Values of an independent computation, as in the crate's own tests.
    assert one == pytest.approx(52.433104, rel=1e-6) and two == pytest.approx(80)
    assert ackwise.tuning.pftk(0.01, 0.1, 1.0) == [pytest.approx(69.524463, rel=1e-6)]
    small, large = ackwise.tuning.e_atbt([0.1, 0.001], 0.1, 0.3)
    assert 2 * 1460 <= small < large and large % 1460 == 0
    assert ackwise.tuning.max_min(100, [10, 60, 80]) == [10, 45, 45]
    assert ackwise.tuning.max_min(100, [10, 20], spare="equal") == [45, 55]
    for loss, round_trip in [(2.0, 0.1), ([0.1, 0.2], [0.1] * 3), (0.1, -1)]:
        with pytest.raises(ValueError):
            ackwise.tuning.pftk(loss, round_trip, 1.0)  # type: ignore[arg-type]


def test_load_comes_back_as_a_document(server: str) -> None:
    found = ackwise.load(server, requests=20)
    assert found["format"]["name"] == "ackwise-load"


def test_check_comes_back_as_a_document(server: str) -> None:
    found = ackwise.check(server, stack="kernel", only=["nagle-delayed-ack", "split-head"])
    assert found["format"]["name"] == "ackwise-check"
    assert {it["id"] for it in found["results"][0]["findings"]} == {"nagle-delayed-ack", "split-head"}
    with pytest.raises(ackwise.CheckError, match="is no URL"):
        ackwise.check("--listen")


def test_errors_of_a_child_are_those_of_the_command() -> None:
    with pytest.raises(ackwise.CheckError, match="unexpected argument"):
        ackwise.check("http://127.0.0.1:9/", nothing=True)
    with pytest.raises(ackwise.Error, match="127.0.0.1:9"):
        ackwise.load("http://127.0.0.1:9/")
