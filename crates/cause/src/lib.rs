#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `name` | [`Cause`]: why an exchange makes no progress at some moment, with name, meaning and owner |
//! | `finding` | [`FindingId`]: the checks of a live server |
//! | `meaning` | the meaning of each check in one sentence |
//! | `party` | which end can change something, and the direction of the data |
//! | `remedy`, `software` | what to change, by server, language and system |
//! | `moment` | derives the cause from what both ends wait for |
//!
//! Not here: how a cause is detected in a capture (`capture`) or at a live server (`check`).

#![no_std]

#[cfg(test)]
extern crate alloc;

mod finding;
mod meaning;
mod moment;
mod name;
mod party;
mod remedy;
mod software;
#[cfg(test)]
mod tests;

pub use finding::{FindingId, UnknownFinding};
pub use meaning::PAGE;
pub use moment::{InFlight, Moment, Phase, RepairedBy, Writer, cause};
pub use name::{Cause, UnknownCause};
pub use party::{Direction, Party};
pub use remedy::Remedy;
pub use software::Software;
