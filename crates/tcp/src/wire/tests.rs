//! The wire format, from single bytes to random segments.

use std::{vec, vec::Vec};

use proptest::prelude::*;

use super::*;
use crate::{
    endpoint::PathMtuReport,
    segment::{Flags, Options, SackBlocks, TimeWaitHolder, Timestamps, WindowShift},
    seq::SeqNumber,
};

mod options;
mod too_big;

/// A SYN of Linux 6 as tcpdump -x shows it: 198.18.0.1.49152 > 198.18.0.2.80,
/// `S 1:1(0) win 64240 <mss 1460,sackOK,TS val 2 ecr 0,nop,wscale 7>`.
#[rustfmt::skip]
const LINUX_SYN: [u8; 60] = [
    0x45, 0x00, 0x00, 0x3c, 0x00, 0x00, 0x40, 0x00, 0x40, 0x06, 0xae, 0x94,
    198, 18, 0, 1, 198, 18, 0, 2,
    0xc0, 0x00, 0x00, 0x50, 0, 0, 0, 1, 0, 0, 0, 0, 0xa0, 0x02, 0xfa, 0xf0, 0x00, 0x94, 0x00, 0x00,
    2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 2, 0, 0, 0, 0, 1, 3, 3, 7,
];

fn linux_syn() -> Segment {
    Segment {
        seq: SeqNumber(1),
        flags: Flags::SYN,
        window: 64_240,
        options: Options {
            mss: Some(1460),
            window_scale: Some(WindowShift::new(7)),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 2, echo: 0 }),
            ..Options::NONE
        },
        ..Segment::default()
    }
}

fn v4() -> (SocketAddr, SocketAddr) {
    (SocketAddr::from(([198, 18, 0, 1], 49152)), SocketAddr::from(([198, 18, 0, 2], 80)))
}

fn v6() -> (SocketAddr, SocketAddr) {
    let net = [0xfd00, 0, 0, 0, 0, 0, 0];
    let host = |last| {
        let mut bytes = [0; 8];
        bytes[..7].copy_from_slice(&net);
        bytes[7] = last;
        bytes
    };
    (SocketAddr::from((host(1), 49152)), SocketAddr::from((host(2), 80)))
}

fn written((source, destination): (SocketAddr, SocketAddr), segment: &Segment) -> Vec<u8> {
    let mut buffer = Vec::new();
    let payload = vec![0xa5; segment.len as usize];
    write(&mut buffer, source, destination, segment, &payload).unwrap();
    buffer
}

#[test]
fn a_syn_is_written_byte_by_byte_as_linux_writes_it() {
    let bytes = written(v4(), &linux_syn());
    assert_eq!(bytes, LINUX_SYN);
    let packet = parse(&bytes).unwrap();
    assert_eq!((packet.source, packet.destination), v4());
    assert_eq!(packet.segment, linux_syn());
}

/// RFC 1071 by the book, independent of the library that the code uses.
fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap()
}

#[test]
fn checksums_sum_up_to_all_ones() {
    for len in [0, 1, 2, 537, 1460] {
        let segment = Segment { len, ..linux_syn() };
        let bytes = written(v4(), &segment);
        assert_eq!(ones_complement_sum(&bytes[..20]), 0xffff, "IPv4 header");
        let mut pseudo = bytes[12..20].to_vec();
        pseudo.extend([0, 6]);
        pseudo.extend(u16::try_from(bytes.len() - 20).unwrap().to_be_bytes());
        pseudo.extend(&bytes[20..]);
        assert_eq!(ones_complement_sum(&pseudo), 0xffff, "TCP over IPv4, {len} bytes");

        let bytes = written(v6(), &segment);
        let mut pseudo = bytes[8..40].to_vec();
        pseudo.extend(u32::try_from(bytes.len() - 40).unwrap().to_be_bytes());
        pseudo.extend([0, 0, 0, 6]);
        pseudo.extend(&bytes[40..]);
        assert_eq!(ones_complement_sum(&pseudo), 0xffff, "TCP over IPv6, {len} bytes");
    }
}

