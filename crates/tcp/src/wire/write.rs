//! A segment to bytes.

use alloc::vec::Vec;
use core::net::{SocketAddr, SocketAddrV4, SocketAddrV6};

use etherparse::{IpNumber, Ipv4Header, Ipv6Header, TcpHeader, TcpOptions};

use crate::{
    segment::Segment,
    wire::{WriteError, options::WrittenOptions},
};

/// Replaces the content of `buffer` by an IP packet, checksums included.
///
/// Nothing is allocated once `buffer` has the capacity. The packet has DF set and a hop limit of 64;
/// SACK blocks for which the options have no room are left out, the urgent pointer is zero.
///
/// # Errors
///
/// See [`WriteError`]; `buffer` is then empty.
pub fn write(
    buffer: &mut Vec<u8>,
    source: SocketAddr,
    destination: SocketAddr,
    segment: &Segment,
    payload: &[u8],
) -> Result<(), WriteError> {
    buffer.clear();
    if usize::try_from(segment.len) != Ok(payload.len()) {
        return Err(WriteError::PayloadLength { segment: segment.len, payload: payload.len() });
    }
    let tcp = tcp_header(source.port(), destination.port(), segment);
    match (source, destination) {
        (SocketAddr::V4(source), SocketAddr::V4(destination)) => {
            write_v4(buffer, source, destination, tcp, payload)
        }
        (SocketAddr::V6(source), SocketAddr::V6(destination)) => {
            write_v6(buffer, source, destination, tcp, payload)
        }
        _ => Err(WriteError::MixedFamilies),
    }
}

fn tcp_header(source: u16, destination: u16, segment: &Segment) -> TcpHeader {
    // Destructured in full: a new field must decide here how it is written.
    let Segment { seq, ack, flags, window, options, time_wait_holder, len: _ } = segment;
    let options = WrittenOptions::new(options, *time_wait_holder);
    TcpHeader {
        acknowledgment_number: ack.map_or(0, |ack| ack.0),
        ack: ack.is_some(),
        syn: flags.syn,
        fin: flags.fin,
        rst: flags.rst,
        psh: flags.psh,
        urg: flags.urg,
        options: TcpOptions::try_from_slice(options.as_slice()).expect("at most 40 bytes"),
        ..TcpHeader::new(source, destination, seq.0, *window)
    }
}

fn write_v4(
    buffer: &mut Vec<u8>,
    source: SocketAddrV4,
    destination: SocketAddrV4,
    mut tcp: TcpHeader,
    payload: &[u8],
) -> Result<(), WriteError> {
    let length = tcp.header_len() + payload.len();
    let too_long = WriteError::TooLong { bytes: Ipv4Header::MIN_LEN + length };
    let (source, destination) = (source.ip().octets(), destination.ip().octets());
    let length = u16::try_from(length).map_err(|_| too_long)?;
    let mut ip = Ipv4Header::new(length, HOP_LIMIT, IpNumber::TCP, source, destination)
        .map_err(|_| too_long)?;
    // DF makes the packet atomic, so its identification may be zero (RFC 6864, section 4.1).
    ip.dont_fragment = true;
    ip.header_checksum = ip.calc_header_checksum();
    tcp.checksum =
        tcp.calc_checksum_ipv4_raw(source, destination, payload).map_err(|_| too_long)?;
    buffer.extend_from_slice(&ip.to_bytes());
    buffer.extend_from_slice(&tcp.to_bytes());
    buffer.extend_from_slice(payload);
    Ok(())
}

fn write_v6(
    buffer: &mut Vec<u8>,
    source: SocketAddrV6,
    destination: SocketAddrV6,
    mut tcp: TcpHeader,
    payload: &[u8],
) -> Result<(), WriteError> {
    let length = tcp.header_len() + payload.len();
    let too_long = WriteError::TooLong { bytes: Ipv6Header::LEN + length };
    let (source, destination) = (source.ip().octets(), destination.ip().octets());
    let ip = Ipv6Header {
        payload_length: u16::try_from(length).map_err(|_| too_long)?,
        next_header: IpNumber::TCP,
        hop_limit: HOP_LIMIT,
        source,
        destination,
        ..Ipv6Header::default()
    };
    tcp.checksum =
        tcp.calc_checksum_ipv6_raw(source, destination, payload).map_err(|_| too_long)?;
    buffer.extend_from_slice(&ip.to_bytes());
    buffer.extend_from_slice(&tcp.to_bytes());
    buffer.extend_from_slice(payload);
    Ok(())
}

/// What Linux and BSD use; IANA recommends it.
const HOP_LIMIT: u8 = 64;
