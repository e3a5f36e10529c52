//! An [`OnKernel`] for people and for programs.

use std::fmt::{self, Write};

use ackwise_text::format::{self, Format};
use schemars::JsonSchema;
use serde::Serialize;

use super::{KernelClaim, KernelRow, KernelTable, OnKernel, OnKernelVerdict};

/// What `ackwise reproduce --on kernel --json` prints.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ReproduceOnKernel")]
pub struct Document<'a> {
    /// The version of the program.
    ackwise: &'static str,
    /// The papers' experiments.
    tables: &'a [KernelTable],
    /// The papers' claims.
    claims: &'a [KernelClaim],
}

impl format::Document for Document<'_> {
    const FORMAT: Format = Format::first("ackwise-reproduce-kernel");
    const ABOUT: &'static str = "What `ackwise reproduce --on kernel --json` prints: the papers' experiments on \
                                 the kernel, beside two simulations and the published values.";
}

/// One JSON object, with a line feed at its end.
#[must_use]
pub fn json(all: &OnKernel) -> String {
    let OnKernel { tables, claims } = all;
    format::to_json(&Document { ackwise: env!("CARGO_PKG_VERSION"), tables, claims })
}

/// For a terminal.
#[must_use]
pub fn text(all: &OnKernel) -> String {
    let mut out = String::new();
    write_text(&mut out, all).expect("a string takes every write");
    out
}

/// For a page of the documentation.
#[must_use]
pub fn markdown(all: &OnKernel) -> String {
    let mut out = String::new();
    write_markdown(&mut out, all).expect("a string takes every write");
    out
}

fn write_text(out: &mut String, all: &OnKernel) -> fmt::Result {
    for table in &all.tables {
        writeln!(out, "{}: {}", table.id, table.title)?;
        let lines: Vec<_> = [HEADER.map(str::to_owned)].into_iter().chain(lines(table)).collect();
        let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
        let widths: Vec<usize> =
            (0..HEADER.len()).map(|column| width(column).unwrap_or(0)).collect();
        for line in &lines {
            let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < KEYS { format!("{cell:width$}") } else { format!("{cell:>width$}") }
            });
            writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        writeln!(out)?;
    }
    writeln!(out, "Claims\n")?;
    for KernelClaim { id, text, on_kernel, because } in &all.claims {
        writeln!(out, "  {}: {id}\n    {text}\n    {because}\n", words(*on_kernel))?;
    }
    writeln!(out, "{}", verdict(all))
}

fn write_markdown(out: &mut String, all: &OnKernel) -> fmt::Result {
    for table in &all.tables {
        writeln!(out, "\n### {}\n\n`{}`\n", table.title, table.id)?;
        writeln!(out, "| {} |", HEADER.join(" | "))?;
        let rule = (0..HEADER.len()).map(|column| if column < KEYS { "---" } else { "---:" });
        writeln!(out, "| {} |", rule.collect::<Vec<_>>().join(" | "))?;
        for line in lines(table) {
            writeln!(out, "| {} |", line.join(" | "))?;
        }
    }
    writeln!(out, "\n### Claims\n\n| claim | on the kernel | because |\n| --- | --- | --- |")?;
    for KernelClaim { id, text, on_kernel, because } in &all.claims {
        writeln!(out, "| **{id}** {text} | {} | {because} |", words(*on_kernel))?;
    }
    writeln!(out, "\n{}", verdict(all))
}

/// How near the simulator is, in a sentence.
fn verdict(all: &OnKernel) -> String {
    let [outside, judged] = all.outside_limits();
    if judged == 0 {
        return "No limit is set for how near the simulator is to these values.".to_owned();
    }
    let near = judged - outside;
    format!(
        "The simulator with linux-6 is near the kernel in {near} of {judged} times (10 % or 1 ms, and 20 % \
         where packets were dropped)."
    )
}

fn lines(table: &KernelTable) -> impl Iterator<Item = [String; 10]> {
    table.rows.iter().map(|row| {
        let KernelRow { case, measure, published, model, paper_tcp, linux_6, kernel, .. } = row;
        let spread =
            row.kernel_range.map(|[low, high]| format!("{}..{}", number(low), number(high)));
        let error = row.error().map_or_else(String::new, |error| {
            let mark = if row.within_limit == Some(false) { " !" } else { "" };
            format!("{:+.1} %{mark}", 100.0 * error)
        });
        let runs = format!(
            "{}{}",
            row.runs,
            match row.disturbed {
                0 => String::new(),
                disturbed => format!(" + {disturbed} disturbed"),
            }
        );
        let cell = |value: &Option<f64>| value.map_or_else(String::new, number);
        [
            case.to_string(),
            measure.clone(),
            cell(published),
            cell(model),
            cell(paper_tcp),
            cell(linux_6),
            cell(kernel),
            spread.unwrap_or_default(),
            error,
            runs,
        ]
    })
}

fn number(value: f64) -> String {
    if value.fract() == 0.0 || value.abs() >= 1_000.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

const fn words(verdict: OnKernelVerdict) -> &'static str {
    match verdict {
        OnKernelVerdict::Holds => "holds",
        OnKernelVerdict::DoesNotHold => "does not hold",
        OnKernelVerdict::Undecided => "not decided",
        OnKernelVerdict::CannotBeTried => "cannot be tried",
        OnKernelVerdict::NotRun => "not run",
    }
}

const HEADER: [&str; 10] = [
    "case",
    "metric",
    "published",
    "model",
    "paper's TCP",
    "linux-6",
    "kernel",
    "kernel, range",
    "linux-6 - kernel",
    "runs",
];
/// Columns of words.
const KEYS: usize = 2;
