//! A frame as the TCP segment in it: link header, tunnels and IP taken off.
//!
//! Written for captures, not for a host: a packet that was cut after its headers decodes, and so
//! does one whose length field the network card had yet to fill in. Checksums are not looked at,
//! since a capture on the sending host shows rubbish there. What is no TCP segment is an answer
//! too, see [`NotTcp`].
//!
//! By our own few lines instead of `etherparse`: its lax slices refuse a TCP header whose options
//! were cut off, know neither cooked frames' interfaces nor tunnels, and forget how long the packet
//! was on the wire.
//!
//! *Not* here: reassembly of fragments (the first one decodes and says so), decryption, UDP, of which [`QuicConnections`]
//! says no more than what is QUIC.
//!
//! ```
//! use ackwise_capture::{decode::{self, NotTcp}, read::{Frame, LinkType}};
//! use ackwise_tcp::Instant;
//!
//! let arp = [&[0xff; 12][..], &[0x08, 0x06], &[0; 28]].concat();
//! let frame = Frame {
//!     number: 1,
//!     at: Instant::from_nanos(1_700_000_000_000_000_000),
//!     interface: 0,
//!     link_type: LinkType::ETHERNET,
//!     original_len: 42,
//!     bytes: &arp,
//!     direction: None,
//!     lost_before: 0,
//! };
//! assert_eq!(decode::decode(&frame), Err(NotTcp::NotIp));
//! ```

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ackwise_tcp::{Instant, Segment};

use crate::read::{Frame, HostDirection};

mod icmp;
mod ip;
mod link;
mod not_tcp;
mod plain;
mod quic;
mod remaining;
pub(crate) mod tcp;
mod tunnel;

pub use icmp::{IcmpError, IcmpReason};
pub use not_tcp::{LeftOut, NotTcp};
pub use quic::QuicConnections;

/// One TCP segment as a capture shows it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Seen<'a> {
    /// The packet's, as Wireshark counts: from 1 over the whole capture.
    pub number: u64,
    /// When it was captured: nanoseconds since the Unix epoch.
    pub at: Instant,
    /// Where it was captured: an index over all sections and files; 0 when there is one.
    pub interface: u32,
    /// Who sent it: of the innermost IP header.
    pub source: SocketAddr,
    /// Whom it is for: of the innermost IP header.
    pub destination: SocketAddr,
    /// The header; `len` is the length of the data on the wire, not of what was captured of it.
    pub segment: Segment,
    /// What was captured of the data: may be shorter than `segment.len`, never longer.
    pub payload: &'a [u8],
    /// TTL or hop limit. With `identification` it tells a copy of a packet, seen elsewhere on its
    /// way, from a retransmission.
    pub hop_limit: u8,
    /// The identification of IPv4 (RFC 791, section 3.1); 0 for IPv6, which has none.
    pub identification: u16,
    /// Whether this is the first of several fragments: `segment.len` then counts only the data in
    /// it, the rest is [`NotTcp::LaterFragment`].
    pub fragment: bool,
    /// Whether the options were cut off by the snap length, so that an absent one may have been
    /// there.
    pub options_cut: bool,
    /// Which way it passed the capturing host, and through which of its interfaces, where known.
    pub station: Option<Station>,
}

/// Where the capturing host saw a packet.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Station {
    /// Which way the packet went.
    pub direction: HostDirection,
    /// The host's index of its network interface, as `ip link` shows it; only version 2 of Linux's
    /// cooked captures says it.
    pub ifindex: Option<u32>,
}

/// A TCP segment in a frame, between known ends, its header still as it was captured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RawSegment<'a> {
    pub(crate) number: u64,
    pub(crate) at: Instant,
    pub(crate) interface: u32,
    /// Of its sender and its receiver, as numbers: each segment is looked up by them.
    pub(crate) addresses: [u128; 2],
    pub(crate) ports: [u16; 2],
    pub(crate) is_v6: bool,
    /// The TCP header, complete but for its options, and what was captured of the data.
    pub(crate) bytes: &'a [u8],
    /// Bytes of both on the wire: no fewer than the header says that it has.
    pub(crate) length: u32,
    pub(crate) hop_limit: u8,
    pub(crate) identification: u16,
    pub(crate) fragment: bool,
    pub(crate) station: Option<Station>,
}

impl<'a> RawSegment<'a> {
    /// Finds the TCP segment in a frame.
    ///
    /// # Errors
    ///
    /// See [`decode`].
    #[inline(always)]
    pub fn find(frame: &Frame<'a>) -> Result<Self, NotTcp> {
        match Self::find_plain(frame) {
            Some(segment) => Ok(segment),
            None => Self::find_anywhere(frame),
        }
    }

    /// The same if nothing about the frame is unusual; `None` says nothing.
    #[must_use]
    #[inline(always)]
    pub fn find_plain(frame: &Frame<'a>) -> Option<Self> {
        plain::find(frame)
    }

    /// The same, whatever it is in.
    #[inline(never)]
    fn find_anywhere(frame: &Frame<'a>) -> Result<Self, NotTcp> {
        let (packet, station) = link::packet(frame)?;
        let datagram = ip::datagram(packet)?;
        if datagram.protocol == ip::protocol::TCP {
            return tcp::find(frame, &datagram, station);
        }
        unwrap(frame, datagram, station)
    }

    /// Who sent it, and whom it is for: of the innermost IP header.
    #[must_use]
    #[inline]
    pub fn ends(&self) -> [SocketAddr; 2] {
        let ([a, b], [c, d]) = (self.addresses, self.ports);
        [SocketAddr::new(address(a, self.is_v6), c), SocketAddr::new(address(b, self.is_v6), d)]
    }

    /// With its header decoded.
    #[must_use]
    #[inline(always)]
    pub fn decode(&self) -> Seen<'a> {
        tcp::decode(self)
    }
}

#[expect(clippy::fn_params_excessive_bools, reason = "all that it depends on")]
fn address(number: u128, is_v6: bool) -> IpAddr {
    #[expect(clippy::cast_possible_truncation, reason = "that of an IPv4 address has 32 bits")]
    match is_v6 {
        true => Ipv6Addr::from_bits(number).into(),
        false => Ipv4Addr::from_bits(number as u32).into(),
    }
}

/// Finds the TCP segment in a frame.
///
/// # Errors
///
/// See [`NotTcp`]: mostly packets that are something else, which [`LeftOut`] counts.
pub fn decode<'a>(frame: &Frame<'a>) -> Result<Seen<'a>, NotTcp> {
    Ok(RawSegment::find(frame)?.decode())
}

/// The same where something is between the IP header and that of TCP.
#[cold]
fn unwrap<'a>(
    frame: &Frame<'a>,
    mut datagram: ip::Datagram<'a>,
    station: Option<Station>,
) -> Result<RawSegment<'a>, NotTcp> {
    for _ in 0..=MAX_TUNNELS {
        ip::pass_extensions(&mut datagram)?;
        match tunnel::inner(&datagram)? {
            Some(inner) => datagram = ip::datagram(inner)?,
            None => return tcp::find(frame, &datagram, station),
        }
    }
    Err(NotTcp::TooDeep)
}

/// How many tunnels inside one another are unwrapped. Four are a pod's overlay inside a cloud's,
/// mirrored by a switch; a real packet with more has not been seen.
pub const MAX_TUNNELS: usize = 4;

#[cfg(test)]
mod tests;
