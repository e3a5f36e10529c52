//! Congestion window validation (RFC 7661, "new-CWV"): a window that is not used is kept for some time,
//! but neither grows nor is believed when packets are lost.
//!
//! pipeACK is here the largest flight of a round trip, as `usage` has it, which that round trip
//! acknowledges if nothing is lost; RFC 7661, section 4.2, has what was acknowledged in one. In slow
//! start, where that is half of cwnd at most, a window would else count as unused between two samples.
//!
//! Not here: CUBIC's reduction at a loss, which takes cwnd and not what was in flight; RFC 7661 is
//! written for RFC 5681's.

use core::time::Duration;

use crate::{
    congestion::{AtLoss, Windows},
    units::{Instant, Nanos},
};

/// What was acknowledged lately, and since when the window counts as not validated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Validation {
    /// The largest samples of the last sampling period, by its parts.
    samples: [Option<Sample>; PARTS],
    /// Since when less than half of the window was used.
    unused_since: Option<Instant>,
    /// A loss that was found meanwhile.
    loss: Option<Loss>,
}

/// What was in flight in a round trip.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    bytes: u32,
}

#[derive(Clone, Copy, Debug)]
struct Loss {
    /// The larger of pipeACK and what was in flight.
    used: u32,
    /// Bytes that were sent again since.
    again: u32,
}

impl Validation {
    pub(crate) fn on_retransmission(&mut self, bytes: u32) {
        if let Some(loss) = &mut self.loss {
            loss.again = loss.again.saturating_add(bytes);
        }
    }

    /// New data is acknowledged; `flight` is the most that was outstanding in the round trip.
    pub(crate) fn on_ack(&mut self, flight: u32, srtt: Option<Nanos>, now: Instant) {
        self.take_sample(Sample { at: now, bytes: flight }, period(srtt));
    }

    /// Keeps the largest sample of each part of the period.
    fn take_sample(&mut self, sample: Sample, period: Nanos) {
        let part = period / PARTS as u64;
        match &mut self.samples[0] {
            Some(last) if Nanos::between(last.at, sample.at) < part => {
                last.bytes = last.bytes.max(sample.bytes);
            }
            _ => {
                self.samples.rotate_right(1);
                self.samples[0] = Some(sample);
            }
        }
    }

    /// pipeACK: the largest flight of the sampling period; `None` before
    /// there was one, and nothing if the connection has been idle for as long.
    fn pipe_ack(&self, srtt: Option<Nanos>, now: Instant) -> Option<u32> {
        let period = period(srtt);
        self.samples[0]?;
        let lately = self.samples.iter().flatten();
        let lately = lately.filter(|sample| Nanos::between(sample.at, now) <= period);
        Some(lately.map(|sample| sample.bytes).max().unwrap_or(0))
    }

    /// Whether the window counts as validated at `now`, so that it may grow: section 4.3, pipeACK is at
    /// least half of cwnd. If it does not, it has not since `last_used` at the latest.
    pub(crate) fn is_validated(
        &mut self,
        windows: Windows,
        srtt: Option<Nanos>,
        last_used: Instant,
        now: Instant,
    ) -> bool {
        let pipe_ack = self.pipe_ack(srtt, now);
        let validated = pipe_ack.is_none_or(|bytes| bytes >= windows.congestion / 2);
        if validated {
            self.unused_since = None;
        } else {
            self.unused_since.get_or_insert_with(|| last_used.min(now));
        }
        validated
    }

    /// The windows when the connection sends again: section 4.4.3, at the end of each non-validated
    /// period ssthresh becomes at least three quarters of cwnd, and cwnd half of what it was, the initial
    /// window at least.
    pub(crate) fn adjusted(
        &mut self,
        windows: Windows,
        initial_window: u32,
        now: Instant,
    ) -> Windows {
        let mut windows = windows;
        while let Some(since) = self.unused_since.filter(|since| NON_VALIDATED <= now.since(*since))
        {
            let Windows { congestion, threshold } = windows;
            windows = Windows {
                congestion: (congestion / 2).max(initial_window.min(congestion)),
                threshold: threshold.max(congestion / 4 * 3),
            };
            self.unused_since = Some(since + NON_VALIDATED);
            if windows.congestion == congestion {
                // It is as small as it gets; the time still counts from the last change.
                self.unused_since = Some(now);
            }
        }
        windows
    }

