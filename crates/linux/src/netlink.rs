//! The requests to route netlink: set an interface up, set its queue length, add an address, add a route.
//!
//! The older `ioctl` for the queue length needs the capability in the initial user namespace,
//! netlink only in the network's. A library for all of rtnetlink(7) would be larger than the rest
//! of this crate.

use std::{io, net::Ipv4Addr, os::fd::AsRawFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, recv, sendto, socket,
};

/// A change to an interface.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    /// `IFF_UP`.
    Up,
    /// Queue length in packets.
    QueueLength(u32),
}

/// A route to one host with its congestion control.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct HostRoute<'a> {
    /// The host.
    pub(crate) to: Ipv4Addr,
    /// The local address towards it.
    pub(crate) from: Ipv4Addr,
    /// Index of the interface.
    pub(crate) through: u32,
    /// As `ip route … congctl lock NAME`: applies to new connections, and programs cannot override
    /// it.
    pub(crate) congestion_control: &'a str,
}

/// A route to a network, with what new connections over it begin with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct NetworkRoute {
    /// The network, and the bits of its prefix.
    pub(crate) to: (Ipv4Addr, u8),
    /// Index of the interface.
    pub(crate) through: u32,
    /// As `ip route … src ADDRESS`: the source of programs that bind to none; `None` leaves it to the kernel.
    pub(crate) source: Option<Ipv4Addr>,
    /// As `ip route … initcwnd N`, in segments.
    pub(crate) initial_window: Option<u32>,
    /// As `ip route … quickack 1`: every segment is acknowledged at once.
    pub(crate) quick_ack: bool,
}

/// Adds an address without a network to an interface of the current namespace.
pub(crate) fn add_address(index: u32, address: Ipv4Addr) -> io::Result<()> {
    ask(address_request(index, address))
}

/// Adds a route to the main table of the current namespace. It is removed with its interface.
pub(crate) fn add_network_route(route: NetworkRoute) -> io::Result<()> {
    ask(network_route_request(route))
}

/// Changes the interface with index `index` in the current namespace.
pub(crate) fn change_link(index: u32, change: Change) -> io::Result<()> {
    ask(link_request(index, change))
}

/// Adds a route to the main table of the current namespace. It is removed with its interface.
pub(crate) fn add_route(route: HostRoute<'_>) -> io::Result<()> {
    // The kernel would truncate a longer name, which might match another algorithm.
    let name = route.congestion_control;
    if name.len() >= TCP_CA_NAME_MAX || name.contains('\0') {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "no name has this form"));
    }
    ask(route_request(route))
}

fn ask(message: Message) -> io::Result<()> {
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )?;
    let request = message.finish();
    sendto(socket.as_raw_fd(), &request, &NetlinkAddr::new(0, 0), MsgFlags::empty())?;
    let mut answer = [0; 256];
    let len = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    verdict(&answer[..len])
}

/// `struct ifinfomsg` and one attribute.
fn link_request(index: u32, change: Change) -> Message {
    let (flags, queue) = match change {
        Change::Up => (IFF_UP, None),
        Change::QueueLength(length) => (0, Some(length)),
    };
    let mut message = Message::new(RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK);
    message.put(&[0, 0, 0, 0]); // family, padding, device type
    message.put(&index.to_ne_bytes());
    message.put(&flags.to_ne_bytes());
    message.put(&flags.to_ne_bytes()); // which of them to change
    if let Some(length) = queue {
        message.attribute(IFLA_TXQLEN, &length.to_ne_bytes());
    }
    message
}

