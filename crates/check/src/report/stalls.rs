//! The questions about lost time: while one of them is open, nobody may say that no time is lost.

use crate::card::{Card, Finding, FindingId, Verdict};

/// The findings of `card` that are about stalls.
pub(super) fn of(card: &Card) -> impl Iterator<Item = &Finding> {
    card.findings.iter().filter(|finding| is_stall(finding.id))
}

/// Those that were not found out.
pub(super) fn open(card: &Card) -> impl Iterator<Item = &Finding> {
    of(card).filter(|finding| finding.verdict == Verdict::Unknown)
}

fn is_stall(id: FindingId) -> bool {
    STALLS.contains(&id)
}

/// The questions about stalls.
pub const STALLS: [FindingId; 4] = [
    FindingId::ShortInitialSegment,
    FindingId::NagleDelayedAck,
    FindingId::CorkTimer,
    FindingId::RequestSegments,
];
