//! The clients' end of a load: a transport, and what only it can report about its connections.

use std::net::IpAddr;

use ackwise_tcp::TimeWaitReason;

use crate::generator::{KernelTransport, Transport};

/// A transport with additional information about the clients' end.
pub(super) trait Clients: Transport {
    /// Reasons for TIME-WAIT at the clients, with counts. `None` if only the kernel's socket table
    /// has this end.
    fn time_wait_reasons(&mut self) -> Option<Vec<(TimeWaitReason, u64)>> {
        None
    }

    /// Whether a connection is still closing.
    fn is_closing(&self) -> bool {
        false
    }

    /// The single local address of all connections, if there is one.
    fn address(&self) -> Option<IpAddr> {
        None
    }

    /// Outgoing packets that were lost.
    fn packets_lost(&self) -> u64 {
        0
    }
}

impl Clients for KernelTransport {}
