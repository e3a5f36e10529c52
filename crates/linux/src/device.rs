//! A TUN device: exchanges IP packets with the kernel's routing.
//!
//! It is opened in the calling thread's namespace and stays there. It is never persistent, so the
//! kernel removes the device, its addresses and its routes when the last descriptor closes.
//! Offloads stay off, so that packets are as on a wire.

use std::{
    fs::OpenOptions,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket},
    os::fd::{AsFd, BorrowedFd},
    thread,
    time::{Duration, Instant},
};

use nix::unistd::Pid;
use tun_rs::{DeviceBuilder, Layer, SyncDevice};

use crate::{
    netlink::{self, NetworkRoute},
    routes::Routes,
};

/// Options of a device.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TunOptions {
    /// Maximum packet size in bytes, IP header included.
    pub mtu: u16,
    /// Whether to add IPv6 addresses, if the host supports IPv6.
    pub v6: bool,
    /// Queue length in packets; the kernel drops further ones.
    pub queue: u32,
}

impl Default for TunOptions {
    /// An MTU of 1500 bytes as on Ethernet. The queue is our choice: the packets of 10,000
    /// connections in one round trip.
    fn default() -> Self {
        Self { mtu: 1500, v6: false, queue: 32_768 }
    }
}

/// The addresses of both ends of the device in one address family.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ends<A> {
    /// The kernel's address.
    pub host: A,
    /// The stack's address, which the kernel routes into the device.
    pub ours: A,
}

/// An open TUN device, up and with addresses. Removed on drop, and when the process ends.
pub struct TunDevice {
    device: SyncDevice,
    name: String,
    mtu: u16,
    v4: Ends<Ipv4Addr>,
    v6: Option<Ends<Ipv6Addr>>,
    /// Further addresses of the stack.
    hosts: Vec<Ipv4Addr>,
}

impl TunDevice {
    /// Opens a device in the calling thread's namespace.
    ///
    /// Its IPv4 network is a /30 of the benchmarking range (RFC 2544: 198.18.0.0/15) that overlaps
    /// no route of the namespace.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. The message names the missing permission and how to grant it.
    pub fn open(options: TunOptions) -> Result<Self, TunError> {
        let subnet = Subnet::free_in(&[read_routes()?])?;
        Self::open_on(subnet, options)
    }

    /// The same with IPv6 addresses of the benchmarking range (RFC 5180, section 8: 2001:2::/48), which programs prefer
    /// to IPv4 (RFC 6724, section 2.1), as they do not prefer unique local addresses. One in a namespace.
    ///
    /// # Errors
    ///
    /// If the kernel refuses.
    pub fn open_preferred(options: TunOptions) -> Result<Self, TunError> {
        let [host, ours] = [1, 2].map(|end| Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, end));
        let subnet = Subnet { v6: Ends { host, ours }, ..Subnet::free_in(&[read_routes()?])? };
        Self::open_on(subnet, options)
    }

    /// Opens a device with addresses of `subnet`, which must be free.
    pub(crate) fn open_on(subnet: Subnet, options: TunOptions) -> Result<Self, TunError> {
        check_node()?;
        let device = build(subnet.v4, options).map_err(TunError::from_creation)?;
        set_queue(&device, options.queue)
            .map_err(|source| TunError::setup("be given its queue", source))?;
        device.enabled(true).map_err(|source| TunError::setup("be brought up", source))?;
        let v6 = options.v6.then_some(subnet.v6).filter(|ends| {
            // Fails if IPv6 is disabled; IPv4 still works.
            device.add_address_v6(ends.host, V6_PREFIX).is_ok() && becomes_usable(ends.host)
        });
        device
            .set_nonblocking(true)
            .map_err(|source| TunError::setup("be made non-blocking", source))?;
        let name = device.name().map_err(|source| TunError::setup("tell its name", source))?;
        Ok(Self { device, name, mtu: options.mtu, v4: subnet.v4, v6, hosts: Vec::new() })
    }

    /// The device's name, such as `tun0`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The interface index. The calling thread must be in the device's namespace.
    pub(crate) fn index(&self) -> Result<u32, TunError> {
        self.device.if_index().map_err(|source| TunError::setup("tell its number", source))
    }

    /// Maximum packet size in bytes, IP header included.
    #[must_use]
    pub const fn mtu(&self) -> u16 {
        self.mtu
    }

    /// The IPv4 addresses.
    #[must_use]
    pub const fn v4(&self) -> Ends<Ipv4Addr> {
        self.v4
    }

    /// The IPv6 addresses, if any.
    #[must_use]
    pub const fn v6(&self) -> Option<Ends<Ipv6Addr>> {
        self.v6
    }

    /// Gives the stack a further address: the namespace, in which the calling thread must be, routes it
    /// into the device.
    ///
    /// # Errors
    ///
    /// If the namespace has such a route already, or the kernel refuses.
    pub fn add_host(&mut self, host: Ipv4Addr) -> Result<(), TunError> {
        let (through, to) = (self.index()?, (host, 32));
        let route =
            NetworkRoute { to, through, source: None, initial_window: None, quick_ack: false };
        let added = netlink::add_network_route(route);
        added.map_err(|source| TunError::setup("be given another address", source))?;
        self.hosts.push(host);
        Ok(())
    }

    /// Whether `address` belongs to the stack.
    #[must_use]
    pub fn is_ours(&self, address: IpAddr) -> bool {
        match address {
            IpAddr::V4(address) => address == self.v4.ours || self.hosts.contains(&address),
            IpAddr::V6(address) => self.v6.is_some_and(|ends| address == ends.ours),
        }
    }

    /// The stack's address in the family of `peer`, if there is one.
    #[must_use]
    pub fn address_towards(&self, peer: IpAddr) -> Option<IpAddr> {
        match peer {
            IpAddr::V4(_) => Some(self.v4.ours.into()),
            IpAddr::V6(_) => self.v6.map(|ends| ends.ours.into()),
        }
    }

    /// Receives the next packet from the kernel and returns its length; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If the device is gone or down.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.device.recv(buffer) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends `packet` to the kernel.
    ///
    /// # Errors
    ///
    /// If the kernel does not accept it: no memory, not an IP packet, or the device is removed or
    /// down.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        self.device.send(packet).map(drop)
    }
}

