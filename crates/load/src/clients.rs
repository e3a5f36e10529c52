//! The clients' end of a load: a transport, and what it alone knows of its connections.

use std::net::IpAddr;

use ackwise_tcp::TimeWaitReason;

use crate::generator::{KernelTransport, Transport};

/// A transport, and what can be known of the clients' end beyond the connections.
pub(super) trait Clients: Transport {
    /// Why connections are in TIME-WAIT there, with how many. `None`: the kernel's table says.
    fn time_wait_reasons(&mut self) -> Option<Vec<(TimeWaitReason, u64)>> {
        None
    }

    /// Whether a connection is still on its way to its end.
    fn is_closing(&self) -> bool {
        false
    }

    /// The one address from which connections start, if there is one.
    fn address(&self) -> Option<IpAddr> {
        None
    }

    /// Packets that were lost on the way out.
    fn packets_lost(&self) -> u64 {
        0
    }
}

impl Clients for KernelTransport {}
