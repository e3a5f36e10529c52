//! Times as a distribution, in bounded memory.

use std::{num::NonZeroU32, time::Duration};

/// Microseconds: the first ones as they are, then counts on a logarithmic scale, so that a distribution
/// takes 500 bytes at most and a short one hardly any.
#[derive(Clone, Debug)]
pub(super) enum Samples {
    Few { count: u8, micros: [u32; Self::FEW] },
    Many(Box<Histogram>),
}

impl Samples {
    /// As many as are kept exactly. Our choice.
    const FEW: usize = 8;

    pub(super) fn add(&mut self, sample: Duration) {
        let value = micros(sample);
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

    /// Adds the same sample `times` times.
    pub(super) fn add_times(&mut self, sample: Duration, times: u32) {
        for _ in 0..times.min(u32::from(u8::MAX)) {
            self.add(sample);
        }
        let rest = times.saturating_sub(u8::MAX.into());
        if let (Self::Many(histogram), 1..) = (self, rest) {
            histogram.add_times(micros(sample), rest);
        }
    }

    /// The number of samples, the least, and a percentile for each of `percents`, in microseconds.
    pub(super) fn percentiles<const N: usize>(
        &self,
        percents: [u32; N],
    ) -> Option<(NonZeroU32, u32, [u32; N])> {
        let (samples, least, values) = match self {
            Self::Few { count: 0, .. } => return None,
            Self::Few { count, micros } => {
                let mut sorted = *micros;
                let sorted = &mut sorted[..usize::from(*count)];
                sorted.sort_unstable();
                let at = |percent| sorted[place(percent, u32::from(*count)) as usize];
                (u32::from(*count), sorted[0], percents.map(at))
            }
            Self::Many(histogram) => {
                let values = percents.map(|percent| histogram.value_at(percent));
                (histogram.samples, histogram.least, values)
            }
        };
        Some((NonZeroU32::new(samples)?, least, values))
    }
}

impl Default for Samples {
    fn default() -> Self {
        Self::Few { count: 0, micros: [0; Self::FEW] }
    }
}

/// Counts by magnitude: eight steps for each power of two, each 12.5 % of it or less.
#[derive(Clone, Debug)]
pub(super) struct Histogram {
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
        self.add_times(value, 1);
    }

    fn add_times(&mut self, value: u32, times: u32) {
        self.samples = self.samples.saturating_add(times);
        self.least = self.least.min(value);
        let count = &mut self.counts[Self::step(value)];
        *count = count.saturating_add(u16::try_from(times).unwrap_or(u16::MAX));
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

fn micros(sample: Duration) -> u32 {
    u32::try_from(sample.as_micros()).unwrap_or(u32::MAX)
}

/// Which of `count` values in ascending order has `percent` of them before it.
const fn place(percent: u32, count: u32) -> u32 {
    count / 100 * percent + count % 100 * percent / 100
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let (count, least, values) = samples.percentiles([50, 95]).unwrap();
        assert_eq!((count.get(), least), (1_000_000, 10_000));
        for (found, truth) in values.into_iter().zip([15_000.0, 19_500.0]) {
            assert!((f64::from(found) / truth - 1.0).abs() < 0.0625, "{found} {truth}");
        }
        assert!(size_of::<Histogram>() <= 500 && size_of::<Samples>() <= 40);
    }

    #[test]
    fn a_sample_that_is_added_many_times_counts_as_often() {
        let mut samples = Samples::default();
        samples.add_times(Duration::from_millis(1), 3);
        assert_eq!(samples.percentiles([50]).unwrap().0.get(), 3);
        samples.add_times(Duration::ZERO, 1_000);
        samples.add_times(Duration::from_millis(20), 100);
        let (count, least, values) = samples.percentiles([50, 99]).unwrap();
        assert_eq!((count.get(), least, values[0]), (1_103, 0, 0));
        assert!((19_000..21_000).contains(&values[1]), "{values:?}");
        samples.add_times(Duration::ZERO, u32::MAX);
        assert_eq!(samples.percentiles([50]).unwrap().2, [0]);
    }
}
