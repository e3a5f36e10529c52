//! cwnd when the first data is sent after an idle time, and at which rate that data leaves.

use core::num::{NonZeroU8, NonZeroU16};

use super::{
    idle::Idle,
    rate_based::{Pacing, RateBased, Sending},
};
use crate::congestion::Windows;

/// What a connection that was idle does with its congestion window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum IdleRestart {
    /// Keep it (NSSR; SunOS 4.x, the 4.3BSD-Tahoe line).
    Keep,
    /// Slow-start again from a restart window (SSR). ssthresh is kept.
    SlowStart {
        /// After which idle time.
        after: IdleTime,
        /// From which window.
        window: RestartWindow,
    },
    /// Halve it for each RTO without sending, and remember three quarters of it as ssthresh.
    Decay {
        /// Which RTOs count, and where the halving ends.
        rule: DecayRule,
        /// No more than this number of segments is left. Heidemann 1996, section 2.4: decay "can still
        /// result in packet bursts unless the window is capped at some value", which no source gives.
        cap: Option<NonZeroU16>,
    },
    /// Keep it, but let it neither grow nor stay for longer than five minutes while less than half of it
    /// is used, and believe in what was used when packets are lost (RFC 7661, "new-CWV").
    NewCwv,
    /// Keep it, or what the rate was measured to need, and pace what leaves until acknowledgements
    /// come back (RBP).
    Paced {
        /// After which idle time.
        after: IdleTime,
        /// At which rate, and until when.
        by: RateBased,
    },
}

/// When a connection counts as idle; nothing is outstanding.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct IdleTime {
    /// From when the idle time counts.
    pub since: IdleSince,
    /// How long it must be.
    pub threshold: IdleThreshold,
}

/// From when a connection counts as idle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdleSince {
    /// The last data sent. The time must *exceed* the threshold. RFC 5681, section 4.1: "a TCP SHOULD
    /// set cwnd to no more than RW before beginning transmission if the TCP has not sent data in an
    /// interval exceeding the retransmission timeout".
    Send,
    /// The last segment received: BSD's `t_idle`, which must reach the threshold ("t_idle >=
    /// t_rxtcur"). A request that arrives ends the idle time, so a server never restarts
    /// (draft-ietf-tcpimpl-restart).
    Receive,
}

/// How long an idle time must be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdleThreshold {
    /// One smoothed round-trip time, as Stevens (TCP/IP Illustrated, volume 2, section 26.2) is quoted
    /// by Heidemann 1997. Before there is a sample, one RTO.
    RoundTrip,
    /// This number of retransmission timeouts: one in RFC 5681 and BSD.
    Timeouts(NonZeroU8),
}

/// Where slow start begins again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RestartWindow {
    /// One segment: Heidemann 1996 and 1997, section 2.4; 4.4BSD `tcp_output`.
    OneSegment,
    /// RFC 5681, section 4.1: "RW = min(IW,cwnd)".
    Rfc5681,
}

/// How a window decays.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DecayRule {
    /// For each RTO but the first, down to the restart window of RFC 5681 (Linux `tcp_cwnd_restart`).
    Linux,
    /// For each RTO, down to one segment (RFC 2861, section 3.2). The peer's window, which that also
    /// takes into account, is left out: the endpoint asks for both before it sends.
    Rfc2861,
}

/// How a connection goes on after an idle time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Restart {
    /// The windows to go on with.
    pub windows: Windows,
    /// How what may leave is spread.
    pub pacing: Option<Pacing>,
}

/// What an endpoint has to measure for its policy.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Measures {
    Nothing,
    /// The packets of each round trip.
    Packets,
    /// Whether the window is used.
    Use,
}

impl IdleTime {
    /// RFC 5681: nothing was sent for longer than one RTO.
    pub const RFC_5681: Self =
        Self { since: IdleSince::Send, threshold: IdleThreshold::ONE_TIMEOUT };
    /// 4.4BSD: nothing was received for one RTO.
    pub const BSD_4_4: Self =
        Self { since: IdleSince::Receive, threshold: IdleThreshold::ONE_TIMEOUT };