/// `struct ifaddrmsg` and its attributes.
fn address_request(index: u32, address: Ipv4Addr) -> Message {
    let mut message =
        Message::new(RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
    message.put(&[AF_INET, 32, 0, 0]); // family, prefix, flags, scope
    message.put(&index.to_ne_bytes());
    message.attribute(IFA_ADDRESS, &address.octets());
    message.attribute(IFA_LOCAL, &address.octets());
    message
}

/// As [`route_request`], for a network.
fn network_route_request(route: NetworkRoute) -> Message {
    let NetworkRoute { to: (to, prefix), through, source, initial_window, quick_ack } = route;
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    let mut message = Message::new(RTM_NEWROUTE, flags);
    message.put(&[AF_INET, prefix, 0, 0]); // family, prefixes of destination and source, TOS
    message.put(&[RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST]);
    message.put(&0_u32.to_ne_bytes()); // flags
    message.attribute(RTA_DST, &to.octets());
    message.attribute(RTA_OIF, &through.to_ne_bytes());
    if let Some(source) = source {
        message.attribute(RTA_PREFSRC, &source.octets());
    }
    let mut metrics = Message::default();
    if let Some(segments) = initial_window {
        metrics.attribute(RTAX_INITCWND, &segments.to_ne_bytes());
    }
    if quick_ack {
        metrics.attribute(RTAX_QUICKACK, &1_u32.to_ne_bytes());
    }
    message.attribute(RTA_METRICS, &metrics.bytes);
    message
}

/// `struct rtmsg` and its attributes, with nested metrics.
fn route_request(route: HostRoute<'_>) -> Message {
    let HostRoute { to, from, through, congestion_control } = route;
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    let mut message = Message::new(RTM_NEWROUTE, flags);
    message.put(&[AF_INET, 32, 0, 0]); // family, prefixes of destination and source, TOS
    message.put(&[RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_LINK, RTN_UNICAST]);
    message.put(&0_u32.to_ne_bytes()); // flags
    message.attribute(RTA_DST, &to.octets());
    message.attribute(RTA_PREFSRC, &from.octets());
    message.attribute(RTA_OIF, &through.to_ne_bytes());
    let mut metrics = Message::default();
    metrics.attribute(RTAX_LOCK, &(1_u32 << RTAX_CC_ALGO).to_ne_bytes());
    metrics.attribute(RTAX_CC_ALGO, congestion_control.as_bytes());
    message.attribute(RTA_METRICS, &metrics.bytes);
    message
}

/// `struct nlmsghdr` and its payload, in host byte order (rtnetlink(7)).
#[derive(Debug, Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    fn new(kind: u16, flags: u16) -> Self {
        let mut message = Self::default();
        message.put(&0_u32.to_ne_bytes()); // length, see `finish`
        message.put(&kind.to_ne_bytes());
        message.put(&flags.to_ne_bytes());
        message.put(&1_u32.to_ne_bytes()); // sequence number
        message.put(&0_u32.to_ne_bytes()); // port: the kernel
        message
    }

    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// `struct rtattr`: length without the padding to four bytes, type, value.
    fn attribute(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(4 + value.len()).expect("our attributes are short");
        self.put(&length.to_ne_bytes());
        self.put(&kind.to_ne_bytes());
        self.put(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(mut self) -> Vec<u8> {
        let length = u32::try_from(self.bytes.len()).expect("our messages are short");
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes
    }
}

/// NLMSG_ERROR carries zero or a negative errno.
fn verdict(answer: &[u8]) -> io::Result<()> {
    let field = |at: usize, len: usize| answer.get(at..at + len);
    let kind = field(4, 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let error = field(16, 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, error) {
        (Some(NLMSG_ERROR), Some(0)) => Ok(()),
        (Some(NLMSG_ERROR), Some(error)) => Err(io::Error::from_raw_os_error(error.wrapping_neg())),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "netlink answered something else")),
    }
}

const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const NLMSG_ERROR: u16 = 2;
const IFF_UP: u32 = 1;
const IFLA_TXQLEN: u16 = 13;
const AF_INET: u8 = 2;
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_STATIC: u8 = 4;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
/// Includes the terminating zero byte.
const TCP_CA_NAME_MAX: usize = 16;
const RTAX_LOCK: u16 = 1;
const RTAX_INITCWND: u16 = 11;
const RTAX_QUICKACK: u16 = 15;
const RTAX_CC_ALGO: u16 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_has_the_length_that_it_claims() {
        let route = HostRoute {
            to: Ipv4Addr::LOCALHOST,
            from: Ipv4Addr::LOCALHOST,
            through: 1,
            congestion_control: "cubic",
        };
        let up = link_request(1, Change::Up);
        let queue = link_request(1, Change::QueueLength(7));
        for (message, length) in [(up, 32), (queue, 40), (route_request(route), 76)] {
            let request = message.finish();
            let claimed = u32::from_ne_bytes(request[..4].try_into().unwrap());
            assert_eq!((request.len(), usize::try_from(claimed).unwrap()), (length, length));
        }
    }

    #[test]
    fn a_refusal_becomes_its_errno_and_a_short_answer_an_error() {
        let mut refusal = vec![0; 36];
        refusal[4..6].copy_from_slice(&NLMSG_ERROR.to_ne_bytes());
        assert!(verdict(&refusal).is_ok());
        refusal[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(verdict(&refusal).unwrap_err().raw_os_error(), Some(1));
        assert!(verdict(&refusal[..10]).is_err());
    }
}
