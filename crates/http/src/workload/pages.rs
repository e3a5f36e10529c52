//! A primary file and its inlines.

use alloc::borrow::Cow;

use ackwise_link::Stream;

use super::{Count, Size, Unusable, unusable::at_most};
use crate::page::Page;

/// What pages consist of: a primary file and the files that it refers to, its inlines.
///
/// The published ones are associated constants and functions: [`Pages::HEIDEMANN`],
/// [`Pages::gurkan`], [`Pages::MAH`], [`Pages::SURGE`], [`Pages::WEBSTONE_2`],
/// [`Pages::specweb96`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Pages {
    /// Always these files, in this order.
    Fixed {
        /// Bytes of the primary file.
        primary: u64,
        /// Bytes of each inline.
        inlines: Cow<'static, [u64]>,
    },
    /// A new page each time, its files independent of one another.
    Drawn {
        /// The primary file.
        primary: Size,
        /// Each inline.
        inline: Size,
        /// How many of them.
        inlines: Count,
    },
}

impl Pages {
    /// Whether they can be drawn.
    ///
    /// # Errors
    ///
    /// The first parameter that is out of range.
    pub fn check(&self) -> Result<(), Unusable> {
        match self {
            Self::Fixed { primary, inlines } => {
                at_most("inlines", inlines.len(), usize::try_from(Count::MOST).unwrap_or(0))?;
                at_most("primary", *primary, Size::LARGEST.0)?;
                inlines.iter().try_for_each(|&size| at_most("inlines", size, Size::LARGEST.0))
            }
            Self::Drawn { primary, inline, inlines } => {
                primary.check()?;
                inline.check()?;
                inlines.check()
            }
        }
    }

    /// One page. The numbers are taken from the stream in this order: primary, how many inlines, each
    /// inline.
    #[must_use]
    pub fn draw(&self, stream: &mut Stream) -> Page {
        match self {
            Self::Fixed { primary, inlines } => {
                Page { primary: *primary, inlines: inlines.to_vec() }
            }
            Self::Drawn { primary, inline, inlines } => {
                let primary = primary.draw(stream).0;
                let count = inlines.draw(stream);
                let inlines = (0..count).map(|_| inline.draw(stream).0).collect();
                Page { primary, inlines }
            }
        }
    }
}
