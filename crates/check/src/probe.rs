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
mod h2_flow_control;
mod h2_streams;
mod idle_restart;
mod initial_window;
mod keep_alive;
mod nagle_delayed_ack;
mod pipelining;
mod prompt;
mod request_segments;
mod response_pause;
mod send_buffer;
mod short_initial_segment;
mod split_head;

pub use accept_queue::Queue;
pub use facts::{Facts, Front, Idle, IdleEnd};

use ackwise_cause::Remedy;

use super::{
    card::{Finding, FindingId, Protocol, Reason, Values, Verdict},
    http_client::{Client, Exchange, ExchangeError},
};

/// What a probe found, before the row of the card is made of it.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    verdict: Verdict,
    cost_ms: Option<f64>,
    summary: String,
    values: Values,
    evidence: Vec<String>,
    /// Why the verdict is unknown.
    reason: Option<Reason>,
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
            reason: None,
            remedy: None,
        }
    }

    /// An unknown verdict of which some values are known all the same.
    fn unknown(reason: Reason, summary: impl Into<String>, values: impl Into<Values>) -> Self {
        Self { reason: Some(reason), ..Self::new(Verdict::Unknown, summary, values) }
    }

    fn costing(mut self, ms: Option<f64>) -> Self {
        self.cost_ms = ms.map(rounded);
        self
    }

    fn remedied_by(self, remedy: Option<Remedy>) -> Self {
        Self { remedy, ..self }
    }

    fn shown_by(mut self, exchange: Option<&Exchange>) -> Self {
        self.evidence = exchange.map(Exchange::evidence).unwrap_or_default();
        self
    }
}

/// Why a probe has nothing to say about the server.
#[derive(Clone, Debug)]
pub struct NoVerdict {
    /// `None` if what is asked about cannot occur on this target.
    reason: Option<Reason>,
    /// What is in the way, or what is missing.
    why: String,
}

impl NoVerdict {
    fn unknown(reason: Reason, why: impl Into<String>) -> Self {
        Self { reason: Some(reason), why: why.into() }
    }

    fn not_applicable(why: impl Into<String>) -> Self {
        Self { reason: None, why: why.into() }
    }
}

impl From<ExchangeError> for NoVerdict {
    fn from(error: ExchangeError) -> Self {
        Self::unknown(error.reason(), format!("could not be determined: {error}"))
    }
}

/// Asks the question `id`.
pub fn probe(id: FindingId, client: &mut Client, facts: &mut Facts) -> Finding {
    let found = facts.has_what_is_asked_about(id).and_then(|()| answer(id, client, facts));
    let found = found.unwrap_or_else(|NoVerdict { reason, why }| match reason {
        Some(reason) => ProbeResult::unknown(reason, why, Values::unknown(id)),
        None => ProbeResult::new(Verdict::NotApplicable, why, Values::unknown(id)),
    });
    let ProbeResult { verdict, cost_ms, summary, values, evidence, reason, remedy } = found;
    let wanted = matches!(verdict, Verdict::Warn | Verdict::Fail);
    let remedy = remedy.or_else(|| id.remedy(facts.software())).filter(|_| wanted);
    let remedy = remedy.map(|it| match it.software {
        Some(software) => format!("{}: {}", software.name(), it.text),
        None => it.text.to_owned(),
    });
    Finding { id, verdict, cost_ms, summary, values, evidence, remedy, reason }
}

fn answer(id: FindingId, client: &mut Client, facts: &mut Facts) -> Result<ProbeResult, NoVerdict> {
    match id {
        FindingId::SplitHead => split_head::probe(client, facts),
        FindingId::ShortInitialSegment => short_initial_segment::probe(client, facts),
        FindingId::NagleDelayedAck => nagle_delayed_ack::probe(client, facts),
        FindingId::CorkTimer => cork_timer::probe(client, facts),
        FindingId::FirstByte => first_byte::probe(client, facts),
        FindingId::ResponsePause => response_pause::probe(client, facts),
        FindingId::InitialWindow => initial_window::probe(client, facts),
        FindingId::IdleRestart => idle_restart::probe(client, facts),
        FindingId::SendBuffer => send_buffer::probe(client, facts),
        FindingId::KeepAlive => keep_alive::probe(client, facts),
        FindingId::Pipelining => pipelining::probe(client, facts),
        FindingId::Close => close::probe(client, facts),
        FindingId::RequestSegments => request_segments::probe(client, facts),
        FindingId::EarlyResponse => early_response::probe(client, facts),
        FindingId::H2FlowControl => h2_flow_control::probe(client, facts),
        FindingId::H2Streams => h2_streams::probe(client, facts),
        FindingId::AcceptQueueFull => accept_queue::probe(client, facts.queue.as_ref()),
        FindingId::RequestNagle
        | FindingId::ExpectContinue
        | FindingId::ConnectionReuse
        | FindingId::CloseRace
        | FindingId::FirstClose
        | FindingId::RefusedUpload
        | FindingId::HappyEyeballs
        | FindingId::WindowUpdates => {
            Err(NoVerdict::not_applicable("it grades clients (check --listen)"))
        }
        FindingId::StreamFirstEvent
        | FindingId::StreamGaps
        | FindingId::StreamHeld
        | FindingId::StreamGzip => {
            Err(NoVerdict::not_applicable("it grades streams of events (check --stream)"))
        }
    }
}

/// For a probe that keeps a connection open for longer than others should wait.
fn may_keep_open(client: &Client) -> Result<(), NoVerdict> {
    match client.hold() {
        Some(_) => Err(NoVerdict::not_applicable("the server serves one connection at a time")),
        None => Ok(()),
    }
}

/// For a probe of what only HTTP/2 has.
fn needs_http2(client: &Client) -> Result<(), NoVerdict> {
    match client.protocol() {
        Protocol::Http1 => Err(NoVerdict::not_applicable("this is about HTTP/2 only")),
        Protocol::Http2 => Ok(()),
    }
}

/// For a probe of what only HTTP/1.1 has; `why` says what HTTP/2 has instead.
fn needs_http1(client: &Client, why: &str) -> Result<(), NoVerdict> {
    match client.protocol() {
        Protocol::Http1 => Ok(()),
        Protocol::Http2 => Err(NoVerdict::not_applicable(why)),
    }
}

/// Milliseconds, to the microsecond.
fn rounded(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

/// Milliseconds of `span`, to the microsecond.
fn ms(span: std::time::Duration) -> f64 {
    rounded(span.as_secs_f64() * 1e3)
}