impl AsFd for TunDevice {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

/// Why a device could not be created. The host's settings are at fault, not the caller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TunError {
    /// The kernel has no TUN driver, or the container does not expose it.
    #[error(
        "cannot open {NODE}: it does not exist (run `modprobe tun`, or start the container with \
         `--device {NODE}`)"
    )]
    NoNode,
    /// The driver exists, but this user may not open it.
    #[error(
        "cannot open {NODE}: not permitted (run as root, or grant CAP_NET_ADMIN and access to {NODE})"
    )]
    NodeForbidden,
    /// The kernel does not permit this process to create a device in this namespace.
    #[error(
        "cannot create a TUN device: CAP_NET_ADMIN is missing (run as root, in a network namespace of \
         your own by `unshare --user --net --map-root-user`, or in a container with `--cap-add \
         NET_ADMIN`)"
    )]
    NoCapability,
    /// Every /30 of 198.18.0.0/15 overlaps a route.
    #[error(
        "cannot create a TUN device: 198.18.0.0/15 has no free network (remove a route that covers it)"
    )]
    NoFreeNetwork,
    /// Another system call failed.
    #[error("cannot set up the TUN device: it did not {step}: {source}")]
    Setup {
        /// The failed step.
        step: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

impl TunError {
    fn setup(step: &'static str, source: io::Error) -> Self {
        Self::Setup { step, source }
    }

    fn from_creation(source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::PermissionDenied => Self::NoCapability,
            _ => Self::setup("be made", source),
        }
    }
}

/// Distinguishes errors that `tun-rs` would report as one. `tun-rs` would also create a missing
/// node and not remove it.
///
/// # Errors
///
/// If there is no driver, or this user may not use it.
pub fn check_node() -> Result<(), TunError> {
    match OpenOptions::new().read(true).write(true).open(NODE) {
        Ok(_) => Ok(()),
        Err(error) => Err(match error.kind() {
            io::ErrorKind::NotFound => TunError::NoNode,
            io::ErrorKind::PermissionDenied => TunError::NodeForbidden,
            _ => TunError::setup("be opened", error),
        }),
    }
}

fn build(ends: Ends<Ipv4Addr>, options: TunOptions) -> io::Result<SyncDevice> {
    DeviceBuilder::new()
        .layer(Layer::L3)
        .offload(false)
        .packet_information(false)
        .mtu(options.mtu)
        .ipv4(ends.host, V4_PREFIX, None)
        .enable(false)
        .build_sync()
}

fn set_queue(device: &SyncDevice, length: u32) -> io::Result<()> {
    netlink::change_link(device.if_index()?, netlink::Change::QueueLength(length))
}

/// Waits for duplicate address detection. It cannot fail on a device without neighbours, but
/// completes in a work queue.
fn becomes_usable(address: Ipv6Addr) -> bool {
    let deadline = Instant::now() + ADDRESS_PATIENCE;
    while UdpSocket::bind((address, 0)).is_err() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(ADDRESS_PAUSE);
    }
    true
}

/// One of the networks available to devices.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Subnet {
    v4: Ends<Ipv4Addr>,
    v6: Ends<Ipv6Addr>,
}

