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

#[test]
fn udp_to_port_443_is_quic() {
    for (ports, why) in [((5, 443), NotTcp::Quic), ((443, 5), NotTcp::Quic), ((5, 53), NotTcp::Udp)]
    {
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(ports.0, ports.1);
        let mut bytes = Vec::new();
        builder.write(&mut bytes, b"query").unwrap();
        assert_eq!(seen_as(LinkType::RAW, &bytes), Err(why));
    }
}
