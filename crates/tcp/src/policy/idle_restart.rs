//! cwnd when the first data is sent after an idle time.
//!
//! Not here: rate-based pacing, which keeps the window and spreads it; and RFC 7661, which validates a
//! window while it is in use.

use core::time::Duration;

use crate::congestion::Windows;

/// What a connection that was idle does with its congestion window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum IdleRestart {
    /// Keep it (NSSR; SunOS 4.x, the 4.3BSD-Tahoe line).
    Keep,
    /// After one RTO, slow-start again from the restart window (SSR). ssthresh is kept.
    SlowStart {
        /// From when the idle time counts, which also tells whose rule it is.
        since: IdleSince,
    },
    /// Halve it for each RTO that passed but the first, down to the restart window of RFC 5681, and
    /// remember three quarters of it as ssthresh (Linux `tcp_cwnd_restart`).
    Decay,
    /// Halve it for each RTO that passed, down to one segment, and remember three quarters of it as
    /// ssthresh (RFC 2861, section 3.2). The peer's window, which that also takes into account, is
    /// left out: the endpoint asks for both before it sends.
    Rfc2861,
}

/// From when a connection counts as idle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdleSince {
    /// The last data sent. RFC 5681, section 4.1: "a TCP SHOULD set cwnd to no more than RW before
    /// beginning transmission if the TCP has not sent data in an interval exceeding the
    /// retransmission timeout", "RW = min(IW,cwnd)".
    Send,
    /// The last segment received: BSD's `t_idle`. A request that arrives ends the idle time, so a
    /// server never restarts (draft-ietf-tcpimpl-restart). BSD goes back to one segment when `t_idle
    /// >= t_rxtcur` (4.4BSD `tcp_output`).
    Receive,
}

/// All that the decision may depend on. Nothing is outstanding when it is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Idle {
    /// Time since data was last sent.
    pub since_send: Duration,
    /// Time since a segment last arrived.
    pub since_receive: Duration,
    /// The current RTO.
    pub rto: Duration,
    /// The windows before.
    pub windows: Windows,
    /// The initial window of this connection, in bytes.
    pub initial_window: u32,
    /// The size of a full segment.
    pub mss: u32,
}

impl IdleRestart {
    /// The windows to go on with, or `None` if nothing changes.
    #[must_use]
    pub fn decide(self, idle: Idle) -> Option<Windows> {
        let Idle { since_send, since_receive, rto, windows, initial_window, mss } = idle;
        let restart_window = initial_window.min(windows.congestion);
        let after = match self {
            Self::SlowStart { since: IdleSince::Send } if since_send > rto => {
                Windows { congestion: restart_window, ..windows }
            }
            Self::SlowStart { since: IdleSince::Receive } if since_receive >= rto => {
                Windows { congestion: mss, ..windows }
            }
            // `while ((delta -= rto) > 0)`: a whole number of RTOs halves once less.
            Self::Decay if since_send > rto => {
                let halvings = since_send.as_nanos().div_ceil(rto.as_nanos().max(1)) - 1;
                decayed(windows, halvings, restart_window)
            }
            Self::Rfc2861 if since_send >= rto => {
                decayed(windows, since_send.as_nanos() / rto.as_nanos().max(1), mss)
            }
            Self::Keep | Self::SlowStart { .. } | Self::Decay | Self::Rfc2861 => windows,
        };
        (after != windows).then_some(after)
    }
}

/// RFC 2861, section 2: ssthresh keeps "the memory of the recent congestion window".
fn decayed(windows: Windows, halvings: u128, floor: u32) -> Windows {
    let Windows { congestion, threshold } = windows;
    let halvings = u32::try_from(halvings).unwrap_or(u32::MAX);
    Windows {
        congestion: congestion.checked_shr(halvings).unwrap_or(0).max(floor),
        threshold: threshold.max(congestion / 4 * 3),
    }
}

#[cfg(test)]
mod tests {
    use super::{IdleRestart::*, IdleSince::*, *};

    const MSS: u32 = 1_000;
    const HIGH: u32 = u32::MAX;

    /// Idle for these times in milliseconds, with an RTO of 204 ms and an initial window of 10 segments.
    fn idle(since_send: u64, since_receive: u64, segments: u32, threshold: u32) -> Idle {
        Idle {
            since_send: Duration::from_millis(since_send),
            since_receive: Duration::from_millis(since_receive),
            rto: Duration::from_millis(204),
            windows: Windows { congestion: segments * MSS, threshold },
            initial_window: 10 * MSS,
            mss: MSS,
        }
    }

    #[test]
    fn the_window_after_an_idle_time() {
        #[rustfmt::skip]
        let table = [
            (Keep,                         idle(9_999, 9_999, 40, HIGH),   None),
            // RFC 5681: an interval *exceeding* the RTO, min(IW, cwnd), ssthresh untouched.
            (SlowStart { since: Send },    idle(204, 204, 40, 30_000),     None),
            (SlowStart { since: Send },    idle(205, 0, 40, 30_000),       Some((10_000, 30_000))),
            (SlowStart { since: Send },    idle(9_999, 9_999, 4, HIGH),    None),
            // BSD: t_idle >= t_rxtcur, one segment; a request that has just arrived ends it.
            (SlowStart { since: Receive }, idle(205, 0, 40, 30_000),       None),
            (SlowStart { since: Receive }, idle(205, 204, 40, 30_000),     Some((1_000, 30_000))),
            (SlowStart { since: Receive }, idle(0, 9_999, 1, 30_000),      None),
            // Linux: measured on 6.18 with a window of 2,221 segments, 138 after 1 s, 10 after 5 s.
            (Decay,                        idle(204, 204, 2_221, 1_000),   None),
            (Decay,                        idle(205, 0, 2_221, 1_000),     Some((1_110_500, 1_665_750))),
            (Decay,                        idle(408, 0, 2_221, 1_000),     Some((1_110_500, 1_665_750))),
            (Decay,                        idle(1_000, 0, 2_221, 1_000),   Some((138_812, 1_665_750))),
            (Decay,                        idle(5_000, 0, 2_221, 1_000),   Some((10_000, 1_665_750))),
            (Decay,                        idle(5_000, 0, 4, 2_000),       Some((4_000, 3_000))),
            (Decay,                        idle(5_000, 0, 4, HIGH),        None),
            // RFC 2861: also at one RTO, and down to one segment.
            (Rfc2861,                      idle(203, 0, 40, 1_000),        None),
            (Rfc2861,                      idle(204, 0, 40, 1_000),        Some((20_000, 30_000))),
            (Rfc2861,                      idle(408, 0, 40, 50_000),       Some((10_000, 50_000))),
            (Rfc2861,                      idle(99_999, 0, 40, 1_000),     Some((1_000, 30_000))),
        ];
        for (policy, idle, expected) in table {
            let expected =
                expected.map(|(congestion, threshold)| Windows { congestion, threshold });
            assert_eq!(policy.decide(idle), expected, "{policy:?} after {idle:?}");
        }
    }

    #[test]
    fn an_rto_of_nothing_divides_nothing_by_zero() {
        let idle = Idle { rto: Duration::ZERO, ..idle(5, 5, 40, HIGH) };
        assert_eq!(Decay.decide(idle).map(|windows| windows.congestion), Some(10_000));
        assert_eq!(Rfc2861.decide(idle).map(|windows| windows.congestion), Some(1_000));
    }
}
