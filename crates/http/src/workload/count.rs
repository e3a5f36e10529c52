//! How many files a page has beside its primary one.

use ackwise_link::Stream;

use super::{
    Truncation, Unusable, inverse,
    unusable::{at_most, ordered, positive},
};

/// How many inlines a page has. A draw is [`Count::MOST`] at most.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Count {
    /// Always this number.
    Fixed(u32),
    /// Each number as likely as any other, both ends included.
    Uniform {
        /// The fewest.
        from: u32,
        /// The most.
        to: u32,
    },
    /// Pareto, F(x) = 1 - (least / x)^shape, rounded down and clipped.
    Pareto {
        /// The fewest, k.
        least: u32,
        /// The tail's exponent, alpha.
        shape: f64,
        /// The largest number; larger ones are replaced by it.
        most: u32,
        /// Taken off in the end: 1 where the source counts the primary file too.
        off: u32,
    },
}

impl Count {
    /// The most that is ever drawn (ours; pages of the period have a few).
    pub const MOST: u32 = 10_000;

    /// Whether it can be drawn from. [`draw`](Self::draw) never fails, but what it draws from an
    /// unusable distribution means nothing.
    ///
    /// # Errors
    ///
    /// The first parameter that is out of range.
    pub fn check(&self) -> Result<(), Unusable> {
        match *self {
            Self::Fixed(count) => at_most("count", count, Self::MOST),
            Self::Uniform { from, to } => {
                at_most("to", to, Self::MOST)?;
                ordered(("from", from), ("to", to))
            }
            Self::Pareto { least, shape, most, off } => {
                positive("least", least.into())?;
                positive("shape", shape)?;
                at_most("most", most, Self::MOST)?;
                ordered(("least", least), ("most", most))?;
                ordered(("off", off), ("least", least))
            }
        }
    }

    /// One of them. [`Count::Fixed`] takes no number from the stream, the others one.
    pub fn draw(&self, stream: &mut Stream) -> u32 {
        match *self {
            Self::Fixed(count) => count.min(Self::MOST),
            Self::Uniform { from, to } => {
                let choices = u64::from(to.min(Self::MOST).saturating_sub(from)) + 1;
                let above = stream.below(choices);
                from.saturating_add(u32::try_from(above).unwrap_or(0)).min(Self::MOST)
            }
            Self::Pareto { least, shape, most, off } => {
                let most = most.min(Self::MOST).into();
                let clip = Truncation::Clip;
                let drawn = inverse::pareto(stream.unit(), least.into(), shape, most, clip);
                #[expect(clippy::cast_possible_truncation, reason = "rounding down is meant")]
                let whole = drawn as u32;
                whole.saturating_sub(off)
            }
        }
    }
}