    fn has_passed(self, idle: &Idle) -> bool {
        let threshold = match self.threshold {
            IdleThreshold::RoundTrip => idle.srtt.unwrap_or(idle.rto),
            IdleThreshold::Timeouts(count) => idle.rto.saturating_mul(count.get().into()),
        };
        match self.since {
            IdleSince::Send => idle.since_send > threshold,
            IdleSince::Receive => idle.since_receive >= threshold,
        }
    }
}

impl IdleThreshold {
    /// One RTO.
    pub const ONE_TIMEOUT: Self = Self::Timeouts(NonZeroU8::MIN);
}

impl RestartWindow {
    fn bytes(self, idle: &Idle) -> u32 {
        match self {
            Self::OneSegment => idle.mss,
            Self::Rfc5681 => idle.initial_window,
        }
        .min(idle.windows.congestion)
    }
}

impl IdleRestart {
    /// RFC 5681, section 4.1.
    pub const RFC_5681: Self =
        Self::SlowStart { after: IdleTime::RFC_5681, window: RestartWindow::Rfc5681 };
    /// 4.4BSD `tcp_output`.
    pub const BSD_4_4: Self =
        Self::SlowStart { after: IdleTime::BSD_4_4, window: RestartWindow::OneSegment };
    /// Linux `tcp_cwnd_restart`.
    pub const LINUX: Self = Self::Decay { rule: DecayRule::Linux, cap: None };
    /// RFC 2861.
    pub const RFC_2861: Self = Self::Decay { rule: DecayRule::Rfc2861, cap: None };

    /// How to go on, or `None` if nothing changes.
    #[must_use]
    pub fn decide(self, idle: Idle) -> Option<Restart> {
        let (windows, pacing) = match self {
            // What new-CWV does, it does while the window is in use.
            Self::Keep | Self::NewCwv => (idle.windows, None),
            Self::SlowStart { after, window } if after.has_passed(&idle) => {
                (Windows { congestion: window.bytes(&idle), ..idle.windows }, None)
            }
            Self::Decay { rule, cap } => (rule.decayed(&idle, cap), None),
            Self::Paced { after, by } if after.has_passed(&idle) => match by.decide(&idle) {
                Some(Sending { window, pacing }) => {
                    (Windows { congestion: window, ..idle.windows }, Some(pacing))
                }
                // Without a round trip there is no rate.
                None => {
                    let congestion = RestartWindow::Rfc5681.bytes(&idle);
                    (Windows { congestion, ..idle.windows }, None)
                }
            },
            Self::SlowStart { .. } | Self::Paced { .. } => (idle.windows, None),
        };
        (windows != idle.windows || pacing.is_some()).then_some(Restart { windows, pacing })
    }

    /// What has to be measured for it.
    pub(crate) const fn measures(self) -> Measures {
        match self {
            Self::Paced { by, .. } if by.counts() => Measures::Packets,
            Self::NewCwv => Measures::Use,
            Self::Keep | Self::SlowStart { .. } | Self::Decay { .. } | Self::Paced { .. } => {
                Measures::Nothing
            }
        }
    }
}

