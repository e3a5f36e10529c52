//! Our own TCP on the wire, for whichever command talks by it: a TUN device, and the way from it to a
//! server.
//!
//! Not here: what is said over it (`check`, `load`).

mod route;

pub use route::{Changes, RouteError};

use std::{io, net::SocketAddr, time::Instant};

use crate::{HostChanges, TunDevice, TunStack, device::TunOptions, stack::StackOptions};

/// A host of our own on a TUN device, which can reach one server.
pub struct Wire {
    /// Its TCP.
    pub tun: TunStack,
    /// Where the server that was asked for is found from the device.
    pub peer: SocketAddr,
    /// What was changed of the host for that, undone when this is dropped.
    pub changes: Option<HostChanges>,
}

impl Wire {
    /// Opens the device and finds the way.
    ///
    /// # Errors
    ///
    /// If there can be no device, or the way to `server` needs changes to the host that are not
    /// allowed.
    pub fn open(server: SocketAddr, changes: Changes<'_>) -> Result<Self, RouteError> {
        let device = TunDevice::open(TunOptions { v6: server.is_ipv6(), ..TunOptions::default() })?;
        let mut tun = TunStack::new(device, StackOptions::default()).map_err(RouteError::System)?;
        let (peer, changes) = route::find(&mut tun, server, changes)?;
        Ok(Self { tun, peer, changes })
    }
}

/// Whether the address belongs to this network namespace: the kernel binds nothing to others.
#[must_use]
pub fn is_local(server: SocketAddr) -> bool {
    std::net::UdpSocket::bind((server.ip(), 0)).is_ok()
}

/// One wake-up of a stack whose events nobody wants to hear.
pub fn poll(tun: &mut TunStack, deadline: Instant) -> io::Result<()> {
    let polled = tun.poll(deadline);
    while tun.poll_event().is_some() {}
    polled
}
