//! What an earlier run found, so that a gate fails only for what is new.

use std::collections::BTreeMap;

use ackwise_text::Name;
use serde::Deserialize;

use super::card::{Finding, Protocol, Verdict};

/// The findings of an earlier run, as `ackwise check --json` printed them.
///
/// ```
/// use ackwise_check::Baseline;
///
/// let json = r#"{"format": {"name": "ackwise-check", "version": 2}, "results": []}"#;
/// assert!(Baseline::read(json).is_ok());
/// assert!(Baseline::read("{}").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Baseline {
    /// By version of HTTP and by name.
    known: BTreeMap<(String, String), Known>,
}

/// An earlier document cannot be used.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0} (expected what `ackwise check --json` printed)")]
pub struct BaselineError(String);

/// What counts of a document; a later version may have more.
#[derive(Deserialize)]
struct Document {
    format: Format,
    results: Vec<Card>,
}

#[derive(Deserialize)]
struct Format {
    name: String,
    version: u32,
}

#[derive(Deserialize)]
struct Card {
    /// Before there was HTTP/2, there was one version.
    protocol: Option<String>,
    findings: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    #[serde(flatten)]
    known: Known,
}

#[derive(Clone, Debug, Deserialize)]
struct Known {
    verdict: String,
    cost_ms: Option<f64>,
}

impl Baseline {
    /// Reads a document. Of several findings with one name, the last counts.
    ///
    /// # Errors
    ///
    /// If it is not one of `check`, or of a version that this program does not know.
    pub fn read(json: &str) -> Result<Self, BaselineError> {
        let refuse = |why: String| Err(BaselineError(why));
        let Document { format, results } = match serde_json::from_str(json) {
            Ok(document) => document,
            Err(error) => return refuse(format!("not a document of ackwise check: {error}")),
        };
        if format.name != "ackwise-check" {
            return refuse(format!("a document of the format {:?}", format.name));
        }
        if format.version > VERSION {
            return refuse(format!(
                "a document of version {}, newer than {VERSION}",
                format.version
            ));
        }
        let entries = results.into_iter().flat_map(|Card { protocol, findings }| {
            let protocol = protocol.unwrap_or_else(|| Name(Protocol::Http1).to_string());
            findings.into_iter().map(move |it| ((protocol.clone(), it.id), it.known))
        });
        Ok(Self { known: entries.collect() })
    }

    /// Whether the earlier run did not find this in the same version of HTTP: its verdict was better, or its cost much
    /// lower.
    #[must_use]
    pub fn is_new(&self, protocol: Protocol, finding: &Finding) -> bool {
        let key = (Name(protocol).to_string(), finding.id.name().to_owned());
        let Some(known) = self.known.get(&key) else { return true };
        let worst_known = VERDICTS.into_iter().find(|it| Name(*it).to_string() == known.verdict);
        if worst_known.is_none_or(|known| known < finding.verdict) {
            return true;
        }
        let [now, then] = [finding.cost_ms, known.cost_ms].map(|cost| cost.unwrap_or(0.0));
        now > 2.0 * then && now >= then + COSTLIER_MS
    }
}

const VERDICTS: [Verdict; 5] =
    [Verdict::NotApplicable, Verdict::Pass, Verdict::Unknown, Verdict::Warn, Verdict::Fail];

/// Of the JSON format; version 1 has the same keys here.
pub(crate) const VERSION: u32 = 2;

/// A cost that is more than twice as high and by so much is new. As for stalls, less is not worth a word.
const COSTLIER_MS: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        card::CheckId,
        report::{Exporter, Json, sample},
    };

    #[test]
    fn what_was_there_before_is_not_new() {
        let report = sample::one_card();
        let baseline = Baseline::read(&Json.export(&report)).unwrap();
        let findings = &report.cards[0].findings;
        assert!(findings.iter().all(|it| !baseline.is_new(Protocol::Http1, it)));
        let nagle = findings.iter().find(|it| it.id == CheckId::NagleDelayedAck).unwrap();
        assert_eq!(nagle.cost_ms, Some(40.17));
        #[rustfmt::skip]
        let table = [
            (Verdict::Fail, Some(40.17), false),
            (Verdict::Fail, Some(80.0),  false), // Not twice as much.
            (Verdict::Fail, Some(81.0),  true),
            (Verdict::Fail, None,        false),
            (Verdict::Warn, Some(5.0),   false), // It has become better.
        ];
        for (verdict, cost_ms, new) in table {
            let now = Finding { verdict, cost_ms, ..nagle.clone() };
            assert_eq!(baseline.is_new(Protocol::Http1, &now), new, "{verdict:?} {cost_ms:?}");
        }
        let pipelining = findings.iter().find(|it| it.id == CheckId::Pipelining).unwrap();
        for (verdict, new) in [(Verdict::Warn, true), (Verdict::NotApplicable, false)] {
            assert_eq!(
                baseline.is_new(Protocol::Http1, &Finding { verdict, ..pipelining.clone() }),
                new
            );
        }
        let close = Finding { id: CheckId::Close, ..pipelining.clone() };
        assert!(baseline.is_new(Protocol::Http1, &close), "it was not asked then");
        assert!(baseline.is_new(Protocol::Http2, nagle), "the other version was not checked");
        let before = Json.export(&report).replace("\"protocol\": \"http/1.1\",", "");
        assert!(
            !Baseline::read(&before).unwrap().is_new(Protocol::Http1, nagle),
            "an older document"
        );
    }

    #[test]
    fn another_document_is_refused_with_what_it_is() {
        for (json, says) in [
            ("", "not a document of ackwise check"),
            ("{}", "missing field `format`"),
            (
                r#"{"format": {"name": "ackwise-load", "version": 1}, "results": []}"#,
                "ackwise-load",
            ),
            (r#"{"format": {"name": "ackwise-check", "version": 3}, "results": []}"#, "version 3"),
        ] {
            let refused = Baseline::read(json).unwrap_err().to_string();
            assert!(refused.contains(says) && refused.contains("(expected what"), "{refused}");
        }
    }
}
