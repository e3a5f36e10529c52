//! How large a file is.

use alloc::{borrow::Cow, vec};

use ackwise_link::{Probability, Stream};
use ackwise_tcp::ByteCount;

use super::{
    Truncation, Unusable, inverse,
    unusable::{at_most, finite, ordered, positive},
};

/// How large a file is, in bytes. A draw is rounded down to a whole byte and is [`Size::LARGEST`]
/// at most.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Size {
    /// Always this large.
    Fixed(ByteCount),
    /// Each size as likely as any other, both ends included.
    Uniform {
        /// The smallest.
        from: ByteCount,
        /// The largest.
        to: ByteCount,
    },
    /// Pareto: F(x) = 1 - (least / x)^shape, truncated.
    Pareto {
        /// The smallest, k.
        least: ByteCount,
        /// The tail's exponent, alpha; without a truncation there is no mean at 1 and below.
        shape: f64,
        /// The largest.
        most: ByteCount,
        /// What becomes of larger ones.
        truncation: Truncation,
    },
    /// Log-normal: the natural logarithm of the size in bytes is normal.
    LogNormal {
        /// The logarithm's mean: half of all sizes are below exp(mu).
        mu: f64,
        /// The logarithm's standard deviation.
        sigma: f64,
        /// The largest.
        most: ByteCount,
        /// What becomes of larger ones.
        truncation: Truncation,
    },
    /// Some from one distribution, some from another: a list of files with their frequencies, the body
    /// and the tail of a distribution, a share of odd ones.
    Mixture(Cow<'static, [Weighted]>),
}

/// A part of a [`Size::Mixture`].
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    /// How often, in proportion to the other parts.
    pub weight: u32,
    /// What.
    pub size: Size,
}

impl Size {
    /// The largest that is ever drawn: a tebibyte.
    pub const LARGEST: ByteCount = ByteCount(1 << 40);

    /// Mixtures within mixtures at most, the outermost one counted.
    pub const DEEPEST: u32 = 4;

    /// This one, but with some that always are of size `atom`.
    #[must_use]
    pub fn with_atom(self, atom: ByteCount, share: Probability) -> Self {
        let weight = share.as_per_million();
        Self::Mixture(Cow::Owned(vec![
            Weighted { weight, size: Self::Fixed(atom) },
            Weighted { weight: 1_000_000 - weight, size: self },
        ]))
    }

    /// Whether it can be drawn from. [`draw`](Self::draw) never fails, but what it draws from an
    /// unusable distribution means nothing.
    ///
    /// # Errors
    ///
    /// The first parameter that is out of range.
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

    /// One of them. [`Size::Fixed`] takes no number from the stream, a mixture one to choose and then
    /// what its choice takes, the others one.
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

/// A part by its weight; `None` if none has one.
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

/// Whole bytes, [`Size::LARGEST`] at most; what is no size at all (NaN, negative) is none.
fn whole(size: f64) -> ByteCount {
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and rounding down is meant")]
    let size = size as u64;
    ByteCount(size).min(Size::LARGEST)
}
