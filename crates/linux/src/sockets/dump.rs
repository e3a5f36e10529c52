//! `NETLINK_SOCK_DIAG` requests and the datagrams of their responses (sock_diag(7)): a dump of the sockets
//! that a query selects, or one socket by its addresses.
//!
//! Read by offset, because a library copies each attribute. Without a bytecode filter (`INET_DIAG_REQ_BYTECODE`): in a dump the kernel compares the ports
//! of the request first (`inet_diag_dump_icsk`), and a filter by port would only repeat that.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use ackwise_tcp::State;
use netlink_sys::Socket;

use super::{CongestionName, Family, Memory, Query, TcpInfo, TcpSocket};

/// Sends the request and passes each entry to `visit`.
pub(super) fn run(
    socket: &Socket,
    buffer: &mut [u8],
    family: Family,
    query: Query,
    visit: &mut impl FnMut(&TcpSocket),
) -> io::Result<()> {
    let ports = SocketId { ports: (query.local_port, query.remote_port), ..SocketId::ANY };
    send(socket, &request(family, query, NLM_F_DUMP, &ports))?;
    // Bounded: the kernel ends every dump after the entries of the existing sockets.
    loop {
        let size = socket.recv(&mut &mut *buffer, 0)?;
        let datagram = buffer.get(..size).ok_or(io::ErrorKind::InvalidData)?;
        if read_datagram(datagram, visit)? == Rest::Done {
            return Ok(());
        }
    }
}

/// Looks up one socket by its addresses and cookie. `None`: it is gone.
pub(super) fn one(
    socket: &Socket,
    buffer: &mut [u8],
    known: &TcpSocket,
    query: Query,
) -> io::Result<Option<TcpSocket>> {
    let id = SocketId {
        ports: (known.local.port(), known.remote.port()),
        addresses: (bytes(known.local.ip(), known.family), bytes(known.remote.ip(), known.family)),
        interface: known.interface,
        cookie: known.cookie,
    };
    send(socket, &request(known.family, query, 0, &id))?;
    let size = socket.recv(&mut &mut *buffer, 0)?;
    let datagram = buffer.get(..size).ok_or(io::ErrorKind::InvalidData)?;
    let mut found = None;
    match read_datagram(datagram, &mut |it| found = Some(*it)) {
        Ok(_) => Ok(found),
        // ESTALE: the addresses belong to another socket by now.
        Err(error) if matches!(error.raw_os_error(), Some(ENOENT | ESTALE)) => Ok(None),
        Err(error) => Err(error),
    }
}

