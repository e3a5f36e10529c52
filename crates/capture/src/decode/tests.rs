use std::net::SocketAddr;

use ackwise_tcp::{Flags, SeqNumber};
use etherparse::PacketBuilder;

use super::*;
use crate::{frame, read::LinkType};

fn seen_as(link_type: LinkType, bytes: &[u8]) -> Result<Seen<'_>, NotTcp> {
    decode(&Frame {
        number: 1,
        at: Instant::EPOCH,
        interface: 0,
        link_type,
        original_len: u32::try_from(bytes.len()).unwrap(),
        bytes,
        direction: None,
        lost_before: 0,
    })
}

#[test]
fn what_the_writer_writes_is_what_is_seen() {
    for (source, destination) in
        [("10.0.0.2:49152", "10.0.1.3:80"), ("[fd00::a00:2]:49152", "[fd00::a00:103]:80")]
    {
        let (source, destination): (SocketAddr, SocketAddr) =
            (source.parse().unwrap(), destination.parse().unwrap());
        let segment =
            Segment { seq: SeqNumber(7), flags: Flags::PSH, len: 5, ..Segment::default() };
        let mut packet = Vec::new();
        let header = frame::write(&mut packet, source, destination, &segment, b"hello").unwrap();
        let bytes = [&header[..], &packet].concat();
        let seen = seen_as(LinkType::ETHERNET, &bytes).unwrap();
        assert_eq!((seen.source, seen.destination), (source, destination));
        assert_eq!((seen.segment, seen.payload), (segment, &b"hello"[..]));
    }
}

/// Whether a datagram between these ports of two hosts is one of QUIC's.
fn is_quic(quic: &mut QuicConnections, ports: (u16, u16), datagram: &[u8]) -> bool {
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(ports.0, ports.1);
    let mut bytes = Vec::new();
    builder.write(&mut bytes, datagram).unwrap();
    assert_eq!(seen_as(LinkType::RAW, &bytes), Err(NotTcp::Udp));
    quic.handle(&Frame {
        number: 1,
        at: Instant::EPOCH,
        interface: 0,
        link_type: LinkType::RAW,
        original_len: u32::try_from(bytes.len()).unwrap(),
        bytes: &bytes,
        direction: None,
        lost_before: 0,
    })
}

/// RFC 9000, section 17.2.2, without a token.
fn first_datagram() -> Vec<u8> {
    let mut bytes = [&[0xc3, 0, 0, 0, 1, 8][..], &[7; 8], &[0, 0, 0x44, 0x9e]].concat();
    bytes.resize(1_200, 0x55);
    bytes
}

#[test]
fn what_follows_the_first_datagram_of_a_client_is_quic() {
    let mut quic = QuicConnections::default();
    let short_header = [&[0x43][..], &[7; 40]].concat();
    assert!(!is_quic(&mut quic, (5, 443), &short_header), "a port shows nothing");
    assert!(is_quic(&mut quic, (5, 8_443), &first_datagram()));
    assert!(is_quic(&mut quic, (5, 8_443), &short_header));
    assert!(!is_quic(&mut quic, (6, 8_443), &short_header), "another connection");
    assert!(is_quic(&mut quic, (6, 8_443), &first_datagram()));
    assert_eq!([quic.count(), quic.clients(), quic.servers()], [2, 1, 1]);
}

#[test]
fn so_many_connections_of_quic_are_remembered() {
    let mut quic = QuicConnections::default();
    let most = u16::try_from(QuicConnections::MOST).unwrap();
    for port in 1..=most {
        assert!(is_quic(&mut quic, (port, 443), &first_datagram()));
    }
    assert!(!quic.is_full());
    assert!(!is_quic(&mut quic, (most + 1, 443), &first_datagram()));
    assert!(quic.is_full() && quic.count() == u64::from(most));
}

#[test]
fn icmp_tells_which_segment_did_not_get_through() {
    let ends: [SocketAddr; 2] = ["10.0.0.2:49152", "10.0.1.3:80"].map(|it| it.parse().unwrap());
    let segment = Segment { seq: SeqNumber(7), flags: Flags::PSH, len: 5, ..Segment::default() };
    let mut quoted = Vec::new();
    ackwise_tcp::wire::write(&mut quoted, ends[0], ends[1], &segment, b"hello").unwrap();
    let found = |kind: u8, code: u8, next: [u8; 4], len: usize| {
        let header = [&[kind, code, 0, 0][..], &next].concat();
        let message = [&header[..], &quoted[..len]].concat();
        let mut bytes = Vec::new();
        let length = u16::try_from(20 + message.len()).unwrap().to_be_bytes();
        bytes.extend([0x45, 0, length[0], length[1], 0, 0, 0, 0, 64, 1, 0, 0]);
        bytes.extend([10, 0, 0, 254, 10, 0, 0, 2]);
        bytes.extend(message);
        let frame = Frame {
            number: 9,
            at: Instant::EPOCH,
            interface: 0,
            link_type: LinkType::RAW,
            original_len: u32::try_from(bytes.len()).unwrap(),
            bytes: &bytes,
            direction: None,
            lost_before: 0,
        };
        let error = IcmpError::find(&frame)?;
        assert_eq!((error.ends, error.number), (ends, 9));
        Ok(error.reason)
    };
    // RFC 792 quotes eight bytes of the segment.
    let too_big = IcmpReason::TooBig { mtu: 1_400 };
    for (kind, code, len, expected) in [
        (3, 4, 28, Ok(too_big)),
        (3, 4, 40, Ok(too_big)),
        (3, 1, 28, Ok(IcmpReason::Unreachable { code: 1 })),
        (3, 13, 28, Ok(IcmpReason::Unreachable { code: 13 })),
        (11, 0, 28, Err(NotTcp::OtherProtocol)),
        (8, 0, 28, Err(NotTcp::OtherProtocol)),
        (3, 1, 22, Err(NotTcp::Cut)),
    ] {
        assert_eq!(found(kind, code, [0, 0, 5, 120], len), expected, "{kind} {code} {len}");
    }
}
