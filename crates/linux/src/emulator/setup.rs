//! Devices, addresses and routes on both sides.

use std::net::Ipv4Addr;

use super::{EmulatorError, EmulatorOptions, unread::Unread};
use crate::{
    Namespace, TunDevice,
    device::{Subnet, TunOptions, read_routes},
    netlink::{self, HostRoute},
};

/// Both ends of the link.
pub(super) struct Ends {
    pub(super) client: End,
    pub(super) server: End,
}

/// One end: the device and the kernel's counter for it.
pub(super) struct End {
    pub(super) device: TunDevice,
    pub(super) unread: Unread,
}

/// Address and device name of an end, for the user.
#[derive(Clone, Debug)]
pub(super) struct Plug {
    pub(super) address: Ipv4Addr,
    pub(super) device: String,
}

/// Creates a device in each namespace. They are removed when the result is dropped.
pub(super) fn connect(
    client: &Namespace,
    server: &Namespace,
    options: &EmulatorOptions,
) -> Result<Ends, EmulatorError> {
    if client.is_same(server).map_err(EmulatorError::Thread)? {
        return Err(EmulatorError::OneNamespace);
    }
    let routes = [client.run(read_routes)??, server.run(read_routes)??];
    let subnet = Subnet::free_in(&routes)?;
    Ok(Ends {
        client: client.run(|| End::open(subnet, options))??,
        server: server.run(|| End::open(subnet.turned(), options))??,
    })
}

impl End {
    /// Opens a device in the calling thread's namespace.
    fn open(subnet: Subnet, options: &EmulatorOptions) -> Result<Self, EmulatorError> {
        let tun = TunOptions { mtu: options.mtu, ..TunOptions::default() };
        let device = TunDevice::open_on(subnet, tun)?;
        if let Some(name) = &options.congestion_control {
            control_congestion(&device, name)?;
        }
        let unread = Unread::of(device.name()).map_err(EmulatorError::Thread)?;
        Ok(Self { device, unread })
    }

    pub(super) fn plug(&self) -> Plug {
        Plug { address: self.device.v4().host, device: self.device.name().to_owned() }
    }
}

/// Adds a route to the host at the other end, next to the route of the device's address. Outgoing
/// and accepted connections take the congestion control from it.
fn control_congestion(device: &TunDevice, name: &str) -> Result<(), EmulatorError> {
    let ends = device.v4();
    let through = device.index()?;
    let route = HostRoute { to: ends.ours, from: ends.host, through, congestion_control: name };
    netlink::add_route(route)
        .map_err(|source| EmulatorError::CongestionControl { name: name.to_owned(), source })
}
