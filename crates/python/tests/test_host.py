"""A call changes nothing in this process, and can be interrupted."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import ackwise
import pytest
from test_run import SMALL

# Runs for minutes.
LONG = {**SMALL, "duration": "1000000 s"}


def state() -> dict[str, object]:
    """What a call must leave as it was."""
    status = Path("/proc/self/status").read_text().splitlines()
    kept = ("Sig", "Shd", "Cap", "NoNewPrivs", "Seccomp", "Uid", "Gid", "Umask", "NSpid", "Cpus_allowed")
    lines = [line for line in status if line.startswith(kept)]
    namespaces = {name: os.readlink(f"/proc/self/ns/{name}") for name in os.listdir("/proc/self/ns")}
    files = sorted(os.listdir("/proc/self/fd"))
    output = [os.readlink(f"/proc/self/fd/{number}") for number in (1, 2)]
    limits = Path("/proc/self/limits").read_text()
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    return {
        "status": [line for line in lines if not line.startswith(("SigPnd", "SigQ"))],
        "namespaces": namespaces,
        "files": len(files),
        "output": output,
        "limits": limits,
        "handlers": handlers,
        "environment": dict(os.environ),
        "directory": os.getcwd(),
        "rlimit": resource.getrlimit(resource.RLIMIT_NOFILE),
    }


def calls(capture: str, tmp_path: Path) -> dict[str, Callable[[], object]]:
    report = ackwise.explain(capture)
    return {
        "explain": lambda: str(ackwise.explain(capture)),
        "explain pair": lambda: ackwise.explain(pair=(capture, capture)).summary,
        "tables": lambda: [report.exchanges, report.failures, report.totals, report.connections],
        "save_html": lambda: report.save_html(tmp_path / "page.html"),
        "run": lambda: ackwise.run(SMALL),
        "sweep": lambda: ackwise.sweep(SMALL, store=tmp_path / "store"),
        "explain_many": lambda: ackwise.explain_many([capture], store=tmp_path / "explained"),
        "model": ackwise.model,
        "schema": lambda: ackwise.schema("explain"),
        "tuning": lambda: ackwise.tuning.pftk(0.01, 0.1, 1.0),
        "check": lambda: failing(ackwise.check),
        "load": lambda: failing(ackwise.load),
    }


def failing(call: Callable[..., object]) -> None:
    """A child is started, and says that nobody listens."""
    with pytest.raises(ackwise.Error):
        call("http://127.0.0.1:9/")


def test_a_call_changes_nothing_in_this_process(
    capture: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, call in calls(capture, tmp_path).items():
        before = state()
        call()
        assert state() == before, name
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def interrupted(call: Callable[[], object]) -> float:
    """How long a call goes on after Ctrl-C, in seconds."""
    sent = 0.0

    def interrupt() -> None:
        nonlocal sent
        time.sleep(0.5)
        sent = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    ended = time.monotonic()
    thread.join()
    return ended - sent


def test_ctrl_c_ends_a_simulation() -> None:
    print(f"after {interrupted(lambda: ackwise.run(LONG)):.3f} s")


def test_ctrl_c_ends_a_capture_that_has_no_end(tmp_path: Path, capture: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    content = Path(capture).read_bytes()
    # It stays open: whoever reads waits for more.
    writer = os.open(pipe, os.O_RDWR)
    os.write(writer, content[:1000])
    print(f"after {interrupted(lambda: ackwise.explain(pipe)):.3f} s")
    os.close(writer)


def test_ctrl_c_ends_a_child(server: str) -> None:
    before = children()
    print(f"after {interrupted(lambda: ackwise.load(server, duration='10min')):.3f} s")
    deadline = time.monotonic() + 30
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert children() <= before


def children() -> set[int]:
    found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "ackwise"], stdout=subprocess.PIPE)
    return {int(line) for line in found.stdout.split()}


def test_many_threads_call_at_once(capture: str) -> None:
    expected = (str(ackwise.explain(capture)), ackwise.run(SMALL).to_dict())
    found: list[object] = []
    threads = [
        threading.Thread(
            target=lambda: found.append((str(ackwise.explain(capture)), ackwise.run(SMALL).to_dict()))
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


def test_python_runs_while_a_simulation_does() -> None:
    ended = threading.Event()
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        while not ended.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    ackwise.run(SMALL, set={"duration": "200 s"}, threads=1)
    ended.set()
    thread.join()
    assert ticks > 5


def test_the_script_is_the_command() -> None:
    script = Path(sys.executable).parent / "ackwise"
    printed = subprocess.run([script, "--version"], stdout=subprocess.PIPE, encoding="utf-8")
    assert printed.stdout == f"ackwise {ackwise.__version__}\n"
    wrong = subprocess.run([script, "explain", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert wrong.returncode == 2 and b"ackwise-error" in wrong.stdout
