//! The headers of a packet, anew: of the addresses there is nothing left in them.

use std::net::SocketAddr;

use ackwise_tcp::{
    Segment,
    wire::{self, WriteError},
};
use etherparse::{Ipv4Header, Ipv6Header};

use crate::decode::Seen;

/// Replaces the content of `packet` by the headers of one like `seen`, between other addresses.
///
/// The checksum of TCP is zero, as there is not all of the data to sum up.
pub(super) fn headers(
    seen: &Seen<'_>,
    [source, destination]: [SocketAddr; 2],
    packet: &mut Vec<u8>,
) -> Result<(), WriteError> {
    let segment = Segment { len: 0, ..seen.segment };
    wire::write(packet, source, destination, &segment, &[])?;
    let length = packet.len().saturating_add(seen.segment.len as usize);
    let tcp = match source {
        SocketAddr::V4(_) => write_ipv4(packet, seen, length),
        SocketAddr::V6(_) => write_ipv6(packet, seen, length),
    };
    const CHECKSUM: usize = 16;
    packet[tcp + CHECKSUM..][..2].fill(0);
    Ok(())
}

/// RFC 791, section 3.1; where the header ends.
fn write_ipv4(packet: &mut [u8], seen: &Seen<'_>, length: usize) -> usize {
    const DONT_FRAGMENT: u8 = 0x40;
    const MORE_FRAGMENTS: u8 = 0x20;
    packet[2..4].copy_from_slice(&or_zero(length));
    packet[4..6].copy_from_slice(&seen.identification.to_be_bytes());
    packet[6] = if seen.fragment { MORE_FRAGMENTS } else { DONT_FRAGMENT };
    packet[8] = seen.hop_limit;
    if let Ok((header, _)) = Ipv4Header::from_slice(packet) {
        packet[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
    }
    Ipv4Header::MIN_LEN
}

/// RFC 8200, section 3; where the header ends.
fn write_ipv6(packet: &mut [u8], seen: &Seen<'_>, length: usize) -> usize {
    packet[4..6].copy_from_slice(&or_zero(length - Ipv6Header::LEN));
    packet[7] = seen.hop_limit;
    Ipv6Header::LEN
}

/// A length; zero if the field cannot say it, as Linux writes it, too.
fn or_zero(length: usize) -> [u8; 2] {
    u16::try_from(length).unwrap_or(0).to_be_bytes()
}
