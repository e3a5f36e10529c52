//! `check`: plays a client whose TCP we control against a live HTTP server and prints a report card.

pub mod builtin;
pub mod card;
pub mod conversation;
pub mod probe;
pub mod report;
pub mod run;
pub mod stack;

pub use ackwise_report::{Target, TargetError};
pub use run::{CheckError, Options, Progress, StackChoice, check};
