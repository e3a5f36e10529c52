//! Runs the cases of an [`Experiment`](crate::experiment::Experiment), each with each seed, on all cores.
//!
//! What comes out does not depend on how many threads there are, on how often the work was interrupted,
//! or on how many machines shared it: a row is one case with one seed, and rows are in the experiment's
//! order.
//!
//! | module | one idea |
//! | --- | --- |
//! | `row` | a case, a seed, and what was measured |
//! | `work` | which rows are to be run, and who runs them |
//! | [`kernel`] | rows that are played on the kernel instead of simulated |
//! | [`chunks`] | rows in parts, each a task for one thread |
//! | [`steps`] | one run that stops where it is asked to, and whose windows are set from outside |
//! | [`store`] | a directory with all rows, which any number of processes fill |
//! | `store_error` | why a store cannot be used |
//! | `warning` | what a run's measures do not say |
//! | `summary` | means over seeds, and how far they can be trusted |
//! | [`export`] | tables, CSV, JSON, Parquet, a page |
//! | [`record`] | files that one run leaves behind: which, and where |
//! | [`pcap`] | a capture, as tcpdump would take it at one host |
//! | [`explainer`] | what `explain` says of a run |
//! | [`series`] | sequence numbers over time |
//! | `open_connections` | what such observers keep of a connection |

pub mod chunks;
pub mod explainer;
pub mod export;
#[cfg(target_os = "linux")]
pub mod kernel;
mod open_connections;
pub mod pcap;
pub mod record;
mod row;
pub mod series;
pub mod steps;
pub mod store;
mod store_error;
mod summary;
#[cfg(test)]
mod tests;
mod warning;
mod work;

pub use row::Row;
pub use summary::{Estimate, Summary, summaries};
pub use warning::{Warning, WarningKind};
pub use work::{On, Options, RunAllError, Step, run_all, run_one};
