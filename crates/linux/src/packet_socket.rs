//! Captures IP packets of a live interface, with the kernel's timestamps and its drop count.
//!
//! | file | purpose |
//! | --- | --- |
//! | `filter` | capture filters as written by a user |
//! | `part` | a part of all connections, for a capture that must not take too much time |
//! | `program` | compiles both for the kernel, so that other packets cost little |
//! | `error` | why a socket could not be opened |
//!
//! Not here: packet contents (the crate `capture`), link headers (removed by the kernel), and
//! promiscuous mode: only packets to, from and through this host are captured. Needs CAP_NET_RAW.
//! Each packet takes a system call, because a ring buffer shared with the kernel would need
//! `unsafe`.

use std::{
    io::{self, IoSliceMut},
    os::fd::{AsRawFd, OwnedFd},
    time::Duration,
};

use ackwise_tcp::Instant;
use nix::{
    errno::Errno,
    net::if_::{if_indextoname, if_nametoindex},
    sys::{
        socket::{
            AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol,
            SockType, recv, recvmsg, setsockopt, socket,
            sockopt::{RcvBuf, RcvBufForce, ReceiveTimeout, ReceiveTimestampns, RxqOvfl},
        },
        time::{TimeVal, TimeValLike},
    },
};
use socket2::{SockFilter, SockRef};

mod error;
mod filter;
mod part;
mod program;

pub use error::PacketSocketError;
pub use filter::{Filter, FilterError};
pub use part::{Part, is_plain};
use program::Instruction;

/// A socket that captures the IP packets of one interface, or of all.
#[derive(Debug)]
pub struct PacketSocket {
    descriptor: OwnedFd,
    /// Index of the selected interface; `None` for all.
    interface: Option<u32>,
    filter: Option<Filter>,
    buffer: Vec<u8>,
    captured: usize,
    dropped: u32,
}

/// A captured packet; its bytes are in [`PacketSocket::bytes`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Passed {
    /// Timestamp since the Unix epoch.
    pub at: Instant,
    /// Index of the interface.
    pub interface: u32,
    /// The packet's direction.
    pub direction: PacketType,
    /// Original length in bytes, from the IP header on.
    pub original_len: u32,
}

/// The direction of a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PacketType {
    /// To this host.
    Received,
    /// From this host.
    Sent,
    /// Between other hosts, through a bridge of this host.
    Passing,
}

impl PacketSocket {
    /// Captures packets that match `filter` on the interface `name`, or on all interfaces for
    /// `None`.
    ///
    /// # Errors
    ///
    /// See [`PacketSocketError`].
    pub fn open(name: Option<&str>, filter: Option<&Filter>) -> Result<Self, PacketSocketError> {
        let everything = Part::everything(0);
        let descriptor = socket(
            AddressFamily::Packet,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::EthAll,
        );
        let descriptor = descriptor.map_err(PacketSocketError::of_socket)?;
        attach(&descriptor, &program::NOTHING)?;
        let index = |name| if_nametoindex(name).map_err(|_| PacketSocketError::no_interface(name));
        let interface = name.map(index).transpose()?;
        setsockopt(&descriptor, ReceiveTimestampns, &true)?;
        setsockopt(&descriptor, RxqOvfl, &1)?;
        let longest = i64::try_from(LONGEST_WAIT.as_micros()).map_err(io::Error::other)?;
        setsockopt(&descriptor, ReceiveTimeout, &TimeVal::microseconds(longest))?;
        // Exceeding the system's limit needs CAP_NET_ADMIN; a smaller buffer still works.
        if setsockopt(&descriptor, RcvBufForce, &QUEUE).is_err() {
            setsockopt(&descriptor, RcvBuf, &QUEUE)?;
        }
        discard_early(&descriptor)?;
        attach(&descriptor, &program::compile(interface, filter, everything))?;
        let (filter, buffer) = (filter.cloned(), vec![0; SNAP_LENGTH]);
        Ok(Self { descriptor, interface, filter, buffer, captured: 0, dropped: 0 })
    }

    /// From now on captures only what is also in `part`. Packets that are queued already are not
    /// affected: their timestamps are earlier.
    ///
    /// # Errors
    ///
    /// If the kernel has no memory for the filter.
    pub fn follow(&self, part: Part) -> io::Result<()> {
        let program = program::compile(self.interface, self.filter.as_ref(), part);
        attach(&self.descriptor, &program)
    }

    /// Packets dropped by the kernel because the queue was full, as of the last packet received.
    #[must_use]
    pub const fn dropped(&self) -> u32 {
        self.dropped
    }

