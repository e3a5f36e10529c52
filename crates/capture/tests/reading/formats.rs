use ackwise_capture::read::{HostDirection, Source};

use crate::hand_made::{
    Dripping, Kept, Order, all, block, enhanced, frames, interface, options, pcap, section, source,
    statistics,
};

#[test]
fn every_variant_of_pcap_is_read() {
    for order in Order::BOTH {
        for (magic, nanos) in [
            (0xa1b2_c3d4, 3_000_007_000),
            (0xa1b2_3c4d, 3_000_000_007),
            (0xa1b2_cd34, 3_000_007_000),
        ] {
            // The upper half of the link type is about checksums behind the frames.
            let file = pcap(order, magic, 0x2400_0001, &[(3, 7, 60, b"cut"), (4, 0, 5, b"whole")]);
            let first = Kept {
                number: 1,
                nanos,
                link_type: 1,
                original: 60,
                bytes: b"cut".to_vec(),
                ..Kept::default()
            };
            let second = Kept {
                number: 2,
                nanos: 4_000_000_000,
                original: 5,
                bytes: b"whole".to_vec(),
                ..first.clone()
            };
            assert_eq!(frames(&file), [first, second], "{order:?} {magic:#x}");
        }
    }
}

#[test]
fn interfaces_have_their_own_clocks_and_link_types() {
    for order in Order::BOTH {
        let file = [
            section(order),
            interface(order, 1, 0, &[(2, b"eth0")]),
            interface(order, 101, 0, &[(9, &[9]), (14, &order.u64(10))]),
            enhanced(order, 1, 5, 9, b"raw", &[]),
            enhanced(order, 0, 5, 9, b"ether", &[]),
        ]
        .concat();
        let raw = Kept {
            number: 1,
            nanos: 10_000_000_005,
            interface: 1,
            link_type: 101,
            original: 9,
            bytes: b"raw".to_vec(),
            ..Kept::default()
        };
        let ether = Kept {
            number: 2,
            nanos: 5_000,
            interface: 0,
            link_type: 1,
            bytes: b"ether".to_vec(),
            ..raw.clone()
        };
        let mut source = source(&file);
        assert_eq!(all(&mut source).0, [raw, ether]);
        let names: Vec<_> = source.interfaces().iter().map(|each| each.name.as_deref()).collect();
        assert_eq!(names, [Some("eth0"), None]);
    }
}

#[test]
fn simple_and_obsolete_packets_are_read() {
    for order in Order::BOTH {
        let obsolete = {
            let mut body = [order.u16(0), order.u16(3)].concat();
            body.extend(order.words(&[0, 8, 5, 7]));
            body.extend(b"older");
            block(order, 2, body)
        };
        let simple = [&order.u32(60)[..], b"cut!"].concat();
        let file = [
            section(order),
            interface(order, 1, 4, &[]),
            obsolete,
            block(order, 3, simple),
            block(order, 3, [&order.u32(2)[..], b"ok"].concat()),
        ]
        .concat();
        let seen: Vec<_> = frames(&file)
            .into_iter()
            .map(|frame| (frame.nanos, frame.original, frame.bytes, frame.lost_before))
            .collect();
        let expected = [
            (8_000, 7, b"older".to_vec(), 3),
            (8_000, 60, b"cut!".to_vec(), 0),
            (8_000, 2, b"ok".to_vec(), 0),
        ];
        assert_eq!(seen, expected, "simple packets have no time: that of the one before stands in");
    }
}

#[test]
fn flags_say_which_way_a_packet_went() {
    let order = Order::Big;
    let mut file = [section(order), interface(order, 1, 0, &[])].concat();
    for flags in [0, 0b01, 0b10, 0b1_0001] {
        file.extend(enhanced(order, 0, 0, 0, b"", &[(2, &order.u32(flags))]));
    }
    let directions: Vec<_> = frames(&file).into_iter().map(|frame| frame.direction).collect();
    let [received, sent, passing] =
        [HostDirection::Received, HostDirection::Sent, HostDirection::Passing].map(Some);
    assert_eq!(directions, [None, received, sent, passing]);
}

