#![doc = include_str!("../README.md")]

mod baseline;
pub mod builtin;
pub mod card;
pub mod http_client;
#[cfg(unix)]
pub mod listen;
mod page_times;
pub mod probe;
pub mod report;
pub mod run;
pub mod stack;
mod stream;

pub use ackwise_net::{Target, TargetError};
pub use baseline::{Baseline, BaselineError};
pub use page_times::PageTimes;
pub use report::STALLS;
pub use run::{
    CheckError, Distance, Follow, HttpChoice, MAX_REQUESTS, Options, Probability, Progress, Rate,
    StackChoice, check, check_streams, check_versions,
};
