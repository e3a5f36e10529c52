#![doc = include_str!("../README.md")]
//!
//! ## Modules
//!
//! | module | purpose |
//! | --- | --- |
//! | `target` | the server and page that a user names |
//! | `tls` | a TLS session without I/O; whom it trusts, and why it cannot go on |
//! | `transport` | many connections of a TCP, driven by one thread: a small polled trait |
//! | `transport/kernel` | it over the kernel's sockets |
//! | `transport/tun` | it over Ackwise's TCP on a TUN device |
//! | `transport/tls` | it over TLS sessions on either |

mod target;
mod tls;
mod transport;

pub use target::{Target, TargetError, Unresolved};
pub use tls::{PLAINTEXT_LIMIT, TlsError, TlsSession, TlsSettings};
#[cfg(target_os = "linux")]
pub use transport::TunTransport;
pub use transport::{
    AfterWrite, ConnectError, ConnectionError, Heard, KernelTransport, Read, Slot, Sources,
    TlsTransport, Transport, is_port_in_use, local_ports, try_handshake,
};
