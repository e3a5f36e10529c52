//! Ackwise's TCP for any command: a TUN device, and the route from it to a server.
//!
//! Not here: the data exchanged (`check`, `load`).

mod route;

pub use route::{Changes, RouteError};

use std::{io, net::SocketAddr, time::Instant};

use crate::{HostChanges, TunDevice, TunStack, device::TunOptions, stack::StackOptions};

/// A host on a TUN device, which can reach one server.
pub struct Wire {
    /// The host's TCP stack.
    pub tun: TunStack,
    /// Address at which the device reaches the requested server.
    pub peer: SocketAddr,
    /// Changes made to the host for that, undone on drop.
    pub changes: Option<HostChanges>,
}

impl Wire {
    /// Opens the device and finds the route.
    ///
    /// # Errors
    ///
    /// If the device cannot be opened, or the route to `server` needs changes to the host that are
    /// not allowed.
    pub fn open(server: SocketAddr, changes: Changes<'_>) -> Result<Self, RouteError> {
        let device = TunDevice::open(TunOptions { v6: server.is_ipv6(), ..TunOptions::default() })?;
        let mut tun = TunStack::new(device, StackOptions::default()).map_err(RouteError::System)?;
        let (peer, changes) = route::find(&mut tun, server, changes)?;
        Ok(Self { tun, peer, changes })
    }
}

/// Whether the address belongs to this network namespace: the kernel binds only local addresses.
#[must_use]
pub fn is_local(server: SocketAddr) -> bool {
    std::net::UdpSocket::bind((server.ip(), 0)).is_ok()
}

/// Runs one wake-up of a stack and discards its events.
pub fn poll(tun: &mut TunStack, deadline: Instant) -> io::Result<()> {
    let polled = tun.poll(deadline);
    while tun.poll_event().is_some() {}
    polled
}
