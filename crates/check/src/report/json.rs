//! For programs. The keys are documented in `docs/check.md` and only ever added to.

use serde::Serialize;

use super::{Exporter, Report};
use crate::{card::Card, page_times::PageTimes};

/// One JSON object: `{"cards": […], …}`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Json;

impl Exporter for Json {
    fn export(&self, report: &Report) -> String {
        let Report { cards, pages, surprises } = report;
        let document = Document {
            ackwise: env!("CARGO_PKG_VERSION"),
            summary: report.conclusion(),
            cards,
            pages,
            surprises,
        };
        let mut json = serde_json::to_string_pretty(&document)
            .expect("no map of a report has keys other than strings");
        json.push('\n');
        json
    }
}

#[derive(Serialize)]
struct Document<'a> {
    ackwise: &'static str,
    summary: String,
    cards: &'a [Card],
    pages: &'a [PageTimes],
    surprises: &'a [String],
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
