"""A simulation in steps is the simulation; and Reno in Python is Reno."""

import os
import pickle
from typing import Any

import ackwise
import pytest
from test_host import LONG, interrupted
from test_run import SMALL

# A flow that loses packets to its queue and to the path.
LOSSY = {
    "duration": "30 s",
    "tcp": {"preset": "rfc"},
    "host": {"client": {}, "server": {"tcp": {"congestion": "sack"}}},
    "link": {
        "wire": {
            "ends": ["server", "client"],
            "rate": "4 Mb/s",
            "delay": "20 ms",
            "queue": "12 packets",
            "loss": "3 %",
        }
    },
    "application": {"flow": {"kind": "bulk", "client": "client", "server": "server"}},
}
EXTERNAL = {"host.server.tcp.congestion": "external"}


class Reno:
    """RFC 5681, with RFC 6675's recovery, which is the host's."""

    acked = 0

    def hear(self, event: dict[str, Any]) -> tuple[float, float]:
        segment, flight = event["segment_bytes"], event["in_flight_bytes"]
        window, threshold = event["window_bytes"], event["threshold_bytes"]
        match event["kind"]:
            case "ack" if not event["window_limited"]:
                pass
            case "ack" if window < threshold:
                window += min(event["acked_bytes"], segment)
            case "ack":
                self.acked += event["acked_bytes"]
                if self.acked >= window:
                    self.acked -= window
                    window += segment
            case "loss":
                threshold = max(min(flight, window) // 2, 2 * segment)
                window, self.acked = threshold, 0
            case "timeout":
                threshold = max(flight // 2, 2 * segment)
                window, self.acked = segment, 0
            case "timeout-again":
                window, self.acked = segment, 0
        return window, threshold


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_reno_in_python_gives_the_trace_of_the_built_in_one(seed: int) -> None:
    simulation = ackwise.Simulation(LOSSY, set=EXTERNAL, seed=seed)
    reno = Reno()
    kinds: dict[str, int] = {}
    while event := simulation.step():
        kinds[event["kind"]] = kinds.get(event["kind"], 0) + 1
        simulation.set_window(event["connection"], *reno.hear(event))
    [row] = simulation.finish().to_dict()["rows"]
    [built_in] = ackwise.run(LOSSY, seeds=[seed]).to_dict()["rows"]
    assert (row["trace"], row["measures"]) == (built_in["trace"], built_in["measures"])
    assert kinds["ack"] > 1000 and kinds["loss"] > 30 and kinds["timeout"] > 0, kinds


def test_a_run_in_steps_is_the_run() -> None:
    rows = ackwise.run("stalls", set={"duration": "4 s"}, seeds=[5]).to_dict()["rows"]
    for case, row in enumerate(rows, start=1):
        simulation = ackwise.Simulation("stalls", set={"duration": "4 s"}, seed=5, case=case)
        for tenth in range(1, 60):
            assert simulation.step(until=tenth / 10) is None
        assert simulation.finish().to_dict()["rows"] == [row]


def test_the_state_has_units_in_its_names() -> None:
    simulation = ackwise.Simulation(LOSSY, set=EXTERNAL)
    assert simulation.state()["time_ms"] == 0
    opened = simulation.step()
    assert opened is not None
    assert (opened["kind"], opened["connection"], opened["host"]) == ("established", 0, "server")
    assert opened["threshold_bytes"] == 2**32 - 1
    simulation.set_window(0, 4.5 * opened["segment_bytes"], float("inf"))
    while simulation.step(until="2 s"):
        pass
    state = simulation.state()
    assert (state["time_ms"], state["ended"]) == (2000, False)
    assert state["hosts"]["server"] == {"open_connections": 1, "time_wait_connections": 0}
    there = state["links"]["wire"]["there"]
    assert there["taken_bytes"] > there["taken_packets"] > 100 > there["in_flight_packets"]
    assert 0 <= there["queue_ms"] < 40 and there["dropped_packets"] > 0
    [connection] = state["connections"]
    server = connection["server"]
    assert (connection["application"], server["tcp_state"]) == ("flow", "ESTABLISHED")
    assert server["window_bytes"] == 9 * opened["segment_bytes"] // 2 >= server["in_flight_bytes"] - 2896
    assert 40 <= server["smoothed_round_trip_ms"] < 100 <= server["timeout_ms"]
    assert connection["client"]["received_bytes"] <= server["written_bytes"]
    assert simulation.finish() and simulation.state()["ended"] and simulation.step() is None


def test_a_window_that_nobody_sets_is_refused() -> None:
    with pytest.raises(ackwise.ExperimentError, match="ackwise.Simulation"):
        ackwise.run(LOSSY, set=EXTERNAL)
    simulation = ackwise.Simulation(LOSSY)
    assert simulation.step(until=1) is None
    with pytest.raises(ackwise.ExperimentError, match="not external"):
        simulation.set_window(0, 1, 1)
    for connection in (7, -1):
        with pytest.raises(ackwise.ExperimentError, match="no such connection"):
            simulation.set_window(connection, 1, 1)
    simulation = ackwise.Simulation(LOSSY, set={"tcp.congestion": "external", **EXTERNAL})
    simulation.step(until="10 ms")
    with pytest.raises(ackwise.ExperimentError, match="handshake is not over"):
        simulation.set_window(0, 1, 1, host="client")
    simulation.step()
    with pytest.raises(ackwise.ExperimentError, match="expected a host"):
        simulation.set_window(0, 1, 1)
    simulation.set_window(0, 1, 1, host="client")


def test_errors_say_what_was_expected() -> None:
    with pytest.raises(ValueError, match="expected 1 to 2"):
        ackwise.Simulation(SMALL)
    with pytest.raises(ValueError, match="case is 3"):
        ackwise.Simulation(SMALL, case=3)
    with pytest.raises(ValueError, match=r"case is -1 \(expected 1 to 2\)"):
        ackwise.Simulation(SMALL, case=-1)
    with pytest.raises(ackwise.ExperimentError, match="duration"):
        ackwise.Simulation(SMALL, set={"duration": "long"}, case=1)
    simulation = ackwise.Simulation(SMALL, case=2)
    wrong: list[float | str] = ["soon", -1, float("nan")]
    for until in wrong:
        with pytest.raises(ValueError, match="expected"):
            simulation.step(until)
    with pytest.raises(ValueError, match="NaN"):
        simulation.set_window(0, float("nan"), 1)
    with pytest.raises(TypeError):
        pickle.dumps(simulation)


def test_ctrl_c_ends_a_run_in_steps() -> None:
    simulation = ackwise.Simulation(LONG, case=1)
    print(f"after {interrupted(simulation.finish):.3f} s")
    for call in (simulation.step, simulation.state, simulation.finish):
        with pytest.raises(ackwise.ExperimentError, match="stopped"):
            call()


def test_a_simulation_stays_in_its_process() -> None:
    simulation = ackwise.Simulation(SMALL, case=1)
    child = os.fork()
    if child == 0:
        try:
            simulation.step()
        except ackwise.Error:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert len(simulation.finish()) == 1
