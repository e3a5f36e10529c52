//! Link headers, tunnels and IP: one segment, wrapped in every way that is read.

use ackwise_capture::{
    decode::{NotTcp, Seen, decode},
    read::{Frame, HostDirection, LinkType},
};
use ackwise_tcp::{Instant, SeqNumber};
use etherparse::PacketBuilder;

fn frame(link_type: u16, bytes: &[u8]) -> Frame<'_> {
    Frame {
        number: 1,
        at: Instant::EPOCH,
        interface: 0,
        link_type: LinkType(link_type),
        original_len: u32::try_from(bytes.len()).unwrap(),
        bytes,
        direction: None,
        lost_before: 0,
    }
}

/// TCP from 10.0.0.1:4000 to 10.0.0.2:80 with timestamps and five bytes of data.
fn ipv4() -> Vec<u8> {
    let mut packet = Vec::new();
    PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 63)
        .tcp(4000, 80, 77, 1_000)
        .ack(88)
        .psh()
        .options_raw(&[1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6])
        .unwrap()
        .write(&mut packet, b"hello")
        .unwrap();
    packet
}

fn ipv6() -> Vec<u8> {
    let mut packet = Vec::new();
    let [source, destination] = [1, 2].map(|last| {
        let mut address = [0; 16];
        (address[0], address[15]) = (0xfd, last);
        address
    });
    PacketBuilder::ipv6(source, destination, 63)
        .tcp(4000, 80, 77, 1_000)
        .write(&mut packet, b"hello")
        .unwrap();
    packet
}

/// An Ethernet frame, its addresses 0.
fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    [&[0; 12][..], &ether_type.to_be_bytes(), payload].concat()
}

fn in_ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut header = [0x45, 0, 0, 0, 0, 9, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    let length = u16::try_from(header.len() + payload.len()).unwrap();
    header[2..4].copy_from_slice(&length.to_be_bytes());
    [&header[..], payload].concat()
}

fn in_udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 8).unwrap().to_be_bytes();
    in_ipv4(17, &[&[0xc0, 0x01][..], &port.to_be_bytes(), &length, &[0, 0], payload].concat())
}

fn is_the_segment(seen: &Seen<'_>) -> bool {
    let ports = (seen.source.port(), seen.destination.port());
    ports == (4000, 80)
        && seen.segment.seq == SeqNumber(77)
        && seen.segment.len == 5
        && seen.payload == b"hello"
        && seen.hop_limit == 63
        && !seen.options_cut
        && !seen.fragment
}

