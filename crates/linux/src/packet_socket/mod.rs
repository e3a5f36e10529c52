//! A live interface: IP packets as they pass, with the kernel's times and its count of drops.
//!
//! Not here: what is in a packet (the crate `capture`), link headers (the kernel takes them off),
//! and a filter in the kernel. Needs CAP_NET_RAW.

use std::{
    io::{self, IoSliceMut},
    os::fd::{AsRawFd, OwnedFd},
    time::Duration,
};

use ackwise_tcp::Instant;
use nix::{
    errno::Errno,
    net::if_::if_nametoindex,
    sys::{
        socket::{
            AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol,
            SockType, recvmsg, setsockopt, socket,
            sockopt::{ReceiveTimeout, ReceiveTimestampns, RxqOvfl},
        },
        time::{TimeVal, TimeValLike},
    },
};

/// A socket that sees the IP packets of one interface, or of all.
#[derive(Debug)]
pub struct PacketSocket {
    descriptor: OwnedFd,
    /// The index of the only interface of interest.
    interface: Option<usize>,
    buffer: Vec<u8>,
    dropped: u32,
}

/// A packet that has passed.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'a> {
    /// When: since the Unix epoch.
    pub at: Instant,
    /// The index of the interface.
    pub interface: u32,
    /// This host has sent it.
    pub sent: bool,
    /// Octets that it had, from its IP header on.
    pub original_len: u32,
    /// The first [`SNAP_LENGTH`] of them.
    pub octets: &'a [u8],
}

impl PacketSocket {
    /// Listens to the interface `name`, or to all for `None`.
    ///
    /// # Errors
    ///
    /// If there is no such interface, or the kernel does not let us: CAP_NET_RAW is needed.
    pub fn open(name: Option<&str>) -> io::Result<Self> {
        let interface = name.map(if_nametoindex).transpose()?.map(|index| index as usize);
        let descriptor = socket(
            AddressFamily::Packet,
            SockType::Datagram,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::EthAll,
        )?;
        setsockopt(&descriptor, ReceiveTimestampns, &true)?;
        setsockopt(&descriptor, RxqOvfl, &1)?;
        let longest = i64::try_from(LONGEST_WAIT.as_micros()).map_err(io::Error::other)?;
        setsockopt(&descriptor, ReceiveTimeout, &TimeVal::microseconds(longest))?;
        Ok(Self { descriptor, interface, buffer: vec![0; SNAP_LENGTH], dropped: 0 })
    }

    /// Packets that the kernel dropped because nobody took them, as of the last packet received.
    #[must_use]
    pub const fn dropped(&self) -> u32 {
        self.dropped
    }

    /// Waits [`LONGEST_WAIT`] at most for something to pass; `None` if nothing of interest did.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn receive(&mut self) -> io::Result<Option<Passed<'_>>> {
        let mut space = nix::cmsg_space!(nix::sys::time::TimeSpec, u32);
        let mut slices = [IoSliceMut::new(&mut self.buffer)];
        let (descriptor, flags) = (self.descriptor.as_raw_fd(), MsgFlags::MSG_TRUNC);
        let received = recvmsg::<LinkAddr>(descriptor, &mut slices, Some(&mut space), flags);
        let received = match received {
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
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
        let Some(address) = address.filter(|it| self.interests(it)) else { return Ok(None) };
        Ok(Some(Passed {
            at,
            interface: u32::try_from(address.ifindex()).unwrap_or(0),
            sent: address.pkttype() == OUTGOING,
            original_len: u32::try_from(length).unwrap_or(u32::MAX),
            octets: &self.buffer[..length.min(SNAP_LENGTH)],
        }))
    }

    /// Whether it is IP on an interface that was asked for. What loops back is seen twice.
    fn interests(&self, address: &LinkAddr) -> bool {
        let is_ip = matches!(u16::from_be(address.protocol()), IPV4 | IPV6);
        let is_second = address.hatype() == LOOPBACK && address.pkttype() == OUTGOING;
        let is_here = self.interface.is_none_or(|index| index == address.ifindex());
        is_ip && is_here && !is_second
    }
}

/// Octets that are kept of each packet, from its IP header on: all headers, and the heads of most
/// messages.
pub const SNAP_LENGTH: usize = 256;

/// How long [`PacketSocket::receive`] waits: who wants to end it need not wait longer.
pub const LONGEST_WAIT: Duration = Duration::from_millis(100);

/// `PACKET_OUTGOING`, `linux/if_packet.h`.
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

    #[test]
    fn what_passes_is_seen_once_with_its_length_and_time() {
        in_namespace("packet_socket", || {
            let mut tap = PacketSocket::open(Some("lo")).unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.send_to(&[7; 1000], socket.local_addr().unwrap()).unwrap();
            let seen = tap.receive().unwrap().map(|it| (it.original_len, it.octets.len(), it.at));
            let seen = seen.or_else(|| {
                tap.receive().unwrap().map(|it| (it.original_len, it.octets.len(), it.at))
            });
            let (length, captured, at) = seen.expect("a packet");
            assert_eq!((length, captured), (1028, SNAP_LENGTH));
            assert!(at.as_nanos() > 1_700_000_000_000_000_000, "{at}");
            assert!(tap.receive().unwrap().is_none());
            assert_eq!(tap.dropped(), 0);
            assert!(PacketSocket::open(Some("none")).is_err());
        });
    }
}
