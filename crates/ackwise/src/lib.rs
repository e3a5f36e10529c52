//! The front of Ackwise: the commands, as a library.

pub mod check;
#[cfg(feature = "parquet")]
mod columns;
pub mod experiment;
pub mod explain;
pub mod load;
pub mod report;
pub mod reproduce;
pub mod run;
#[cfg(target_os = "linux")]
pub mod wire;
