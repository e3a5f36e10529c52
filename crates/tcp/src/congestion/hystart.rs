//! HyStart (Ha and Rhee 2008) as Linux has it in `net/ipv4/tcp_cubic.c`: slow start ends when the ACKs of
//! one round trip come for longer than half of the shortest round trip, or when round trips take longer.
//!
//! Not here: the sender that the kernel paces, whose ACK trains may be twice as long; and HyStart++ (RFC
//! 9406), which drops the trains and checks the delay once more before it believes in it.

use super::{Passed, Window};
use crate::units::{Instant, Nanos};

/// One round trip of slow start.
#[derive(Clone, Copy, Debug)]
pub(super) struct HyStart {
    /// `round_start`.
    began: Instant,
    /// `end_seq`: it ends when something beyond this position is acknowledged.
    until: u64,
    /// `last_ack`, in microseconds after `began`: the last ACK of its train.
    train: u32,
    /// `curr_rtt`: the shortest round trip so far, in microseconds.
    shortest: u32,
    /// `sample_cnt`.
    samples: u8,
}

impl HyStart {
    /// `bictcp_hystart_reset`, when everything before `next` has been sent.
    pub(super) const fn new(next: u64, now: Instant) -> Self {
        Self { began: now, until: next, train: 0, shortest: u32::MAX, samples: 0 }
    }

    /// `hystart_update`: whether slow start ends at this ACK, whose round trip took `delay`. The shortest
    /// ever took `delay_min`, both in microseconds.
    pub(super) fn ends(
        &mut self,
        passed: &Passed,
        window: &Window,
        (delay, delay_min): (u32, u32),
        now: Instant,
    ) -> bool {
        if passed.una > self.until {
            *self = Self::new(passed.next, now);
        }
        if window.congestion / window.mss < LOW_WINDOW {
            return false;
        }
        let train = self.is_train_long(delay_min + aggregation(window, passed.srtt), now);
        self.shortest = self.shortest.min(delay);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return train;
        }
        let threshold = (delay_min >> 3).clamp(DELAY_MIN, DELAY_MAX);
        train || self.shortest > delay_min.saturating_add(threshold)
    }

    /// A train is of ACKs that follow each other closely. One that is as long as half of a round trip
    /// tells that the other half of the path is full, too.
    fn is_train_long(&mut self, round_trip: u32, now: Instant) -> bool {
        let since = micros(Nanos::between(self.began, now));
        if since.saturating_sub(self.train) > ACK_DELTA {
            return false;
        }
        self.train = since;
        since > round_trip / 2
    }
}

/// `hystart_ack_delay`, in microseconds: what segments that leave and arrive in groups may add to a
/// train. Four groups of 64 KB at the rate that Linux would pace slow start at, two windows in a round
/// trip (`tcp_update_pacing_rate`); at most a millisecond.
fn aggregation(window: &Window, srtt: Option<Nanos>) -> u32 {
    let span = AGGREGATED * srtt.unwrap_or_default().micros() / (2 * u64::from(window.congestion));
    u32::try_from(span).map_or(MAX_AGGREGATION, |span| span.min(MAX_AGGREGATION))
}

/// Microseconds, at most half an hour: no round trip takes that long.
pub(super) fn micros(span: Nanos) -> u32 {
    u32::try_from(span.micros()).map_or(LONGEST, |micros| micros.min(LONGEST))
}

/// `hystart_low_window`: below this number of segments it does not look.
const LOW_WINDOW: u32 = 16;
/// `hystart_ack_delta_us`: ACKs of a train are at most 2 ms apart.
const ACK_DELTA: u32 = 2_000;
/// `HYSTART_MIN_SAMPLES`.
const MIN_SAMPLES: u8 = 8;
/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`: 4 and 16 ms, around an eighth of the round trip.
const DELAY_MIN: u32 = 4_000;
const DELAY_MAX: u32 = 16_000;
/// Four times `sk_gso_max_size`.
const AGGREGATED: u64 = 4 * 65_536;
/// `USEC_PER_MSEC`.
const MAX_AGGREGATION: u32 = 1_000;
const LONGEST: u32 = 30 * 60 * 1_000_000;
