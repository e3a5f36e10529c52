//! Reports of routers about packets that were too large.

use super::*;

fn segment() -> Segment {
    Segment {
        seq: SeqNumber(0x0102_0304),
        ack: Some(SeqNumber(9)),
        len: 1_460,
        ..Segment::default()
    }
}

fn reported(ends: (SocketAddr, SocketAddr), router: &str, mtu: u32) -> Vec<u8> {
    let mut message = Vec::new();
    assert!(write_too_big(&mut message, router.parse().unwrap(), mtu, &written(ends, &segment())));
    message
}

fn message_v4() -> Vec<u8> {
    reported(v4(), "10.9.8.7", 1_280)
}

fn message_v6() -> Vec<u8> {
    reported(v6(), "fd00::77", 1_280)
}

#[test]
fn a_report_tells_whose_packet_it_was_and_how_large_it_may_be() {
    for (ends, message, length) in [(v4(), message_v4(), 576), (v6(), message_v6(), 1_280)] {
        let (source, destination) = ends;
        let report = PathMtuReport { mtu: 1_280, sequence: SeqNumber(0x0102_0304) };
        assert_eq!(parse_too_big(&message), Some(TooBig { source, destination, report }));
        assert_eq!(message.len(), length);
    }
}

#[test]
fn bytes_on_the_wire_are_those_of_the_standards() {
    let message = message_v4();
    assert_eq!(message[20..22], [3, 4], "RFC 792: destination unreachable, fragmentation needed");
    assert_eq!(message[24..28], [0, 0, 0x05, 0x00], "RFC 1191, section 4: 16 unused bits, the MTU");
    let message = message_v6();
    assert_eq!(message[40..42], [2, 0], "RFC 4443, section 3.2: packet too big");
    assert_eq!(message[44..48], [0, 0, 0x05, 0x00]);
}

#[test]
fn a_report_without_an_mtu_means_the_next_plateau() {
    // 1,500 bytes were too many: RFC 1191, table 7-1, goes on with 1,492.
    let mtu = parse_too_big(&reported(v4(), "10.9.8.7", 0)).map(|too_big| too_big.report.mtu);
    assert_eq!(mtu, Some(1_492));
}

#[test]
fn eight_bytes_of_the_segment_are_enough_and_seven_are_not() {
    let packet = written(v4(), &segment());
    for (kept, understood) in [(28, true), (27, false), (20, false)] {
        let mut message = Vec::new();
        assert!(write_too_big(&mut message, "10.9.8.7".parse().unwrap(), 1_280, &packet[..kept]));
        assert_eq!(parse_too_big(&message).is_some(), understood, "{kept} bytes");
    }
}

/// The ICMP message behind an IP header of `header` bytes with another type and code, and a checksum that
/// is right (RFC 1624, equation 3: HC' = ~(~HC + ~m + m')).
fn with_kind(message: &[u8], header: usize, kind: [u8; 2]) -> Vec<u8> {
    let word = |at: usize| u32::from(u16::from_be_bytes([message[at], message[at + 1]]));
    let new = u32::from(u16::from_be_bytes(kind));
    let sum = (0xffff - word(header + 2)) + (0xffff - word(header)) + new;
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    let mut other = message.to_vec();
    other[header..header + 2].copy_from_slice(&kind);
    other[header + 2..header + 4].copy_from_slice(&(0xffff - folded).to_be_bytes()[2..]);
    other
}

#[test]
fn other_messages_and_segments_are_none() {
    for (message, header) in [(message_v4(), 20), (message_v6(), 40)] {
        for len in 0..message.len() {
            assert_eq!(parse_too_big(&message[..len]), None, "{len} bytes");
        }
        let mut other = message.clone();
        other[header] ^= 1;
        assert_eq!(parse_too_big(&other), None, "another type, and a wrong checksum");
    }
    for (message, header, kinds) in [
        (message_v4(), 20, [[3, 1], [3, 3], [11, 0], [12, 0]]),
        (message_v6(), 40, [[1, 0], [1, 4], [3, 0], [4, 0]]),
    ] {
        assert!(
            parse_too_big(&with_kind(&message, header, [message[header], message[header + 1]]))
                .is_some()
        );
        for kind in kinds {
            let other = with_kind(&message, header, kind);
            assert_eq!(parse_too_big(&other), None, "type and code {kind:?}");
        }
    }
    assert_eq!(parse_too_big(&written(v4(), &segment())), None);
    let mut buffer = vec![1];
    assert!(!write_too_big(
        &mut buffer,
        "10.9.8.7".parse().unwrap(),
        1,
        &written(v6(), &segment())
    ));
    assert!(buffer.is_empty());
}

proptest! {
    #[test]
    fn a_flipped_bit_is_noticed_or_changes_nothing(
        v6: bool,
        at in any::<proptest::sample::Index>(),
        bit in 0..8u8,
    ) {
        let mut message = if v6 { message_v6() } else { message_v4() };
        let whole = parse_too_big(&message);
        let at = at.index(message.len());
        message[at] ^= 1 << bit;
        let found = parse_too_big(&message);
        // The hop limit, class and flow label of IPv6 have no checksum.
        prop_assert!(found.is_none() || v6 && at < 40 && found == whole, "{at}: {found:?}");
    }

    #[test]
    fn whatever_is_quoted_is_read_without_a_panic(
        v6: bool,
        bytes in proptest::collection::vec(any::<u8>(), 0..80),
        changes in proptest::collection::vec((0..60usize, any::<u8>()), 0..4),
        kept in 0..100usize,
        mtu: u32,
    ) {
        let _ = parse_too_big(&bytes);
        let (ends, router) = if v6 { (self::v6(), "fd00::77") } else { (v4(), "10.9.8.7") };
        let mut dropped = written(ends, &segment());
        changes.iter().for_each(|&(at, byte)| dropped[at] = byte);
        dropped.truncate(kept);
        let mut message = Vec::new();
        if write_too_big(&mut message, router.parse().unwrap(), mtu, &dropped) {
            let _ = parse_too_big(&message);
        }
    }
}
