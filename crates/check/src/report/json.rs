//! For programs. The keys are documented in `docs/check/json.md` and only added to while the version stays.

use ackwise_text::format::{self, Format};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Exporter, Report};
use crate::{
    baseline::VERSION,
    card::{Card, CheckId},
    page_times::PageTimes,
};

/// One JSON object: a [`Document`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Exporter for Json {
    fn export(&self, report: &Report) -> String {
        let Report { cards, pages, surprises, baseline: _ } = report;
        format::to_json(&Document {
            ackwise: env!("CARGO_PKG_VERSION"),
            summary: report.conclusion(),
            results: cards,
            pages,
            unexpected: surprises,
            new: report.news(),
        })
    }
}

/// What `ackwise check --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
pub struct Document<'a> {
    /// The version of the program.
    ackwise: &'static str,
    /// The summary, as in the text report.
    summary: String,
    /// One object for each server.
    results: &'a [Card],
    /// Page times of the built-in servers; empty for other servers.
    pages: &'a [PageTimes],
    /// How the built-in servers differed from the expected results; empty if they did not.
    unexpected: &'a [String],
    /// What `--baseline` did not have; omitted without that.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<String>>")]
    new: Option<Vec<CheckId>>,
}

impl format::Document for Document<'_> {
    const FORMAT: Format = Format { name: "ackwise-check", version: VERSION };
    const ABOUT: &'static str = "What `ackwise check --json` prints: the findings for each server.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn json_of_one_card() {
        insta::assert_snapshot!(versionless(&Json.export(&sample::one_card())));
    }

    #[test]
    fn json_of_both_built_in_servers() {
        insta::assert_snapshot!(versionless(&Json.export(&sample::built_in())));
    }

    fn versionless(json: &str) -> String {
        json.replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }
}
