#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | `line` | one line of the report, as text or JSON |
//! | `options` | what to do, and where |
//! | `target` | which server a run is for: a port, or processes |
//! | `summary` | what a run has done |
//! | `run` | the loop: listeners, then connections, until it is asked to stop |
//! | `run/idle` | closes idle connections, and counts requests that crossed a close |
//! | `run/users` | whose sockets the run is for, while others come and go |
//! | `run/upward` | connections to the servers behind a process |
//! | `servers` | which listening sockets and connections belong to the server |
//! | `run/buffers` | send and receive buffers under a budget |
//! | `limits` | how far limits are lowered so that the memory in use fits into a budget |
//! | `connections` | which connections are looked at, and how often |
//! | `signs` | what shows cheaply that something has changed or is short |
//! | `budget` | how much of a processor something may take |
//! | `change` | sets options, after their old values are in the journal |
//! | `closing` | which idle connections close, and how many in a second |
//! | `stake` | what Nagle's algorithm and unsent data cost at the moment |
//! | `journal` | the old values of one run, in a file that outlives it |
//! | `undo` | restores the values of a journal |
//! | `keeper` | a process that undoes a run that was killed |
//! | `pace` | gives sockets a congestion control that restarts by rate, and takes it back |
//! | `namespace` | in which network namespace the server is |
//!
//! Not here: what the kernel's interfaces look like (`ackwise-linux`), and when a connection is idle
//! (`ackwise-tuning`).

#![cfg(target_os = "linux")]

mod budget;
mod change;
mod closing;
mod connections;
mod error;
mod journal;
mod keeper;
mod limits;
mod line;
mod namespace;
mod options;
mod pace;
mod run;
mod servers;
mod signs;
mod stake;
mod summary;
mod target;
mod undo;

pub use error::TuneError;
pub use keeper::{Keeper, keep};
pub use limits::Limits;
pub use line::{Act, Line, Socket};
pub use namespace::user_named;
pub use options::{Closing, KeepFree, NetworkNamespace, Options};
pub use pace::Pacing;
pub use run::tune;
pub use summary::Summary;
pub use target::{Of, Target};
pub use undo::undo;
