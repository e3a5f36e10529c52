//! When the receiver acknowledges data. It does not know *how* the ACK travels: any segment that
//! leaves carries it.

use core::{fmt, num::NonZeroU8, time::Duration};

use crate::units::Instant;

/// When the receiver acknowledges data that arrived in order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum AckPolicy {
    /// Every segment, at once.
    EverySegment,
    /// At once when `every` full-sized segments are unacknowledged, else after `delay`.
    Delayed {
        /// RFC 9293 says 2; more departs from it on purpose, to model receivers that coalesce.
        every: NonZeroU8,
        /// The per-connection timer.
        delay: AckDelay,
    },
    /// At once when `every` segments are unacknowledged, whatever their size, else after `delay`: with 2,
    /// lwIP (`tcp_ack`) and Windows ("an ACK is sent for every other TCP segment", Microsoft,
    /// "Delayed Acknowledgments").
    AnySegments {
        /// 2 in lwIP and Windows.
        every: NonZeroU8,
        /// The per-connection timer.
        delay: AckDelay,
    },
    /// Linux outside its quick-ACK phase, with a fixed timeout: at once when more than one full segment
    /// is unacknowledged (`__tcp_ack_snd_check`: "More than one full frame received"), else after
    /// `delay`.
    OverOneFull {
        /// Linux: about 40 ms.
        delay: AckDelay,
    },
    /// BSD: when the reader has made room for two full segments or half of the buffer, else at the
    /// host-wide tick, which comes every `period` at `phase` after the beginning of the run.
    HostTick {
        /// 200 ms in BSD.
        period: AckDelay,
        /// Where the host's clock stands.
        phase: AckDelay,
    },
    /// ns-2's FullTcp: at once when `every` full-sized segments are unacknowledged (`segsperack_`), else
    /// at the next multiple of `interval` (`interval_`) from the beginning of the run, in `tcp-full.cc`
    /// of 1998 (1.30) as in ns-2 2.35: "They are set to fire every 'interval_' secs".
    Ns2 {
        /// 1 by default in ns-2.
        every: NonZeroU8,
        /// 100 ms by default in ns-2.
        interval: AckDelay,
    },
    /// Linux: at once during quick-ACK, later delayed by an adaptive timeout of about 40 ms; a
    /// connection that answers what it receives ("ping-pong") delays from the start.
    LinuxQuickAck,
    /// Heidemann 1997, section 2.2: wait "slightly more than the back-to-back segment interarrival
    /// time" for a further segment. `slightly` is a quarter more (our choice).
    Interarrival,
    /// A prober's receiver: never before `delay`, however much arrives.
    Withheld {
        /// From the first unacknowledged segment.
        delay: AckDelay,
    },
}

impl AckPolicy {
    /// RFC 9293, section 3.8.6.3, with the 200 ms that most systems took from BSD.
    pub const RFC: Self = Self::Delayed {
        every: NonZeroU8::new(2).expect("2 is not 0"),
        delay: AckDelay::MILLIS_200,
    };

    /// BSD's fast timer (`tcp_fasttimo`), every 200 ms.
    pub const BSD_TICK: Self =
        Self::HostTick { period: AckDelay::MILLIS_200, phase: AckDelay::ZERO };

