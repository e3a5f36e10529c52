//! A live interface: IP packets as they pass, with the kernel's times and its count of drops.
//!
//! | file | its one idea |
//! | --- | --- |
//! | `filter` | which packets are of interest, as a user says it |
//! | `program` | the same as the kernel runs it, so that what is of no interest costs next to nothing |
//! | `error` | why there is no such socket |
//!
//! Not here: what is in a packet (the crate `capture`), link headers (the kernel takes them off), and
//! promiscuous mode: what passes this host is seen, not what passes by. Needs CAP_NET_RAW. There is no
//! ring of buffers shared with the kernel, which would need `unsafe`: each packet is a system call.

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
mod program;

pub use error::PacketSocketError;
pub use filter::{Filter, FilterError};
use program::Instruction;

/// A socket that sees the IP packets of one interface, or of all.
#[derive(Debug)]
pub struct PacketSocket {
    descriptor: OwnedFd,
    /// The index of the only interface of interest.
    interface: Option<u32>,
    buffer: Vec<u8>,
    captured: usize,
    dropped: u32,
}

/// A packet that has passed; its bytes are in [`PacketSocket::bytes`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Passed {
    /// When: since the Unix epoch.
    pub at: Instant,
    /// The index of the interface.
    pub interface: u32,
    /// Which way it went.
    pub direction: Direction,
    /// Bytes that it had, from its IP header on.
    pub original_len: u32,
}

/// Which way a packet went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// To this host.
    Received,
    /// From this host.
    Sent,
    /// Between others, through a bridge of this host.
    Passing,
}

impl PacketSocket {
    /// Listens to the interface `name`, or to all for `None`, for what `filter` lets pass.
    ///
    /// # Errors
    ///
    /// See [`PacketSocketError`].
    pub fn open(name: Option<&str>, filter: Option<&Filter>) -> Result<Self, PacketSocketError> {
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
        // More than the system's limit needs CAP_NET_ADMIN; less is no reason not to listen.
        if setsockopt(&descriptor, RcvBufForce, &QUEUE).is_err() {
            setsockopt(&descriptor, RcvBuf, &QUEUE)?;
        }
        discard_early(&descriptor)?;
        attach(&descriptor, &program::compile(interface, filter))?;
        Ok(Self { descriptor, interface, buffer: vec![0; SNAP_LENGTH], captured: 0, dropped: 0 })
    }

    /// Packets that the kernel dropped because nobody took them, as of the last packet received.
    #[must_use]
    pub const fn dropped(&self) -> u32 {
        self.dropped
    }

    /// What there is of the packet received last: [`SNAP_LENGTH`] bytes at most, from its IP header
    /// on.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.captured]
    }

    /// Waits [`LONGEST_WAIT`] at most for something to pass; `None` if nothing did.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
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
                Some(OUTGOING) => Direction::Sent,
                Some(OTHER_HOST) => Direction::Passing,
                _ => Direction::Received,
            },
            original_len: u32::try_from(length).unwrap_or(u32::MAX),
        }))
    }

    /// A socket for all interfaces, of which a filter chooses one, is not told that that one goes.
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

/// Takes away what came before there was a filter; since then nothing comes.
fn discard_early(descriptor: &OwnedFd) -> nix::Result<()> {
    loop {
        match recv(descriptor.as_raw_fd(), &mut [], MsgFlags::MSG_DONTWAIT) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Bytes that are kept of each packet, from its IP header on: all of it, however large segmentation
/// offload leaves it.
pub const SNAP_LENGTH: usize = 65_536;

/// How long [`PacketSocket::receive`] waits: who wants to end it need not wait longer.
pub const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// Bytes of packets that may wait for us, as the kernel counts them: 100 ms of 1 Gb/s at least. Ours.
const QUEUE: usize = 32 << 20;

/// `linux/if_packet.h`.
const OTHER_HOST: u8 = 3;
const OUTGOING: u8 = 4;
/// `ARPHRD_LOOPBACK`, `linux/if_arp.h`.
const LOOPBACK: u16 = 772;
/// Types of Ethernet's payload.
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::testing::in_namespace;

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
            assert_eq!((seen.original_len, seen.direction), (1028, Direction::Received));
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
    fn an_interface_that_is_not_there_is_named_with_those_that_are() {
        in_namespace("packet_socket_names", || {
            let error = PacketSocket::open(Some("none"), None).unwrap_err();
            assert_eq!(error.to_string(), "unknown interface \"none\" (expected one of lo)");
        });
    }
}
