//! Counts and medians of what was observed, in words.

use ackwise_text::words::counted;

use super::observed::{Request, Step};

/// The steps of a request, one line each: time from its first byte, direction, and what it was.
pub(crate) fn evidence(request: &Request) -> Vec<String> {
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

/// `1 request`, and `2 requests`.
pub(crate) fn count(number: usize, what: &str) -> String {
    counted(number as u64, what)
}

/// Counts of a run are far below the limit of their type.
pub(crate) fn count32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Evidence beyond this is of no use. Our choice.
const MOST_LINES: usize = 8;
