"""One run of an experiment, in steps."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any, cast

from . import _native
from ._experiment import Result, read_arguments


class Simulation:
    """One run of an experiment in virtual time, which goes on only when it is told to.

    A host with ``congestion = "external"`` has no congestion control of its own: each ACK, loss and timeout of its
    connections stops the run, and `set_window` sets the window before the host sends what that allows. What is
    retransmitted is decided as with the other congestion controls.

    The run has a thread of its own, which ends with this object. Calls wait for it without the GIL; Ctrl-C ends the run.

    Args:
        experiment: The path of a TOML file, the name of a built-in experiment, or what such a file says, as a dict.
        set: Values to set, by their path: ``{"host.server.tcp.congestion": "external"}``.
        seed: The seed. Default: the experiment's first.
        case: The case, from 1, in the order of ``ackwise run --list``. Needed if there are several.

    Raises:
        FileNotFoundError: There is no such file, and no built-in experiment of this name.
        ExperimentError: The experiment is wrong.
        ValueError: There is no such case.

    Example:
        >>> simulation = ackwise.Simulation("stalls", case=1)
        >>> simulation.step(until="250 ms")
        >>> simulation.state()["connections"][0]["server"]["waits_for"]
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        experiment: str | os.PathLike[str] | Mapping[str, Any],
        *,
        set: Mapping[str, Any] | None = None,
        seed: int | None = None,
        case: int | None = None,
    ) -> None:
        name, document, settings = read_arguments(experiment, set or {}, None if seed is None else [seed])
        self._native = _native.Simulation(name, document, settings, case)

    def step(self, until: float | str | None = None) -> dict[str, Any] | None:
        """Go on to the next event of a connection whose congestion control is external.

        Args:
            until: Virtual time since the beginning of the run at which to stop in any case, with all of that time
                done: seconds, or text such as ``"10 ms"``. Default: the end of the run.

        Returns:
            The event, or None if there was none up to ``until`` or the end of the run:

            - ``kind``: ``"established"``, ``"ack"`` (of new data), ``"duplicate-ack"``, ``"loss"`` (a fast recovery
              begins), ``"partial-ack"`` (of new data, in that recovery), ``"recovered"`` (with that ACK, it is over),
              ``"timeout"``, ``"timeout-again"`` (of the same segment), or ``"spurious"`` (nothing was lost after all).
            - ``time_ms``, ``connection`` (counted from 0), and ``host``, whose end of the connection it is.
            - ``acked_bytes``: newly acknowledged by the ACK number; ``delivered_bytes``: by SACK, too.
            - ``in_flight_bytes``: sent and not acknowledged.
            - ``round_trip_ms``: what the ACK has measured, else None.
            - ``window_limited``: whether the window was used, so that it may grow (RFC 7661).
            - ``window_bytes``, ``threshold_bytes``: as they were last set; at first, the initial window and 2**32 - 1.
            - ``segment_bytes``: data of a full segment.

        Raises:
            ExperimentError: The run cannot go on, such as after ``max_events`` or Ctrl-C.
            ValueError: ``until`` is no time.
        """
        event = self._native.step(until)
        return None if event is None else cast(dict[str, Any], json.loads(event))

    def set_window(self, connection: int, window: float, threshold: float, *, host: str | None = None) -> None:
        """Set congestion window and slow-start threshold of the end whose congestion control is external.

        Args:
            connection: As in events.
            window: Bytes that may be in flight, rounded down; at least one segment is allowed, at most 1 GiB.
            threshold: Bytes, rounded down. Only pacing and `step`'s ``window_limited`` depend on it.
            host: Which end, if both are external.

        Raises:
            ExperimentError: The connection is not established yet, is over, or has no such end.
            ValueError: A number is NaN.
        """
        self._native.set_window(connection, _bytes(window), _bytes(threshold), host)

    def state(self) -> dict[str, Any]:
        """How the run stands.

        Returns:
            A dict: ``time_ms``; ``ended``; ``hosts``, by name, with numbers of connections; ``links``, by name, each
            with ``there`` (from the first of its ends) and ``back``, in packets, bytes and ms; and ``connections``, a
            list of those that are open, each with what its ends at ``client`` and ``server`` know, in bytes and ms:
            windows, what is in flight, round trip, timeout, and why nothing more is sent (``waits_for``).

        Raises:
            ExperimentError: The run has failed.
        """
        return cast(dict[str, Any], json.loads(self._native.state()))

    def finish(self) -> Result:
        """Go on to the end without stopping at events. Windows that were set stay.

        Returns:
            The row that `run` has for this case and seed.

        Raises:
            ExperimentError: The run cannot go on.
        """
        return Result(self._native.finish())


def _bytes(number: float) -> int:
    if math.isnan(number):
        raise ValueError("a window is NaN (expected bytes)")
    return int(min(max(number, 0), 2**32 - 1))
