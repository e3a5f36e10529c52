//! The segments of one transaction (section 3.2.1), counted.

use crate::{
    ReproduceError,
    file::{File, experiment_file},
    inputs::inputs,
    packets::Packets,
    runner::{self, Outcome},
    study::case,
    table::{ComparisonTable, Row},
};

/// Case by case.
pub(super) struct Transaction(Vec<Outcome<Packets>>);

pub(super) fn run() -> Result<Transaction, ReproduceError> {
    runner::run(FILE, |_| Packets::default()).map(Transaction)
}

impl Transaction {
    /// The segments of the second transaction, whose server is known.
    pub(super) fn segments(&self, open: &str, ack: &str) -> Result<f64, ReproduceError> {
        let labels = [("open", open), ("ack", ack)];
        let found = self.0.iter().find(|outcome| outcome.matches(&labels)).and_then(segments);
        found.ok_or_else(|| ReproduceError::NoCase { case: format!("{labels:?}") })
    }

    pub(super) fn table(&self) -> ComparisonTable {
        let row = |outcome| Row {
            case: case(outcome),
            measure: "segments".to_owned(),
            ours: segments(outcome),
            ..Row::default()
        };
        ComparisonTable {
            id: "gurkan1998_transaction".to_owned(),
            title:
                "Segments of a transaction with one segment each way, and a server that is known"
                    .to_owned(),
            notes: inputs(FILE.text),
            rows: self.0.iter().map(row).collect(),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a transaction has a few segments")]
fn segments(outcome: &Outcome<Packets>) -> Option<f64> {
    let sent = &outcome.seen.sent;
    let last = sent.last()?.connection;
    Some(sent.iter().filter(|packet| packet.connection == last).count() as f64)
}

const FILE: File = experiment_file!("gurkan_transaction.toml");