impl DecayRule {
    /// RFC 2861, section 2: ssthresh keeps "the memory of the recent congestion window".
    fn decayed(self, idle: &Idle, cap: Option<NonZeroU16>) -> Windows {
        let Idle { since_send, rto, windows, mss, .. } = *idle;
        let rtos = rto.as_nanos().max(1);
        let (halvings, floor) = match self {
            // `while ((delta -= rto) > 0)`: a whole number of RTOs halves once less.
            Self::Linux if since_send > rto => {
                (since_send.as_nanos().div_ceil(rtos) - 1, RestartWindow::Rfc5681.bytes(idle))
            }
            Self::Rfc2861 if since_send >= rto => (since_send.as_nanos() / rtos, mss),
            Self::Linux | Self::Rfc2861 => return windows,
        };
        let Windows { congestion, threshold } = windows;
        let halvings = u32::try_from(halvings).unwrap_or(u32::MAX);
        let cap = cap.map_or(u32::MAX, |segments| mss.saturating_mul(segments.get().into()));
        Windows {
            congestion: congestion.checked_shr(halvings).unwrap_or(0).max(floor).min(cap),
            threshold: threshold.max(congestion / 4 * 3),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::{IdleRestart::*, *};

    const MSS: u32 = 1_000;
    const HIGH: u32 = u32::MAX;

    const fn slow_start(
        since: IdleSince,
        threshold: IdleThreshold,
        window: RestartWindow,
    ) -> IdleRestart {
        SlowStart { after: IdleTime { since, threshold }, window }
    }

    const fn capped(rule: DecayRule, segments: u16) -> IdleRestart {
        Decay { rule, cap: NonZeroU16::new(segments) }
    }

    const THREE_RTOS: IdleThreshold = IdleThreshold::Timeouts(NonZeroU8::new(3).unwrap());

    /// Idle for these times in milliseconds, with an SRTT of 50 ms, an RTO of 204 ms and an initial
    /// window of 10 segments.
    fn idle(since_send: u64, since_receive: u64, segments: u32, threshold: u32) -> Idle {
        Idle {
            since_send: Duration::from_millis(since_send),
            since_receive: Duration::from_millis(since_receive),
            rto: Duration::from_millis(204),
            srtt: Some(Duration::from_millis(50)),
            counted: None,
            windows: Windows { congestion: segments * MSS, threshold },
            initial_window: 10 * MSS,
            peer_window: HIGH,
            mss: MSS,
        }
    }

    #[test]
    fn the_window_after_an_idle_time() {
        use {DecayRule::*, IdleSince::*, IdleThreshold::*, RestartWindow::*};
        const ONE: IdleThreshold = IdleThreshold::ONE_TIMEOUT;
        #[rustfmt::skip]
        let table = [
            (Keep,                                  idle(9_999, 9_999, 40, HIGH),   None),
            // RFC 5681: an interval *exceeding* the RTO, min(IW, cwnd), ssthresh untouched.
            (IdleRestart::RFC_5681,                 idle(204, 204, 40, 30_000),     None),
            (IdleRestart::RFC_5681,                 idle(205, 0, 40, 30_000),       Some((10_000, 30_000))),
            (IdleRestart::RFC_5681,                 idle(9_999, 9_999, 4, HIGH),    None),
            // The papers: the same, but one segment.
            (slow_start(Send, ONE, OneSegment),     idle(204, 204, 40, 30_000),     None),
            (slow_start(Send, ONE, OneSegment),     idle(205, 0, 40, 30_000),       Some((1_000, 30_000))),
            (slow_start(Send, ONE, OneSegment),     idle(9_999, 0, 1, 30_000),      None),
            // Stevens: one round trip.
            (slow_start(Send, RoundTrip, OneSegment), idle(50, 50, 40, 30_000),     None),
            (slow_start(Send, RoundTrip, OneSegment), idle(51, 0, 40, 30_000),      Some((1_000, 30_000))),
            // "significantly increase the time before the window is closed".
            (slow_start(Send, THREE_RTOS, Rfc5681), idle(612, 612, 40, 30_000),     None),
            (slow_start(Send, THREE_RTOS, Rfc5681), idle(613, 0, 40, 30_000),       Some((10_000, 30_000))),
            // BSD: t_idle >= t_rxtcur, one segment; a request that has just arrived ends it.
            (IdleRestart::BSD_4_4,                  idle(205, 0, 40, 30_000),       None),
            (IdleRestart::BSD_4_4,                  idle(205, 204, 40, 30_000),     Some((1_000, 30_000))),
            (IdleRestart::BSD_4_4,                  idle(0, 9_999, 1, 30_000),      None),
            (slow_start(Receive, RoundTrip, Rfc5681), idle(999, 49, 40, HIGH),      None),
            (slow_start(Receive, RoundTrip, Rfc5681), idle(999, 50, 40, HIGH),      Some((10_000, HIGH))),
            // Linux: measured on 6.18 with a window of 2,221 segments, 138 after 1 s, 10 after 5 s.
            (IdleRestart::LINUX,                    idle(204, 204, 2_221, 1_000),   None),
            (IdleRestart::LINUX,                    idle(205, 0, 2_221, 1_000),     Some((1_110_500, 1_665_750))),
            (IdleRestart::LINUX,                    idle(408, 0, 2_221, 1_000),     Some((1_110_500, 1_665_750))),
            (IdleRestart::LINUX,                    idle(1_000, 0, 2_221, 1_000),   Some((138_812, 1_665_750))),
            (IdleRestart::LINUX,                    idle(5_000, 0, 2_221, 1_000),   Some((10_000, 1_665_750))),
            (IdleRestart::LINUX,                    idle(5_000, 0, 4, 2_000),       Some((4_000, 3_000))),
            (IdleRestart::LINUX,                    idle(5_000, 0, 4, HIGH),        None),
            // RFC 2861: also at one RTO, and down to one segment.
            (IdleRestart::RFC_2861,                 idle(203, 0, 40, 1_000),        None),
            (IdleRestart::RFC_2861,                 idle(204, 0, 40, 1_000),        Some((20_000, 30_000))),
            (IdleRestart::RFC_2861,                 idle(408, 0, 40, 50_000),       Some((10_000, 50_000))),
            (IdleRestart::RFC_2861,                 idle(99_999, 0, 40, 1_000),     Some((1_000, 30_000))),
            // With a cap, which a shorter pause does not reach.
            (capped(Rfc2861, 8),                    idle(203, 0, 40, 1_000),        None),
            (capped(Rfc2861, 8),                    idle(204, 0, 40, 1_000),        Some((8_000, 30_000))),
            (capped(Rfc2861, 8),                    idle(1_100, 0, 40, 1_000),      Some((1_250, 30_000))),
            (capped(Linux, 8),                      idle(205, 0, 40, 1_000),        Some((8_000, 30_000))),
        ];
        for (policy, idle, expected) in table {
            let expected = expected.map(|(congestion, threshold)| Restart {
                windows: Windows { congestion, threshold },
                pacing: None,
            });
            assert_eq!(policy.decide(idle), expected, "{policy:?} after {idle:?}");
        }
    }

    #[test]
    fn an_rto_of_nothing_divides_nothing_by_zero() {
        let idle = Idle { rto: Duration::ZERO, ..idle(5, 5, 40, HIGH) };
        let after = |policy: IdleRestart| policy.decide(idle).map(|it| it.windows.congestion);
        assert_eq!(after(IdleRestart::LINUX), Some(10_000));
        assert_eq!(after(IdleRestart::RFC_2861), Some(1_000));
    }

    #[test]
    fn without_a_sample_stevens_waits_for_the_time_out() {
        let policy = slow_start(IdleSince::Send, IdleThreshold::RoundTrip, RestartWindow::Rfc5681);
        for (since_send, restarts) in [(204, false), (205, true)] {
            let idle = Idle { srtt: None, ..idle(since_send, 0, 40, HIGH) };
            assert_eq!(policy.decide(idle).is_some(), restarts, "{since_send} ms");
        }
    }

    #[test]
    fn pacing_keeps_the_window_and_without_a_round_trip_starts_again() {
        let policy = Paced { after: IdleTime::RFC_5681, by: RateBased::RENO };
        assert_eq!(policy.decide(idle(204, 0, 40, HIGH)), None);
        let restart = policy.decide(idle(205, 0, 40, HIGH)).expect("it was idle");
        assert_eq!(restart.windows, Windows { congestion: 40_000, threshold: HIGH });
        let spacing = restart.pacing.map(|pacing| pacing.pace.time_for(MSS));
        assert_eq!(spacing, Some(Duration::from_micros(1_250)));
        let unmeasured = Idle { srtt: None, ..idle(205, 0, 40, HIGH) };
        let windows = Windows { congestion: 10_000, threshold: HIGH };
        assert_eq!(policy.decide(unmeasured), Some(Restart { windows, pacing: None }));
    }
}
