//! One small file for each finding: how to provoke it, and a pure function that decides.
//!
//! A probe never fails a server for being slow. Load makes things late, never early, so an arrival
//! before our ACK acquits, and an accusation needs releases that follow our ACK at two different
//! delays, again and again ([`follow`]).

mod accept_queue;
mod close;
mod cork_timer;
mod early_response;
mod facts;
mod first_byte;
mod flight;
pub mod follow;
mod idle_restart;
mod initial_window;
mod keep_alive;
mod nagle_delayed_ack;
mod pipelining;
mod request_segments;
mod send_buffer;
mod short_initial_segment;
mod split_head;

pub use accept_queue::Queue;
pub use facts::{Facts, Front, Idle};

use ackwise_cause::Remedy;

use super::{
    card::{Finding, FindingId, Values, Verdict},
    http_client::{Client, Exchange},
};

/// What a probe found, before the row of the card is made of it.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    verdict: Verdict,
    cost_ms: Option<f64>,
    summary: String,
    values: Values,
    evidence: Vec<String>,
    /// Something outside the server took the answer.
    disturbed: bool,
    /// What to change, if not what the finding's name tells.
    remedy: Option<Remedy>,
}

impl ProbeResult {
    fn new(verdict: Verdict, summary: impl Into<String>, values: impl Into<Values>) -> Self {
        let (summary, values) = (summary.into(), values.into());
        Self {
            verdict,
            cost_ms: None,
            summary,
            values,
            evidence: Vec::new(),
            disturbed: false,
            remedy: None,
        }
    }

    fn costing(mut self, ms: Option<f64>) -> Self {
        self.cost_ms = ms.map(rounded);
        self
    }

    fn disturbed(self, disturbed: bool) -> Self {
        Self { disturbed, ..self }
    }

    fn remedied_by(self, remedy: Option<Remedy>) -> Self {
        Self { remedy, ..self }
    }

    fn shown_by(mut self, exchange: Option<&Exchange>) -> Self {
        self.evidence = exchange.map(Exchange::evidence).unwrap_or_default();
        self
    }
}

/// Asks the question `id`.
///
/// A probe that cannot go on finds `unknown`, and says why.
pub fn probe(id: FindingId, client: &mut Client, facts: &mut Facts) -> Finding {
    let found = match id {
        FindingId::SplitHead => split_head::probe(client, facts),
        FindingId::ShortInitialSegment => short_initial_segment::probe(client, facts),
        FindingId::NagleDelayedAck => nagle_delayed_ack::probe(client, facts),
        FindingId::CorkTimer => cork_timer::probe(client, facts),
        FindingId::FirstByte => first_byte::probe(client, facts),
        FindingId::InitialWindow => initial_window::probe(client, facts),
        FindingId::IdleRestart => idle_restart::probe(client, facts),
        FindingId::SendBuffer => send_buffer::probe(client, facts),
        FindingId::KeepAlive => keep_alive::probe(client, facts),
        FindingId::Pipelining => pipelining::probe(client, facts),
        FindingId::Close => close::probe(client, facts),
        FindingId::RequestSegments => request_segments::probe(client, facts),
        FindingId::EarlyResponse => early_response::probe(client, facts),
        FindingId::AcceptQueueFull => Ok(accept_queue::probe(client, facts.queue)),
    };
    let found = found.unwrap_or_else(|error| {
        ProbeResult::new(
            Verdict::Unknown,
            format!("could not be determined: {error}"),
            Values::unknown(id),
        )
        .disturbed(error.is_disturbance())
    });
    let ProbeResult { verdict, cost_ms, summary, values, evidence, disturbed, remedy } = found;
    let wanted = matches!(verdict, Verdict::Warn | Verdict::Fail);
    let remedy = remedy.or_else(|| id.remedy(facts.software())).filter(|_| wanted);
    let remedy = remedy.map(|it| it.text.to_owned());
    Finding { id, verdict, cost_ms, summary, values, evidence, remedy, disturbed }
}

/// Milliseconds, to the microsecond.
fn rounded(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// Milliseconds of `span`, to the microsecond.
fn ms(span: std::time::Duration) -> f64 {
    rounded(span.as_secs_f64() * 1e3)
}
