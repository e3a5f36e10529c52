//! `[link.NAME]`: one duplex link, or one for each member of a group.

use std::{num::NonZeroU32, time::Duration};

use ackwise_link::{Faults, Limit, LinkConfig, Pick, Probability, Queue, Rate};
use ackwise_tcp::Octets;

use super::{
    document::{Table, Value},
    error::ExperimentError,
    quantity::{Packets, Share, parse},
    reader::{Field, Reader},
};

/// The keys of one direction; `back` may repeat them with other values for the way back.
const DIRECTION: &[&str] =
    &["rate", "delay", "queue", "loss", "duplication", "reordering", "lateness"];

/// Both directions of the link that `table` describes: there, and back.
pub(crate) fn directions(
    table: &Table,
    reader: &mut Reader<'_>,
) -> Result<[LinkConfig; 2], ExperimentError> {
    let there = direction(reader)?;
    let Some(back) = reader.optional("back") else { return Ok([there.clone(), there]) };
    // Read by itself first, so that a misspelt key is found where it stands.
    let mut alone = back.table("a table of what differs on the way back")?;
    let _ = direction(&mut alone)?;
    alone.finish()?;
    let Value::Table(differences) = &back.item.value else { return Ok([there.clone(), there]) };
    let both = Table {
        entries: table.entries.iter().filter(|e| DIRECTION.contains(&&*e.key)).cloned().collect(),
    };
    let both = both.overlaid(differences);
    let back = direction(&mut Reader::new(&both, back.place(), &back.path))?;
    Ok([there, back])
}

fn direction(reader: &mut Reader<'_>) -> Result<LinkConfig, ExperimentError> {
    let rate = reader.optional("rate").map(|field| field.quantity::<Rate>()).transpose()?;
    let delay = reader.or("delay", Duration::ZERO, |field| field.quantity())?;
    let queue = reader.or("queue", DEFAULT_QUEUE, queue)?;
    let faults = Faults {
        loss: reader.or("loss", Pick::Never, pick)?,
        duplication: reader.or("duplication", Pick::Never, pick)?,
        reordering: reader.or("reordering", Pick::Never, pick)?,
        lateness: reader.or("lateness", Duration::ZERO, |field| field.quantity())?,
    };
    Ok(LinkConfig { rate, delay, queue, faults, ..LinkConfig::IDEAL })
}

fn queue(field: Field<'_>) -> Result<Queue, ExperimentError> {
    if let Value::Text(text) = &field.item.value {
        if let Some(Packets(limit)) = parse(text) {
            return Ok(Queue::DropTail(Limit::Packets(limit)));
        }
        if let Some(limit) = parse::<Octets>(text).filter(|limit| limit.0 > 0) {
            return Ok(Queue::octets(limit.0));
        }
    }
    Err(field.wrong("a number of packets such as \"25 packets\", or a size such as \"64 KB\""))
}

/// Which packets a fault hits: a share of them at random, or those of a list.
fn pick(field: Field<'_>) -> Result<Pick, ExperimentError> {
    if let Value::Text(_) = field.item.value {
        let Share { per_million } = field.quantity()?;
        return Ok(Probability::per_million(per_million).map_or(Pick::Never, Pick::Random));
    }
    let mut reader = field.table("a share such as \"0.5 %\", or { nth = [1, 7] }")?;
    let nth = reader.required("nth", "a list of the packets' numbers, from 1")?;
    let numbers = nth.list("a list of the packets' numbers, from 1")?;
    let numbers = numbers.iter().map(|field| field.integer(1..=u64::MAX >> 1));
    let numbers = numbers.collect::<Result<_, _>>()?;
    reader.finish()?;
    Ok(Pick::Nth(numbers))
}

/// Linux's `txqueuelen`.
const DEFAULT_QUEUE: Queue =
    Queue::DropTail(Limit::Packets(NonZeroU32::new(1_000).expect("1000 is not 0")));

/// What each packet takes on the link beside its IP datagram; 38 B on Ethernet, with the gap.
pub(crate) fn overhead(field: Field<'_>) -> Result<Octets, ExperimentError> {
    field.quantity_in(&|size: &Octets| size.0 <= 1_000, "at most 1000 B")
}

/// For messages.
pub(crate) const ENDS: &str = "the names of two nodes, or of groups of them";
