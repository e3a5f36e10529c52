//! The exchanges of a plan for a page.

use alloc::{boxed::Box, vec::Vec};
use core::{num::NonZeroU32, ops::Range};

use super::{LocalCopy, Page, Transfer};

/// A request and its response.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) files: Range<u32>,
    pub(super) response: u64,
    pub(super) progress: Progress,
}

impl Exchange {
    /// Whether its request was sent on `connection` and is unanswered.
    pub(super) fn is_asked_on(&self, connection: u32) -> bool {
        matches!(self.progress, Progress::AskedOn { connection: on, .. } if on == connection)
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Progress {
    Planned,
    AskedOn {
        connection: u32,
        /// Whether the connection has carried a response before.
        proven: bool,
    },
    Answered,
}

/// The exchanges in order. An exchange whose files need not be asked about is omitted.
pub(super) fn exchanges(
    transfer: Transfer,
    page: &Page,
    mut cached: impl FnMut(usize) -> LocalCopy,
) -> Box<[Exchange]> {
    let mut each = files(page);
    each.retain_mut(|exchange| match cached(exchange.files.start as usize) {
        LocalCopy::None => true,
        LocalCopy::Fresh => false,
        LocalCopy::Validated => {
            exchange.response = 0;
            true
        }
    });
    match transfer {
        Transfer::Serial
        | Transfer::Parallel { .. }
        | Transfer::Persistent
        | Transfer::Pipelined => each.into(),
        Transfer::SegmentFilled { segment } => {
            let inlines_from = each.iter().take_while(|first| first.files.start == 0).count();
            let inlines = joined(1, each.split_off(inlines_from), page);
            let primary = each.into_iter().map(|primary| filled(primary, segment));
            primary.chain(inlines).collect()
        }
        Transfer::GetWeb => joined(0, each, page).into_iter().collect(),
    }
}

/// Each file in its own exchange.
fn files(page: &Page) -> Vec<Exchange> {
    let lengths = core::iter::once(&page.primary).chain(&page.inlines);
    let exchange = |(file, &response)| Exchange {
        files: file..file + 1,
        response,
        progress: Progress::Planned,
    };
    (0..u32::MAX).zip(lengths).map(exchange).collect()
}

/// One exchange for all of `each`, which spans the page's files from `first` on.
fn joined(first: u32, each: Vec<Exchange>, page: &Page) -> Option<Exchange> {
    let end = u32::try_from(page.inlines.len()).unwrap_or(u32::MAX).saturating_add(1);
    let response = each.iter().map(|file| file.response).fold(0, u64::saturating_add);
    (!each.is_empty()).then_some(Exchange {
        files: first..end,
        response,
        progress: Progress::Planned,
    })
}

/// Whole segments, at least one: the thesis' Table 4.7 has 14600 = 10 * 1460 where its other tables
/// have 15000, and never less than 1460. A body that is not sent is not filled.
fn filled(primary: Exchange, segment: NonZeroU32) -> Exchange {
    if primary.response == 0 {
        return primary;
    }
    let segment = u64::from(segment.get());
    let response = (primary.response / segment * segment).max(segment);
    Exchange { response, ..primary }
}
