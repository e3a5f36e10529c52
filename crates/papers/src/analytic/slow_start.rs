//! The rounds of slow start: send a window, stall until its first ACK is back, send a larger one.

use super::path::Path;

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Acks {
    /// Every segment.
    EverySegment,
    /// Every second segment, and the odd one of each round too: the paper's way to count. A segment
    /// that is alone waits for a timer.
    EverySecond {
        /// How long, in seconds: on BSD anything up to 0.2, so 0.1 on average.
        lone_wait: f64,
    },
    /// The same, but the odd segment of a round is acknowledged with the first of the next, as TCPs
    /// do. The window grows later by that.
    EverySecondCounted {
        /// As above.
        lone_wait: f64,
    },
}

impl Acks {
    /// How many ACKs come back for `sent` segments and those that are `unacknowledged` already, and
    /// how many of them stay unacknowledged.
    const fn answer(self, sent: u64, unacknowledged: u64) -> (u64, u64) {
        let all = sent + unacknowledged;
        match self {
            Self::EverySegment => (all, 0),
            Self::EverySecondCounted { .. } if all > 1 => (all / 2, all % 2),
            Self::EverySecond { .. } | Self::EverySecondCounted { .. } => (all.div_ceil(2), 0),
        }
    }

    /// How long the sender waits after a round until the first ACK comes back.
    #[expect(clippy::cast_precision_loss, reason = "a window has not 2^53 segments")]
    fn stall(self, round: Round, path: Path) -> f64 {
        let segment = path.segment_time();
        let awaited = match self {
            Self::EverySegment => segment,
            Self::EverySecond { lone_wait } | Self::EverySecondCounted { lone_wait } => {
                match round.sent + round.unacknowledged {
                    0 | 1 => segment + lone_wait,
                    _ => segment * (2 - round.unacknowledged.min(1)) as f64,
                }
            }
        };
        (path.rtt + awaited - round.sent as f64 * segment).max(0.0)
    }
}

/// How a connection begins to send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// The congestion window, in segments. BSD's servers reply with 2 (Heidemann 1996, footnote 1).
    pub window: u64,
    /// What comes back.
    pub acks: Acks,
}

/// One round of a sender that has enough to send.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Round {
    /// The congestion window, in segments.
    pub window: u64,
    /// What leaves.
    pub sent: u64,
    /// What the round before has left unacknowledged: it takes up a part of the window.
    pub unacknowledged: u64,
}

/// The rounds, one after the other, without end.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    next: Round,
    acks: Acks,
}

impl Schedule {
    /// The rounds from `start` on.
    #[must_use]
    pub fn new(start: Start) -> Self {
        let window = start.window.max(1);
        Self { next: Round { window, sent: window, unacknowledged: 0 }, acks: start.acks }
    }
}

impl Iterator for Schedule {
    type Item = Round;

    fn next(&mut self) -> Option<Round> {
        let round = self.next;
        let (acks, unacknowledged) = self.acks.answer(round.sent, round.unacknowledged);
        let window = round.window.saturating_add(acks);
        self.next = Round { window, sent: window - unacknowledged, unacknowledged };
        Some(round)
    }
}

/// What slow start costs one reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rounds {
    /// Seconds in which nothing is sent although there is more to send.
    pub stalled: f64,
    /// How many stalls.
    pub stalls: u32,
    /// The window once all is acknowledged.
    pub window: u64,
}

