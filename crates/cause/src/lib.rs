//! Why an exchange takes the time it takes: one name for each millisecond, the same in simulations,
//! captures and reports.

#![no_std]

#[cfg(test)]
extern crate alloc;

mod moment;
mod name;
mod party;
#[cfg(test)]
mod tests;

pub use moment::{Moment, Phase, RepairedBy, UnderWay, Writer, cause};
pub use name::{Cause, UnknownCause};
pub use party::{Direction, Party};