    /// Decides when to acknowledge data that has just arrived.
    ///
    /// # Conformance
    ///
    /// - RFC 9293, section 3.8.6.3: "An ACK SHOULD be generated for at least every second full-sized
    ///   segment" (SHLD-19).
    /// - RFC 5681, section 4.2: out-of-order segments and those that fill a gap SHOULD be
    ///   acknowledged immediately.
    #[must_use]
    pub fn on_arrival(self, arrival: Arrival, now: Instant) -> AckDecision {
        if let Self::Withheld { delay } = self {
            return AckDecision::At(now + delay.get());
        }
        if let (Self::LinuxQuickAck, Some(delay)) = (self, arrival.compression) {
            return AckDecision::At(now + delay);
        }
        if arrival.out_of_order {
            return AckDecision::Now(AckReason::OutOfOrder);
        }
        let enough = |segments: u8| arrival.unacked_bytes >= u32::from(segments) * arrival.mss;
        match self {
            Self::EverySegment => AckDecision::Now(AckReason::EverySegment),
            Self::Delayed { every, .. } | Self::Ns2 { every, .. } if enough(every.get()) => {
                AckDecision::Now(AckReason::SegmentCount)
            }
            Self::Interarrival if enough(2) => AckDecision::Now(AckReason::SegmentCount),
            Self::LinuxQuickAck if arrival.quick => AckDecision::Now(AckReason::QuickAck),
            // Linux counts "more than one full frame", not two (`__tcp_ack_snd_check`).
            Self::LinuxQuickAck | Self::OverOneFull { .. }
                if arrival.unacked_bytes > arrival.mss =>
            {
                AckDecision::Now(AckReason::SegmentCount)
            }
            Self::AnySegments { every, .. } if arrival.unacked_segments >= every.get() => {
                AckDecision::Now(AckReason::SegmentCount)
            }
            Self::Delayed { delay, .. }
            | Self::AnySegments { delay, .. }
            | Self::OverOneFull { delay }
            | Self::Withheld { delay } => AckDecision::At(now + delay.get()),
            Self::HostTick { period, phase } => AckDecision::At(next_tick(period, phase, now)),
            Self::Ns2 { interval, .. } => AckDecision::At(next_tick(interval, AckDelay::ZERO, now)),
            Self::LinuxQuickAck => AckDecision::At(now + arrival.time_out),
            Self::Interarrival => AckDecision::At(now + arrival.interarrival * 5 / 4),
        }
    }

    /// Decides whether an ACK leaves because the application has read: to acknowledge, or to tell of
    /// the window.
    ///
    /// RFC 9293, section 3.8.6.2.2, says by how much the window must grow (MUST-39). That it must also
    /// double, lest each read be told of, is Linux's (`__tcp_cleanup_rbuf`). BSD has its own rule,
    /// which is also its only way to acknowledge before the tick (4.4BSD `tcp_output`).
    #[must_use]
    pub fn on_read(self, reading: Reading) -> bool {
        let Reading { window_gain, mss, .. } = reading;
        let (mss, buffer) = (u64::from(mss), u64::from(reading.buffer));
        let opens = window_gain >= mss.min(buffer / 2).max(1) && window_gain >= reading.window;
        match self {
            Self::Withheld { .. } => false,
            Self::HostTick { .. } => window_gain >= 2 * mss || 2 * window_gain >= buffer,
            Self::LinuxQuickAck => {
                opens
                    || reading.unacked_bytes > reading.full_segment
                    || reading.drained && reading.acknowledges_drained
            }
            Self::EverySegment
            | Self::Delayed { .. }
            | Self::AnySegments { .. }
            | Self::OverOneFull { .. }
            | Self::Ns2 { .. }
            | Self::Interarrival => opens,
        }
    }
}

impl AckPolicy {
    /// Whether a segment that leaves tells of a window that is larger by `gain`: `window` bytes of a
    /// `buffer`.
    ///
    /// RFC 9293, section 3.8.6.2.2: "avoid advancing the right window edge RCV.NXT+RCV.WND in small
    /// increments": by at least min(half of the buffer, one full segment) (MUST-39). BSD tells of all
    /// there is, unless that is less than a quarter of the buffer and than a segment (4.4BSD
    /// `tcp_output`).
    #[must_use]
    pub fn advances_edge(self, gain: u64, window: u64, mss: u32, buffer: u32) -> bool {
        match self {
            Self::HostTick { .. } => gain > 0 && window >= u64::from(mss.min(buffer / 4)),
            _ => gain >= u64::from(mss.min(buffer / 2).max(1)),
        }
    }
}

/// The first tick after `now`.
fn next_tick(period: AckDelay, phase: AckDelay, now: Instant) -> Instant {
    let period = u64::from(period.nanos).max(1);
    let phase = u64::from(phase.nanos) % period;
    let into_period = (now.as_nanos() % period + period - phase) % period;
    now + Duration::from_nanos(period - into_period)
}

/// All that an acknowledgement decision may depend on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Arrival {
    /// In-order bytes received since the last ACK was sent, this segment included.
    pub unacked_bytes: u32,
    /// Segments that these came in, this one included; 255 stands for more.
    pub unacked_segments: u8,
    /// The size of a full segment from this peer.
    pub mss: u32,
    /// The segment is out of order, fills a gap, or repeats what is already here.
    pub out_of_order: bool,
    /// Linux: how long the ACK of a segment behind a gap waits for further ones; `None` if it does not.
    pub compression: Option<Duration>,
    /// Linux: quick-ACK credit is left and the connection is not interactive.
    pub quick: bool,
    /// Linux: the adaptive delayed-ACK timeout.
    pub time_out: Duration,
    /// The shortest recent time between two full segments in a row; before there is one, the longest
    /// that the policy may wait.
    pub interarrival: Duration,
}