    /// Bytes of the last packet received, at most [`SNAP_LENGTH`], from its IP header on.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.captured]
    }

    /// Waits at most [`LONGEST_WAIT`] for a packet; `None` if there was none.
    ///
    /// # Errors
    ///
    /// If the interface was removed.
    pub fn receive(&mut self) -> io::Result<Option<Passed>> {
        let mut space = nix::cmsg_space!(nix::sys::time::TimeSpec, u32);
        let mut slices = [IoSliceMut::new(&mut self.buffer)];
        let (descriptor, flags) = (self.descriptor.as_raw_fd(), MsgFlags::MSG_TRUNC);
        let received = recvmsg::<LinkAddr>(descriptor, &mut slices, Some(&mut space), flags);
        let received = match received {
            Err(Errno::EAGAIN | Errno::EINTR) => return self.check_interface().map(|()| None),
            received => received?,
        };
        let (mut at, mut dropped) = (Instant::EPOCH, self.dropped);
        for message in received.cmsgs()? {
            match message {
                ControlMessageOwned::ScmTimestampns(time) => {
                    at = Instant::EPOCH + Duration::from(time);
                }
                ControlMessageOwned::RxqOvfl(count) => dropped = count,
                _ => {}
            }
        }
        let (address, length) = (received.address, received.bytes);
        self.dropped = dropped;
        self.captured = length.min(SNAP_LENGTH);
        Ok(Some(Passed {
            at,
            interface: address.map_or(0, |it| u32::try_from(it.ifindex()).unwrap_or(0)),
            direction: match address.map(|it| it.pkttype()) {
                Some(OUTGOING) => PacketType::Sent,
                Some(OTHER_HOST) => PacketType::Passing,
                _ => PacketType::Received,
            },
            original_len: u32::try_from(length).unwrap_or(u32::MAX),
        }))
    }

    /// Checks that the interface still exists: a socket bound to all interfaces gets no error when
    /// it is removed.
    fn check_interface(&self) -> io::Result<()> {
        self.interface.map_or(Ok(()), |index| {
            let gone = |_| io::Error::new(io::ErrorKind::NotFound, "the interface has gone");
            if_indextoname(index).map(drop).map_err(gone)
        })
    }
}

fn attach(descriptor: &OwnedFd, program: &[Instruction]) -> io::Result<()> {
    let compiled: Vec<SockFilter> = program
        .iter()
        .map(|it| SockFilter::new(it.code, it.jump_true, it.jump_false, it.k))
        .collect();
    SockRef::from(descriptor).attach_filter(&compiled)
}

/// Discards packets received before a filter was attached. [`program::NOTHING`] keeps out further
/// ones.
fn discard_early(descriptor: &OwnedFd) -> nix::Result<()> {
    loop {
        match recv(descriptor.as_raw_fd(), &mut [], MsgFlags::MSG_DONTWAIT) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Maximum number of bytes captured per packet, from its IP header on: the whole packet, even with
/// segmentation offload.
pub const SNAP_LENGTH: usize = 65_536;

/// Maximum wait of [`PacketSocket::receive`], which bounds the time to stop a capture (our choice).
pub const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Size of the receive queue in bytes, as counted by the kernel (our choice): at least 100 ms of 1
/// Gb/s.
const QUEUE: usize = 32 << 20;

/// `linux/if_packet.h`.
const OTHER_HOST: u8 = 3;
const OUTGOING: u8 = 4;
/// `ARPHRD_LOOPBACK`, `linux/if_arp.h`.
const LOOPBACK: u16 = 772;
/// EtherTypes.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;
    use ackwise_testing::in_namespace;

    fn next(tap: &mut PacketSocket) -> Option<Passed> {
        tap.receive().unwrap().or_else(|| tap.receive().unwrap())
    }

    #[test]
    fn what_passes_is_seen_once_with_its_length_and_time() {
        in_namespace("packet_socket", || {
            let mut tap = PacketSocket::open(Some("lo"), None).unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.send_to(&[7; 1000], socket.local_addr().unwrap()).unwrap();
            let seen = next(&mut tap).expect("a packet");
            assert_eq!((seen.original_len, seen.direction), (1028, PacketType::Received));
            assert_eq!(tap.bytes()[28..], [7; 1000]);
            assert!(seen.at.as_nanos() > 1_700_000_000_000_000_000, "{}", seen.at);
            assert!(tap.receive().unwrap().is_none());
            assert_eq!(tap.dropped(), 0);
        });
    }

    #[test]
    fn what_the_filter_does_not_want_is_not_seen() {
        in_namespace("packet_socket_filter", || {
            let [wanted, other] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
            let wanted = wanted.local_addr().unwrap();
            let filter = format!("udp dst port {}", wanted.port()).parse().unwrap();
            let mut tap = PacketSocket::open(None, Some(&filter)).unwrap();
            other.send_to(b"other", other.local_addr().unwrap()).unwrap();
            other.send_to(b"wanted", wanted).unwrap();
            next(&mut tap).expect("a packet");
            assert_eq!(tap.bytes()[28..], *b"wanted");
            assert!(tap.receive().unwrap().is_none());
        });
    }

    #[test]
    fn a_part_of_the_connections_is_followed_until_everything_is_again() {
        in_namespace("packet_socket_part", || {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let server = listener.local_addr().unwrap();
            let mut tap = PacketSocket::open(Some("lo"), None).unwrap();
            let all = Part::everything(0x1234_5678);
            let part = all.halved(1);
            tap.follow(part).unwrap();
            let (mut inside, mut outside) = (0, 0);
            for _ in 0..40 {
                let client = TcpStream::connect(server).unwrap();
                let ends = [client.local_addr().unwrap(), server];
                drop(client);
                let (seen, held) = (next(&mut tap).is_some(), part.holds_connection(ends));
                assert_eq!(seen, held, "{ends:?}");
                assert!(!seen || (is_plain(tap.bytes()) && part.holds(tap.bytes())));
                while tap.receive().unwrap().is_some() {}
                *if held { &mut inside } else { &mut outside } += 1;
            }
            assert!(inside > 0 && outside > 0, "{inside} in the half, {outside} not");
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            let send = || socket.send_to(b"udp", socket.local_addr().unwrap()).unwrap();
            send();
            assert!(tap.receive().unwrap().is_none(), "not TCP");
            tap.follow(all).unwrap();
            send();
            assert!(next(&mut tap).is_some());
        });
    }

    #[test]
    fn an_interface_that_is_not_there_is_named_with_those_that_are() {
        in_namespace("packet_socket_names", || {
            let error = PacketSocket::open(Some("none"), None).unwrap_err();
            assert_eq!(error.to_string(), "unknown interface \"none\" (expected one of lo)");
        });
    }
}
