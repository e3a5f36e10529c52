//! The rounds of slow start: send a window, stall until its first ACK is back, send a larger one.

use super::path::Path;

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Acks {
    /// Every segment.
    EverySegment,
    /// Every second segment. One that stays alone waits for a timer.
    EverySecond {
        /// How long, in seconds: on BSD anything up to 0.2, so 0.1 on average.
        lone_wait: f64,
    },
}

impl Acks {
    /// The window of the next round after one of `window` segments: each ACK adds one.
    #[must_use]
    pub const fn grown(self, window: u64) -> u64 {
        match self {
            Self::EverySegment => window.saturating_mul(2),
            Self::EverySecond { .. } => window.saturating_add(window.div_ceil(2)),
        }
    }

    /// How long the sender waits after `window` segments for the first ACK to come back.
    #[expect(clippy::cast_precision_loss, reason = "a window has not 2^53 segments")]
    fn stall(self, window: u64, path: Path) -> f64 {
        let (segment, ahead) = (path.segment_time(), window as f64 * path.segment_time());
        let first_ack = match self {
            Self::EverySegment => path.rtt + segment,
            Self::EverySecond { lone_wait } if window < 2 => path.rtt + segment + lone_wait,
            Self::EverySecond { .. } => path.rtt + 2.0 * segment,
        };
        (first_ack - ahead).max(0.0)
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

/// The windows of the rounds, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    next: u64,
    acks: Acks,
}

impl Windows {
    /// The windows from `start` on.
    #[must_use]
    pub const fn new(start: Start) -> Self {
        let next = if start.window == 0 { 1 } else { start.window };
        Self { next, acks: start.acks }
    }
}

impl Iterator for Windows {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let window = self.next;
        self.next = self.acks.grown(window);
        Some(window)
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
    /// The rounds that `segments` take from `start` on: until the window fills the pipe or nothing is
    /// left.
    #[must_use]
    pub fn of(segments: u64, start: Start, path: Path) -> Self {
        let mut rounds = Self { stalled: 0.0, stalls: 0, window: start.window.max(1) };
        let mut left = segments;
        for window in Windows::new(start) {
            rounds.window = window;
            if left <= window {
                break;
            }
            let stall = start.acks.stall(window, path);
            // The pipe is full. Nothing stalls any more, and the window goes on growing as it would.
            if stall > 0.0 {
                rounds.stalled += stall;
                rounds.stalls += 1;
            }
            left -= window;
        }
        // The last round is rarely full: it earns what its own segments are acknowledged by.
        rounds.window += start.acks.grown(left) - left;
        rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY_SECOND: Acks = Acks::EverySecond { lone_wait: 0.1 };

    #[test]
    fn windows_follow_their_recurrences() {
        let table = [
            (Acks::EverySegment, 1, [1, 2, 4, 8, 16, 32]),
            (Acks::EverySegment, 2, [2, 4, 8, 16, 32, 64]),
            (EVERY_SECOND, 1, [1, 2, 3, 5, 8, 12]),
            (EVERY_SECOND, 2, [2, 3, 5, 8, 12, 18]),
        ];
        for (acks, window, expected) in table {
            let start = Start { window, acks };
            assert_eq!(Windows::new(start).take(6).collect::<Vec<_>>(), expected, "{start:?}");
        }
        let start = Start { window: 2, acks: EVERY_SECOND };
        assert_eq!(Windows::new(start).take(8).last(), Some(41));
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

    /// The textbook's latency of a static-window sender with slow start (Kurose and Ross): O bits of
    /// an object, S of a segment, R bit/s.
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
                    let octets = u64::from(segments) * u64::from(MSS);
                    let stalled = Rounds::of(u64::from(segments), start, path).stalled;
                    let ours = 2.0 * path.rtt + path.transmission(octets) + stalled;
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
