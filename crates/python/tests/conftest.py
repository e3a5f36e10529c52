"""Captures of simulated connections, and a server on loopback."""

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


def command(*arguments: str) -> str:
    """What the wheel's command prints."""
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "ackwise", *arguments], stdout=subprocess.PIPE, encoding="utf-8"
    )
    assert ended.returncode == 0, (arguments, ended.returncode)
    return ended.stdout


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One case of the experiment `stalls`, captured at the client and at the server."""
    folder: Path = tmp_path_factory.mktemp("captures")
    files = {end: str(folder / f"{end}.pcap") for end in ("client", "server")}
    for end, file in files.items():
        command("run", "stalls", "--case=1", f"--pcap={file}", f"--vantage={end}")
    return files


@pytest.fixture(scope="session")
def capture(captures: dict[str, str]) -> str:
    return captures["client"]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The URL of a server that answers."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()
