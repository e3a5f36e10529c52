"""Captures, explained."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias, cast

from . import _native
from ._table import Table, _counted


class _Readable(Protocol):
    def read(self) -> bytes: ...


Path: TypeAlias = str | os.PathLike[str]
Capture: TypeAlias = Path | bytes | bytearray | memoryview | _Readable | Iterable[Path]


def explain(
    capture: Capture | None = None,
    *,
    pair: tuple[Path, Path] | None = None,
    keys: Path | Iterable[Path] = (),
    filter: str | None = None,
    threads: int | None = None,
) -> Report:
    """Show where each millisecond of the HTTP exchanges in a capture went, as ``ackwise explain`` does.

    Args:
        capture: A pcap or pcapng file (plain, gzip or zstd), its content, a file object in binary mode, or the paths
            of several files that count as one capture.
        pair: Instead of a capture, two of the same connections, from the client's end and from the server's.
        keys: Files with TLS secrets, in SSLKEYLOGFILE's format.
        filter: Analyse only matching packets, such as ``"tcp port 80 and host 10.0.0.1"``.
        threads: How many threads to use; the report is the same for any number. Default: the number of cores.

    Raises:
        FileNotFoundError: A file is missing. Other errors of the system stay what they are, too.
        CaptureError: Nothing of the capture can be read, or the two of a pair have nothing in common.
        Error: The filter or a file of secrets is wrong.

    Example:
        >>> report = ackwise.explain("capture.pcap")
        >>> report.exchanges.to_pandas().groupby("cause").cause_ms.sum()
    """
    if (capture is None) == (pair is None):
        raise TypeError("expected either a capture or pair=(client, server)")
    content: bytes | None = None
    files: list[str] = []
    name = "capture"
    if pair is not None:
        client, server = pair
        files = [_existing(client), _existing(server)]
    elif isinstance(capture, (bytes, bytearray, memoryview)):
        content = bytes(capture)
    elif hasattr(capture, "read"):
        content = cast(_Readable, capture).read()
        name = os.path.basename(str(getattr(capture, "name", name)))
    elif isinstance(capture, (str, os.PathLike)):
        files = [_existing(capture)]
    else:
        files = [_existing(path) for path in cast(Iterable[Path], capture)]
        if not files:
            raise ValueError("no files to read (expected at least one)")
    if files:
        name = " ".join(os.path.basename(file) for file in files)
    of_pair = (files[0], files[1]) if pair is not None else None
    several = [keys] if isinstance(keys, (str, os.PathLike)) else keys
    secrets = [_existing(path) for path in several]
    return Report(name, (files, content, of_pair, secrets, filter, threads))


def _existing(path: Path) -> str:
    """The path as the command takes it. Raises what Python raises if there is no such file."""
    text = os.fspath(path)
    os.stat(text)
    # To the command, a single hyphen is standard input.
    return os.path.join(os.curdir, text) if text == "-" else text


class Report:
    """Where the time of a capture went. ``print(report)`` shows what the command prints."""

    def __init__(self, name: str, asked: tuple[Any, ...]) -> None:
        self._name = name
        self._asked = asked
        self._native: _native.Explained | None = _native.Request(*asked).explain()
        # What was asked for until now. Without `_native`, all there is.
        self._parts: dict[str, Any] = {}

    def _text(self, part: str) -> str:
        if part not in self._parts:
            self._parts[part] = getattr(self._native, part)()
        return cast(str, self._parts[part])

    def _table(self, part: str) -> Table:
        if part not in self._parts:
            self._parts[part] = Table(getattr(self._native, part)())
        return cast(Table, self._parts[part])

    @property
    def summary(self) -> str:
        """What took most of the time, who waited for whom, and what to change: some sentences."""
        return self._text("summary")

    @property
    def exchanges(self) -> Table:
        """A row for each exchange: when it began (s), how long it took (ms), and the cause that took most of it."""
        return self._table("exchanges")

    @property
    def causes(self) -> Table:
        """A row for what each exchange owes to each cause (ms), as ``--parquet`` writes it."""
        return self._table("causes")

    @property
    def totals(self) -> Table:
        """Time by cause (ms), summed over all exchanges and over the slowest ones (``over``)."""
        return self._table("totals")

    @property
    def connections(self) -> Table:
        """A row for each connection: bytes, round trip (ms), retransmissions, who closed."""
        return self._table("connections")

    @property
    def failures(self) -> Table:
        """A row for each request without an answer, and for each attempt to connect in vain."""
        return self._table("failures")

    def to_dict(self) -> dict[str, Any]:
        """The document of ``ackwise explain --json``; ``ackwise.schema("explain")`` describes it."""
        return cast(dict[str, Any], json.loads(self._text("json")))

    def save_html(self, path: Path) -> None:
        """Write a self-contained interactive page. Reads the capture again, for the packets that it draws."""
        _native.write_file(os.fspath(path), self._page())

    def _page(self) -> str:
        if "html" not in self._parts:
            self._parts["html"] = _native.Request(*self._asked).html(self._name)
        return cast(str, self._parts["html"])

    def __str__(self) -> str:
        return self._text("text").rstrip("\n")

    def __repr__(self) -> str:
        exchanges = _counted(len(self.exchanges), "exchange")
        connections = _counted(len(self.connections), "connection")
        failures = _counted(len(self.failures), "failure")
        return f"<ackwise.Report of {self._name}: {exchanges} on {connections}, {failures}>"

    def _repr_html_(self) -> str:
        try:
            page = self._page()
        except OSError:
            # The report came from another machine, or its capture is gone.
            return f"<pre>{html.escape(str(self))}</pre>"
        style = "width: 100%; height: 50em; border: 0"
        return f'<iframe srcdoc="{html.escape(page)}" style="{style}"></iframe>'

    def __getstate__(self) -> dict[str, Any]:
        for part in ("summary", "text", "json"):
            self._text(part)
        for part in ("exchanges", "causes", "totals", "connections", "failures"):
            self._table(part)
        return {**self.__dict__, "_native": None}
