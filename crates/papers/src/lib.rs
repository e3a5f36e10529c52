#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | one idea |
//! | --- | --- |
//! | `published` | the papers' tables, and the numbers in their sentences, as printed |
//! | [`table`], [`claim`] | values side by side; sentences that hold or do not |
//! | [`verdict`] | what decides a sentence: a value, its bound, and a control |
//! | `inputs` | what was put in without a source, from the comments of the experiment files |
//! | `file` | experiment files that are part of the program |
//! | `runner`, `study` | runs an experiment with an observer; makes a table of it |
//! | `stalls`, `packets` | observers |
//! | [`figure`] | a figure of a paper, from our runs |
//! | [`analytic`], [`model`] | the papers' model, as equations; a page's time by it, without an experiment |
//! | [`paper`], `heidemann`, `gurkan`, `faber`, [`okamoto`] | which papers, one folder each |
//! | [`on_kernel`] | the papers' experiments on the kernel of this machine, beside two simulations |
//! | [`plots`] | ten plots of the claims that are still true, from the JSON of both worlds |
//! | [`report`] | text, Markdown, JSON, a page |

pub mod analytic;
pub mod claim;
mod faber;
pub mod figure;
mod file;
mod gurkan;
mod heidemann;
mod inputs;
pub mod interval;
pub mod model;
pub mod okamoto;
#[cfg(target_os = "linux")]
pub mod on_kernel;
mod packets;
pub mod paper;
pub mod plots;
mod published;
pub mod report;
mod runner;
mod stalls;
mod study;
pub mod table;
pub mod verdict;

use ackwise_lab::{experiment::ExperimentError, run::pcap::CaptureError};
use ackwise_sim::RunError;
use figure::Figure;
use paper::{Paper, PaperResults};
pub use published::PublishedError;
use report::Reproduction;

/// How much is run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Effort {
    /// Everything, with all seeds.
    #[default]
    Full,
    /// Of long experiments only what has a limit, with fewer seeds.
    Quick,
}

/// Reproduces `papers`, one after the other. `progress` hears of each step before it begins; it may
/// unwind to end the work.
///
/// # Errors
///
/// If an experiment file or a run fails. The files are part of the program, so it is at fault.
pub fn reproduce(
    papers: &[Paper],
    effort: Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<Reproduction, ReproduceError> {
    let mut reproduction = Reproduction::default();
    for &paper in papers {
        reproduction.papers.push(match paper {
            Paper::Heidemann => heidemann::reproduce(progress),
            Paper::Gurkan => gurkan::reproduce(effort, progress),
            Paper::Faber => faber::reproduce(effort, progress),
            Paper::Okamoto => okamoto::reproduce(effort, progress),
        }?);
    }
    Ok(reproduction)
}

/// The figures of a paper whose `results` are here. What is not in these is run: seconds.
///
/// # Errors
///
/// If an experiment file or a run fails.
pub fn figures(results: &PaperResults) -> Result<Vec<Figure>, ReproduceError> {
    match results.paper {
        Paper::Heidemann => heidemann::figures(results),
        Paper::Gurkan => gurkan::figures(results),
        Paper::Faber => Ok(faber::figures(&results.tables)),
        Paper::Okamoto => Ok(okamoto::figures(&results.tables)),
    }
}

/// What must be known of all of a paper's values, in a sentence.
fn headline(results: &PaperResults) -> Option<String> {
    match results.paper {
        Paper::Gurkan => gurkan::headline(&results.tables),
        Paper::Heidemann | Paper::Faber | Paper::Okamoto => None,
    }
}

/// A paper cannot be reproduced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// An experiment file is none.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// A run failed.
    #[error("{experiment}: {source}")]
    Run {
        /// The experiment file.
        experiment: String,
        /// Why.
        source: RunError,
    },
    /// An experiment cannot be played on the kernel.
    #[cfg(target_os = "linux")]
    #[error("{experiment}: {source}")]
    Play {
        /// The experiment file.
        experiment: String,
        /// Why.
        source: ackwise_live::PlayError,
    },
    /// The packets of a run cannot be explained.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A published table is not there.
    #[error(transparent)]
    Published(#[from] PublishedError),
    /// The experiment file has no such case, although the comparison wants it.
    #[error("the experiment has no case with {case}")]
    NoCase {
        /// The names and values that were looked for.
        case: String,
    },
}
