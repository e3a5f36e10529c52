#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | one idea |
//! | --- | --- |
//! | `options` | what is asked for, and which combinations make no sense |
//! | `run` | from a URL to a report: whose TCP, which ends can be looked at, the run, the end |
//! | `clients` | a transport, and what it alone knows of its connections |
//! | `progress` | what the caller is told during a run |
//! | `tun_transport` | our own TCP over TUN as the generator's transport |
//! | `ends`, `socket_counter` | the socket tables at both ends, counted on a thread of its own |
//! | `time_wait`, `sampler` | TIME-WAIT at each end, while it runs and afterwards |
//! | `explain` | one sentence: who waits, and why; pure |
//! | [`report`] | text and JSON |
//! | [`generator`] | many connections to one server, each with its requests and a chosen way to end |
//!
//! Not here: the sockets of each kind that the kernel holds, which `ackwise-linux` lists.

mod clients;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(not(target_os = "linux"))]
#[path = "ends_elsewhere.rs"]
mod ends;
mod error;
mod explain;
pub mod generator;
mod options;
mod progress;
pub mod report;
mod run;
mod sampler;
mod socket_counter;
mod time_wait;
#[cfg(target_os = "linux")]
mod tun_transport;

pub use error::LoadError;
pub use generator::Drain;
pub use options::{CloseMode, LoadOptions, SourceNet, StackMode};
pub use progress::Progress;
pub use report::{FailureCount, LoadReport};
pub use run::load;
pub use time_wait::{HeldCount, Sample, TimeWait};
