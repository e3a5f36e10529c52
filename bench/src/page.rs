//! Measures a page's time on the server of 1996, and on the one with all fixes.
//!
//! Both are the built-in servers of `ackwise check` without a URL, which measures the page times
//! itself; this benchmark repeats it and adds the spread. One command runs both sides, so its
//! processor time is that of the whole check.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;

use super::{Benchmark, Side, program};
use xtask::install::needs::Package;
use xtask::process::{self, Output};

/// The benchmark.
#[derive(Debug, Default)]
pub(crate) struct Page {
    program: PathBuf,
}

impl Benchmark for Page {
    fn name(&self) -> &'static str {
        "page"
    }

    fn question(&self) -> &'static str {
        "what does a page of small documents cost on the 1996 server, and on the fixed one?"
    }

    fn packages(&self) -> &'static [Package] {
        &[]
    }

    fn label(&self, side: Side) -> &'static str {
        match side {
            Side::Ours => "fixed",
            Side::Other => "1996",
        }
    }

    fn unit(&self) -> &'static str {
        "ms per page"
    }

    fn rounds(&self) -> NonZeroUsize {
        const { NonZeroUsize::new(5).unwrap() }
    }

    fn prepare(&mut self) -> anyhow::Result<()> {
        self.program = program::build()?;
        Ok(())
    }

    fn measure(&mut self, side: Side) -> anyhow::Result<f64> {
        let mut json = String::new();
        let mut take = |line: &str| json.push_str(line);
        let mut check = Command::new(&self.program);
        // One finding, because the verdicts are not measured here.
        check.args(["check", "--json", "--stack", "kernel", "--only", "nagle-delayed-ack"]);
        let end = process::run(&mut check, Output::Take(&mut take), CHECK_LIMIT)?;
        let report = serde_json::from_str(&json)
            .with_context(|| format!("ackwise check --json ended ({end:?}) without JSON"))?;
        page_ms(&report, self.label(side)).with_context(|| format!("no page time in {json}"))
    }
}

/// The median time of the page of [`DOCUMENTS`] from `server`.
fn page_ms(report: &Value, server: &str) -> Option<f64> {
    let pages = report.get("pages")?.as_array()?;
    let wanted = |page: &&Value| {
        page["server"] == server && page["documents"] == Value::from(&DOCUMENTS[..])
    };
    pages.iter().find(wanted)?.get("median_ms")?.as_f64()
}

/// Sizes in bytes of a page of small documents, whose time is almost entirely waiting.
const DOCUMENTS: [u32; 3] = [500, 300, 200];

const CHECK_LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_right_server_and_documents_is_taken() {
        let report = serde_json::json!({"pages": [
            {"server": "1996", "documents": [6651, 3883, 1866], "median_ms": 132.0},
            {"server": "1996", "documents": [500, 300, 200], "median_ms": 127.5},
            {"server": "fixed", "documents": [500, 300, 200], "median_ms": 0.12},
        ]});
        assert_eq!(page_ms(&report, "1996"), Some(127.5));
        assert_eq!(page_ms(&report, "fixed"), Some(0.12));
    }

    #[test]
    fn a_report_without_page_times_gives_none() {
        for report in [serde_json::json!({}), serde_json::json!({"pages": [{"server": "1996"}]})] {
            assert_eq!(page_ms(&report, "1996"), None, "{report}");
        }
    }
}
