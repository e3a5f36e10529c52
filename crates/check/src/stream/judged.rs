//! How a check of a stream becomes a row of the card.

use std::time::Duration;

use ackwise_cause::Remedy;

use crate::{
    card::{Finding, FindingId, Reason, Values, Verdict},
    http_client::{Exchange, ExchangeError},
};

/// A finding under way.
pub(super) struct Judged(Finding);

impl Judged {
    pub(super) fn new(
        id: FindingId,
        verdict: Verdict,
        summary: impl Into<String>,
        values: impl Into<Values>,
    ) -> Self {
        let (summary, values) = (summary.into(), values.into());
        let (evidence, remedy, reason, cost_ms) = (Vec::new(), None, None, None);
        Self(Finding { id, verdict, cost_ms, summary, values, evidence, remedy, reason })
    }

    /// No verdict: unknown for a reason, or there is nothing to judge.
    pub(super) fn without(id: FindingId, reason: Option<Reason>, why: impl Into<String>) -> Self {
        let verdict = if reason.is_some() { Verdict::Unknown } else { Verdict::NotApplicable };
        let Self(finding) = Self::new(id, verdict, why, Values::unknown(id));
        Self(Finding { reason, ..finding })
    }

    /// The stream could not be read again.
    pub(super) fn failed(id: FindingId, error: &ExchangeError) -> Self {
        Self::without(id, Some(error.reason()), format!("could not be determined: {error}"))
    }

    pub(super) fn costing(self, cost: Duration) -> Self {
        Self(Finding { cost_ms: Some(ms(cost)), ..self.0 })
    }

    pub(super) fn remedied_by(self, remedy: Option<Remedy>) -> Self {
        let text = remedy.map(|it| match it.software {
            Some(software) => format!("{}: {}", software.name(), it.text),
            None => it.text.to_owned(),
        });
        Self(Finding { remedy: text, ..self.0 })
    }

    pub(super) fn shown_by(self, exchange: &Exchange) -> Self {
        Self(Finding { evidence: exchange.evidence(), ..self.0 })
    }

    pub(super) fn into_finding(self) -> Finding {
        self.0
    }
}

/// Milliseconds, to the microsecond.
pub(super) fn ms(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
