//! Number of inline files of a page.

use ackwise_link::Stream;

use super::{
    Truncation, Unusable, inverse,
    unusable::{at_most, ordered, positive},
};

/// Number of inlines of a page. A draw is at most [`Count::MOST`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Count {
    /// A constant number.
    Fixed(u32),
    /// Uniform, both ends included.
    Uniform {
        /// The minimum.
        from: u32,
        /// The maximum.
        to: u32,
    },
    /// Pareto, F(x) = 1 - (least / x)^shape, rounded down and clipped.
    Pareto {
        /// The minimum, k.
        least: u32,
        /// The tail's exponent, alpha.
        shape: f64,
        /// The maximum; larger values are clipped to it.
        most: u32,
        /// Subtracted from the result: 1 where the source also counts the primary file.
        off: u32,
    },
}

impl Count {
    /// Maximum of any draw (our choice; pages of the period have a few inlines).
    pub const MOST: u32 = 10_000;

    /// Checks the parameters. [`draw`](Self::draw) never fails, but its result for an unusable
    /// distribution is meaningless.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range; the first one is reported.
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

    /// Draws one value. [`Count::Fixed`] takes no number from the stream, the others take one.
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
