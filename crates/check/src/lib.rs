#![doc = include_str!("../README.md")]

mod baseline;
pub mod builtin;
pub mod card;
mod checks;
mod client;
pub mod http_client;
pub mod listen;
mod milliseconds;
mod no_verdict;
mod page_times;
pub mod report;
pub mod run;
mod server;
pub mod stack;
mod stream;
mod verdict;

pub use ackwise_net::{Target, TargetError};
pub use baseline::{Baseline, BaselineError};
pub use page_times::PageTimes;
pub use run::{
    CheckError, Distance, Follow, HttpChoice, MAX_REQUESTS, Options, Probability, Progress, Rate,
    StackChoice, check, check_streams, check_versions,
};
