//! A router's report that a packet was too large: "fragmentation needed" (RFC 792, RFC 1191, section 4)
//! and "packet too big" (RFC 4443, section 3.2).
//!
//! Not here: any other ICMP message, and quoted packets with extension headers: `None`.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use etherparse::{
    IpNumber, IpSlice, Ipv4Header, Ipv4HeaderSlice, Ipv6Header, Ipv6HeaderSlice,
    checksum::Sum16BitWords,
};

use crate::{endpoint::PathMtuReport, seq::SeqNumber};

/// A router's report that a TCP segment was too large for the next link.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooBig {
    /// Who sent the segment.
    pub source: SocketAddr,
    /// Whom it was for.
    pub destination: SocketAddr,
    /// For the endpoint that sent it.
    pub report: PathMtuReport,
}

/// Reads a router's report about a TCP segment; `None` if `bytes` are anything else, or a checksum is
/// wrong.
#[must_use]
pub fn parse_too_big(bytes: &[u8]) -> Option<TooBig> {
    let ip = IpSlice::from_slice(bytes).ok()?;
    let payload = ip.payload();
    if payload.fragmented {
        return None;
    }
    let message = payload.payload;
    let (head, quoted) = message.split_first_chunk::<MESSAGE_HEADER>()?;
    let mtu = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    match payload.ip_number {
        IpNumber::ICMP if head[..2] == FRAGMENTATION_NEEDED => {
            let header = ip.ipv4()?.header().slice();
            let sums = [Sum16BitWords::new().add_slice(header), Sum16BitWords::new()];
            let [header_sum, message_sum] = sums;
            let intact = header_sum.ones_complement() == 0
                && message_sum.add_slice(message).ones_complement() == 0;
            // The first two of the four bytes are unused.
            intact.then(|| quoted_v4(quoted, mtu & 0xffff)).flatten()
        }
        // RFC 4443, section 3.2: the code is "ignored by the receiver".
        IpNumber::IPV6_ICMP if head[0] == PACKET_TOO_BIG => {
            let header = ip.ipv6()?.header();
            let (source, destination) = (header.source(), header.destination());
            let intact = checksum_v6(source, destination, message) == 0;
            intact.then(|| quoted_v6(quoted, mtu)).flatten()
        }
        _ => None,
    }
}

/// Replaces the content of `buffer` by the report of a router at `router` whose next link takes `mtu`
/// bytes, about the packet `dropped`, of which it quotes what fits into 576 bytes (RFC 1812, section
/// 4.3.2.3) or 1,280 (RFC 4443). `false`, and `buffer` is empty, if `dropped` is no IP packet of the
/// router's family.
pub fn write_too_big(buffer: &mut Vec<u8>, router: IpAddr, mtu: u32, dropped: &[u8]) -> bool {
    buffer.clear();
    match router {
        IpAddr::V4(router) => write_v4(buffer, router.octets(), mtu, dropped),
        IpAddr::V6(router) => write_v6(buffer, router.octets(), mtu, dropped),
    }
    .is_some()
}

/// What RFC 792 has a router quote: the IP header and eight bytes.
fn quoted_v4(bytes: &[u8], mtu: u32) -> Option<TooBig> {
    let ip = Ipv4HeaderSlice::from_slice(bytes).ok()?;
    if ip.protocol() != IpNumber::TCP || ip.is_fragmenting_payload() {
        return None;
    }
    let mtu = match mtu {
        0 => plateau_below(ip.total_len().into()),
        mtu => mtu,
    };
    let tcp = bytes.get(ip.slice().len()..)?;
    too_big(ip.source_addr().into(), ip.destination_addr().into(), tcp, mtu)
}

fn quoted_v6(bytes: &[u8], mtu: u32) -> Option<TooBig> {
    let ip = Ipv6HeaderSlice::from_slice(bytes).ok()?;
    if ip.next_header() != IpNumber::TCP {
        return None;
    }
    let tcp = bytes.get(Ipv6Header::LEN..)?;
    too_big(ip.source_addr().into(), ip.destination_addr().into(), tcp, mtu)
}

