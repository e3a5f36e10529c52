//! Bytes that claim to be a capture: no panic, every packet decodes or says why not, and the same
//! packets come whatever the pieces the bytes arrive in. A capture that is cut gives the beginning
//! of what the whole one gives.

#![no_main]

use std::io::{self, Read};

use ackwise_capture::{
    decode,
    read::{Problem, Source},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&piece, bytes)) = bytes.split_first() else { return };
    let whole = packets(bytes, usize::MAX);
    assert_eq!(whole, packets(bytes, usize::from(piece).max(1)));
    let cut = packets(&bytes[..bytes.len() / 2], usize::MAX);
    assert!(whole.starts_with(&cut), "less of a file gives other packets");
});

/// The time, interface and length of each packet.
fn packets(bytes: &[u8], piece: usize) -> Vec<(u64, u32, usize)> {
    let mut source = Source::of("fuzz", Pieces { bytes: bytes.to_vec(), at: 0, piece });
    let mut packets = Vec::new();
    loop {
        match source.next() {
            Ok(Some(frame)) => {
                packets.push((frame.at.as_nanos(), frame.interface, frame.bytes.len()));
                let Ok(seen) = decode::decode(&frame) else { continue };
                assert!(seen.payload.len() <= seen.segment.len as usize);
            }
            Ok(None) => return packets,
            Err(error) => assert!(!matches!(error.problem, Problem::TooManyOpen), "{error}"),
        }
        assert!(packets.len() <= bytes.len() / 12, "more packets than there is room for");
    }
}

struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Decompression is somebody else's, and fuzzed by them.
        if let [0x1f, 0x8b, ..] | [0x28, 0xb5, ..] | [0x50..=0x5f, 0x2a, ..] = self.bytes[..] {
            return Ok(0);
        }
        let rest = &self.bytes[self.at..];
        let bytes = rest.len().min(self.piece).min(buffer.len());
        buffer[..bytes].copy_from_slice(&rest[..bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}
