"""Experiments."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from . import _command, _native, _toml
from ._errors import ExperimentError
from ._executor import Failed
from ._table import Table


def run(
    experiment: str | os.PathLike[str] | Mapping[str, Any],
    *,
    set: Mapping[str, Any] | None = None,
    seeds: int | Iterable[int] | None = None,
    threads: int | None = None,
    on: Literal["sim", "kernel", "wire"] = "sim",
) -> Result:
    """Run an experiment: every combination of its variables, each with each seed, as ``ackwise run`` does.

    Args:
        experiment: The path of a TOML file, the name of a built-in experiment, or what such a file says, as a dict.
        set: Values to set, by their path: ``{"link.wire.rate": "10 Mb/s"}``.
        seeds: The seeds 1 to N, or which ones, instead of the experiment's own.
        threads: How many simulations run at once. Default: the number of cores.
        on: ``"sim"`` is virtual time: exact, and the same each time. ``"kernel"`` plays the experiment in real time,
            in network namespaces of a child process; ``"wire"`` does so with Ackwise's own TCP at the clients.

    Raises:
        FileNotFoundError: There is no such file, and no built-in experiment of this name.
        ExperimentError: The experiment is wrong, or a case does not run to its end.

    Example:
        >>> result = ackwise.run("stalls", set={"duration": "10 s"}, seeds=3)
        >>> result.to_pandas()
    """
    name, document, settings = read_arguments(experiment, set or {}, seeds)
    if on == "sim":
        return Result(_native.Rows.run(name, document, settings, threads))
    if on not in ("kernel", "wire"):
        raise ValueError(f"on is {on!r} (expected sim, kernel or wire)")
    rows = _on_kernel(name, document, settings, on)
    return Result(_native.Rows.parse(rows, name, document, settings))


def read_arguments(
    experiment: str | os.PathLike[str] | Mapping[str, Any],
    set: Mapping[str, Any],
    seeds: int | Iterable[int] | None,
) -> tuple[str, str | None, list[str]]:
    """A name, the text of a file unless the name says where it is, and settings."""
    document: str | None = None
    name = "experiment"
    if isinstance(experiment, Mapping):
        document = _toml.document(experiment)
    else:
        name = os.fspath(experiment)
    settings = [f"{path}={_toml.value(value)}" for path, value in set.items()]
    if seeds is not None:
        settings.append(f"seeds={_toml.value(seeds if isinstance(seeds, int) else list(seeds))}")
    return name, document, settings


def _on_kernel(name: str, document: str | None, settings: list[str], on: str) -> str:
    options = [f"--on={on}", "--json", *(f"--set={setting}" for setting in settings)]
    if document is None:
        return _command.document(["run", *options, "--", name], ExperimentError)
    with tempfile.TemporaryDirectory(prefix="ackwise-") as directory:
        with open(os.path.join(directory, name), "w", encoding="utf-8") as output:
            output.write(document)
        # Rows and messages have the name that they have in the simulator.
        return _command.document(["run", *options, "--", name], ExperimentError, directory)


class Result(Table):
    """The rows of an experiment: the variables of the case, the seed, every metric, and where the row comes from.

    A metric that a run does not have is null. ``print(result)`` shows what the command prints: means over seeds.
    """

    __slots__ = ("_failed", "_rows", "_text")

    def __init__(self, rows: _native.Rows, failed: Table | None = None) -> None:
        super().__init__(rows.batch())
        self._failed = failures([]) if failed is None else failed
        self._rows = rows
        self._text: str | None = None

    @property
    def failed(self) -> Table:
        """The chunks of a sweep that are not there: their first and last row, how often they were begun, and why."""
        return self._failed

    def to_dict(self) -> dict[str, Any]:
        """The document of ``ackwise run --json``; ``ackwise.schema("run")`` describes it."""
        return cast(dict[str, Any], json.loads(self._rows.json()))

    def __str__(self) -> str:
        if self._text is None:
            self._text = self._rows.text()
        return self._text.rstrip("\n")

    def __getstate__(self) -> tuple[Any, ...]:
        return (self._rows.json(), str(self), self._failed)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        rows, text, failed = state
        self.__init__(_native.Rows.restore(rows), failed)  # type: ignore[misc]
        self._text = text


def failures(chunks: Sequence[tuple[int, int, Failed]]) -> Table:
    """A row for each chunk: of the rows from the first number to the second (exclusive)."""
    integers = [
        ("first_row", [begin for begin, _, _ in chunks]),
        ("last_row", [end - 1 for _, end, _ in chunks]),
        ("tries", [failed.tries for _, _, failed in chunks]),
    ]
    return Table(_native.table(integers, [("error", [failed.reason for _, _, failed in chunks])]))
