//! Bytes that claim to be an IP packet: parsed without panic, and what was parsed survives being
//! written and parsed again.

#![no_main]

use ackwise_tcp::wire::{
    Checksums, OptionList, Packet, WriteError, parse, parse_too_big, parse_with, write,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    walk_options(OptionList::new(bytes));
    let _ = parse_too_big(bytes);
    let strict = parse(bytes);
    let Ok(packet) = parse_with(bytes, Checksums::Ignore) else {
        assert!(strict.is_err(), "ignoring checksums turned a packet into an error: {strict:?}");
        return;
    };
    if let Ok(strict) = strict {
        assert_eq!(strict, packet);
    }
    walk_options(packet.options);
    written_and_parsed_again(&packet, bytes.len());
});

/// The walk ends, and each step takes at least one byte.
fn walk_options(options: OptionList<'_>) {
    const MOST: usize = 1 << 20;
    assert!(options.take(MOST).count() < MOST, "the walk does not end");
    let _ = options.understood();
}

fn written_and_parsed_again(packet: &Packet<'_>, bytes: usize) {
    let mut buffer = Vec::new();
    let (source, destination) = (packet.source, packet.destination);
    match write(&mut buffer, source, destination, &packet.segment, packet.payload) {
        Ok(()) => {}
        // Our padding of the options is longer than some peers'.
        Err(WriteError::TooLong { .. }) if bytes > LONGEST_PADDED => return,
        Err(error) => panic!("{error}"),
    }
    let again = parse(&buffer).expect("what we write is right");
    assert_eq!((again.source, again.destination), (source, destination));
    assert_eq!(again.payload, packet.payload);
    let (mut first, mut second) = (packet.segment, again.segment);
    // Padding as Linux does it may leave less room for SACK blocks than the peer's had.
    let kept: Vec<_> = second.options.sack.iter().collect();
    assert!(first.options.sack.iter().take(kept.len()).eq(kept), "{first:?} became {second:?}");
    first.options.sack = Default::default();
    second.options.sack = Default::default();
    assert_eq!(first, second);
}

/// A packet up to this long still fits when its options take 40 bytes.
const LONGEST_PADDED: usize = 65_535 - 40;