impl Rounds {
    /// The rounds that `segments` take from `start` on: until the window fills the pipe or nothing
    /// is left.
    #[must_use]
    pub fn of(segments: u64, start: Start, path: Path) -> Self {
        let mut rounds = Self { stalled: 0.0, stalls: 0, window: start.window.max(1) };
        let mut left = segments;
        for round in Schedule::new(start) {
            if left <= round.sent {
                // It earns what its own segments are acknowledged by, the last with the next
                // request.
                let all = left + round.unacknowledged;
                let (acks, odd) = start.acks.answer(all, 0);
                rounds.window = round.window.saturating_add(acks + odd);
                break;
            }
            // Once the pipe is full nothing stalls, and the window goes on growing.
            let stall = start.acks.stall(round, path);
            rounds.stalled += stall;
            rounds.stalls += u32::from(stall > 0.0);
            left -= round.sent;
        }
        rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY_SECOND: Acks = Acks::EverySecond { lone_wait: 0.1 };

    const COUNTED: Acks = Acks::EverySecondCounted { lone_wait: 0.1 };

    #[test]
    fn windows_follow_their_recurrences() {
        let table = [
            (Acks::EverySegment, 1, [1, 2, 4, 8, 16, 32, 64, 128]),
            (Acks::EverySegment, 2, [2, 4, 8, 16, 32, 64, 128, 256]),
            (EVERY_SECOND, 1, [1, 2, 3, 5, 8, 12, 18, 27]),
            (EVERY_SECOND, 2, [2, 3, 5, 8, 12, 18, 27, 41]),
            (COUNTED, 1, [1, 2, 3, 4, 6, 9, 13, 19]),
        ];
        for (acks, window, expected) in table {
            let start = Start { window, acks };
            let windows: Vec<_> = Schedule::new(start).take(8).map(|round| round.window).collect();
            assert_eq!(windows, expected, "{start:?}");
        }
    }

    #[test]
    fn an_odd_segment_is_acknowledged_with_the_next_round() {
        let rounds: Vec<_> =
            Schedule::new(Start { window: 2, acks: COUNTED }).take(4).map(|it| it.sent).collect();
        assert_eq!(rounds, [2, 3, 3, 6]);
    }

    #[test]
    fn a_lone_segment_waits_for_the_timer() {
        let path = Path { rtt: 0.09, bandwidth: 125_000.0, mss: 500 };
        let rounds = |acks| Rounds::of(2, Start { window: 1, acks }, path);
        assert!((rounds(Acks::EverySegment).stalled - 0.09).abs() < 1e-12);
        assert!((rounds(EVERY_SECOND).stalled - 0.19).abs() < 1e-12);
    }

    #[test]
    fn the_window_grows_by_what_was_acknowledged() {
        let path = Path { rtt: 0.09, bandwidth: 125_000.0, mss: 500 };
        let window =
            |segments, window, acks| Rounds::of(segments, Start { window, acks }, path).window;
        assert_eq!(window(1, 2, Acks::EverySegment), 3);
        assert_eq!(window(3, 2, Acks::EverySegment), 5);
        assert_eq!(window(3, 2, EVERY_SECOND), 4);
        assert_eq!(window(5, 2, EVERY_SECOND), 5);
    }

    /// The textbook's latency of a static-window sender with slow start (Kurose and Ross): O bits
    /// of an object, S of a segment, R bit/s.
    fn textbook(segments: u32, segment_time: f64, rtt: f64) -> f64 {
        let needed = (f64::from(segments) + 1.0).log2().ceil();
        let idle = (1.0 + rtt / segment_time).log2().floor() + 1.0;
        let stalls = idle.min(needed - 1.0);
        2.0 * rtt + f64::from(segments) * segment_time + stalls * (rtt + segment_time)
            - (stalls.exp2() - 1.0) * segment_time
    }

    #[test]
    fn it_equals_the_textbook() {
        const MSS: u32 = 512;
        let start = Start { window: 1, acks: Acks::EverySegment };
        for rate in [28_800.0, 112_000.0, 1e6, 1.5e6, 10e6] {
            for rtt in [0.0007, 0.03, 0.09, 0.25] {
                let path = Path { rtt, bandwidth: rate / 8.0, mss: MSS };
                for segments in [5, 10, 20, 50, 100, 200, 500, 1000] {
                    let bytes = u64::from(segments) * u64::from(MSS);
                    let stalled = Rounds::of(u64::from(segments), start, path).stalled;
                    let ours = 2.0 * path.rtt + path.transmission(bytes) + stalled;
                    let theirs = textbook(segments, path.segment_time(), rtt);
                    let error = (ours - theirs).abs() / theirs;
                    assert!(
                        error < 1e-12,
                        "{segments} at {rate} b/s, {rtt} s: {ours}, not {theirs}"
                    );
                }
            }
        }
    }
}
