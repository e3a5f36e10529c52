//! `cargo xtask bench truth`: compares what `explain` says with what connections really waited for.
//!
//! | module | its one idea |
//! | --- | --- |
//! | `case` | captures and truth of one run, as files |
//! | `sim` | cases from the simulator |
//! | `reading` | what the analyser says of a case, at each place |
//! | `damage` | what a capture may lack |
//! | `compare` | truth and statements of one exchange, gap by gap |
//! | `score` | which statements are right, added up |
//! | `table` | the results as text |

pub(crate) mod case;
mod compare;
mod damage;
pub(crate) mod kernel;
mod reading;
mod score;
mod sim;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;

use self::case::{Recorded, World};
use self::reading::Vantage;
use self::score::{Row, View};

/// Its name in `cargo xtask bench NAME`.
pub(super) const NAME: &str = "truth";

/// The question that it answers.
pub(super) const QUESTION: &str = "is what `explain` says true?";

/// Options of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Settings {
    pub(super) seed: u64,
    pub(super) runs: u64,
    pub(super) keep: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { seed: 1, runs: 24, keep: None }
    }
}

pub(super) fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    let folder =
        settings.keep.clone().unwrap_or_else(|| Path::new("target/bench-truth").to_owned());
    let mut all = Vec::new();
    for number in 0..settings.runs {
        let recorded = sim::record(settings.seed, number, &folder)?;
        all.extend(read(&recorded).with_context(|| recorded.case.name.clone())?);
    }
    for vantage in Vantage::ALL {
        let rows: Vec<&Row> = all.iter().filter(|it| it.view.vantage == vantage).collect();
        if rows.is_empty() {
            continue;
        }
        println!("{vantage}");
        table::confusion(&rows);
        table::calibration(&rows);
        let at: Vec<&Row> = rows.iter().copied().filter(|it| it.is_at_sender()).collect();
        println!("at the sender");
        table::calibration(&at);
        let mut wrong: Vec<&Row> =
            rows.into_iter().filter(|it| it.truth.is_some() && !it.is_right()).collect();
        wrong.sort_by_key(|it| std::cmp::Reverse(it.nanos));
        for row in wrong.iter().take(25) {
            println!(
                "  {} {} {:.1} ms truth {} said {:?}",
                row.case,
                row.exchange,
                table::ms(row.nanos),
                row.truth.unwrap().cause,
                row.said
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn read(recorded: &Recorded) -> anyhow::Result<Vec<Row>> {
    let case = &recorded.case;
    let packets = reading::load(&recorded.folder, &case.captures)?;
    let mut rows = Vec::new();
    for vantage in Vantage::ALL {
        let Some(said) = reading::read(vantage, &case.captures, &case.one_way_ms, &packets)? else {
            continue;
        };
        let view = View { world: World::Sim, vantage, damage: None };
        rows.extend(score::rows(recorded, view, &said));
    }
    Ok(rows)
}