#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn every_wrapping_comes_off() {
    let (v4, v6) = (ipv4(), ipv6());
    let inside = ethernet(0x0800, &v4);
    let tagged = [&[0, 7, 0x81, 0, 0, 8, 0x08, 0][..], &v4].concat();
    let table: [(&str, u16, Vec<u8>); 32] = [
        ("ethernet", 1, ethernet(0x0800, &v4)),
        ("ethernet, version 6", 1, ethernet(0x86dd, &v6)),
        ("padding", 1, ethernet(0x0800, &[&v4[..], &[0; 9]].concat())),
        ("vlan", 1, ethernet(0x8100, &[&[0, 7, 0x08, 0][..], &v4].concat())),
        ("qinq", 1, ethernet(0x88a8, &tagged)),
        ("old qinq", 1, ethernet(0x9100, &tagged)),
        ("raw", 101, v4.clone()),
        ("raw, version 6", 101, v6.clone()),
        ("raw of bsd", 12, v4.clone()),
        ("raw of openbsd", 14, v4.clone()),
        ("ipv4", 228, v4.clone()),
        ("ipv6", 229, v6.clone()),
        ("null, little-endian", 0, [&[2, 0, 0, 0][..], &v4].concat()),
        ("null, big-endian", 0, [&[0, 0, 0, 30][..], &v6].concat()),
        ("loop", 108, [&[0, 0, 0, 24][..], &v6].concat()),
        ("ipip", 101, in_ipv4(4, &v4)),
        ("6in4", 101, in_ipv4(41, &v6)),
        ("gre", 101, in_ipv4(47, &[&[0, 0, 0x08, 0][..], &v4].concat())),
        ("gre with key", 101, in_ipv4(47, &[&[0x20, 0, 0x86, 0xdd, 0, 0, 0, 1][..], &v6].concat())),
        (
            "gre with everything",
            101,
            in_ipv4(47, &[&[0xb0, 0, 0x08, 0][..], &[0; 12], &v4].concat()),
        ),
        ("nvgre", 101, in_ipv4(47, &[&[0x20, 0, 0x65, 0x58, 0, 0, 1, 0][..], &inside].concat())),
        ("erspan 1", 101, in_ipv4(47, &[&[0, 0, 0x88, 0xbe][..], &inside].concat())),
        (
            "erspan 2",
            101,
            in_ipv4(47, &[&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1][..], &[0; 8], &inside].concat()),
        ),
        (
            "erspan 3",
            101,
            in_ipv4(47, &[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &[0; 12], &inside].concat()),
        ),
        (
            "erspan 3 with a subheader",
            101,
            in_ipv4(
                47,
                &[&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1][..], &[0; 11], &[1], &[0; 8], &inside]
                    .concat(),
            ),
        ),
        ("vxlan", 101, in_udp(4789, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &inside].concat())),
        ("flannel's vxlan", 101, in_udp(8472, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &inside].concat())),
        ("geneve", 101, in_udp(6081, &[&[0, 0, 0x65, 0x58, 0, 0, 7, 0][..], &inside].concat())),
        (
            "geneve with options",
            101,
            in_udp(6081, &[&[1, 0, 0x08, 0, 0, 0, 7, 0, 9, 9, 9, 9][..], &v4].concat()),
        ),
        ("a tunnel in a tunnel", 101, in_ipv4(4, &in_ipv4(41, &v6))),
        (
            "hop-by-hop and destination options",
            101,
            with_extensions(&v6, &[(0, &[0; 8]), (60, &[0; 8])]),
        ),
        ("an atomic fragment", 101, with_extensions(&v6, &[(44, &[0; 8])])),
    ];
    for (what, link_type, bytes) in table {
        let seen = decode(&frame(link_type, &bytes)).unwrap_or_else(|why| panic!("{what}: {why}"));
        assert!(is_the_segment(&seen), "{what}: {seen:?}");
    }
}

/// Puts extension headers of these kinds before the TCP header.
fn with_extensions(packet: &[u8], extensions: &[(u8, &[u8])]) -> Vec<u8> {
    let (header, tcp) = packet.split_at(40);
    let mut header = header.to_vec();
    let mut chain = Vec::new();
    let kinds = extensions.iter().map(|(kind, _)| *kind).skip(1).chain([6]);
    for ((_, bytes), next) in extensions.iter().zip(kinds) {
        chain.push(next);
        chain.extend(&bytes[1..]);
    }
    header[6] = extensions[0].0;
    let length = u16::try_from(chain.len() + tcp.len()).unwrap();
    header[4..6].copy_from_slice(&length.to_be_bytes());
    [header, chain, tcp.to_vec()].concat()
}

#[test]
fn cooked_frames_say_which_way_and_where() {
    let v4 = ipv4();
    for (packet_type, direction) in
        [(0, HostDirection::Received), (3, HostDirection::Passing), (4, HostDirection::Sent)]
    {
        let first = [&[0, packet_type, 0, 1, 0, 6][..], &[0; 8], &[0x08, 0], &v4].concat();
        let seen = decode(&frame(113, &first)).unwrap();
        let station = seen.station.unwrap();
        assert_eq!((station.direction, station.ifindex), (direction, None));
        let second =
            [&[0x08, 0, 0, 0, 0, 0, 0, 42, 0, 1, packet_type, 6][..], &[0; 8], &v4].concat();
        let seen = decode(&frame(276, &second)).unwrap();
        assert!(is_the_segment(&seen));
        let station = seen.station.unwrap();
        assert_eq!((station.direction, station.ifindex), (direction, Some(42)));
    }
}