    /// What the congestion control learns of a loss: section 4.4.1, in the non-validated phase cwnd is
    /// halved from the larger of pipeACK and what was in flight.
    pub(crate) fn at_loss(&mut self, at_loss: AtLoss, srtt: Option<Nanos>, now: Instant) -> AtLoss {
        let Some(_) = self.unused_since else { return at_loss };
        let used = self.pipe_ack(srtt, now).unwrap_or(0).max(at_loss.flight);
        self.loss = Some(Loss { used, again: 0 });
        AtLoss { flight: used, ..at_loss }
    }

    /// The windows when the repair of a loss in the non-validated phase is over: ssthresh is half of
    /// what was used without what was sent again, at least two segments. pipeACK is measured anew.
    pub(crate) fn recovered(&mut self, windows: Windows, mss: u32) -> Option<Windows> {
        let Loss { used, again } = self.loss.take()?;
        *self = Self::default();
        let threshold = (used.saturating_sub(again) / 2).max(mss.saturating_mul(2));
        Some(Windows { congestion: windows.congestion.min(threshold), threshold })
    }
}

/// Section 4.2: the sampling period is max(3*RTT, 1 second).
fn period(srtt: Option<Nanos>) -> Nanos {
    (srtt.unwrap_or_default() * 3).max(Nanos::from_millis(1_000))
}

/// Parts of the sampling period of which the largest sample is kept: our choice, so that a sample is
/// forgotten at most a quarter of a period late.
const PARTS: usize = 4;
/// Section 4.4.3: the non-validated period is five minutes.
const NON_VALIDATED: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Option<Nanos> = Some(Nanos::from_millis(100));

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    const fn windows(congestion: u32, threshold: u32) -> Windows {
        Windows { congestion, threshold }
    }

    #[test]
    fn a_window_is_validated_while_half_of_it_is_in_flight_in_a_round_trip() {
        let mut validation = Validation::default();
        let validated = |it: &mut Validation, cwnd, ms| {
            it.is_validated(windows(cwnd, 9_000), SRTT, at(ms), at(ms))
        };
        assert!(validated(&mut validation, 20_000, 0), "nothing is known yet");
        validation.on_ack(10_000, SRTT, at(100));
        assert!(validated(&mut validation, 20_000, 100));
        assert!(!validated(&mut validation, 20_002, 100));
        // Less is in flight, but the larger sample is not a second old.
        validation.on_ack(1_000, SRTT, at(500));
        assert!(validated(&mut validation, 20_000, 1_100));
        assert!(!validated(&mut validation, 20_000, 1_101));
        assert!(validated(&mut validation, 2_000, 1_101));
        // Idle for longer than the period.
        assert!(!validated(&mut validation, 2_000, 9_000));
    }

    #[test]
    fn each_five_minutes_without_use_halve_the_window_down_to_the_initial_one() {
        let mut validation = Validation::default();
        validation.on_ack(10_000, SRTT, at(0));
        let unused = windows(80_000, 30_000);
        assert!(!validation.is_validated(unused, SRTT, at(0), at(2_000)));
        let mut after = |ms| validation.adjusted(unused, 15_000, at(ms));
        assert_eq!(after(299_999), unused);
        assert_eq!(after(300_000), windows(40_000, 60_000));
        assert_eq!(after(301_000), unused, "it was adjusted once for that");
        assert_eq!(after(1_800_000), windows(15_000, 60_000));
    }

    #[test]
    fn a_loss_of_an_unused_window_is_answered_from_what_was_used() {
        let mut validation = Validation::default();
        let lost = |flight| AtLoss { flight, peer: 99_000, next: 0 };
        validation.on_ack(10_000, SRTT, at(100));
        assert_eq!(validation.at_loss(lost(4_000), SRTT, at(100)), lost(4_000), "validated");
        assert_eq!(validation.recovered(windows(2_000, 2_000), 1_000), None);
        assert!(!validation.is_validated(windows(50_000, 9_000), SRTT, at(100), at(200)));
        assert_eq!(validation.at_loss(lost(4_000), SRTT, at(200)), lost(10_000));
        validation.on_retransmission(3_000);
        assert_eq!(
            validation.recovered(windows(5_000, 5_000), 1_000),
            Some(windows(3_500, 3_500)),
            "half of 10,000 without 3,000"
        );
        // pipeACK is undefined again.
        assert!(validation.is_validated(windows(50_000, 9_000), SRTT, at(200), at(200)));
    }
}
