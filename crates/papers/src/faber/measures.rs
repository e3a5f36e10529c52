//! What is read off a run.

use ackwise_sim::{Nobody, measure::ApplicationMeasures};

use crate::runner::Outcome;

/// A host's table of connections.
#[derive(Clone, Copy, Debug)]
struct Table {
    entries_per_lookup: Option<f64>,
    refused: f64,
    /// KiB, the mean.
    memory: f64,
}

/// What the clients measured who go by the first of the names.
pub(super) fn application(outcome: &Outcome<Nobody>) -> Option<&ApplicationMeasures> {
    outcome.measures.applications.values().next()
}

fn server_table(outcome: &Outcome<Nobody>) -> Option<Table> {
    table_of(outcome, "server")
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are below 2^53")]
fn table_of(outcome: &Outcome<Nobody>, host: &str) -> Option<Table> {
    let table = outcome.measures.hosts.get(host)?.table?;
    let per_lookup = table.examined as f64 / table.lookups as f64;
    Some(Table {
        entries_per_lookup: per_lookup.is_finite().then_some(per_lookup),
        refused: table.refused as f64,
        memory: table.mean_memory as f64 / 1024.0,
    })
}

/// Connections a second: all that gave a document in the measured time, whatever their client.
#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 documents")]
pub(super) fn connection_rate(outcome: &Outcome<Nobody>) -> Option<f64> {
    let documents: u64 = outcome.measures.applications.values().map(|it| it.documents).sum();
    let seconds = outcome.measures.measured.as_secs_f64();
    (seconds > 0.0).then(|| documents as f64 / seconds)
}

/// Files a second.
#[expect(clippy::cast_precision_loss, reason = "there are not 2^53 files")]
pub(super) fn file_rate(outcome: &Outcome<Nobody>) -> Option<f64> {
    let files: u64 = outcome.measures.applications.values().map(|it| it.files).sum();
    let seconds = outcome.measures.measured.as_secs_f64();
    (seconds > 0.0).then(|| files as f64 / seconds)
}

/// Entries that the server examines to find a segment's connection, the mean.
pub(super) fn entries_per_lookup(outcome: &Outcome<Nobody>) -> Option<f64> {
    server_table(outcome)?.entries_per_lookup
}

/// Megabits a second, heads included.
pub(super) fn throughput(outcome: &Outcome<Nobody>) -> Option<f64> {
    let goodput: f64 = outcome.measures.applications.values().map(|it| it.goodput).sum();
    Some(goodput * 8.0 / 1e6)
}

/// KiB that the server's connections hold, the mean.
pub(super) fn server_memory(outcome: &Outcome<Nobody>) -> Option<f64> {
    server_table(outcome).map(|table| table.memory)
}

/// KiB that the connections of the only client's host hold, the mean.
pub(super) fn client_memory(outcome: &Outcome<Nobody>) -> Option<f64> {
    table_of(outcome, "client").map(|table| table.memory)
}

/// Connections that the server had no memory for.
pub(super) fn refused(outcome: &Outcome<Nobody>) -> Option<f64> {
    server_table(outcome).map(|table| table.refused)
}

/// The most that any client's host held in TIME-WAIT.
#[expect(clippy::cast_precision_loss, reason = "counts of a run are below 2^53")]
pub(super) fn client_time_wait(outcome: &Outcome<Nobody>) -> Option<f64> {
    let clients = outcome.measures.hosts.iter().filter(|(name, _)| *name != "server");
    clients.map(|(_, host)| host.most_time_wait as f64).reduce(f64::max)
}
