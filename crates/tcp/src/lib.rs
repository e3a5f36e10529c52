#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! The endpoint handles *ranges* of the stream, never bytes: its driver keeps the payload, if there is
//! one. Every deadline names its [`Timer`].
//!
//! | module | one idea |
//! | --- | --- |
//! | [`units`], [`seq`] | points in time, spans, bytes, points on the circle of sequence numbers |
//! | [`segment`] | a segment as the endpoint sees it: no bytes, no ports |
//! | [`wire`] | bytes to segments and back |
//! | [`notation`] | segments, traces and what is waited for as lines of text |
//! | [`policy`] | every choice the standards leave open, one enum each, and presets |
//! | [`congestion`] | congestion controls: small structs in one enum |
//! | [`round_trip`] | the round-trip time and the retransmission timeout |
//! | [`pacing`] | segments that leave at a rate |
//! | [`wait`] | why nothing is sent, why nothing is acknowledged, which timer asks |
//! | [`endpoint`] | the connection itself |
//! | [`driver`] | for who moves bytes: a stream's buffers, a listener's backlog, SYN cookies |

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod alarm;
mod arrival;
mod challenge;
mod close;
mod config;
mod connection;
mod counters;
mod events;
mod handshake;
mod path_mtu;
mod ranges;
mod receive;
mod received;
mod send;
mod state;
mod timestamp;
mod transmit;

pub mod congestion;
#[cfg(feature = "driver")]
pub mod driver;
pub mod endpoint;
#[cfg(feature = "notation")]
pub mod notation;
pub mod pacing;
pub mod policy;
pub mod round_trip;
pub mod segment;
pub mod seq;
pub mod units;
pub mod wait;
#[cfg(feature = "wire")]
pub mod wire;

pub use endpoint::{Config, DropReason, Endpoint, Event, Received, State, Transmit};
pub use policy::Policies;
pub use segment::{Flags, Options, SackBlocks, Segment, TimeWaitHolder, Timestamps, WindowShift};
pub use seq::SeqNumber;
pub use units::{ByteCount, Instant, IpVersion, Nanos};
pub use wait::{AckWait, Deadline, TimeWaitReason, Timer, Wait};
