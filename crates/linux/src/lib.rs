#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | one idea |
//! | --- | --- |
//! | [`namespace`] | a network of our own: nothing in it outlives us, nothing outside it changes |
//! | [`device`] | a TUN device: where our packets meet the kernel's |
//! | [`stack`] | many endpoints of `ackwise-tcp` over one device, in one thread |
//! | [`emulator`] | the link of `ackwise-link` in real time, between two namespaces |
//! | [`packet_socket`] | a live interface: packets as they pass, with the kernel's times |
//! | [`host_changes`] | what must be changed outside a namespace, announced, and undone whatever happens |
//! | [`sockets`] | the kernel's table of TCP sockets, TIME-WAIT included |
//! | [`wire`] | how a server is reached from a TUN device of ours |
//! | [`testing`] | how a test says that it could not run here |
//!
//! Everything is undone by the kernel when the process ends, however it ends: namespaces have no name,
//! the device goes with its descriptor, and [`host_changes`] keeps a watchdog that outlives us.
//!
//! There is no async runtime and no `unsafe`: `nix`, `tun-rs` and `thread-priority` wrap the few system
//! calls. The emulator has the one thread of our own. On other systems than Linux this crate is empty.

#![cfg(target_os = "linux")]

pub mod device;
pub mod emulator;
pub mod host_changes;
pub mod namespace;
pub mod packet_socket;
pub mod sockets;
pub mod stack;
pub mod testing;
pub mod wire;

mod clock;
mod netlink;
mod routes;
mod wake;

pub use device::{TunDevice, TunError};
pub use emulator::Emulator;
pub use host_changes::HostChanges;
pub use namespace::{Namespace, NamespaceError};
pub use sockets::SocketTable;
pub use stack::{ConnectionId, TunStack};
