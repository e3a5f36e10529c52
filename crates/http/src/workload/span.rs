//! Durations: think times, delays, interarrival times.

use core::time::Duration;

use ackwise_link::Stream;

use super::{
    Truncation, Unusable, inverse,
    unusable::{at_most, ordered, positive},
};

/// A duration. A draw is rounded to the nanosecond and is at most [`Span::LONGEST`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Span {
    /// A constant duration.
    Fixed(Duration),
    /// Uniform over nanoseconds, both ends included.
    Uniform {
        /// The minimum.
        from: Duration,
        /// The maximum.
        to: Duration,
    },
    /// Exponential: the time to the next of independent events.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Pareto: F(x) = 1 - (least / x)^shape, truncated.
    Pareto {
        /// The minimum, k.
        least: Duration,
        /// The tail's exponent, alpha; without truncation the mean is infinite at 1 and below.
        shape: f64,
        /// The maximum.
        most: Duration,
        /// Treatment of larger values.
        truncation: Truncation,
    },
    /// Weibull: F(x) = 1 - exp(-(x / scale)^shape).
    Weibull {
        /// The scale.
        scale: Duration,
        /// The shape: below 1, many short durations and few long ones.
        shape: f64,
    },
}

impl Span {
    /// A duration of zero.
    pub const ZERO: Self = Self::Fixed(Duration::ZERO);

    /// Maximum of any draw: a year (our choice: longer than any run).
    pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

    /// Checks the parameters. [`draw`](Self::draw) never fails, but its result for an unusable
    /// distribution is meaningless.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range; the first one is reported.
    pub fn check(&self) -> Result<(), Unusable> {
        match *self {
            Self::Fixed(span) => at_most("span", span, Self::LONGEST),
            Self::Uniform { from, to } => {
                at_most("to", to, Self::LONGEST)?;
                ordered(("from", from), ("to", to))
            }
            Self::Exponential { mean } => at_most("mean", mean, Self::LONGEST),
            Self::Pareto { least, shape, most, truncation: _ } => {
                positive("least", least.as_secs_f64())?;
                positive("shape", shape)?;
                at_most("most", most, Self::LONGEST)?;
                ordered(("least", least), ("most", most))
            }
            Self::Weibull { scale, shape } => {
                at_most("scale", scale, Self::LONGEST)?;
                positive("shape", shape)
            }
        }
    }

    /// Draws one duration. [`Span::Fixed`] takes no number from the stream, the others take one.
    pub fn draw(&self, stream: &mut Stream) -> Duration {
        match *self {
            Self::Fixed(span) => span.min(Self::LONGEST),
            Self::Uniform { from, to } => {
                let choices = nanos(to).saturating_sub(nanos(from)).saturating_add(1);
                Duration::from_nanos(nanos(from) + stream.below(choices))
            }
            Self::Exponential { mean } => {
                rounded(inverse::exponential(stream.unit(), mean.as_secs_f64()))
            }
            Self::Pareto { least, shape, most, truncation } => {
                let (least, most) = (least.as_secs_f64(), most.as_secs_f64());
                rounded(inverse::pareto(stream.unit(), least, shape, most, truncation))
            }
            Self::Weibull { scale, shape } => {
                rounded(inverse::weibull(stream.unit(), scale.as_secs_f64(), shape))
            }
        }
    }
}

/// Nanoseconds, at most those of [`Span::LONGEST`].
fn nanos(span: Duration) -> u64 {
    u64::try_from(span.min(Span::LONGEST).as_nanos()).expect("a year has 2^55 nanoseconds")
}

/// Rounds seconds to the nearest nanosecond; NaN and negative values become 0.
fn rounded(seconds: f64) -> Duration {
    let bounded = seconds.clamp(0.0, Span::LONGEST.as_secs_f64());
    Duration::try_from_secs_f64(bounded).unwrap_or(Duration::ZERO)
}
