//! What `ackwise explain --json` tells of a capture: failures, and the exchanges that they are about.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde::Deserialize;

/// A failure that is reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) kind: String,
    pub(super) confidence: String,
    /// The client's port.
    pub(super) port: u16,
    /// Which exchange of the connection.
    pub(super) number: Option<u32>,
    pub(super) ms: f64,
    /// Infinite if nothing shows the end.
    pub(super) at_most: f64,
}

/// Of one capture.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) told: Vec<Told>,
    /// Exchanges in the report.
    pub(super) exchanges: usize,
}

#[derive(Deserialize)]
struct Report {
    failures: Vec<Failure>,
    connections: Vec<Connection>,
    exchanges: Vec<Exchange>,
}

#[derive(Deserialize)]
struct Failure {
    kind: String,
    confidence: String,
    exchange: Option<u64>,
    connection: Option<u64>,
    ms: f64,
    ms_at_most: Option<f64>,
    outcome: String,
}

#[derive(Deserialize)]
struct Connection {
    id: u64,
    client: String,
}

#[derive(Deserialize)]
struct Exchange {
    id: u64,
    connection: u64,
}

/// Asks `program` about these captures: one, or one from each end. The inner error says why it refuses a pair, such as
/// one that nothing came back in.
///
/// # Errors
///
/// If it fails, or prints something else.
pub(super) fn ask(program: &Path, captures: &[&Path]) -> anyhow::Result<Result<Said, String>> {
    let mut command = Command::new(program);
    command.args(["explain", "--json"]);
    if captures.len() == 2 {
        command.arg("--pair");
    }
    let output = command.args(captures).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_well = output.status.success();
    if !is_well && captures.len() == 2 {
        return Ok(Err(said.trim().to_owned()));
    }
    ensure!(is_well, "{captures:?}: {said}");
    parse(&output.stdout).map(Ok).with_context(|| format!("{captures:?}: {said}"))
}

fn parse(json: &[u8]) -> anyhow::Result<Said> {
    let Report { failures, connections, exchanges } = serde_json::from_slice(json)?;
    let ports: BTreeMap<u64, u16> = connections
        .iter()
        .filter_map(|it| Some((it.id, it.client.rsplit(':').next()?.parse().ok()?)))
        .collect();
    // In the order of their requests, as in the report.
    let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
    let mut numbers = BTreeMap::new();
    for exchange in &exchanges {
        let count = counts.entry(exchange.connection).or_default();
        numbers.insert(exchange.id, (exchange.connection, *count));
        *count += 1;
    }
    let told = |it: Failure| {
        let exchange = it.exchange.and_then(|id| numbers.get(&id));
        // The schema: "null if nothing else shows its end". Of what does not end by silence, packets do.
        let is_open = OPEN.contains(&it.outcome.as_str());
        let connection = it.connection.or_else(|| exchange.map(|it| it.0));
        Told {
            kind: it.kind,
            confidence: it.confidence,
            port: connection.and_then(|id| ports.get(&id)).copied().unwrap_or_default(),
            number: exchange.map(|it| it.1),
            ms: it.ms,
            at_most: it.ms_at_most.unwrap_or(if is_open { f64::INFINITY } else { it.ms }),
        }
    };
    Ok(Said { told: failures.into_iter().map(told).collect(), exchanges: exchanges.len() })
}

/// Outcomes whose end nobody sees: the client only stops waiting.
const OPEN: [&str; 2] = ["silent", "connect-unanswered"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_known_by_port_and_number() {
        let json = br#"{"connections": [{"id": 3, "client": "10.0.0.1:4000"}],
            "exchanges": [{"id": 8, "connection": 3}, {"id": 9, "connection": 3}],
            "failures": [{"kind": "reset", "confidence": "high", "exchange": 9, "connection": 3,
                "ms": 1.5, "ms_at_most": null, "outcome": "reset", "more": 1},
                {"kind": "silent", "confidence": "high", "exchange": 8, "connection": 3, "ms": 7,
                "ms_at_most": null, "outcome": "silent"},
                {"kind": "connect-refused", "confidence": "high", "exchange": null, "connection": 3,
                "ms": 1, "ms_at_most": 2, "outcome": "connect-refused"}]}"#;
        let said = parse(json).unwrap();
        assert_eq!(said.told[0].port, 4000);
        assert_eq!((said.told[0].number, said.told[2].number), (Some(1), None));
        let at_most: Vec<f64> = said.told.iter().map(|it| it.at_most).collect();
        assert_eq!((at_most, said.exchanges), (vec![1.5, f64::INFINITY, 2.0], 2));
    }
}
