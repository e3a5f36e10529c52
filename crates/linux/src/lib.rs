//! The real world for Ackwise: our own TCP on the wire, next to the kernel's.
//!
//! | module | one idea |
//! | --- | --- |
//! | [`namespace`] | a network of our own: nothing in it outlives us, nothing outside it changes |
//! | [`device`] | a TUN device: where our packets meet the kernel's |
//! | [`stack`] | many endpoints of `ackwise-tcp` over one device, in one thread |
//! | [`host_changes`] | what must be changed outside a namespace, announced, and undone whatever happens |
//! | [`testing`] | how a test says that it could not run here |
//!
//! Everything is undone by the kernel when the process ends, however it ends: namespaces have no name,
//! the device goes with its descriptor, and [`host_changes`] keeps a watchdog that outlives us.
//!
//! There is no async runtime, no thread of our own and no `unsafe`: `nix` and `tun-rs` wrap the few
//! system calls. On other systems than Linux this crate is empty.

#![cfg(target_os = "linux")]

pub mod device;
pub mod host_changes;
pub mod namespace;
pub mod stack;
pub mod testing;

mod netlink;
mod routes;

pub use device::{TunDevice, TunError};
pub use host_changes::HostChanges;
pub use namespace::Namespace;
pub use stack::{ConnectionId, TunStack};
