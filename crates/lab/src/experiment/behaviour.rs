//! `behaviour`: a preset of a server, and every choice that differs from it.
//!
//! Left out are the choices that test clients (`answer`, `pipelining`, `request_pieces`): a server of
//! an experiment answers every request in order with what was asked for.

use std::{num::NonZeroUsize, time::Duration};

use ackwise_http::behaviour::{Behaviour, Gather, HeadFlush, KeepAlivePolicy, Nagle, Tail};
use ackwise_tcp::ByteCount;

use super::{
    document::Value,
    error::ExperimentError,
    quantity::Quantity,
    reader::{Field, Reader, words},
};

/// Reads the name of a preset, or a table.
pub(crate) fn behaviour(field: Field<'_>) -> Result<Behaviour, ExperimentError> {
    if let Value::Text(_) = field.item.value {
        return field.choice(PRESETS);
    }
    let mut reader = field.table("the name of a preset, or a table")?;
    let preset = reader.or_with("preset", Behaviour::FIXED, |field| field.choice(PRESETS))?;
    let behaviour = differing(&mut reader, preset)?;
    reader.finish()?;
    Ok(behaviour)
}

fn differing(r: &mut Reader<'_>, preset: Behaviour) -> Result<Behaviour, ExperimentError> {
    Ok(Behaviour {
        head_flush: r.or("head_flush", preset.head_flush)?,
        write_size: r.or_with("write_size", preset.write_size, |f| size(&f, "all"))?,
        nagle: r.or("nagle", preset.nagle)?,
        tail: r.or("tail", preset.tail)?,
        send_buffer: r.or_with("send_buffer", preset.send_buffer, |f| size(&f, "host"))?,
        keep_alive: r.or_with("keep_alive", preset.keep_alive, keep_alive)?,
        think: r.or("think", preset.think)?,
        think_after_head: r.or("think_after_head", preset.think_after_head)?,
        think_between_writes: r.or("think_between_writes", preset.think_between_writes)?,
        gather: r.or("gather", preset.gather)?,
        ..preset
    })
}

/// A size, or the word for leaving it open.
fn size(field: &Field<'_>, open: &str) -> Result<Option<NonZeroUsize>, ExperimentError> {
    if matches!(&field.item.value, Value::Text(text) if text == open) {
        return Ok(None);
    }
    let fits = |size: &ByteCount| (1..=1 << 30).contains(&size.0);
    let range = format!("from 1 B to 1 GiB, or \"{open}\"");
    let size: ByteCount = field.quantity_in(&fits, &range)?;
    Ok(usize::try_from(size.0).ok().and_then(NonZeroUsize::new))
}

fn keep_alive(field: Field<'_>) -> Result<KeepAlivePolicy, ExperimentError> {
    let (name, variant) = field.variant(KEEP_ALIVE)?;
    if name == "never" {
        return variant.bare(KeepAlivePolicy::Never);
    }
    let mut reader = variant.table("{ silent = { idle = \"15 s\" } }, or announced")?;
    let idle = reader.required("idle", Duration::EXPECTED)?.quantity()?;
    let max_requests = reader.maybe("max_requests")?;
    reader.finish()?;
    Ok(match name {
        "announced" => KeepAlivePolicy::Announced { idle, max_requests },
        _ => KeepAlivePolicy::Silent { idle, max_requests },
    })
}

const PRESETS: &[(&str, Behaviour)] =
    &[("paper-1996", Behaviour::PAPER_1996), ("fixed", Behaviour::FIXED)];

const KEEP_ALIVE: &[&str] = &["never", "announced", "silent"];

words! {
    HeadFlush { "joined" => Joined, "apart" => Apart }
    Nagle { "on" => On, "off" => Off }
    Tail { "sent" => Sent, "corked" => Corked }
    Gather { "each" => Each, "pending" => Pending }
}