#[test]
fn a_packet_cut_at_any_snap_length_decodes_once_the_fixed_header_is_there() {
    let bytes = ethernet(0x0800, &ipv4());
    for snap in 0..bytes.len() {
        let cut = Frame { bytes: &bytes[..snap], ..frame(1, &bytes) };
        match decode(&cut) {
            Err(why) => assert_eq!((why, snap < 14 + 20 + 20), (NotTcp::Cut, true), "{snap}"),
            Ok(seen) => {
                assert!(snap >= 14 + 20 + 20);
                assert_eq!(seen.segment.len, 5);
                assert_eq!(seen.options_cut, snap < 66);
                assert_eq!(seen.segment.options.timestamps.is_some(), snap >= 66);
                assert_eq!(seen.payload, &b"hello"[..snap.saturating_sub(66)]);
            }
        }
    }
}

#[test]
fn a_length_that_the_network_card_fills_in_later_is_that_of_the_frame() {
    let mut v4 = ipv4();
    v4[2..4].fill(0);
    v4.resize(40_000, b'x');
    let bytes = ethernet(0x0800, &v4);
    let cut = Frame { bytes: &bytes[..128], ..frame(1, &bytes) };
    let seen = decode(&cut).unwrap();
    assert_eq!((seen.segment.len, seen.payload.len()), (40_000 - 52, 128 - 14 - 52));
    // Nobody sends that much at once: a capture that lies.
    let lie = Frame { original_len: u32::MAX, ..cut };
    assert_eq!(decode(&lie), Err(NotTcp::Malformed));
}

#[test]
fn a_capture_that_forgot_the_original_length_is_not_believed() {
    let bytes = ethernet(0x0800, &ipv4());
    let cut = frame(1, &bytes[..66]);
    assert_eq!(decode(&cut).unwrap().segment.len, 5);
}

#[test]
fn the_first_fragment_is_seen_and_later_ones_are_counted() {
    let mut v4 = ipv4();
    v4[6] = 0x20;
    assert!(decode(&frame(101, &v4)).unwrap().fragment);
    v4[7] = 1;
    assert_eq!(decode(&frame(101, &v4)), Err(NotTcp::LaterFragment));
    let fragment = |offset| with_extensions(&ipv6(), &[(44, &[0, 0, 0, offset, 0, 0, 0, 0])]);
    assert!(decode(&frame(101, &fragment(1))).unwrap().fragment);
    assert_eq!(decode(&frame(101, &fragment(8))), Err(NotTcp::LaterFragment));
}

#[test]
fn what_is_no_segment_says_why() {
    let v4 = ipv4();
    let mut short_header = v4.clone();
    short_header[32] = 0x40;
    let mut long_header = v4.clone();
    long_header[32] = 0xf0;
    let mut no_version = v4.clone();
    no_version[0] = 0x05;
    let deep = (0..6).fold(v4.clone(), |inner, _| in_ipv4(4, &inner));
    let table: [(&str, u16, Vec<u8>, NotTcp); 14] = [
        ("arp", 1, ethernet(0x0806, &[0; 28]), NotTcp::NotIp),
        ("many tags", 1, ethernet(0x8100, &[0, 1, 0x81, 0].repeat(9)), NotTcp::TooDeep),
        ("unknown family", 0, vec![99, 0, 0, 0, 0x45], NotTcp::NotIp),
        ("what may be quic", 101, in_udp(443, b"initial"), NotTcp::Udp),
        ("dns", 101, in_udp(53, b"query"), NotTcp::Udp),
        ("somebody's own on vxlan's port", 101, in_udp(4789, &[0; 60]), NotTcp::Udp),
        ("icmp", 101, in_ipv4(1, &[0; 8]), NotTcp::OtherProtocol),
        ("pptp", 101, in_ipv4(47, &[0x20, 1, 0x88, 0x0b]), NotTcp::OtherProtocol),
        ("data offset too small", 101, short_header, NotTcp::Malformed),
        ("data offset too large", 101, long_header, NotTcp::Malformed),
        ("version 0", 101, no_version, NotTcp::Malformed),
        ("an empty packet", 101, Vec::new(), NotTcp::Malformed),
        ("tunnels without end", 101, deep, NotTcp::TooDeep),
        ("radiotap", 127, v4, NotTcp::UnknownLink),
    ];
    for (what, link_type, bytes, why) in table {
        assert_eq!(decode(&frame(link_type, &bytes)).err(), Some(why), "{what}");
    }
}
