//! How many failed requests are too many, as `explain --fail-on` has it.

use ackwise_cause::FailureKind;
use ackwise_load::{LoadReport, generator::Failure};

/// The largest number of failures, all or of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    kind: Option<&'static str>,
    most: u64,
}

impl Limit {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let (name, most) = text.split_once('=').unwrap_or((text, "0"));
        let most =
            most.parse().map_err(|_| format!("{most:?} is not a number (expected failures)"))?;
        let kind = Failure::KINDS.into_iter().find(|kind| *kind == name);
        match kind.is_some() || name == FAILURES {
            true => Ok(Self { kind, most }),
            false => {
                let kinds = Failure::KINDS.join(", ");
                Err(format!("unknown kind (expected {FAILURES}, or one of {kinds})"))
            }
        }
    }

    /// What exceeds it, in a message; `None` if nothing does.
    pub(super) fn exceeded_by(self, report: &LoadReport) -> Option<String> {
        let Self { kind, most } = self;
        let count = match kind {
            None => report.failed,
            Some(kind) if kind == FailureKind::CloseRace.name() => report.lost_in_close(),
            Some(kind) => {
                let of_kind = report.failures.iter().filter(|failed| failed.fault.kind == kind);
                of_kind.map(|failed| failed.count).sum()
            }
        };
        let name = kind.unwrap_or(FAILURES);
        (count > most).then(|| format!("--fail-on {name}={most}: exceeded by {count}"))
    }
}

/// Failures of all kinds.
const FAILURES: &str = "failures";
