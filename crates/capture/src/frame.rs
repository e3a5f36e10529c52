//! A segment as an Ethernet frame: what a capture on a host's own interface shows.

use std::net::{IpAddr, SocketAddr};

use ackwise_tcp::{
    Segment,
    wire::{self, WriteError},
};
use etherparse::{EtherType, Ethernet2Header};

/// Bytes of an Ethernet header without VLAN tags.
pub const ETHERNET_HEADER: usize = Ethernet2Header::LEN;

/// Replaces the content of `packet` by the IP packet, checksums included, and gives the Ethernet
/// header that goes before it. Short frames are not padded, as a sender's own capture shows them.
///
/// # Errors
///
/// See [`WriteError`]; `packet` is then empty.
pub fn write(
    packet: &mut Vec<u8>,
    source: SocketAddr,
    destination: SocketAddr,
    segment: &Segment,
    payload: &[u8],
) -> Result<[u8; ETHERNET_HEADER], WriteError> {
    wire::write(packet, source, destination, segment, payload)?;
    let header = Ethernet2Header {
        source: station(source.ip()),
        destination: station(destination.ip()),
        ether_type: match source {
            SocketAddr::V4(_) => EtherType::IPV4,
            SocketAddr::V6(_) => EtherType::IPV6,
        },
    };
    Ok(header.to_bytes())
}

/// The MAC address of a host: locally administered (02), then the last four bytes of its IP
/// address, so that nobody has to hand addresses out.
fn station(address: IpAddr) -> [u8; 6] {
    let [a, b, c, d] = match address {
        IpAddr::V4(address) => address.octets(),
        IpAddr::V6(address) => {
            let [.., a, b, c, d] = address.octets();
            [a, b, c, d]
        }
    };
    [0x02, 0x00, a, b, c, d]
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, SeqNumber};

    use super::*;

    #[test]
    fn a_frame_holds_the_packet_and_names_both_stations() {
        for (source, destination, ether_type) in [
            ("10.0.0.2:49152", "10.0.1.3:80", [0x08, 0x00]),
            ("[fd00::a00:2]:49152", "[fd00::a00:103]:80", [0x86, 0xdd]),
        ] {
            let (source, destination) = (source.parse().unwrap(), destination.parse().unwrap());
            let segment =
                Segment { seq: SeqNumber(7), flags: Flags::PSH, len: 5, ..Segment::default() };
            let mut packet = Vec::new();
            let header = write(&mut packet, source, destination, &segment, b"hello").unwrap();
            assert_eq!(header[..12], [2, 0, 10, 0, 1, 3, 2, 0, 10, 0, 0, 2]);
            assert_eq!(header[12..], ether_type);
            let read = wire::parse(&packet).unwrap();
            assert_eq!((read.source, read.destination), (source, destination));
            assert_eq!((read.segment, read.payload), (segment, &b"hello"[..]));
        }
    }
}
