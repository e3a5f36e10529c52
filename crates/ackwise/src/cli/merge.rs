//! `ackwise merge FILE…`: the rows of several machines, as one result.

use std::path::PathBuf;

use ackwise_lab::{
    measures::{matches, renamed},
    run::{
        export::{About, Shown},
        merge,
    },
};
use clap::Args;

use super::{
    outcome::{Failure, Outcome},
    rows::Formats,
};

/// Put the rows of several runs together: the shards of one experiment, from several machines
///
/// The files are what `ackwise run --rows FILE` keeps or what `ackwise run --json` prints. Rows must be of
/// one experiment and one version; --json and --csv give what one run of all shards would have given.
/// Rows do not know what their experiment shows: without --show, the table has all measures.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Merge {
    /// Files with rows
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Be content if rows are missing
    #[arg(long)]
    partial: bool,

    /// Show only these measures in the table; * stands for anything
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    show: Vec<String>,

    #[command(flatten)]
    formats: Formats,
}

impl Merge {
    /// Whether `--json` was given.
    pub(crate) const fn json(&self) -> bool {
        self.formats.json()
    }
}

/// Reads, sorts, prints.
pub(crate) fn run(arguments: &Merge) -> Result<Outcome, Failure> {
    let rows = merge(&arguments.files, arguments.partial)?;
    let measures = || rows.iter().flat_map(|row| row.measures.keys());
    for pattern in &arguments.show {
        if !measures().any(|name| matches(pattern, name)) {
            let what = match renamed(pattern) {
                Some(name) => {
                    format!("--show {pattern}: {pattern} is called {name} since format version 1")
                }
                None => format!("--show {pattern}: no row has such a measure"),
            };
            return Err(Failure::Usage(what));
        }
    }
    let shown = Shown::patterns(arguments.show.clone());
    arguments.formats.export(&rows, &shown, &About::default())
}

const EXAMPLES: &str = "\
Examples:
  ackwise run sweep.toml --shard 1/2 --rows one.rows     on one machine
  ackwise run sweep.toml --shard 2/2 --rows two.rows     on another
  ackwise merge one.rows two.rows --csv sweep.csv        as if it had been one run";
