//! Whatever a capture shows, nothing of a body, a path or a value of a field is left when it is
//! stripped; what is left can be read again, packet by packet.
//!
//! Where frames are due anything reads as a header: a body behind a hole may look like a length below
//! the limit, or like a stream. That takes two bytes in a row, so three are too many.

#![no_main]

use std::io::Cursor;

use ackwise_capture::{
    decode::decode,
    read::{Drops, Frame, LinkType, Source},
    strip::Stripper,
};
use ackwise_fuzz::{
    piece::SECRET,
    traffic::{Packet, Traffic},
};
use ackwise_tcp::wire;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|traffic: Traffic| {
    let packets = traffic.packets();
    let stripped = strip(&packets);
    let mut source = Source::of("stripped", Cursor::new(stripped));
    let mut read = 0;
    while let Some(frame) = source.next().expect("what we write is right") {
        let seen = decode(&frame).expect("TCP only");
        let before = &packets[read];
        assert_eq!((seen.at, seen.segment), (before.at, before.segment), "packet {read}");
        assert!(seen.payload.len() <= before.captured, "packet {read} has grown");
        let told = seen.payload.windows(TOO_MANY.len()).any(|bytes| bytes == TOO_MANY);
        assert!(!told, "packet {read} tells: {:x?}", seen.payload);
        read += 1;
    }
    assert_eq!(read, packets.len());
});

const TOO_MANY: [u8; 3] = [SECRET; 3];

fn strip(packets: &[Packet]) -> Vec<u8> {
    let mut stripper = Stripper::new(Vec::new()).expect("memory takes all");
    let mut bytes = Vec::new();
    for (number, packet) in (1..).zip(packets) {
        let Packet { source, destination, segment, data, .. } = packet;
        wire::write(&mut bytes, *source, *destination, segment, data).expect("a packet fits");
        let original_len = u32::try_from(bytes.len()).expect("a packet is short");
        bytes.truncate(bytes.len() - (data.len() - packet.captured));
        let frame = Frame {
            number,
            at: packet.at,
            interface: packet.interface,
            link_type: LinkType::RAW,
            original_len,
            bytes: &bytes,
            direction: None,
            lost_before: 0,
        };
        stripper.handle(&frame).expect("memory takes all");
    }
    stripper.finish(Drops::default()).expect("memory takes all")
}
