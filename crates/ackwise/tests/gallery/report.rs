//! What `ackwise explain` says of a capture.

use std::{path::Path, process::Command};

use ackwise_cause::{Cause, Party};
use serde_json::Value;

/// What it prints, for people and for programs.
#[derive(Debug)]
pub(crate) struct Report {
    pub text: String,
    json: Value,
}

impl Report {
    /// Explains a capture with the program that users have.
    pub(crate) fn of(capture: &Path) -> Self {
        let text = explain(capture, &["--worst", "2"]);
        let json = serde_json::from_str(&explain(capture, &["--json"]));
        Self { text, json: json.expect("--json prints JSON") }
    }

    /// Time under this cause that this party can change.
    pub(crate) fn millis(&self, cause: Cause, party: Party) -> f64 {
        self.sum(|name, whose| name == cause.name() && whose == party.name())
    }

    /// The same as a part of all time.
    pub(crate) fn percent(&self, cause: Cause, party: Party) -> f64 {
        self.millis(cause, party) / self.all() * 100.0
    }

    /// Time that one end wastes on the other.
    pub(crate) fn stalls_millis(&self) -> f64 {
        self.sum(|name, _| is_stall(name))
    }

    /// Stalls of another name, as a part of all time.
    pub(crate) fn other_stalls(&self, cause: Cause) -> f64 {
        let others = |name: &str| name != cause.name();
        self.sum(|name, _| others(name) && is_stall(name)) / self.all() * 100.0
    }

    /// Percent of all connections whose TIME-WAIT this party held.
    pub(crate) fn time_wait_with(&self, party: Party) -> f64 {
        let connections = self.list("connections");
        let by = connections.iter().filter(|it| it["time_wait"] == party.name()).count();
        by as f64 / connections.len().max(1) as f64 * 100.0
    }

    /// Kind and party of each failure.
    pub(crate) fn failures(&self) -> impl Iterator<Item = [&str; 2]> {
        let words = |it| ["kind", "party"].map(|key| word(it, key));
        self.list("failures").iter().map(words)
    }

    fn all(&self) -> f64 {
        self.sum(|_, _| true).max(f64::MIN_POSITIVE)
    }

    fn sum(&self, counts: impl Fn(&str, &str) -> bool) -> f64 {
        let of_all = self.list("totals").iter().filter(|it| it["over"] == "all");
        let counted = of_all.filter(|it| counts(word(it, "cause"), word(it, "party")));
        counted.filter_map(|it| it["ms"].as_f64()).sum()
    }

    fn list(&self, key: &str) -> &[Value] {
        self.json[key].as_array().map_or(&[], Vec::as_slice)
    }
}

fn word<'a>(object: &'a Value, key: &str) -> &'a str {
    object[key].as_str().unwrap_or_default()
}

fn explain(capture: &Path, options: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    let output = command.arg("explain").args(options).arg(capture).output();
    let output = output.expect("it was built for this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

/// What nobody may be accused of who has not done it.
fn is_stall(name: &str) -> bool {
    let of =
        |cause: Cause| cause.is_stall() || matches!(cause, Cause::LossRecovery | Cause::Unknown);
    Cause::ALL.into_iter().any(|cause| of(cause) && cause.name() == name)
}
