//! For a terminal.

use std::fmt::{self, Write};

use super::{
    Reproduction,
    layout::{Grid, LEGEND, number},
};
use crate::{claim::Claim, paper::PaperResults, table::ComparisonTable};

/// The whole document, with a line feed at its end.
#[must_use]
pub fn text(reproduction: &Reproduction) -> String {
    let mut out = String::new();
    write(&mut out, reproduction).expect("a string takes every write");
    out
}

fn write(out: &mut String, reproduction: &Reproduction) -> fmt::Result {
    writeln!(out, "{LEGEND}")?;
    for PaperResults { paper, tables, claims } in &reproduction.papers {
        writeln!(out, "\n{}\n", paper.title())?;
        tables.iter().try_for_each(|table| write_table(out, table))?;
        writeln!(out, "Claims\n")?;
        claims.iter().try_for_each(|claim| write_claim(out, claim))?;
    }
    Ok(())
}

fn write_table(out: &mut String, table: &ComparisonTable) -> fmt::Result {
    writeln!(out, "{}: {}", table.id, table.title)?;
    let grid = Grid::of(table);
    let (header, lines) = (&grid.header, grid.cells());
    let all = || std::iter::once(header).chain(&lines);
    let width = |column: usize| all().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..header.len()).map(width).collect();
    for line in all() {
        let cells = line.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    for note in &table.notes {
        fill(out, "  - ", note)?;
    }
    writeln!(out)
}

fn write_claim(out: &mut String, claim: &Claim) -> fmt::Result {
    let Claim { id, place, text, tests, numbers, remark, .. } = claim;
    let holds = claim.holds();
    fill(out, "  ", &format!("{}: {id} ({place})", holds.as_str()))?;
    fill(out, "    ", &format!("“{text}”"))?;
    tests.iter().try_for_each(|test| fill(out, "    ", &test.to_string()))?;
    fill(out, "    ", remark)?;
    let numbers = numbers.iter().map(|(name, value)| format!("{name} = {}", number(*value)));
    fill(out, "    ", &numbers.collect::<Vec<_>>().join(", "))?;
    writeln!(out)
}

fn fill(out: &mut String, indent: &str, text: &str) -> fmt::Result {
    if text.is_empty() {
        return Ok(());
    }
    let blank = " ".repeat(indent.len());
    let options = textwrap::Options::new(WIDTH).initial_indent(indent).subsequent_indent(&blank);
    writeln!(out, "{}", textwrap::fill(text, options))
}

/// Of running text. Tables are as wide as they are.
const WIDTH: usize = 100;
