//! `ackwise reproduce [PAPER]`: the papers' tables beside ours.

use ackwise::reproduce::{
    Effort,
    paper::Paper,
    report::{json, markdown, text},
    reproduce,
};
use clap::{Args, builder::PossibleValuesParser, builder::TypedValueParser};

use super::{
    interrupt::until_interrupted,
    outcome::{Failure, Outcome},
    output,
    progress::ProgressLine,
};

/// Run a paper's experiments and print every published value beside ours
///
/// The papers' tables, figures and claims are data in experiments/; so is everything that is run.
/// Tables of ours show what a claim was tried with.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Reproduce {
    /// Which paper; without it, all of them
    #[arg(value_parser = paper())]
    paper: Option<Paper>,

    /// Run only what has a limit, with fewer seeds: a minute instead of several
    #[arg(long)]
    quick: bool,

    /// Print JSON
    #[arg(long, group = "format")]
    json: bool,

    /// Print Markdown: docs/findings.md
    #[arg(long, group = "format")]
    markdown: bool,
}

/// Runs, compares, prints.
pub(crate) fn run(arguments: Reproduce) -> Result<Outcome, Failure> {
    let Reproduce { paper, quick, json: as_json, markdown: as_markdown } = arguments;
    let papers = paper.map_or_else(|| Paper::ALL.to_vec(), |paper| vec![paper]);
    let effort = if quick { Effort::Quick } else { Effort::Full };
    let reproduction = until_interrupted(move |wanted| {
        let line = ProgressLine::new();
        reproduce(&papers, effort, &mut |step| {
            wanted.or_unwind();
            line.show(step);
        })
    })??;
    let outcome = if reproduction.misses() == 0 { Outcome::Good } else { Outcome::Bad };
    let document = match (as_json, as_markdown) {
        (true, _) => json(&reproduction),
        (_, true) => markdown(&reproduction),
        _ => text(&reproduction),
    };
    output::print(&document, outcome)
}

fn paper() -> impl TypedValueParser<Value = Paper> {
    PossibleValuesParser::new(Paper::ALL.map(Paper::name))
        .map(|name| Paper::named(&name).expect("only names of papers are possible"))
}

const EXAMPLES: &str = "\
Examples:
  ackwise reproduce heidemann            the tables, figures and claims of Heidemann 1996 and 1997
  ackwise reproduce gurkan --quick       the thesis' tables, as far as they have limits
  ackwise reproduce faber                TIME-WAIT at busy servers: Faber, Touch and Yue 1997
  ackwise reproduce --json               all papers, for a program
  ackwise reproduce --markdown > docs/findings.md

Exit codes:
  0  every value is as near to the published one as it must be
  1  some are not; they are marked
  2  an experiment could not be run";
