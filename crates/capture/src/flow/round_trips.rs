//! Round trips of a connection, from the capture point to each end and back, as a distribution.
//!
//! What a sender would measure there, one at a time: the time from new data to the first ACK that covers
//! it, which includes an ACK's delay. Data that is sent again gives none (Karn's algorithm, RFC 6298,
//! section 3). The attribution's own estimates of the path are elsewhere: they leave delayed ACKs out.

use std::{num::NonZeroU32, time::Duration};

use ackwise_tcp::Instant;

use crate::measures::RoundTripTimes;

/// The round trips in one direction: data that way, and its ACK.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrips {
    /// Up to where the data goes that is timed, and when it was seen.
    timed: Option<(u64, Instant)>,
    /// When a SYN was seen that is not answered yet.
    syn: Option<Instant>,
    samples: Samples,
}

impl RoundTrips {
    /// A SYN goes that way; a second one makes it unclear which is answered.
    pub(super) fn handle_syn(&mut self, now: Instant, again: bool) {
        self.syn = (!again).then_some(now);
    }

    /// The SYN was answered.
    pub(super) fn answer_syn(&mut self, now: Instant) {
        if let Some(sent) = self.syn.take() {
            self.samples.add(now.saturating_since(sent));
        }
    }

    /// Data up to `end` goes that way.
    pub(super) fn handle_data(&mut self, end: u64, new: bool, now: Instant) {
        match new {
            false => self.timed = None,
            true => _ = self.timed.get_or_insert((end, now)),
        }
    }

    /// Everything up to `acked` is acknowledged.
    pub(super) fn handle_ack(&mut self, acked: u64, now: Instant) {
        if let Some((_, sent)) = self.timed.take_if(|(end, _)| *end <= acked) {
            self.samples.add(now.saturating_since(sent));
        }
    }

    pub(super) fn times(&self) -> Option<RoundTripTimes> {
        self.samples.times()
    }
}

/// Microseconds: the first ones as they are, then counts on a logarithmic scale, so that a connection
/// takes 500 bytes at most and a short one hardly any.
#[derive(Clone, Debug)]
enum Samples {
    Few { count: u8, micros: [u32; Self::FEW] },
    Many(Box<Histogram>),
}

impl Samples {
    /// As many as are kept exactly. Our choice.
    const FEW: usize = 8;

    fn add(&mut self, round_trip: Duration) {
        let value = u32::try_from(round_trip.as_micros()).unwrap_or(u32::MAX);
        match self {
            Self::Few { count, micros } if usize::from(*count) < Self::FEW => {
                micros[usize::from(*count)] = value;
                *count += 1;
            }
            Self::Few { micros, .. } => {
                let mut histogram = Box::new(Histogram::new());
                micros.iter().for_each(|&micros| histogram.add(micros));
                histogram.add(value);
                *self = Self::Many(histogram);
            }
            Self::Many(histogram) => histogram.add(value),
        }
    }

    fn times(&self) -> Option<RoundTripTimes> {
        let (samples, times) = match self {
            Self::Few { count: 0, .. } => return None,
            Self::Few { count, micros } => {
                let mut sorted = *micros;
                let sorted = &mut sorted[..usize::from(*count)];
                sorted.sort_unstable();
                let at = |percent| sorted[place(percent, u32::from(*count)) as usize];
                (u32::from(*count), [sorted[0], at(50), at(95)])
            }
            Self::Many(histogram) => {
                let [median, p95] = [50, 95].map(|percent| histogram.value_at(percent));
                (histogram.samples, [histogram.least, median, p95])
            }
        };
        Some(RoundTripTimes::new(NonZeroU32::new(samples)?, times))
    }
}

impl Default for Samples {
    fn default() -> Self {
        Self::Few { count: 0, micros: [0; Self::FEW] }
    }
}

/// Counts by magnitude: eight steps for each power of two, each 12.5 % of it or less.
#[derive(Clone, Debug)]
struct Histogram {
    samples: u32,
    least: u32,
    counts: [u16; Self::STEPS],
}

impl Histogram {
    /// Bits of a value that tell the steps of a power of two apart.
    const BITS: u32 = 3;
    /// Values below 8 have a step each; above, there are eight for each of 29 powers of two.
    const STEPS: usize = (1 << Self::BITS) * (u32::BITS - Self::BITS + 1) as usize;

