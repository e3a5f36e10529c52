use std::io::{Cursor, Read};

use ackwise_capture::{
    decode,
    read::{Frame, LARGEST_PACKET, LinkType, Problem, Source},
};
use ackwise_tcp::Instant;
use proptest::prelude::*;

use crate::hand_made::{Order, all, block, enhanced, frames, interface, pcap, section, source};

fn pcap_of_three() -> Vec<u8> {
    let packets: [(u32, u32, u32, &[u8]); 3] =
        [(1, 0, 5, b"first"), (2, 0, 0, b""), (3, 0, 1, b"x")];
    pcap(Order::Big, 0xa1b2_3c4d, 1, &packets)
}

fn pcapng_of_three() -> Vec<u8> {
    let order = Order::Big;
    [
        section(order),
        interface(order, 1, 0, &[(2, b"eth0")]),
        enhanced(order, 0, 1, 9, b"first", &[(4, &order.u64(9))]),
        block(order, 99, vec![1; 32]),
        enhanced(order, 0, 2, 9, b"", &[]),
        enhanced(order, 0, 3, 9, b"x", &[]),
    ]
    .concat()
}

#[test]
fn a_file_cut_anywhere_gives_all_whole_packets_and_says_where_it_ends() {
    for file in [pcap_of_three(), pcapng_of_three()] {
        let whole = frames(&file);
        for cut in 0..file.len() {
            let (kept, errors) = all(&mut source(&file[..cut]));
            assert_eq!(kept, whole[..kept.len()]);
            assert!(errors.len() <= 1);
            let Some(error) = errors.first() else { continue };
            match error.problem {
                Problem::Empty => assert_eq!(cut, 0),
                Problem::CutOff { needed, found, .. } => {
                    assert!(found < needed);
                    assert_eq!(error.offset + found, cut as u64, "{error}");
                }
                _ => panic!("{error}"),
            }
        }
        assert_eq!(all(&mut source(&file[..file.len() - 1])).0.len(), 2);
    }
}

/// Problems as a person reads them: file, offset, what was found, what was expected.
#[test]
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn errors_say_what_was_expected_where() {
    let order = Order::Little;
    let long = u32::try_from(LARGEST_PACKET).unwrap() + 1;
    let start = [section(order), interface(order, 1, 0, &[])].concat();
    let with = |block: Vec<u8>| [start.clone(), block].concat();
    let mut ends_otherwise = enhanced(order, 0, 1, 1, b"abcd", &[]);
    let last = ends_otherwise.len() - 4;
    ends_otherwise[last] ^= 1;
    let header = pcap(order, 0xa1b2_c3d4, 1, &[]);
    let record = |captured| [&header[..], &order.words(&[1, 0, captured, captured])].concat();
    let table: [(Vec<u8>, u64, &str); 14] = [
        (b"".to_vec(), 0, "the file is empty (expected a capture)"),
        (b"GIF89a".to_vec(), 0, "not a pcap or pcapng file (its first four bytes are \"GIF8\")"),
        (
            b"\0\x01\x02\x03".to_vec(),
            0,
            r#"not a pcap or pcapng file (its first four bytes are "\x00\x01\x02\x03")"#,
        ),
        (
            b"BZh91AY".to_vec(),
            0,
            "compressed by bzip2: not supported (expected a capture; decompress it first)",
        ),
        (
            [&header[..4], &[9, 0, 1, 0], &header[8..]].concat(),
            0,
            "unsupported format version 9.1 (expected 2)",
        ),
        (record(long), 24, "a packet has length 1048577 (expected 0 to 1048576 bytes)"),
        (record(100), 24, "a record is cut off after 16 of 116 bytes"),
        (
            with(enhanced(order, 1, 0, 0, b"", &[])),
            52,
            "packet of unknown interface 1 (expected a number below 1)",
        ),
        (with(ends_otherwise), 52, "block ends with length 41 (expected 40, as at its start)"),
        (with(order.words(&[6, 33, 0, 0])), 52, "block has length 33 (expected a multiple of 4)"),
        (
            with(order.words(&[6, 8, 0, 0])),
            52,
            "a block has length 8 (expected 12 to 4294967295 bytes)",
        ),
        (
            with(order.words(&[6, 4_000_000, 0, 0])),
            52,
            "a block has length 4000000 (expected 12 to 2097152 bytes)",
        ),
        (
            with(block(order, 6, order.words(&[0, 0, 0, 9, 9, 0, 0]))),
            52,
            "a packet has length 9 (expected 0 to 8 bytes)",
        ),
        (
            with(order.words(&[0x0a0d_0d0a, 28, 5, 0])),
            52,
            "found 0x00000005 (expected a byte order mark)",
        ),
    ];
    for (file, offset, problem) in table {
        let (_, errors) = all(&mut source(&file));
        assert_eq!(errors.len(), 1, "{problem}");
        let place = if offset == 0 { String::new() } else { format!(" beyond byte {offset}") };
        assert_eq!(errors[0].to_string(), format!("cannot read made by hand{place}: {problem}"));
    }
}

