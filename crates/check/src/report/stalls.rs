//! The questions about lost time: while one of them is open, nobody may say that no time is lost.

use crate::card::{Card, Finding, FindingId, Reason, Verdict};

/// The findings of `card` that are about stalls.
pub(super) fn of(card: &Card) -> impl Iterator<Item = &Finding> {
    card.findings.iter().filter(|finding| is_stall(finding.id))
}

/// Those that were not found out, although the stack can do so.
pub(super) fn open(card: &Card) -> impl Iterator<Item = &Finding> {
    unanswered(card).filter(|finding| is_stall(finding.id))
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

fn is_stall(id: FindingId) -> bool {
    STALLS.contains(&id) || CLIENT_STALLS.contains(&id) || STREAM_STALLS.contains(&id)
}

/// The questions about stalls of clients.
const CLIENT_STALLS: [FindingId; 3] =
    [FindingId::RequestNagle, FindingId::ExpectContinue, FindingId::HappyEyeballs];

/// The questions about stalls of streams.
const STREAM_STALLS: [FindingId; 2] = [FindingId::StreamHeld, FindingId::StreamGzip];

/// The questions about stalls of servers.
pub const STALLS: [FindingId; 6] = [
    FindingId::ShortInitialSegment,
    FindingId::NagleDelayedAck,
    FindingId::CorkTimer,
    FindingId::FirstByte,
    FindingId::ResponsePause,
    FindingId::RequestSegments,
];
