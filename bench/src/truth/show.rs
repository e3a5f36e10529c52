//! Truth and statements of one case, side by side.

use std::fmt::{self, Write as _};

use ackwise_cause::Direction;
use anyhow::Context;

use super::case::Recorded;
use super::compare::Cell;
use super::reading::{self, Exchange, Vantage};
use super::score::{Truths, cells, ms};

/// Each exchange as it is read at each place, gap by gap. Parts of less than 0.1 ms are left out (our
/// choice).
///
/// # Errors
///
/// If a capture cannot be read.
pub(super) fn show(recorded: &Recorded) -> anyhow::Result<String> {
    let mut text = String::new();
    let out = &mut text;
    let case = &recorded.case;
    writeln!(out, "{} ({}, {}, seed {})", case.name, case.family, case.world, case.seed)?;
    for (name, value) in &case.parameters {
        writeln!(out, "  {name} = {value}")?;
    }
    if let Some(why) = &case.disturbed {
        writeln!(out, "  disturbed: {why}")?;
    }
    let packets = reading::load(&recorded.folder, &case.captures)
        .with_context(|| format!("case {}", case.name))?;
    let truths = Truths::of(&recorded.truth.intervals, &recorded.case.one_way_ms);
    for vantage in Vantage::ALL {
        let said = match reading::read(vantage, &case.captures, &case.one_way_ms, &packets, None) {
            Ok(Some(said)) => said,
            Ok(None) => continue,
            Err(why) => {
                writeln!(out, "\n{vantage}: {why:#}")?;
                continue;
            }
        };
        for (number, exchange) in said.exchanges.iter().enumerate() {
            title(out, vantage, number, exchange)?;
            let cells = cells(exchange, &said, &truths);
            for cell in cells.iter().filter(|it| it.nanos >= LEAST) {
                line(out, cell, exchange)?;
            }
        }
    }
    Ok(text)
}

const LEAST: u64 = 100_000;

const HEADINGS: &str = "   gap at ms         ms  truth                              said";

fn title(out: &mut String, vantage: Vantage, number: usize, exchange: &Exchange) -> fmt::Result {
    writeln!(
        out,
        "\n{vantage} #{} {} {} -> {}: at {:.6} s, {:.3} ms",
        number + 1,
        exchange.request,
        exchange.connection.client,
        exchange.connection.server,
        ms(exchange.from_ns) / 1e3,
        ms(exchange.until_ns - exchange.from_ns),
    )?;
    writeln!(out, "{HEADINGS}")
}

fn line(out: &mut String, cell: &Cell, exchange: &Exchange) -> fmt::Result {
    let way = |to_server: bool| if to_server { "to server" } else { "to client" };
    let truth = cell.truth.map_or_else(
        || "not judged".to_owned(),
        |it| {
            let several = if it.ambiguous { " (one of several)" } else { "" };
            format!("{} {}{several}", it.cause, way(it.to_server))
        },
    );
    let said = cell.said.map_or_else(
        || "nothing".to_owned(),
        |(cause, direction, confidence)| {
            let way = way(direction == Direction::ToServer);
            format!("{cause} {way}, {}", confidence.name())
        },
    );
    let mark = if cell.truth.is_some_and(|it| !it.right) { "  WRONG" } else { "" };
    let gap = ms(cell.gap.saturating_sub(exchange.from_ns));
    writeln!(out, "  {gap:>10.3} {:>10.3}  {truth:<34} {said}{mark}", ms(cell.nanos))
}
