#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `options` | options, and their invalid combinations |
//! | `requests` | what is asked for: pages in turn, or a published workload's files |
//! | `run` | from a URL to a report: TCP stack, inspection of both ends, the run, its end |
//! | `against` | two servers side by side, and ratios with intervals |
//! | `own_cost` | what the generator itself takes of the processors |
//! | `progress` | progress reported to the caller during a run |
//! | `ends`, `socket_counter` | the socket tables at both ends, counted on a separate thread |
//! | `time_wait`, `sampler` | TIME-WAIT at each end, during the run and afterwards |
//! | `explain` | the summary: which end holds TIME-WAIT, and why; pure |
//! | [`report`] | text and JSON |
//! | [`pages`] | users who load whole pages by a plan |
//! | [`generator`] | many connections to one server, with their requests and a chosen close |
//!
//! Not here: listing the kernel's sockets (`ackwise-linux`).

mod against;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(not(target_os = "linux"))]
#[path = "ends_elsewhere.rs"]
mod ends;
mod error;
mod explain;
pub mod generator;
mod options;
mod own_cost;
pub mod pages;
mod progress;
pub mod report;
mod requests;
mod run;
mod sampler;
mod socket_counter;
mod time_wait;

pub use against::{
    Comparison, ComparisonDocument, Measure, Ratio, comparison_json, comparison_text, load_against,
};
pub use error::LoadError;
pub use generator::{ContentCheck, Drain, Pattern, Think, ThinkScope};
pub use options::{CloseMode, LoadOptions, SourceNet, StackMode, Workload};
pub use own_cost::OwnCost;
pub use progress::Progress;
pub use report::{FailureCount, LoadReport};
pub use run::load;
pub use time_wait::{HeldCount, Sample, TimeWait};
