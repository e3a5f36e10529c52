#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `outcome` | reports tests that could not run, or whose measurement was inconclusive |
//! | `debian` | Debian's programs: where they are, how Apache is configured, how they are ended |
//! | [`busy`] | load on every core |
//! | [`pattern`] | a server with named patterns of writes |

pub mod busy;
#[cfg(target_os = "linux")]
pub mod debian;
mod outcome;
pub mod pattern;

#[cfg(target_os = "linux")]
pub use outcome::in_namespace;
pub use outcome::{inconclusive, skip};
