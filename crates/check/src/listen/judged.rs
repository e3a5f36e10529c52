//! How a check of a client becomes a row of the card.

use std::time::Duration;

use ackwise_text::words::counted;

use super::observed::{Request, Step};
use crate::card::{Finding, FindingId, Reason, Values, Verdict};

/// A verdict, with a remedy if something is to be done.
pub(super) fn judged(
    id: FindingId,
    verdict: Verdict,
    summary: impl Into<String>,
    values: impl Into<Values>,
) -> Finding {
    let wanted = matches!(verdict, Verdict::Warn | Verdict::Fail);
    let remedy = id.remedy(None).filter(|_| wanted).map(|it| it.text.to_owned());
    Finding {
        id,
        verdict,
        cost_ms: None,
        summary: summary.into(),
        values: values.into(),
        evidence: Vec::new(),
        remedy,
        reason: None,
    }
}

/// Nothing that could be judged has happened.
pub(super) fn not_applicable(id: FindingId, why: impl Into<String>) -> Finding {
    judged(id, Verdict::NotApplicable, why, Values::unknown(id))
}

pub(super) fn unknown(id: FindingId, reason: Reason, why: impl Into<String>) -> Finding {
    Finding { reason: Some(reason), ..judged(id, Verdict::Unknown, why, Values::unknown(id)) }
}

/// The steps of a request, one line each: time from its first byte, direction, and what it was.
pub(super) fn evidence(request: &Request) -> Vec<String> {
    let at = |step: &Step| match step {
        Step::Arrived { at, .. } | Step::Acknowledged { at } => *at,
    };
    let Some(first) = request.steps.first().map(at) else { return Vec::new() };
    let line = |step: &Step| {
        let since = at(step).saturating_sub(first).as_secs_f64();
        match step {
            Step::Arrived { bytes, .. } => format!("{since:.6} > {bytes} bytes"),
            Step::Acknowledged { .. } => format!("{since:.6} < ACK"),
        }
    };
    request.steps.iter().take(MOST_LINES).map(line).collect()
}

/// The middle of some times; of an even number, the larger one.
pub(super) fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

/// Milliseconds, to the microsecond.
pub(super) fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// `1 request`, and `2 requests`.
pub(super) fn count(number: usize, what: &str) -> String {
    counted(number as u64, what)
}

/// Counts of a run are far below the limit of their type.
pub(super) fn count32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Evidence beyond this is of no use. Our choice.
const MOST_LINES: usize = 8;