#[test]
fn an_input_that_fails_has_given_what_came_before() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the cable is out"))
        }
    }
    let mut source = Source::of("a tap", Cursor::new(pcap_of_three()).chain(Failing));
    let (kept, errors) = all(&mut source);
    assert_eq!(kept.len(), 3);
    assert_eq!(errors[0].to_string(), "cannot read a tap beyond byte 78: the cable is out");
}

#[test]
fn interfaces_are_bounded() {
    let order = Order::Little;
    let mut file = section(order);
    for _ in 0..=ackwise_capture::read::MOST_INTERFACES {
        file.extend(interface(order, 1, 0, &[]));
    }
    let (_, errors) = all(&mut source(&file));
    assert!(matches!(errors[0].problem, Problem::TooManyInterfaces));
}

/// Bytes that begin as a capture does and have some of its blocks in them.
fn nearly_a_capture() -> impl Strategy<Value = Vec<u8>> {
    let order = || proptest::sample::select(Order::BOTH.to_vec());
    let noise = proptest::collection::vec(any::<u8>(), 0..80);
    let piece = (order(), 0_u32..8, noise).prop_map(|(order, kind, body)| match kind {
        0 => section(order),
        7 => body,
        _ => block(order, kind, body),
    });
    let magic = proptest::sample::select(vec![0xa1b2_c3d4_u32, 0xa1b2_3c4d, 0xa1b2_cd34]);
    let start = prop_oneof![
        order().prop_map(section),
        (order(), magic).prop_map(|(order, magic)| pcap(order, magic, 1, &[])),
        Just(Vec::new()),
    ];
    (start, proptest::collection::vec(piece, 0..12))
        .prop_map(|(start, pieces)| [start, pieces.concat()].concat())
}

proptest! {
    #[test]
    fn no_bytes_panic(file in nearly_a_capture()) {
        let (kept, errors) = all(&mut source(&file));
        prop_assert!(errors.len() <= 1);
        prop_assert!(kept.len() <= file.len() / 12);
    }

    #[test]
    fn no_frame_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ether_type in proptest::sample::select(vec![[8, 0], [0x86, 0xdd], [0x81, 0]]),
        link_type in proptest::sample::select(vec![0, 1, 12, 101, 113, 228, 276]),
        original_len: u32,
    ) {
        let mut bytes = bytes;
        if let Some(place) = bytes.get_mut(12..14) {
            place.copy_from_slice(&ether_type);
        }
        let frame = Frame {
            number: 1,
            at: Instant::EPOCH,
            interface: 0,
            link_type: LinkType(link_type),
            original_len,
            bytes: &bytes,
            direction: None,
            lost_before: 0,
        };
        if let Ok(seen) = decode::decode(&frame) {
            prop_assert!(seen.payload.len() <= seen.segment.len as usize);
        }
    }
}
