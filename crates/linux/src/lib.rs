#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | [`namespace`] | a private network, removed with the process; nothing outside it changes |
//! | [`private_hosts`] | a private `/etc/hosts` |
//! | [`device`] | a TUN device: exchanges packets with the kernel |
//! | [`stack`] | many endpoints of `ackwise-tcp` over one device, in one thread |
//! | [`emulator`] | a link of `ackwise-link` in real time, between two namespaces |
//! | [`ready`] | waits for many sockets, with a timer finer than epoll's |
//! | [`packet_socket`] | captures packets of a live interface, with the kernel's timestamps |
//! | [`foreign`] | the sockets of other processes: who holds them, their options |
//! | [`mapped_file`] | a file whose mapped pages the kernel sends |
//! | [`host_changes`] | changes to the host, announced and always undone |
//! | [`confine`] | takes system calls from threads that read what strangers sent |
//! | [`privileges`] | gives back what was needed to open sockets |
//! | [`rights`] | what this process may do, for `ackwise doctor` |
//! | [`static_names`] | how a static program looks names up |
//! | [`sockets`] | the kernel's table of TCP sockets, TIME-WAIT included |
//! | [`wire`] | makes a server reachable from a TUN device |
//!
//! The kernel undoes everything when the process ends, however it ends: namespaces have no name,
//! the device is removed with its descriptor, and [`host_changes`] keeps a watchdog that outlives
//! the process.
//!
//! There is no async runtime, and no `unsafe` but in [`mapped_file`] and [`static_names`]: `nix`, `tun-rs` and
//! `thread-priority` wrap the other system calls. Only the emulator starts threads. On systems other than Linux this crate is empty.

#![cfg(target_os = "linux")]

pub mod confine;
pub mod device;
pub mod emulator;
pub mod foreign;
pub mod host_changes;
pub mod mapped_file;
pub mod namespace;
pub mod packet_socket;
pub mod private_hosts;
pub mod privileges;
pub mod ready;
pub mod rights;
pub mod sockets;
pub mod stack;
pub mod static_names;
pub mod wire;

mod clock;
mod netlink;
mod routes;
mod wake;

pub use clock::processor_time;
pub use device::{TunDevice, TunError};
pub use emulator::Emulator;
pub use host_changes::HostChanges;
pub use mapped_file::MappedFile;
pub use namespace::{Namespace, NamespaceError};
pub use private_hosts::PrivateHosts;
pub use sockets::SocketTable;
pub use stack::{ConnectionId, TunStack};