    const fn new() -> Self {
        Self { samples: 0, least: u32::MAX, counts: [0; Self::STEPS] }
    }

    fn add(&mut self, value: u32) {
        self.samples = self.samples.saturating_add(1);
        self.least = self.least.min(value);
        let count = &mut self.counts[Self::step(value)];
        *count += 1;
        if *count == u16::MAX {
            // The shape stays as it was.
            self.counts.iter_mut().for_each(|count| *count = count.div_ceil(2));
        }
    }

    const fn step(value: u32) -> usize {
        let octave = (u32::BITS - value.leading_zeros()).saturating_sub(Self::BITS + 1);
        ((octave << Self::BITS) + (value >> octave)) as usize
    }

    /// The middle of a step.
    const fn value(step: u32) -> u32 {
        let octave = (step >> Self::BITS).saturating_sub(1);
        let least = (step - (octave << Self::BITS)) << octave;
        least + (1 << octave) / 2
    }

    fn value_at(&self, percent: u32) -> u32 {
        let kept = self.counts.iter().map(|&count| u32::from(count)).sum();
        let mut before = place(percent, kept);
        for (step, &count) in (0..).zip(&self.counts) {
            match before.checked_sub(u32::from(count)) {
                Some(left) => before = left,
                None => return Self::value(step).max(self.least),
            }
        }
        self.least
    }
}

/// Which of `count` values in ascending order has `percent` of them before it.
const fn place(percent: u32, count: u32) -> u32 {
    count / 100 * percent + count % 100 * percent / 100
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::EPOCH + Duration::from_micros(micros)
    }

    #[test]
    fn new_data_is_timed_until_it_is_acknowledged() {
        let mut round_trips = RoundTrips::default();
        round_trips.handle_syn(at(0), false);
        round_trips.answer_syn(at(100));
        round_trips.answer_syn(at(900));
        round_trips.handle_data(1_000, true, at(1_000));
        round_trips.handle_data(2_000, true, at(1_200));
        round_trips.handle_ack(999, at(1_300));
        round_trips.handle_ack(2_000, at(1_340));
        round_trips.handle_data(3_000, true, at(2_000));
        round_trips.handle_data(3_000, false, at(9_000));
        round_trips.handle_ack(3_000, at(9_100));
        let times = round_trips.times().unwrap();
        let samples = NonZeroU32::new(2).unwrap();
        assert_eq!(times, RoundTripTimes::new(samples, [100, 340, 340]));
    }

    #[test]
    fn a_repeated_syn_is_not_timed() {
        let mut round_trips = RoundTrips::default();
        round_trips.handle_syn(at(0), false);
        round_trips.handle_syn(at(1_000), true);
        round_trips.answer_syn(at(1_100));
        assert_eq!(round_trips.times(), None);
    }

    #[test]
    fn a_step_holds_the_values_near_its_middle() {
        let magnitudes = (0..32).flat_map(|shift| {
            let power = 1_u32 << shift;
            [power - 1, power, power + power / 3, power + (power - 1)]
        });
        for value in magnitudes.chain([u32::MAX]) {
            let step = Histogram::step(value);
            assert!(step < Histogram::STEPS, "{value}");
            let middle = Histogram::value(u32::try_from(step).unwrap());
            let off = f64::from(middle) - f64::from(value);
            assert!(off.abs() <= f64::from(value) / 16.0 + 0.5, "{value} {off}");
        }
        assert!((0..100_000).is_sorted_by_key(Histogram::step));
    }

    #[test]
    fn many_samples_keep_their_distribution_in_bounded_memory() {
        let mut samples = Samples::default();
        for sample in 0..1_000_000_u64 {
            // From 10 to 19.99 ms, each as often.
            samples.add(Duration::from_micros(10_000 + sample * 7 % 10_000));
        }
        let times = samples.times().unwrap();
        assert_eq!((times.samples(), times.least()), (1_000_000, Duration::from_millis(10)));
        for (found, truth) in [(times.median(), 15.0), (times.p95(), 19.5)] {
            let found = found.as_secs_f64() * 1e3;
            assert!((found / truth - 1.0).abs() < 0.0625, "{found} {truth}");
        }
        assert!(size_of::<Histogram>() <= 500 && size_of::<RoundTrips>() <= 88);
    }
}
