//! The window of ns-2's `Agent/TCP/FullTcp/Tahoe` (`tcp.cc`: `opencwnd`, `slowdown`, `window`), the
//! same in 1998 and in version 2.35. It differs from 4.3BSD's in three points.
//!
//! Not here: that ns-2 counts cwnd in fractions of a segment. We count bytes, as every TCP does, so
//! cwnd may reach a whole segment one ACK later.

use super::Window;

/// Opens cwnd for one ACK: by a segment below ssthresh ("cwnd_ < ssthresh_"; 4.3BSD also at ssthresh),
/// then by `mss * mss / cwnd`.
pub(super) fn open(window: &mut Window) {
    let mss = u64::from(window.mss);
    let increment = if window.in_slow_start() {
        mss
    } else {
        (mss * mss / u64::from(window.congestion)).max(1)
    };
    window.grow(u32::try_from(increment).unwrap_or(window.mss));
}

/// cwnd in whole segments ("(int)cwnd_"): a short segment never leaves for a part of one.
pub(super) const fn whole_segments(window: &Window) -> u32 {
    window.congestion - window.congestion % window.mss
}

/// A loss or a retransmission timeout: back to one segment. ssthresh is half of the smaller of cwnd
/// and the peer's window, in whole segments, at least two, however little is outstanding.
pub(super) fn collapse(window: &mut Window, peer: u32) {
    let segments = window.congestion.min(peer) / 2 / window.mss;
    window.threshold = segments.max(2) * window.mss;
    window.collapse();
}