#[test]
fn losses_are_counted_once() {
    for order in Order::BOTH {
        let three = order.u64(3);
        let file = [
            section(order),
            interface(order, 1, 0, &[(2, b"eth0")]),
            enhanced(order, 0, 1, 1, b"a", &[(4, &three)]),
            enhanced(order, 0, 2, 1, b"b", &[(1, b"a comment"), (4, &order.u64(1))]),
            // Statistics count from the beginning, and may come more than once.
            statistics(order, 0, &[(5, &three), (7, &order.u64(1))]),
            statistics(order, 0, &[(5, &three), (7, &order.u64(2))]),
            section(order),
            interface(order, 1, 0, &[(2, b"eth0")]),
            statistics(order, 0, &[(5, &order.u64(1))]),
            statistics(order, 77, &[(5, &order.u64(1))]),
        ]
        .concat();
        let mut source = source(&file);
        let lost: Vec<_> = all(&mut source).0.iter().map(|frame| frame.lost_before).collect();
        assert_eq!(lost, [3, 1]);
        let drops = source.drops();
        assert_eq!((drops.by_interface, drops.by_system, drops.between_packets), (4, 2, 4));
        assert_eq!(drops.packets(), 6);
        assert_eq!(source.interfaces().len(), 1, "the same interface in another section");
    }
}

#[test]
fn a_section_may_have_another_byte_order_and_unknown_blocks() {
    let mut file = Vec::new();
    for order in Order::BOTH {
        file.extend(section(order));
        file.extend(interface(order, 1, 0, &[]));
        // Longer than any block that is looked into.
        file.extend(block(order, 0x0bad, vec![0; 3 << 20]));
        file.extend(enhanced(order, 0, 1, 1, b"x", &[]));
    }
    assert_eq!(frames(&file).len(), 2);
}

#[test]
fn options_that_run_past_their_block_cost_no_packet() {
    let order = Order::Little;
    let mut body = order.words(&[0, 0, 1, 4, 4]);
    body.extend(b"data");
    let good = options(order, &[(4, &order.u64(9))]);
    body.extend(&good[..good.len() - 4]);
    body.extend([2, 0, 0xff, 0xff, 1]);
    let file = [section(order), interface(order, 1, 0, &[]), block(order, 6, body)].concat();
    assert_eq!(frames(&file)[0].lost_before, 9);
}

#[test]
fn pieces_of_any_size_give_the_same_packets() {
    let order = Order::Little;
    let pcap = pcap(order, 0xa1b2_c3d4, 1, &[(1, 2, 9, b"first"), (3, 4, 9, &[7; 5_000])]);
    let pcapng = [
        section(order),
        interface(order, 1, 0, &[(2, b"eth0")]),
        block(order, 99, vec![1; 100]),
        enhanced(order, 0, 1, 9, b"first", &[(4, &order.u64(9))]),
    ]
    .concat();
    for file in [pcap, pcapng] {
        for piece in [1, 3, 16, 1_000] {
            let input = Dripping(std::io::Cursor::new(file.clone()), piece);
            let (dripped, errors) = all(&mut Source::of("a pipe", input));
            assert!(errors.is_empty(), "{}", errors[0]);
            assert_eq!(dripped, frames(&file), "{piece} bytes at a time");
        }
    }
}

/// As tshark 4.0 numbers them.
#[test]
fn journals_custom_blocks_and_system_calls_have_numbers_but_secrets_have_none() {
    let order = Order::Little;
    let mut file = [section(order), interface(order, 1, 0, &[])].concat();
    for kind in [0x0bad, 9, 0x204, 10, 99] {
        file.extend(block(order, kind, vec![0; 24]));
        file.extend(enhanced(order, 0, 1, 1, b"x", &[]));
    }
    let mut source = source(&file);
    let numbers: Vec<_> = all(&mut source).0.iter().map(|frame| frame.number).collect();
    assert_eq!(numbers, [2, 4, 6, 7, 8]);
    assert_eq!(source.packets(), 5);
}