impl Subnet {
    /// A network that overlaps no route of any of these namespaces.
    pub(crate) fn free_in(namespaces: &[Routes]) -> Result<Self, TunError> {
        free_subnet(namespaces, first_subnet()).ok_or(TunError::NoFreeNetwork)
    }

    /// The same network with both ends swapped, for the device at the other end of a link.
    pub(crate) const fn turned(self) -> Self {
        let (v4, v6) = (self.v4, self.v6);
        Self {
            v4: Ends { host: v4.ours, ours: v4.host },
            v6: Ends { host: v6.ours, ours: v6.host },
        }
    }

    /// The network with this number, counted from the last one.
    pub(crate) fn from_last(number: u16) -> Self {
        Self::number(SUBNETS - 1 - number % SUBNETS)
    }

    fn number(number: u16) -> Self {
        let v4 = u32::from(V4_BENCHMARKING) + 4 * u32::from(number);
        let v6 = u128::from(V6_UNIQUE_LOCAL) + (u128::from(number) << 64);
        Self {
            v4: Ends { host: (v4 + 1).into(), ours: (v4 + 2).into() },
            v6: Ends { host: (v6 + 1).into(), ours: (v6 + 2).into() },
        }
    }
}

/// The first free network from `start` on, wrapping around.
fn free_subnet(namespaces: &[Routes], start: u16) -> Option<Subnet> {
    (0..SUBNETS).map(|step| Subnet::number(start.wrapping_add(step) % SUBNETS)).find(|subnet| {
        namespaces.iter().all(|routes| {
            !routes.overlap_v4(subnet.v4.host, V4_PREFIX)
                && !routes.overlap_v6(subnet.v6.host, V6_PREFIX)
        })
    })
}

/// The routes of the calling thread's namespace.
pub(crate) fn read_routes() -> Result<Routes, TunError> {
    Routes::read().map_err(|source| TunError::setup("find a free network", source))
}

/// First network to try, which differs between processes that start at the same time.
fn first_subnet() -> u16 {
    let pid = Pid::this().as_raw().rem_euclid(i32::from(SUBNETS));
    u16::try_from(pid).unwrap_or(0)
}

const NODE: &str = "/dev/net/tun";
/// RFC 2544, appendix C.2.2: "for use in benchmarking".
const V4_BENCHMARKING: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 0);
const V4_PREFIX: u8 = 30;
/// /30 networks in a /15.
const SUBNETS: u16 = 1 << 15;
/// RFC 4193: fd00::/8 and 40 bits chosen once at random.
const V6_UNIQUE_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfd6b, 0x7c1e, 0x92a4, 0, 0, 0, 0, 0);
const V6_PREFIX: u8 = 126;
/// Maximum wait for a usable address (our choice; it takes about a millisecond).
const ADDRESS_PATIENCE: Duration = Duration::from_secs(2);
const ADDRESS_PAUSE: Duration = Duration::from_millis(1);

#[cfg(test)]
mod tests {
    use std::{
        thread::sleep,
        time::{Duration, Instant},
    };

    use super::*;
    use ackwise_testing::in_namespace;

    #[test]
    fn subnets_stay_in_the_benchmarking_range() {
        for number in [0, 1, SUBNETS - 1] {
            let subnet = Subnet::number(number);
            assert_eq!(u32::from(subnet.v4.ours) >> 17, u32::from(V4_BENCHMARKING) >> 17);
            assert_eq!(u32::from(subnet.v4.ours) >> 2, u32::from(subnet.v4.host) >> 2);
        }
        assert_eq!(Subnet::number(SUBNETS - 1).v4.ours, Ipv4Addr::new(198, 19, 255, 254));
    }

    #[test]
    fn two_devices_in_one_namespace_have_networks_apart() {
        in_namespace("two_devices_in_one_namespace_have_networks_apart", || {
            let options = TunOptions { v6: true, ..TunOptions::default() };
            let one = TunDevice::open(options).unwrap();
            let other = TunDevice::open(options).unwrap();
            assert_ne!(one.v4(), other.v4());
            assert_ne!(one.name(), other.name());
            assert_ne!(one.v6().unwrap(), other.v6().unwrap());
            assert!(Routes::read().unwrap().overlap_v4(one.v4().host, 30));
            let gone = one.v4().host;
            drop(one);
            // A child that another test is starting has the descriptor, too, until it executes its program.
            let is_gone = || !Routes::read().unwrap().overlap_v4(gone, 30);
            let deadline = Instant::now() + Duration::from_secs(5);
            while !is_gone() && Instant::now() < deadline {
                sleep(Duration::from_millis(5));
            }
            assert!(is_gone(), "it goes with its descriptor");
        });
    }
}
