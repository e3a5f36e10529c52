//! A primary file and its inlines.

use alloc::borrow::Cow;

use ackwise_link::Stream;

use super::{Count, Size, Unusable, unusable::at_most};
use crate::page::Page;

/// The composition of pages: a primary file and its inlines, the files that it refers to.
///
/// The published ones are associated constants and functions: [`Pages::HEIDEMANN`],
/// [`Pages::gurkan`], [`Pages::MAH`], [`Pages::SURGE`], [`Pages::WEBSTONE_2`],
/// [`Pages::specweb96`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Pages {
    /// The same files each time, in this order.
    Fixed {
        /// Bytes of the primary file.
        primary: u64,
        /// Bytes of each inline.
        inlines: Cow<'static, [u64]>,
    },
    /// A new page each time, with independent files.
    Drawn {
        /// The primary file.
        primary: Size,
        /// Each inline.
        inline: Size,
        /// Number of inlines.
        inlines: Count,
    },
}

impl Pages {
    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// If a parameter is out of range; the first one is reported.
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

    /// Draws one page. Takes numbers from the stream in this order: primary, number of inlines,
    /// each inline.
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