/// All that an acknowledgement after a read may depend on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reading {
    /// In-order bytes received since the last ACK was sent.
    pub unacked_bytes: u32,
    /// Bytes by which the window would grow if it were advertised now.
    pub window_gain: u64,
    /// Bytes of the window that the peer knows of.
    pub window: u64,
    /// Bytes of the receive buffer.
    pub buffer: u32,
    /// Data bytes of a full segment to the peer (Eff.snd.MSS, BSD's `t_maxseg`).
    pub mss: u32,
    /// The size of a full segment from this peer.
    pub full_segment: u32,
    /// Nothing is left to read.
    pub drained: bool,
    /// Linux: small segments have arrived, so that an ACK leaves once they are read.
    pub acknowledges_drained: bool,
}

/// The decision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AckDecision {
    /// At once, and why.
    Now(AckReason),
    /// Not later than this.
    At(Instant),
}

/// Why an ACK leaves now. The first four are what [`AckPolicy::on_arrival`] decides.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum AckReason {
    /// The policy acknowledges everything at once.
    EverySegment,
    /// Enough full segments are unacknowledged.
    SegmentCount,
    /// Linux's quick-ACK phase.
    QuickAck,
    /// Something is missing or arrived twice.
    OutOfOrder,
    /// The delay of [`AckWait`](crate::AckWait) is over.
    Delayed,
    /// The reader has opened the window, or taken what was unacknowledged.
    Read,
    /// It completes the handshake.
    Handshake,
    /// The peer's FIN has arrived.
    Fin,
    /// More arrived than the window takes.
    WindowFull,
    /// The segment was dropped, and the peer must learn where we are (RFC 9293, section 3.10.7.4).
    Unacceptable,
    /// The same for what an attacker may have sent: a challenge ACK (RFC 5961).
    Challenge,
    /// The application has asked for it.
    Requested,
}

/// A delayed-ACK timeout that the standard allows: less than half a second.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct AckDelay {
    nanos: u32,
}

impl AckDelay {
    /// No delay.
    pub const ZERO: Self = Self { nanos: 0 };
    /// ns-2's `interval_`.
    pub const MILLIS_100: Self = Self { nanos: 100_000_000 };
    /// BSD's fast timer, Linux's largest delay.
    pub const MILLIS_200: Self = Self { nanos: 200_000_000 };

    /// The timeout.
    #[must_use]
    pub const fn get(self) -> Duration {
        Duration::from_nanos(self.nanos as u64)
    }
}

impl TryFrom<Duration> for AckDelay {
    type Error = AckDelayTooLong;

    /// RFC 9293, section 3.8.6.3: "the delay MUST be less than 0.5 seconds" (MUST-40).
    fn try_from(delay: Duration) -> Result<Self, AckDelayTooLong> {
        if delay < Duration::from_millis(500) {
            Ok(Self { nanos: delay.subsec_nanos() })
        } else {
            Err(AckDelayTooLong(delay))
        }
    }
}

/// The caller asked for a delay of 0.5 s or more.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct AckDelayTooLong(pub Duration);

impl fmt::Display for AckDelayTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a delayed ACK of {:?} is not allowed, it must be below 500 ms", self.0)
    }
}

impl core::error::Error for AckDelayTooLong {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_of_half_a_second_is_refused() {
        let longest = Duration::from_nanos(499_999_999);
        assert_eq!(AckDelay::try_from(longest).map(AckDelay::get), Ok(longest));
        let half = Duration::from_millis(500);
        assert_eq!(AckDelay::try_from(half), Err(AckDelayTooLong(half)));
    }