#[test]
fn each_flipped_bit_of_a_packet_is_noticed() {
    let bytes = written(v4(), &Segment { len: 11, ..linux_syn() });
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(parse(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn a_wrong_checksum_counts_unless_ignored() {
    let mut bytes = written(v4(), &linux_syn());
    let expected = u16::from_be_bytes([bytes[36], bytes[37]]);
    bytes[36..38].copy_from_slice(&[0xbe, 0xef]);
    let found = 0xbeef;
    assert_eq!(
        parse(&bytes),
        Err(ParseError::Checksum { header: ChecksumOf::Tcp, found, expected })
    );
    bytes[10] ^= 1;
    let error = parse(&bytes).unwrap_err();
    assert!(matches!(error, ParseError::Checksum { header: ChecksumOf::Ipv4, .. }), "{error}");
    assert_eq!(parse_with(&bytes, Checksums::Ignore).unwrap().segment, linux_syn());
}

#[test]
fn what_is_not_a_whole_tcp_segment_has_a_named_error() {
    let good = written(v4(), &Segment { len: 3, ..linux_syn() });
    let damaged = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        parse_with(&bytes, Checksums::Ignore).unwrap_err()
    };
    assert_eq!(parse(&[]), Err(ParseError::Truncated { needed: 1, found: 0 }));
    assert_eq!(damaged(0, 0x55), ParseError::Version { version: 5 });
    assert_eq!(damaged(0, 0x44), ParseError::HeaderLength { words: 4 });
    assert_eq!(damaged(3, 64), ParseError::TotalLength { claimed: 64, found: 63 });
    assert_eq!(damaged(3, 19), ParseError::TotalLength { claimed: 19, found: 20 });
    assert_eq!(damaged(3, 39), ParseError::Truncated { needed: 20, found: 19 });
    assert_eq!(damaged(6, 0x20), ParseError::Fragment, "more fragments");
    assert_eq!(damaged(7, 0x01), ParseError::Fragment, "not the first fragment");
    assert_eq!(damaged(9, 17), ParseError::NotTcp { protocol: 17 });
    assert_eq!(damaged(32, 0x40), ParseError::DataOffsetTooSmall { words: 4 });
    assert_eq!(damaged(32, 0xb0), ParseError::DataOffsetTooLarge { words: 11, found: 43 });
}

#[test]
fn ipv4_options_and_trailing_padding_are_left_alone() {
    let mut bytes = written(v4(), &linux_syn());
    bytes.splice(20..20, [1, 1, 1, 0]);
    bytes[0] = 0x46;
    bytes[3] += 4;
    bytes.extend([0; 6]);
    let packet = parse_with(&bytes, Checksums::Ignore).unwrap();
    assert_eq!(packet.segment, linux_syn());
    assert_eq!(packet.payload, b"");
}

#[test]
fn ipv6_extension_headers_are_walked_and_a_fragment_is_refused() {
    let bytes = written(v6(), &linux_syn());
    let with = |next_header: u8, extension: [u8; 8]| {
        let mut bytes = bytes.clone();
        bytes.splice(40..40, extension);
        bytes[6] = next_header;
        bytes[5] += 8;
        bytes
    };
    // Hop-by-hop options with six bytes of padding; the TCP checksum does not cover them.
    let hop_by_hop = with(0, [6, 0, 1, 4, 0, 0, 0, 0]);
    assert_eq!(parse(&hop_by_hop).unwrap().segment, linux_syn());
    let atomic_fragment = with(44, [6, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(parse(&atomic_fragment).unwrap().segment, linux_syn());
    let first_fragment = with(44, [6, 0, 0, 1, 0, 0, 0, 1]);
    assert_eq!(parse(&first_fragment), Err(ParseError::Fragment));
    let not_first = with(60, [0, 0, 1, 4, 0, 0, 0, 0]);
    assert_eq!(parse(&not_first), Err(ParseError::Extension));
    let mut jumbo = bytes;
    jumbo[5] = 0;
    assert_eq!(parse(&jumbo), Err(ParseError::TotalLength { claimed: 40, found: 80 }));
}

#[test]
fn what_cannot_be_written_is_the_callers_fault() {
    let mut buffer = Vec::new();
    let segment = Segment { len: 3, ..Segment::default() };
    let ((source, destination), (_, other)) = (v4(), v6());
    let short = write(&mut buffer, source, destination, &segment, b"ab");
    assert_eq!(short, Err(WriteError::PayloadLength { segment: 3, payload: 2 }));
    let mixed = write(&mut buffer, source, other, &segment, b"abc");
    assert_eq!(mixed, Err(WriteError::MixedFamilies));
    for ((source, destination), limit) in [(v4(), 65_535 - 20 - 20), (v6(), 65_535 - 20)] {
        let segment = Segment { len: limit, ..Segment::default() };
        let payload = vec![0; limit as usize + 1];
        let fits = write(&mut buffer, source, destination, &segment, &payload[1..]);
        assert_eq!(fits, Ok(()));
        assert_eq!(parse(&buffer).unwrap().segment, segment);
        let segment = Segment { len: limit + 1, ..Segment::default() };
        let longer = write(&mut buffer, source, destination, &segment, &payload);
        assert_eq!(longer, Err(WriteError::TooLong { bytes: buffer_limit(source) + 1 }));
        assert!(buffer.is_empty());
    }
}

fn buffer_limit(source: SocketAddr) -> usize {
    if source.is_ipv4() { 65_535 } else { 65_535 + 40 }
}

#[test]
fn messages_carry_the_numbers() {
    let error = ParseError::DataOffsetTooLarge { words: 11, found: 43 };
    assert_eq!(std::format!("{error}"), "data offset of 11 words in a segment of 43 bytes");
    let error = ParseError::Checksum { header: ChecksumOf::Tcp, found: 0xbeef, expected: 1 };
    assert_eq!(std::format!("{error}"), "tcp checksum 0xbeef, ought to be 0x0001");
}

fn any_options() -> impl Strategy<Value = (Options, Option<TimeWaitHolder>)> {
    let timestamps = any::<(u32, u32)>().prop_map(|(value, echo)| Timestamps { value, echo });
    let holder = proptest::sample::select(vec![
        None,
        Some(TimeWaitHolder::Mine),
        Some(TimeWaitHolder::Yours),
    ]);
    let on_syn = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), holder);
    let blocks = proptest::collection::vec(any::<(u32, u32)>(), 0..=4);
    (on_syn, proptest::option::of(timestamps), blocks).prop_map(|(syn, timestamps, blocks)| {
        let (mss, window_scale, sack_permitted, holder) = syn;
        let window_scale = window_scale.map(WindowShift::new);
        let mut options =
            Options { mss, window_scale, sack_permitted, timestamps, ..Options::NONE };
        for (left, right) in blocks.into_iter().take(sack_blocks_that_fit(&options, holder)) {
            options.sack.push(SeqNumber(left), SeqNumber(right));
        }
        (options, holder)
    })
}

/// Counted by hand from the layout that [`write`] promises.
fn sack_blocks_that_fit(options: &Options, holder: Option<TimeWaitHolder>) -> usize {
    let mss = if options.mss.is_some() { 4 } else { 0 };
    let middle = match (options.timestamps, options.sack_permitted) {
        (Some(_), _) => 12,
        (None, true) => 4,
        (None, false) => 0,
    };
    let window_scale = if options.window_scale.is_some() { 4 } else { 0 };
    let holder = if holder.is_some() { 8 } else { 0 };
    (40usize - mss - middle - window_scale - holder).saturating_sub(4) / 8
}

fn any_segment() -> impl Strategy<Value = Segment> {
    let flags = any::<(bool, bool, bool, bool, bool)>()
        .prop_map(|(syn, fin, rst, psh, urg)| Flags { syn, fin, rst, psh, urg });
    let numbers = (any::<u32>(), any::<Option<u32>>(), any::<u16>());
    (numbers, flags, any_options(), 0..2_000u32).prop_map(|(numbers, flags, options, len)| {
        let (seq, ack, window) = numbers;
        let (seq, ack) = (SeqNumber(seq), ack.map(SeqNumber));
        let (options, time_wait_holder) = options;
        Segment { seq, ack, flags, window, options, time_wait_holder, len }
    })
}

proptest! {
    #[test]
    fn what_is_written_is_parsed(segment in any_segment(), ip6: bool) {
        let ends = if ip6 { v6() } else { v4() };
        let bytes = written(ends, &segment);
        let packet = parse(&bytes).unwrap();
        prop_assert_eq!((packet.source, packet.destination), ends);
        prop_assert_eq!(packet.segment, segment);
        let headers = if ip6 { 60 } else { 40 };
        let length = usize::try_from(headers + segment.options_length() + segment.len).unwrap();
        prop_assert_eq!(bytes.len(), length);
        prop_assert!(packet.payload.iter().all(|byte| *byte == 0xa5));
    }

    #[test]
    fn every_truncation_is_an_error(segment in any_segment(), ip6: bool) {
        let bytes = written(if ip6 { v6() } else { v4() }, &segment);
        for end in 0..bytes.len() {
            prop_assert!(parse(&bytes[..end]).is_err(), "cut at {}", end);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = parse_with(&bytes, Checksums::Ignore);
        OptionList::new(&bytes).for_each(drop);
    }

    /// Random bytes hardly ever get past the IP header, so the header is given.
    #[test]
    fn random_bytes_behind_good_headers_never_panic(
        segment in any_segment(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        ip6: bool,
    ) {
        let mut bytes = written(if ip6 { v6() } else { v4() }, &segment);
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(packet) = parse_with(&bytes, Checksums::Ignore) {
            prop_assert_eq!(packet.payload.len(), packet.segment.len as usize);
        }
    }
}
