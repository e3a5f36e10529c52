//! File sizes.

use alloc::{borrow::Cow, vec};

use ackwise_link::{Probability, Stream};
use ackwise_tcp::ByteCount;

use super::{
    Truncation, Unusable, inverse,
    unusable::{at_most, finite, ordered, positive},
};

/// The size of a file in bytes. A draw is rounded down to a whole byte and is at most
/// [`Size::LARGEST`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Size {
    /// A constant size.
    Fixed(ByteCount),
    /// Uniform, both ends included.
    Uniform {
        /// The minimum.
        from: ByteCount,
        /// The maximum.
        to: ByteCount,
    },
    /// Pareto: F(x) = 1 - (least / x)^shape, truncated.
    Pareto {
        /// The minimum, k.
        least: ByteCount,
        /// The tail's exponent, alpha; without truncation the mean is infinite at 1 and below.
        shape: f64,
        /// The maximum.
        most: ByteCount,
        /// Treatment of larger values.
        truncation: Truncation,
    },
    /// Log-normal: the natural logarithm of the size in bytes is normal.
    LogNormal {
        /// The logarithm's mean: half of all sizes are below exp(mu).
        mu: f64,
        /// The logarithm's standard deviation.
        sigma: f64,
        /// The maximum.
        most: ByteCount,
        /// Treatment of larger values.
        truncation: Truncation,
    },
    /// A weighted mixture: a list of files with their frequencies, body and tail of a distribution,
    /// or a share of outliers.
    Mixture(Cow<'static, [Weighted]>),
}

/// A part of a [`Size::Mixture`].
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    /// Frequency relative to the other parts.
    pub weight: u32,
    /// The part's distribution.
    pub size: Size,
}

impl Size {
    /// Maximum of any draw: 1 TiB (our choice).
    pub const LARGEST: ByteCount = ByteCount(1 << 40);

    /// Maximum nesting of mixtures, the outermost included (our choice).
    pub const DEEPEST: u32 = 4;

    /// A mixture of this distribution with a `share` of files of size `atom`.
    #[must_use]
    pub fn with_atom(self, atom: ByteCount, share: Probability) -> Self {
        let weight = share.as_per_million();
        Self::Mixture(Cow::Owned(vec![
            Weighted { weight, size: Self::Fixed(atom) },
            Weighted { weight: 1_000_000 - weight, size: self },
        ]))
    }

    /// Checks the parameters. [`draw`](Self::draw) never fails, but its result for an unusable
    /// distribution is meaningless.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range; the first one is reported.
    pub fn check(&self) -> Result<(), Unusable> {
        self.check_within(Self::DEEPEST)
    }

    fn check_within(&self, depth: u32) -> Result<(), Unusable> {
        match *self {
            Self::Fixed(size) => at_most("size", size, Self::LARGEST),
            Self::Uniform { from, to } => {
                at_most("to", to, Self::LARGEST)?;
                ordered(("from", from), ("to", to))
            }
            Self::Pareto { least, shape, most, truncation: _ } => {
                positive("least", real(least))?;
                positive("shape", shape)?;
                at_most("most", most, Self::LARGEST)?;
                ordered(("least", least), ("most", most))
            }
            Self::LogNormal { mu, sigma, most, truncation: _ } => {
                finite("mu", mu)?;
                positive("sigma", sigma)?;
                positive("most", real(most))?;
                at_most("most", most, Self::LARGEST)
            }
            Self::Mixture(ref parts) => {
                let depth = depth.checked_sub(1).ok_or(Unusable::Nested)?;
                if total(parts) == 0 {
                    return Err(Unusable::Weights);
                }
                parts.iter().try_for_each(|part| part.size.check_within(depth))
            }
        }
    }

    /// Draws one size. [`Size::Fixed`] takes no number from the stream, a mixture one to choose and
    /// then those of the chosen part, the others one.
    pub fn draw(&self, stream: &mut Stream) -> ByteCount {
        match *self {
            Self::Fixed(size) => size.min(Self::LARGEST),
            Self::Uniform { from, to } => {
                let (from, to) = (from.min(Self::LARGEST).0, to.min(Self::LARGEST).0);
                ByteCount(from + stream.below(to.saturating_sub(from) + 1))
            }
            Self::Pareto { least, shape, most, truncation } => {
                whole(inverse::pareto(stream.unit(), real(least), shape, real(most), truncation))
            }
            Self::LogNormal { mu, sigma, most, truncation } => {
                whole(inverse::log_normal(stream.unit(), mu, sigma, real(most), truncation))
            }
            Self::Mixture(ref parts) => {
                choose(parts, stream).map_or(ByteCount(0), |part| part.size.draw(stream))
            }
        }
    }
}

/// A part chosen by weight; `None` if all weights are zero.
fn choose<'a>(parts: &'a [Weighted], stream: &mut Stream) -> Option<&'a Weighted> {
    let mut left = stream.below(total(parts));
    parts.iter().find(|part| {
        let weight = u64::from(part.weight);
        let chosen = left < weight;
        left = left.saturating_sub(weight);
        chosen
    })
}

fn total(parts: &[Weighted]) -> u64 {
    parts.iter().map(|part| u64::from(part.weight)).sum()
}

/// Bytes as a real number, exact up to [`Size::LARGEST`].
const fn real(size: ByteCount) -> f64 {
    size.0 as f64
}

/// Rounds down to whole bytes, at most [`Size::LARGEST`]; NaN and negative values become 0.
fn whole(size: f64) -> ByteCount {
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and rounding down is meant")]
    let size = size as u64;
    ByteCount(size).min(Size::LARGEST)
}