    #[test]
    fn receivers_count_bytes_or_segments() {
        let delay = AckDelay::MILLIS_200;
        let two = NonZeroU8::new(2).unwrap();
        // Unacknowledged segments and bytes, then who acknowledges at once: who waits for two full
        // segments, any two, more than one full.
        #[rustfmt::skip]
        let table = [
            (1, 80,    [false, false, false]),
            (1, 1_460, [false, false, false]),
            (2, 700,   [false, true,  false]),
            (2, 1_460, [false, true,  false]),
            (2, 1_540, [false, true,  true]), // Python's head and a full segment.
            (2, 2_920, [true,  true,  true]),
            (3, 2_919, [false, true,  true]),
        ];
        for (unacked_segments, unacked_bytes, immediately) in table {
            let arrival = Arrival {
                unacked_bytes,
                unacked_segments,
                mss: 1_460,
                out_of_order: false,
                compression: None,
                quick: false,
                time_out: Duration::ZERO,
                interarrival: Duration::ZERO,
            };
            let decided = [
                AckPolicy::Delayed { every: two, delay },
                AckPolicy::AnySegments { every: two, delay },
                AckPolicy::OverOneFull { delay },
            ]
            .map(|policy| policy.on_arrival(arrival, Instant::EPOCH));
            let expected = immediately.map(|now| match now {
                true => AckDecision::Now(AckReason::SegmentCount),
                false => AckDecision::At(Instant::EPOCH + delay.get()),
            });
            assert_eq!(decided, expected, "{arrival:?}");
        }
    }

    #[test]
    fn a_read_is_told_of_when_it_opens_the_window() {
        let withheld = AckPolicy::Withheld { delay: AckDelay::ZERO };
        // The window that the peer knows and its possible gain, then who tells: RFC, BSD, Linux.
        #[rustfmt::skip]
        let table = [
            (60_000, 1_460, [false, false, false]),
            (60_000, 2_919, [false, false, false]),
            (60_000, 2_920, [false, true,  false]),
            (1_459,  1_459, [false, false, false]),
            (1_460,  1_460, [true,  false, true]),
            (0,      1_460, [true,  false, true]),
        ];
        for (window, window_gain, [rfc, bsd, linux]) in table {
            let reading = Reading {
                unacked_bytes: 0,
                window_gain,
                window,
                buffer: 65_535,
                mss: 1_460,
                full_segment: 1_460,
                drained: true,
                acknowledges_drained: false,
            };
            let told = [AckPolicy::RFC, AckPolicy::BSD_TICK, AckPolicy::LinuxQuickAck, withheld]
                .map(|policy| policy.on_read(reading));
            assert_eq!(told, [rfc, bsd, linux, false], "{reading:?}");
        }
    }

    #[test]
    fn a_segment_tells_of_a_larger_window() {
        // Gain, window, buffer, then whose segments tell of it: RFC and Linux, BSD.
        #[rustfmt::skip]
        let table = [
            (0,     16_384, 16_384, [false, false]),
            (52,    16_384, 16_384, [false, true]),
            (1_460, 16_384, 16_384, [true,  true]),
            (1_459,  1_459, 16_384, [false, false]),
            (1_000,  1_000,  2_048, [false, true]),
            (1_024,  1_024,  2_048, [true,  true]),
        ];
        for (gain, window, buffer, [others, bsd]) in table {
            let tells = |policy: AckPolicy| policy.advances_edge(gain, window, 1_460, buffer);
            let row = (gain, window, buffer);
            assert_eq!(
                [AckPolicy::RFC, AckPolicy::LinuxQuickAck].map(tells),
                [others; 2],
                "{row:?}"
            );
            assert_eq!(tells(AckPolicy::BSD_TICK), bsd, "{row:?}");
        }
    }

    #[test]
    fn linux_acknowledges_what_is_drained() {
        let reading = Reading {
            unacked_bytes: 100,
            window_gain: 100,
            window: 65_000,
            buffer: 65_535,
            mss: 1_460,
            full_segment: 1_460,
            drained: true,
            acknowledges_drained: true,
        };
        let tells = |reading| AckPolicy::LinuxQuickAck.on_read(reading);
        assert!(tells(reading));
        assert!(!tells(Reading { drained: false, ..reading }));
        assert!(tells(Reading { drained: false, unacked_bytes: 1_461, ..reading }));
    }

    #[test]
    fn ticks_come_at_their_phase() {
        let period = AckDelay::MILLIS_200;
        let ms = |ms: u64| Instant::EPOCH + Duration::from_millis(ms);
        for (phase, now, tick) in
            [(0, 0, 200), (0, 199, 200), (0, 200, 400), (30, 10, 30), (30, 31, 230)]
        {
            let phase = AckDelay::try_from(Duration::from_millis(phase)).unwrap();
            assert_eq!(next_tick(period, phase, ms(now)), ms(tick), "phase {phase:?} at {now} ms");
        }
    }
}
