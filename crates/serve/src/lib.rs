#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | its one idea |
//! | --- | --- |
//! | `server` | accepting, and stopping within a bounded time |
//! | `connection` | the life of one connection: read, answer, close |
//! | `reply` | from a request to a head and the range of a document; pure |
//! | `document` | documents whose bytes follow from their length, so that a client can check them |
//! | `send` | carries a plan of writes out on a socket |
//! | `close` | closes without an RST that would destroy what was sent |
//! | `counters` | what the server has done so far, counted by all threads |
//! | `limits` | every bound a hostile client meets |
//!
//! A thread serves each connection: [`Limits::connections`] of them at most, and blocking reads and
//! writes keep the order of what happens on the wire the order of what stands in the source. It is
//! made to be measured, not to be fast; documents from a disk, and many thousand connections, are
//! another server's work.

mod close;
mod connection;
mod counters;
mod document;
mod limits;
mod reply;
mod send;
mod server;
mod stop;

pub use counters::Stats;
pub use document::Document;
pub use limits::Limits;
pub use server::{Config, Server};
