//! `docs/findings.md`.

use std::fmt::{self, Write};

use super::{
    Reproduction, conclusion,
    layout::{Grid, LEGEND, number},
};
use crate::{claim::Claim, paper::PaperResults, table::ComparisonTable};

/// The whole document, with a line feed at its end.
#[must_use]
pub fn markdown(reproduction: &Reproduction) -> String {
    let mut out = String::new();
    write(&mut out, reproduction).expect("a string takes every write");
    out
}

/// One paper's section of it.
#[must_use]
pub fn section(results: &PaperResults) -> String {
    let mut out = String::new();
    write_paper(&mut out, results).expect("a string takes every write");
    out
}

fn write(out: &mut String, reproduction: &Reproduction) -> fmt::Result {
    writeln!(out, "# Findings\n\n{HEAD}\n\nCells of values: {LEGEND}.")?;
    reproduction.papers.iter().try_for_each(|results| write_paper(out, results))
}

fn write_paper(out: &mut String, results: &PaperResults) -> fmt::Result {
    let PaperResults { paper, tables, claims } = results;
    writeln!(out, "\n## {}", paper.title())?;
    if claims.is_empty() {
        return tables.iter().try_for_each(|table| write_table(out, table));
    }
    writeln!(out, "\n{}", conclusion(results))?;
    tables.iter().try_for_each(|table| write_table(out, table))?;
    writeln!(out, "\n### Claims\n")?;
    writeln!(out, "| claim | holds | numbers | how it was tested |\n| --- | --- | --- | --- |")?;
    claims.iter().try_for_each(|claim| write_claim(out, claim))
}

fn write_table(out: &mut String, table: &ComparisonTable) -> fmt::Result {
    writeln!(out, "\n### {}\n\n`{}`\n", table.title, table.id)?;
    let grid = Grid::of(table);
    let (header, lines, keys) = (&grid.header, grid.cells(), grid.keys);
    writeln!(out, "{}", line(header))?;
    let rule = (0..header.len()).map(|column| if column < keys { "---" } else { "---:" });
    writeln!(out, "{}", line(&rule.map(str::to_owned).collect::<Vec<_>>()))?;
    lines.iter().try_for_each(|cells| writeln!(out, "{}", line(cells)))?;
    if !table.notes.is_empty() {
        writeln!(out)?;
    }
    table.notes.iter().try_for_each(|note| writeln!(out, "- {note}"))
}

fn write_claim(out: &mut String, claim: &Claim) -> fmt::Result {
    let Claim { id, place, text, numbers, .. } = claim;
    let holds = claim.holds();
    let numbers = numbers.iter().map(|(name, value)| format!("{name} {}", number(*value)));
    let cells = [
        format!("`{id}`, {place}: “{text}”"),
        format!("**{}**", holds.as_str()),
        numbers.collect::<Vec<_>>().join("; "),
        claim.how(),
    ];
    writeln!(out, "{}", line(&cells))
}

fn line(cells: &[String]) -> String {
    let cells = cells.iter().map(|cell| cell.replace('|', "\\|"));
    format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
}

const HEAD: &str = "\
The papers' published values beside those of our runs, and each of their claims with whether it holds.
This file is generated: `cargo run --release -- reproduce --markdown > docs/findings.md`. Inputs
without a source and fitted inputs are listed under each table, from the comments in\n`crates/papers/experiments/`.";
