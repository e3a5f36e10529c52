#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `name` | [`Cause`]: why an exchange makes no progress at some moment, with name, meaning and owner |
//! | `outcome` | [`Outcome`] and [`ConnectOutcome`]: what became of an exchange, or of an attempt to connect |
//! | `failure` | [`FailureKind`]: why something failed, with owner and remedy |
//! | `grpc` | [`GrpcStatus`]: how a call of gRPC ended, by number and name |
//! | `party` | which end can change something, and the direction of the data |
//! | `h2_window` | [`H2Window`]: which window of HTTP/2 held data, and the settings that enlarge it |
//! | `check` | how to decide between a cause and its rival |
//! | `remedy` | what to change, by software and system |
//! | `software`, `recognise` | [`Software`] with settings of its own, and which one wrote a head |
//! | `moment` | derives the cause from what both ends wait for |
//!
//! Not here: how a cause is detected in a capture (`capture`) or at a live server (`check`).

#![no_std]

#[cfg(test)]
extern crate alloc;

mod check;
mod failure;
mod grpc;
mod h2_window;
mod moment;
mod name;
mod outcome;
mod party;
mod recognise;
mod remedy;
mod software;
#[cfg(test)]
mod tests;

pub use failure::FailureKind;
pub use grpc::GrpcStatus;
pub use h2_window::H2Window;
pub use moment::{InFlight, Moment, Phase, RepairedBy, Writer, cause};
pub use name::{Cause, UnknownCause};
pub use outcome::{ConnectOutcome, Outcome};
pub use party::{Direction, Party};
pub use remedy::{BUFFER_SOCKETS, NODELAY_AT_CLIENT, Proof, Remedy};
pub use software::Software;
