//! `[link.NAME]`: one duplex link, or one for each member of a group.

use std::{num::NonZeroU32, time::Duration};

use ackwise_http::workload::Span;
use ackwise_link::{
    BeyondMax, Faults, Limit, LinkConfig, Pick, Probability, Queue, Rate, RateChange, Red, Spacing,
};
use ackwise_tcp::{ByteCount, Instant};

use super::{
    distribution::span,
    document::{Item, Table, Value},
    error::ExperimentError,
    quantity::{Packets, Quantity, parse},
    reader::{Field, Reader, join, words},
};

/// The keys of one direction; `back` may repeat them with other values for the way back.
const DIRECTION: &[&str] = &[
    "rate",
    "rate_change",
    "delay",
    "queue",
    "loss",
    "duplication",
    "reordering",
    "lateness",
    "mtu",
];

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

/// The delay of both directions, if each run draws it.
pub(crate) fn drawn_delay(table: &Table, path: &str) -> Result<Option<Span>, ExperimentError> {
    let Some(item) = table.get("delay") else { return Ok(None) };
    let Value::Table(_) = item.value else { return Ok(None) };
    if let Some(Item { value: Value::Table(back), .. }) = table.get("back")
        && let Some(own) = back.get("delay")
    {
        let what = "a delay that is drawn is the same in both directions";
        return Err(ExperimentError::contradiction(&own.place, path, what));
    }
    span(Field { item, path: join(path, "delay") }).map(Some)
}

fn direction(reader: &mut Reader<'_>) -> Result<LinkConfig, ExperimentError> {
    let rate = reader.maybe("rate")?;
    let rate_change = reader.or_with("rate_change", None, |field| rate_change(&field).map(Some))?;
    // One that is drawn is read for both directions together.
    let delay = reader.or_with("delay", Duration::ZERO, |field| match field.item.value {
        Value::Table(_) => Ok(Duration::ZERO),
        _ => field.quantity(),
    })?;
    let queue = reader.or_with("queue", DEFAULT_QUEUE, queue)?;
    let faults = Faults {
        loss: reader.or_with("loss", Pick::Never, pick)?,
        duplication: reader.or_with("duplication", Pick::Never, pick)?,
        reordering: reader.or_with("reordering", Pick::Never, pick)?,
        lateness: reader.or("lateness", Duration::ZERO)?,
        mtu: reader.optional("mtu").map(mtu).transpose()?,
        ..Faults::NONE
    };
    Ok(LinkConfig { rate, rate_change, delay, queue, faults, ..LinkConfig::IDEAL })
}

fn rate_change(field: &Field<'_>) -> Result<RateChange, ExperimentError> {
    let mut reader = field.table("{ at, rate }")?;
    let at: Duration = reader.required("at", Duration::EXPECTED)?.quantity()?;
    let rate = reader.required("rate", Rate::EXPECTED)?.quantity()?;
    reader.finish()?;
    Ok(RateChange { at: Instant::EPOCH + at, rate })
}

fn queue(field: Field<'_>) -> Result<Queue, ExperimentError> {
    const EXPECTED: &str =
        "packets such as \"25 packets\", a size such as \"64 KB\", or { red = { … } }";
    if let Value::Text(text) = &field.item.value {
        let packets = parse(text).ok();
        let packets = packets.map(|Packets(limit)| Queue::DropTail(Limit::Packets(limit)));
        let bytes = || parse::<ByteCount>(text).ok().filter(|limit| limit.0 > 0);
        let queue = packets.or_else(|| bytes().map(|limit| Queue::bytes(limit.0)));
        return queue.ok_or_else(|| field.wrong(EXPECTED));
    }
    let mut reader = field.table(EXPECTED)?;
    if let Value::Table(Table { entries }) = &field.item.value
        && let Some(other) = entries.iter().find(|entry| entry.key != "red")
    {
        return Err(ExperimentError::unknown(
            (&other.place, &field.path),
            "queue",
            &other.key,
            ["red"],
        ));
    }
    let red = reader.required("red", "{ limit, … }")?;
    reader.finish()?;
    red_queue(red.table("{ limit, … }")?).map(Queue::Red)
}

/// What is not said is as in the simulations of Floyd and Jacobson 1993.
fn red_queue(mut reader: Reader<'_>) -> Result<Red, ExperimentError> {
    let Packets(limit) = reader.required("limit", Packets::EXPECTED)?.quantity()?;
    let Red {
        min_threshold,
        max_threshold,
        max_probability,
        weight_per_million,
        spacing,
        beyond_max,
        limit,
        mean_packet,
    } = Red::floyd_jacobson_1993(limit);
    let packets = |field: Field<'_>| field.quantity().map(|Packets(packets)| packets.get());
    let share = |field: Field<'_>| field.quantity().map(Probability::as_per_million);
    let min_field = reader.optional("min_threshold");
    let min_threshold = min_field.clone().map_or(Ok(min_threshold), packets)?;
    let max_field = reader.optional("max_threshold");
    let max_threshold = max_field.clone().map_or(Ok(max_threshold), packets)?;
    if let Some(field) = max_field.or(min_field).filter(|_| max_threshold <= min_threshold) {
        let what = format!(
            "max_threshold ({max_threshold} packets) must be above min_threshold ({min_threshold})"
        );
        return Err(field.contradiction(what));
    }
    let red = Red {
        min_threshold,
        max_threshold,
        max_probability: reader.or("max_probability", max_probability)?,
        weight_per_million: reader.or_with("weight", weight_per_million, share)?,
        spacing: reader.or("spacing", spacing)?,
        beyond_max: reader.or("beyond_max", beyond_max)?,
        limit,
        mean_packet: reader.or("mean_packet", mean_packet)?,
    };
    reader.finish()?;
    Ok(red)
}

/// Which packets a fault hits: a share of them at random, or those of a list.
fn pick(field: Field<'_>) -> Result<Pick, ExperimentError> {
    if let Value::Text(_) = field.item.value {
        return field.quantity().map(Pick::Random);
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

/// RFC 791, section 3.2: every link carries datagrams of 68 bytes, and none is larger than 65,535.
fn mtu(field: Field<'_>) -> Result<ByteCount, ExperimentError> {
    let legal = |size: &ByteCount| (68..=65_535).contains(&size.0);
    field.quantity_in(&legal, "68 B to 65535 B")
}

/// After how long without packets a flow is forgotten.
pub(crate) fn forgets_after(field: Field<'_>) -> Result<Duration, ExperimentError> {
    field.quantity_in(&|span: &Duration| !span.is_zero(), "more than 0 s")
}

/// What each packet takes on the link beside its IP datagram; 38 B on Ethernet, with the gap.
pub(crate) fn overhead(field: Field<'_>) -> Result<ByteCount, ExperimentError> {
    field.quantity_in(&|size: &ByteCount| size.0 <= 1_000, "at most 1000 B")
}

/// For messages.
pub(crate) const ENDS: &str = "the names of two nodes, or of groups of them";

words! {
    Spacing { "uniform" => Uniform, "waiting" => Waiting }
    BeyondMax { "drop-all" => DropAll, "gentle" => Gentle }
}
