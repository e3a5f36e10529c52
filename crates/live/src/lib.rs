#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | [`playable`] | what of a scenario the kernel or our TCP can be made to do, and why not the rest |
//! | `settings` | sysctls of a namespace and options of a socket |
//! | `groups` | which hosts share a namespace, their addresses, the ways between them |
//! | `programs` | the clients and servers: one thread for each namespace |
//! | `agreed` | what both ends of a connection know beside its bytes |
//! | `sampler` | what the kernel's socket table counts |
//! | [`proxied`] | clients, a proxy and Web servers with real messages: our relay, or a program of others |
//! | `play` | starts all of it, waits, and puts the measures together |
//!
//! A stream has no contents here, as in the simulator: both programs know how long each request and
//! response is, and each acts when so many bytes have arrived. So sizes are those of the experiment, to
//! the byte, also where a response has no head.

#![cfg(target_os = "linux")]

mod agreed;
mod groups;
mod play;
pub mod playable;
mod programs;
pub mod proxied;
mod sampler;
mod settings;

pub use play::{Limits, PlayError, Played, play};
pub use playable::{Unplayable, Whose, World, check};
