//! The window rules that 4.3BSD-Tahoe, 4.3BSD-Reno and 4.4BSD have in common (`tcp_input.c`,
//! `tcp_timer.c`). They count ACKs, not bytes, and do not ask whether the window was used.

use super::Window;

/// Opens cwnd for one ACK: by a segment up to ssthresh, then by `mss * mss / cwnd`.
///
/// 4.3BSD-Reno and 4.4BSD add `mss / 8`; it is left out as the known bug it is (RFC 2525, "Extra
/// additive constant in congestion avoidance").
pub(super) fn open(window: &mut Window) {
    let mss = u64::from(window.mss);
    let increment = if window.congestion > window.threshold {
        (mss * mss / u64::from(window.congestion)).max(1)
    } else {
        mss
    };
    window.grow(u32::try_from(increment).unwrap_or(window.mss));
}

/// ssthresh after a loss: half of the window in whole segments, at least two.
///
/// BSD halves `min(snd_wnd, snd_cwnd)`. We have the flight instead of `snd_wnd`: the same where the
/// application has data to send, and less where it has not.
pub(super) fn threshold(window: &Window, flight: u32) -> u32 {
    let segments = window.congestion.min(flight) / 2 / window.mss;
    segments.max(2) * window.mss
}

/// A loss or a retransmission timeout: back to one segment.
pub(super) fn collapse(window: &mut Window, flight: u32) {
    window.threshold = threshold(window, flight);
    window.collapse();
}

/// RFC 5681, section 3.2, step 6: "set cwnd to ssthresh". That may release a burst; RFC 6582 has the
/// cure, BSD has not.
pub(super) fn leave_recovery(window: &mut Window) {
    window.congestion = window.congestion.min(window.threshold);
    window.end_recovery();
}
