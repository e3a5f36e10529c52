//! `stream-first-event`: how long a stream takes to begin, with every segment acknowledged at once.

use ackwise_text::words::rounded;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged},
    milliseconds::ms,
    stream::Readings,
    verdict::Verdict,
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact("stream-first-event", "how long the first event of a stream takes"),
    is_stall: false,
    remedies: &[],
    run: Run::Stream(judge),
};

/// Values of `stream-first-event`.
#[derive(Clone, Copy, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct StreamFirstEvent {
    /// Time from the request to the first complete event.
    pub first_event_ms: Option<f64>,
    /// Time from the request to the first byte of the response.
    pub first_byte_ms: Option<f64>,
}

fn judge(readings: &Readings) -> Judged {
    let prompt = &readings.prompt;
    let event = prompt.first_event.map(|at| at.saturating_duration_since(prompt.exchange.sent));
    let byte = prompt.exchange.first_byte();
    let values = StreamFirstEvent { first_event_ms: event.map(ms), first_byte_ms: byte.map(ms) };
    let summary = format!(
        "the first event arrives {} after the request, the first byte after {}",
        event.map(rounded).unwrap_or_default(),
        byte.map(rounded).unwrap_or_default()
    );
    Judged::new(Verdict::Pass, summary, values)
}