fn too_big(source: IpAddr, destination: IpAddr, tcp: &[u8], mtu: u32) -> Option<TooBig> {
    let &[from_high, from_low, to_high, to_low, a, b, c, d] = tcp.first_chunk::<TCP_QUOTED>()?;
    let sequence = SeqNumber(u32::from_be_bytes([a, b, c, d]));
    Some(TooBig {
        source: SocketAddr::new(source, u16::from_be_bytes([from_high, from_low])),
        destination: SocketAddr::new(destination, u16::from_be_bytes([to_high, to_low])),
        report: PathMtuReport { mtu, sequence },
    })
}

/// RFC 1191, section 5: a router that does not know of path MTU discovery reports no MTU; then the next
/// lower plateau is tried.
fn plateau_below(length: u32) -> u32 {
    let lower = PLATEAUS.into_iter().find(|plateau| *plateau < length);
    lower.unwrap_or(PLATEAUS[PLATEAUS.len() - 1])
}

fn write_v4(buffer: &mut Vec<u8>, router: [u8; 4], mtu: u32, dropped: &[u8]) -> Option<()> {
    let source = Ipv4HeaderSlice::from_slice(dropped).ok()?.source();
    let quoted = &dropped[..dropped.len().min(LONGEST_V4 - Ipv4Header::MIN_LEN - MESSAGE_HEADER)];
    let message = message(FRAGMENTATION_NEEDED, mtu.min(0xffff), quoted, |message| {
        Sum16BitWords::new().add_slice(message).ones_complement()
    });
    let length = u16::try_from(message.len()).ok()?;
    let mut ip = Ipv4Header::new(length, HOP_LIMIT, IpNumber::ICMP, router, source).ok()?;
    ip.header_checksum = ip.calc_header_checksum();
    buffer.extend_from_slice(&ip.to_bytes());
    buffer.extend_from_slice(&message);
    Some(())
}

fn write_v6(buffer: &mut Vec<u8>, router: [u8; 16], mtu: u32, dropped: &[u8]) -> Option<()> {
    let destination = Ipv6HeaderSlice::from_slice(dropped).ok()?.source();
    let quoted = &dropped[..dropped.len().min(LONGEST_V6 - Ipv6Header::LEN - MESSAGE_HEADER)];
    let message = message([PACKET_TOO_BIG, 0], mtu, quoted, |message| {
        checksum_v6(router, destination, message)
    });
    let ip = Ipv6Header {
        payload_length: u16::try_from(message.len()).ok()?,
        next_header: IpNumber::IPV6_ICMP,
        hop_limit: HOP_LIMIT,
        source: router,
        destination,
        ..Ipv6Header::default()
    };
    buffer.extend_from_slice(&ip.to_bytes());
    buffer.extend_from_slice(&message);
    Some(())
}

fn message(
    [kind, code]: [u8; 2],
    mtu: u32,
    quoted: &[u8],
    checksum: impl FnOnce(&[u8]) -> u16,
) -> Vec<u8> {
    let mut message = Vec::with_capacity(MESSAGE_HEADER + quoted.len());
    message.extend_from_slice(&[kind, code, 0, 0]);
    message.extend_from_slice(&mtu.to_be_bytes());
    message.extend_from_slice(quoted);
    let checksum = checksum(&message);
    // The sum is in the order of memory.
    message[2..4].copy_from_slice(&checksum.to_ne_bytes());
    message
}

/// RFC 4443, section 2.3: over the message and RFC 8200's pseudo-header.
fn checksum_v6(source: [u8; 16], destination: [u8; 16], message: &[u8]) -> u16 {
    let length = u32::try_from(message.len()).expect("an IP packet has less than 65536 bytes");
    Sum16BitWords::new()
        .add_16bytes(source)
        .add_16bytes(destination)
        .add_4bytes(length.to_be_bytes())
        .add_2bytes([0, IpNumber::IPV6_ICMP.0])
        .add_slice(message)
        .ones_complement()
}

/// Type and code in ICMP.
const FRAGMENTATION_NEEDED: [u8; 2] = [3, 4];
/// The type in ICMPv6.
const PACKET_TOO_BIG: u8 = 2;
/// Type, code, checksum and four bytes that hold the MTU.
const MESSAGE_HEADER: usize = 8;
/// Ports and sequence number.
const TCP_QUOTED: usize = 8;
const LONGEST_V4: usize = 576;
const LONGEST_V6: usize = 1280;
const HOP_LIMIT: u8 = 64;
/// RFC 1191, table 7-1.
const PLATEAUS: [u32; 11] =
    [65_535, 32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, 68];
