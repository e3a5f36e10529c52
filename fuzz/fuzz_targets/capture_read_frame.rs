//! Bytes that claim to be a frame: no panic, and a frame that is cut gives the same segment as the
//! whole one, or says that it was cut.

#![no_main]

use ackwise_capture::{
    decode::{NotTcp, decode},
    read::{Frame, LinkType},
};
use ackwise_tcp::Instant;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&[kind, cut], bytes)) = bytes.split_first_chunk() else { return };
    let frame = Frame {
        number: 1,
        at: Instant::EPOCH,
        interface: 0,
        link_type: LINK_TYPES[usize::from(kind) % LINK_TYPES.len()],
        original_len: u32::try_from(bytes.len()).expect("an input is short"),
        bytes,
        direction: None,
        lost_before: 0,
    };
    let shorter = Frame { bytes: &bytes[..bytes.len().min(usize::from(cut))], ..frame };
    match (decode(&frame), decode(&shorter)) {
        (_, Err(NotTcp::Cut)) => {}
        (Ok(whole), Ok(shorter)) => {
            assert!(whole.payload.starts_with(shorter.payload));
            assert!(whole.payload.len() <= whole.segment.len as usize);
            assert_eq!(
                (whole.source, whole.destination, whole.segment.seq, whole.segment.len),
                (shorter.source, shorter.destination, shorter.segment.seq, shorter.segment.len),
            );
        }
        (whole, shorter) => assert_eq!(whole, shorter),
    }
});

const LINK_TYPES: [LinkType; 6] = [
    LinkType::ETHERNET,
    LinkType::RAW,
    LinkType::LINUX_SLL,
    LinkType::LINUX_SLL2,
    LinkType::NULL,
    LinkType(9),
];
