#![doc = include_str!("../README.md")]

pub mod builtin;
pub mod card;
pub mod conversation;
pub mod probe;
pub mod report;
pub mod run;
pub mod stack;

pub use ackwise_report::{Target, TargetError};
pub use run::{CheckError, Options, Progress, StackChoice, check};
