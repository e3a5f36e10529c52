//! When requests are due in an open loop. Pure: the numbers come from a named, seeded stream.

use std::time::Duration;

use ackwise_http::workload::Span;
use ackwise_link::{Seed, Stream};

/// The clock of an open loop: its rate, and the pattern around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Requests per second, on average, once the ramp is over.
    pub rate: f64,
    /// How the requests are spaced.
    pub pattern: Pattern,
    /// The rate rises linearly from zero during this time.
    pub ramp: Duration,
}

/// How requests are spaced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Pattern {
    /// At equal distances.
    Constant,
    /// With exponential distances, like those of many independent users.
    Poisson(Seed),
}

impl Arrivals {
    /// Requests at equal distances, without a ramp.
    #[must_use]
    pub const fn constant(rate: f64) -> Self {
        Self { rate, pattern: Pattern::Constant, ramp: Duration::ZERO }
    }
}

/// Iterates over the times at which requests are due.
#[derive(Clone, Debug)]
pub(super) struct DueTimes {
    arrivals: Arrivals,
    number: u64,
    /// The exponential distances so far, in units of the mean distance; `None` if they are equal.
    drawn: Option<(Stream, f64)>,
}

impl DueTimes {
    /// The first request of a Poisson process is due after the first distance, as any other.
    pub(super) fn new(arrivals: Arrivals) -> Self {
        let drawn = match arrivals.pattern {
            Pattern::Constant => None,
            Pattern::Poisson(seed) => Some((seed.named(STREAM).stream(), 0.0)),
        };
        let mut times = Self { arrivals, number: 0, drawn };
        times.draw();
        times
    }

    /// When the next request is due.
    pub(super) fn next_due(&self) -> Duration {
        #[expect(clippy::cast_precision_loss, reason = "exact up to 2^53 requests")]
        let number = self.number as f64;
        // Computed from the beginning, so that rounding errors do not add up.
        let at = self.drawn.as_ref().map_or(number, |(_, at)| *at) / self.arrivals.rate;
        // A rate of zero or NaN: the request is never due.
        Duration::try_from_secs_f64(after_ramp(at, self.arrivals.ramp)).unwrap_or(Duration::MAX)
    }

    /// Proceeds to the request after the next one.
    pub(super) fn advance(&mut self) {
        self.number += 1;
        self.draw();
    }

    fn draw(&mut self) {
        if let Some((stream, at)) = &mut self.drawn {
            *at += Span::Exponential { mean: UNIT }.draw(stream).as_secs_f64();
        }
    }
}

/// When a request is due that would be due `at` seconds after the start at the full rate. During the
/// ramp, a rate that rises from 0 to R in T seconds makes R t² / 2T requests in t seconds.
fn after_ramp(at: f64, ramp: Duration) -> f64 {
    let ramp = ramp.as_secs_f64();
    if at < ramp / 2.0 { (2.0 * at * ramp).sqrt() } else { at + ramp / 2.0 }
}

const STREAM: &str = "arrivals";
const UNIT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn due(arrivals: Arrivals, count: usize) -> Vec<Duration> {
        let mut times = DueTimes::new(arrivals);
        let mut next = || {
            let due = times.next_due();
            times.advance();
            due
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_rate_holds_over_a_long_time() {
        let mut times = DueTimes::new(Arrivals::constant(3000.0));
        times.number = 3600 * 3000;
        assert_eq!(times.next_due(), Duration::from_secs(3600));
        for rate in [0.0, f64::NAN] {
            let mut times = DueTimes::new(Arrivals::constant(rate));
            times.advance();
            assert_eq!(times.next_due(), Duration::MAX, "{rate}");
        }
    }

    /// A Poisson process has as many events as the constant one on average, and its distances have a
    /// standard deviation of their mean; both within five standard errors.
    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread_of_a_poisson_process() {
        for seed in 1..=5 {
            let arrivals =
                Arrivals { pattern: Pattern::Poisson(Seed(seed)), ..Arrivals::constant(100.0) };
            let due = due(arrivals, 10_000);
            let distances: Vec<f64> =
                due.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
            let count = distances.len() as f64;
            let mean = distances.iter().sum::<f64>() / count;
            let variance = distances.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / count;
            assert!((mean - 0.01).abs() < 5.0 * 0.01 / count.sqrt(), "seed {seed}: mean {mean}");
            // The variance of the sample variance of exponentials is 8 sigma^4 / n.
            let error = 5.0 * (8.0 / count).sqrt();
            assert!((variance / 1e-4 - 1.0).abs() < error, "seed {seed}: variance {variance}");
        }
        let seeded = |seed| {
            let pattern = Pattern::Poisson(Seed(seed));
            due(Arrivals { pattern, ..Arrivals::constant(100.0) }, 100)
        };
        assert_eq!(seeded(1), seeded(1));
        assert_ne!(seeded(1), seeded(2));
    }

    #[test]
    fn a_ramp_rises_linearly_and_then_keeps_the_rate() {
        let ramp = Duration::from_secs(10);
        let due = due(Arrivals { ramp, ..Arrivals::constant(100.0) }, 1500);
        let before = |at: u64| due.iter().filter(|due| **due < Duration::from_secs(at)).count();
        // 100 t² / 20 in t seconds.
        assert_eq!([before(1), before(2), before(5), before(10)], [5, 20, 125, 500]);
        assert_eq!(before(15) - before(10), 500);
    }
}
