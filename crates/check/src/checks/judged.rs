//! What a check found, before the row of the card is made of it.

use ackwise_cause::Remedy;

use super::{CheckId, Finding, Values};
use crate::{
    http_client::Exchange,
    milliseconds::rounded,
    no_verdict::NoVerdict,
    verdict::{Reason, Verdict},
};

/// A verdict with what supports it.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) cost_ms: Option<f64>,
    pub(crate) summary: String,
    /// `None` if nothing is known.
    pub(crate) values: Option<Values>,
    pub(crate) evidence: Vec<String>,
    /// What to change, if not what the check's name tells.
    pub(crate) remedy: Option<Remedy>,
    /// Why the verdict is unknown.
    pub(crate) reason: Option<Reason>,
}

impl Judged {
    pub(crate) fn new(
        verdict: Verdict,
        summary: impl Into<String>,
        values: impl Into<Values>,
    ) -> Self {
        Self { values: Some(values.into()), ..Self::without_values(verdict, summary.into()) }
    }

    /// No verdict, and no values.
    pub(crate) fn unknown(reason: Reason, why: impl Into<String>) -> Self {
        Self::without_values(Verdict::Unknown, why.into()).because(reason)
    }

    /// What is asked about cannot occur on this target.
    pub(crate) fn not_applicable(why: impl Into<String>) -> Self {
        Self::without_values(Verdict::NotApplicable, why.into())
    }

    fn without_values(verdict: Verdict, summary: String) -> Self {
        let (cost_ms, values, evidence, remedy, reason) = (None, None, Vec::new(), None, None);
        Self { verdict, cost_ms, summary, values, evidence, remedy, reason }
    }

    /// Why the verdict is unknown.
    pub(crate) fn because(self, reason: Reason) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// Milliseconds for each response, request or stream.
    pub(crate) fn costing(self, ms: impl Into<Option<f64>>) -> Self {
        Self { cost_ms: ms.into().map(rounded), ..self }
    }

    pub(crate) fn remedied_by(self, remedy: impl Into<Option<Remedy>>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    pub(crate) fn shown_by<'a>(self, exchange: impl Into<Option<&'a Exchange>>) -> Self {
        self.with_evidence(exchange.into().map(Exchange::evidence).unwrap_or_default())
    }

    pub(crate) fn with_evidence(self, evidence: Vec<String>) -> Self {
        Self { evidence, ..self }
    }

    /// The row of `id`; `remedy` is the usual one, named if something is to be done.
    pub(crate) fn into_finding(self, id: CheckId, usual: Option<Remedy>) -> Finding {
        let wanted = matches!(self.verdict, Verdict::Warn | Verdict::Fail);
        let remedy = self.remedy.or(usual).filter(|_| wanted).map(|it| match it.software {
            Some(software) => format!("{}: {}", software.name(), it.text),
            None => it.text.to_owned(),
        });
        let Self { verdict, cost_ms, summary, evidence, reason, .. } = self;
        let values = self.values.unwrap_or_else(|| Values::unknown(id));
        Finding { id, verdict, cost_ms, summary, values, evidence, remedy, reason }
    }
}

impl From<NoVerdict> for Judged {
    fn from(NoVerdict { reason, why }: NoVerdict) -> Self {
        match reason {
            Some(reason) => Self::unknown(reason, why),
            None => Self::not_applicable(why),
        }
    }
}