fn send(socket: &Socket, request: &[u8]) -> io::Result<()> {
    match socket.send(request, 0)? {
        sent if sent == request.len() => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Whether further datagrams follow.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Rest {
    Follows,
    Done,
}

fn read_datagram(mut bytes: &[u8], visit: &mut impl FnMut(&TcpSocket)) -> io::Result<Rest> {
    while !bytes.is_empty() {
        // `struct nlmsghdr`.
        let length = u32_at(bytes, 0).ok_or_else(malformed)? as usize;
        let kind = bytes.get(4..6).and_then(|kind| kind.try_into().ok()).map(u16::from_ne_bytes);
        let payload = bytes.get(HEADER..length).ok_or_else(malformed)?;
        match kind.ok_or_else(malformed)? {
            SOCK_DIAG_BY_FAMILY => {
                if let Some(socket) = tcp_socket(payload).ok_or_else(malformed)? {
                    visit(&socket);
                }
            }
            NLMSG_DONE => return Ok(Rest::Done),
            NLMSG_ERROR => {
                let errno = u32_at(payload, 0).ok_or_else(malformed)?.cast_signed();
                return Err(io::Error::from_raw_os_error(errno.wrapping_neg()));
            }
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
    }
    Ok(Rest::Follows)
}

/// `struct inet_diag_sockid` (`include/uapi/linux/inet_diag.h`).
struct SocketId {
    ports: (u16, u16),
    addresses: ([u8; 16], [u8; 16]),
    interface: u32,
    cookie: u64,
}

impl SocketId {
    /// In a dump the kernel compares only nonzero ports.
    const ANY: Self =
        Self { ports: (0, 0), addresses: ([0; 16], [0; 16]), interface: 0, cookie: NO_COOKIE };
}

/// `struct nlmsghdr` and `struct inet_diag_req_v2`.
fn request(family: Family, query: Query, flags: u16, id: &SocketId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REQUEST);
    bytes.extend(u32::try_from(REQUEST).expect("72 bytes").to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend((NLM_F_REQUEST | flags).to_ne_bytes());
    bytes.extend([0; 8]); // Sequence number, port: the kernel.
    let number = match family {
        Family::V4 => AF_INET,
        Family::V6 => AF_INET6,
    };
    let info = if query.info { extension(INET_DIAG_INFO) } else { 0 };
    let memory = if query.memory { extension(INET_DIAG_SKMEMINFO) } else { 0 };
    let congestion = if query.congestion { extension(INET_DIAG_CONG) } else { 0 };
    bytes.extend([number, IPPROTO_TCP, info | memory | congestion, 0]);
    bytes.extend(query.states.to_ne_bytes());
    bytes.extend(id.ports.0.to_be_bytes());
    bytes.extend(id.ports.1.to_be_bytes());
    bytes.extend(id.addresses.0);
    bytes.extend(id.addresses.1);
    bytes.extend(id.interface.to_ne_bytes());
    bytes.extend(id.cookie.to_ne_bytes());
    debug_assert_eq!(bytes.len(), REQUEST);
    bytes
}

const fn extension(attribute: u16) -> u8 {
    1 << (attribute - 1)
}

/// Reads `struct inet_diag_msg` and its attributes. `Some(None)` for a state added by a later kernel.
fn tcp_socket(bytes: &[u8]) -> Option<Option<TcpSocket>> {
    let attributes = bytes.get(MESSAGE..)?;
    let family = if bytes[0] == AF_INET6 { Family::V6 } else { Family::V4 };
    let address = |port: usize, address: usize| {
        let raw: [u8; 16] = bytes.get(address..)?.first_chunk().copied()?;
        let ip = match family {
            Family::V4 => Ipv4Addr::new(raw[0], raw[1], raw[2], raw[3]).into(),
            Family::V6 => IpAddr::from(raw).to_canonical(),
        };
        Some(SocketAddr::new(ip, u16::from_be_bytes([bytes[port], bytes[port + 1]])))
    };
    let Some((_, state)) = STATES.iter().find(|(number, _)| *number == bytes[1]) else {
        return Some(None);
    };
    let mut socket = TcpSocket {
        local: address(4, 8)?,
        remote: address(6, 24)?,
        family,
        state: *state,
        cookie: u64::from_ne_bytes(bytes.get(44..)?.first_chunk().copied()?),
        receive_queue: u32_at(bytes, 56)?,
        send_queue: u32_at(bytes, 60)?,
        user: u32_at(bytes, 64)?,
        inode: u32_at(bytes, 68)?,
        interface: u32_at(bytes, 40)?,
        info: None,
        memory: None,
        congestion: None,
    };
    each_attribute(attributes, |kind, value| match kind {
        INET_DIAG_INFO => socket.info = TcpInfo::read(value),
        INET_DIAG_CONG => socket.congestion = CongestionName::read(value),
        INET_DIAG_SKMEMINFO => socket.memory = Memory::read(value),
        _ => {}
    });
    Some(Some(socket))
}

/// `struct nlattr`: length with its header, type, value.
fn each_attribute(mut bytes: &[u8], mut visit: impl FnMut(u16, &[u8])) {
    while let Some([length, second, kind, other]) = bytes.first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([*length, *second]));
        let Some(value) = bytes.get(4..length) else { return };
        visit(u16::from_ne_bytes([*kind, *other]), value);
        bytes = bytes.get(length.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
    }
}

/// An address as the kernel has it: an IPv6 socket has IPv4 addresses in mapped form.
fn bytes(address: IpAddr, family: Family) -> [u8; 16] {
    match (address, family) {
        (IpAddr::V4(address), Family::V4) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&address.octets());
            bytes
        }
        (IpAddr::V4(address), Family::V6) if address.is_unspecified() => {
            Ipv6Addr::UNSPECIFIED.octets()
        }
        (IpAddr::V4(address), Family::V6) => address.to_ipv6_mapped().octets(),
        (IpAddr::V6(address), _) => address.octets(),
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer is cut off")
}

/// `include/net/tcp_states.h`.
pub(super) const STATES: [(u8, State); 12] = [
    (1, State::Established),
    (2, State::SynSent),
    (3, State::SynReceived),
    (4, State::FinWait1),
    (5, State::FinWait2),
    (6, State::TimeWait),
    (7, State::Closed),
    (8, State::CloseWait),
    (9, State::LastAck),
    (10, State::Listen),
    (11, State::Closing),
    (12, State::SynReceived), // TCP_NEW_SYN_RECV: a handshake that has no socket yet.
];

/// `NLMSG_ALIGNTO`, `NLA_ALIGNTO`.
const ALIGNMENT: usize = 4;
/// Size of `struct nlmsghdr`.
const HEADER: usize = 16;
/// Size of `struct inet_diag_msg`.
const MESSAGE: usize = 72;
/// Size of `struct nlmsghdr` and `struct inet_diag_req_v2`.
const REQUEST: usize = HEADER + 56;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
/// `NLM_F_ROOT | NLM_F_MATCH`.
const NLM_F_DUMP: u16 = 0x300;
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_SKMEMINFO: u16 = 7;
/// `INET_DIAG_NOCOOKIE`, twice.
const NO_COOKIE: u64 = u64::MAX;
const ENOENT: i32 = 2;
const ESTALE: i32 = 116;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_answer_is_an_error_and_not_a_panic() {
        let mut seen = 0;
        for length in [1, 4, 15, 16, 40] {
            let junk = vec![0xff; length];
            assert!(read_datagram(&junk, &mut |_| seen += 1).is_err(), "{length} bytes");
        }
        // A header that is right, around every length of what follows.
        for length in HEADER..HEADER + 200 {
            let mut bytes = vec![1; length];
            bytes[..4].copy_from_slice(&u32::try_from(length).unwrap().to_ne_bytes());
            bytes[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
            let before = seen;
            let is_whole = length >= HEADER + MESSAGE;
            assert_eq!(read_datagram(&bytes, &mut |_| seen += 1).is_ok(), is_whole, "{length}");
            assert_eq!(seen - before, u32::from(is_whole));
        }
        let before = seen;
        assert_eq!(read_datagram(&[], &mut |_| seen += 1).unwrap(), Rest::Follows);
        assert_eq!(seen, before);
    }
}
