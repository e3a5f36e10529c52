//! `ackwise merge FILE…`: the rows of several machines, as one result.

use std::path::PathBuf;

use ackwise_lab::{
    measures::{matches, renamed},
    run::{
        export::{MeasureFilter, PageNotes},
        merge, merge_partial,
    },
};
use clap::Args;

use super::{
    files,
    interrupt::end_on_signal,
    outcome::{Failure, Outcome},
    rows::Formats,
};

/// Merge the shards of an experiment that ran on several machines
///
/// Reads files written by `ackwise run --rows FILE` or `ackwise run --json`. All rows must come from the
/// same experiment and the same version of ackwise. The output of --json and --csv is the same as for a
/// run without shards. The table has all metrics; --show selects some.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Merge {
    /// Read rows from these files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Allow missing rows
    #[arg(long)]
    partial: bool,

    /// Show only these metrics in the table; * matches any text
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
    end_on_signal()?;
    files::check(arguments.files.iter().map(PathBuf::as_path), arguments.formats.files())?;
    let rows = match arguments.partial {
        true => merge_partial(&arguments.files)?,
        false => merge(&arguments.files)?,
    };
    let measures = || rows.iter().flat_map(|row| row.measures.keys());
    for pattern in &arguments.show {
        if !measures().any(|name| matches(pattern, name)) {
            let what = match renamed(pattern) {
                Some(name) => {
                    format!("cannot show {pattern}: {pattern} was renamed to {name}")
                }
                None => format!("cannot show {pattern}: no row has this metric"),
            };
            return Err(Failure::Usage(what));
        }
    }
    let filter = MeasureFilter::patterns(arguments.show.clone());
    arguments.formats.export(&rows, &filter, &PageNotes::default())
}

const EXAMPLES: &str = "\
Examples:
  ackwise run sweep.toml --shard 1/2 --rows one.rows     on one machine
  ackwise run sweep.toml --shard 2/2 --rows two.rows     on another
  ackwise merge one.rows two.rows --csv sweep.csv
      write the same file as a run without shards";
