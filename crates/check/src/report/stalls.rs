//! The checks that look for lost time: while one of them is open, no report says that no time is lost.

use crate::card::{Card, Finding, Reason, Verdict};

/// The findings of `card` that are about stalls.
pub(super) fn of(card: &Card) -> impl Iterator<Item = &Finding> {
    card.findings.iter().filter(|finding| finding.id.is_stall())
}

/// Those that were not found out, although the stack can do so.
pub(super) fn open(card: &Card) -> impl Iterator<Item = &Finding> {
    unanswered(card).filter(|finding| finding.id.is_stall())
}

/// All findings that were not found out, although the stack can do so.
pub(super) fn unanswered(card: &Card) -> impl Iterator<Item = &Finding> {
    unknown(card).filter(|finding| finding.reason != Some(Reason::Stack))
}

/// All findings that the client's TCP stack cannot measure.
pub(super) fn beyond_stack(card: &Card) -> impl Iterator<Item = &Finding> {
    unknown(card).filter(|finding| finding.reason == Some(Reason::Stack))
}

fn unknown(card: &Card) -> impl Iterator<Item = &Finding> {
    card.findings.iter().filter(|finding| finding.verdict == Verdict::Unknown)
}
