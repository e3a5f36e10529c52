//! `[host.NAME.table]`: in what order a host looks for a segment's connection, and where its memory ends.

use std::time::Duration;

use ackwise_sim::table::{Dummies, TableModel, TableOrder};
use ackwise_tcp::ByteCount;

use super::{
    error::ExperimentError,
    quantity::Quantity,
    reader::{Field, words},
};

/// Reads a table.
pub(crate) fn table(field: Field<'_>) -> Result<TableModel, ExperimentError> {
    let mut reader = field.table("{ order, record, memory, others, dummies }")?;
    let record = |field: Field<'_>| {
        let fits = |size: &ByteCount| (1..=MOST_RECORD).contains(&size.0);
        field.quantity_in(&fits, "from 1 B to 1 MiB")
    };
    let table = TableModel {
        order: reader.required("order", "\"linear\", \"time-wait-last\" or \"hash\"")?.read()?,
        record: reader.or_with("record", BSD_RECORD, record)?,
        memory: reader.maybe("memory")?,
        others: reader.or_with("others", 0, |field| field.integer(0..=MOST_ENTRIES))?,
        dummies: reader.optional("dummies").map(|field| dummies(&field)).transpose()?,
    };
    reader.finish()?;
    Ok(table)
}

fn dummies(field: &Field<'_>) -> Result<Dummies, ExperimentError> {
    let mut reader = field.table("{ entries, at, every }")?;
    let entries = reader.required("entries", "how many")?;
    let entries = entries.integer(0..=MOST_ENTRIES)?;
    let at = reader.or("at", Duration::ZERO)?;
    let every = reader.required("every", Duration::EXPECTED)?.quantity()?;
    reader.finish()?;
    Ok(Dummies { entries, at, every })
}

/// An inpcb and a tcpcb of 4.3BSD, one mbuf each.
const BSD_RECORD: ByteCount = ByteCount(256);

const MOST_RECORD: u64 = 1 << 20;

/// More than a host of any time holds in TIME-WAIT.
const MOST_ENTRIES: u32 = 10_000_000;

words! {
    TableOrder { "linear" => Linear, "time-wait-last" => TimeWaitLast, "hash" => Hash }
}
