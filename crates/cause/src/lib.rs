#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | `name` | [`Cause`]: why an exchange does not make progress at some moment |
//! | `finding` | [`FindingId`]: what `check` asks of a live server |
//! | `meaning` | each name in one sentence |
//! | `party` | who can change something, and which way the data goes |
//! | `remedy`, `software` | what to change, by server, language and system |
//! | `moment` | from what both ends wait for to the cause |
//!
//! Not here: how a cause is recognised, in a capture (`capture`) or at a live server (`check`).

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
