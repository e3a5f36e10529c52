"""The equations for buffer sizes, on arrays: PFTK, E-ATBT, max-min shares.

Each argument is a number or a sequence of them (a list, a NumPy array, a column of a data frame); numbers are repeated
to the length of the sequences. Results are lists. Times are in seconds and sizes in bytes unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, SupportsFloat, SupportsIndex, TypeAlias

from . import _native

Numbers: TypeAlias = SupportsFloat | SupportsIndex | Iterable[Any]


def pftk(
    loss: Numbers,
    round_trip: Numbers,
    timeout: Numbers,
    *,
    max_window: Numbers = 0xFFFF_FFFF,
    segments_per_ack: int = 2,
    model: Literal["full", "approximate"] = "full",
) -> list[float]:
    """The throughput of a bulk TCP transfer (Padhye et al. 1998), in segments a second.

    Args:
        loss: The loss rate, from 0 to 1.
        round_trip: The round-trip time, in seconds.
        timeout: The first retransmission timeout, in seconds.
        max_window: The largest window, in segments.
        segments_per_ack: 2 with delayed ACKs.
        model: The full model, or the approximation of RFC 5348.

    Raises:
        ValueError: A value is out of range, or the sequences differ in length.

    Example:
        >>> ackwise.tuning.pftk([0.001, 0.01], 0.1, 1.0)
    """
    losses, rtts, timeouts, windows = _repeated(loss, round_trip, timeout, max_window)
    return _native.pftk(
        _floats(losses), _floats(rtts), _floats(timeouts), _wholes(windows), segments_per_ack, model
    )


def e_atbt(
    loss: Numbers,
    round_trip: Numbers,
    timeout: Numbers,
    *,
    mss: int = 1460,
    peer_window: Numbers = 1 << 30,
    segments_per_ack: int = 2,
) -> list[int]:
    """The send buffer that each connection can use by E-ATBT (Okamoto et al. 2001), in bytes.

    Args:
        loss: The measured loss rate, from 0 to 1.
        round_trip: The smoothed round-trip time, in seconds.
        timeout: The retransmission timeout without back-off, in seconds.
        mss: Data bytes of a full segment.
        peer_window: The largest receive window that the peer has advertised, in bytes.
        segments_per_ack: 2 with delayed ACKs.

    Raises:
        ValueError: A value is out of range, or the sequences differ in length.
    """
    losses, rtts, timeouts, windows = _repeated(loss, round_trip, timeout, peer_window)
    return _native.e_atbt(
        _floats(losses), _floats(rtts), _floats(timeouts), _wholes(windows), mss, segments_per_ack
    )


def max_min(
    pool: int,
    demands: Iterable[Any],
    *,
    spare: Literal["keep", "proportional", "equal"] = "keep",
) -> list[int]:
    """Divide a pool among demands by max-min fairness, in bytes.

    Args:
        pool: What there is.
        demands: What each connection can use.
        spare: What becomes of memory that is left when all demands are met.

    Raises:
        ValueError: `spare` is none of these.

    Example:
        >>> ackwise.tuning.max_min(100, [10, 60, 80])
        [10, 45, 45]
    """
    return _native.max_min(pool, _wholes(list(demands)), spare)


def _repeated(*arguments: Numbers) -> list[list[Any]]:
    sequences = [list(it) if isinstance(it, Iterable) else None for it in arguments]
    lengths = {len(it) for it in sequences if it is not None} or {1}
    if len(lengths) > 1:
        raise ValueError(f"sequences of different lengths: {sorted(lengths)}")
    length = lengths.pop()
    return [[it] * length if found is None else found for it, found in zip(arguments, sequences)]


def _floats(values: list[Any]) -> list[float]:
    return [float(it) for it in values]


def _wholes(values: list[Any]) -> list[int]:
    return [int(it) for it in values]
