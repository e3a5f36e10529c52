//! `stream-first-event` and `stream-gaps`: facts about a stream, with every segment acknowledged at once.

use std::time::Duration;

use ackwise_cause::FindingId;
use ackwise_text::words::{counted, rounded};

use super::{
    judged::{Judged, ms},
    record::Record,
};
use crate::card::{StreamFirstEvent, StreamGaps, Verdict};

pub(super) fn first_event(prompt: &Record) -> Judged {
    let event = prompt.first_event.map(|at| at.saturating_duration_since(prompt.exchange.sent));
    let byte = prompt.exchange.first_byte();
    let values = StreamFirstEvent { first_event_ms: event.map(ms), first_byte_ms: byte.map(ms) };
    let summary = format!(
        "the first event arrives {} after the request, the first byte after {}",
        event.map(rounded).unwrap_or_default(),
        byte.map(rounded).unwrap_or_default()
    );
    Judged::new(FindingId::StreamFirstEvent, Verdict::Pass, summary, values)
}

pub(super) fn gaps(prompt: &Record) -> Judged {
    let id = FindingId::StreamGaps;
    let events = counted(prompt.events as u64, "event");
    let mut gaps: Vec<Duration> = prompt.gaps().collect();
    gaps.sort_unstable();
    let (Some(longest), Some(median)) = (gaps.last().copied(), gaps.get(gaps.len() / 2)) else {
        return Judged::without(id, None, format!("{events} came at once"));
    };
    let p99 = gaps[(gaps.len() * 99 / 100).min(gaps.len() - 1)];
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let values = StreamGaps {
        events: Some(count(prompt.events)),
        events_together: Some(count(prompt.together())),
        longest_ms: Some(ms(longest)),
        median_ms: Some(ms(*median)),
        p99_ms: Some(ms(p99)),
    };
    let arrivals = counted(prompt.bursts.len() as u64, "arrival");
    let summary = format!(
        "{events} in {arrivals}, {} apart (median; 99 %: {}, longest: {})",
        rounded(*median),
        rounded(p99),
        rounded(longest)
    );
    Judged::new(id, Verdict::Pass, summary, values)
}
