//! Octets that claim to be a capture: no panic, every packet decodes or says why not, and the same
//! packets come whatever the pieces the octets arrive in. A capture that is cut gives the beginning
//! of what the whole one gives.

#![no_main]

use std::io::{self, Read};

use ackwise_capture::{
    decode,
    read::{Problem, Source},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    let Some((&piece, octets)) = octets.split_first() else { return };
    let whole = packets(octets, usize::MAX);
    assert_eq!(whole, packets(octets, usize::from(piece).max(1)));
    let cut = packets(&octets[..octets.len() / 2], usize::MAX);
    assert!(whole.starts_with(&cut), "less of a file gives other packets");
});

/// The time, interface and length of each packet.
fn packets(octets: &[u8], piece: usize) -> Vec<(u64, u32, usize)> {
    let mut source = Source::of("fuzz", Pieces { octets: octets.to_vec(), at: 0, piece });
    let mut packets = Vec::new();
    loop {
        match source.next() {
            Ok(Some(frame)) => {
                packets.push((frame.at.as_nanos(), frame.interface, frame.octets.len()));
                let Ok(seen) = decode::decode(&frame) else { continue };
                assert!(seen.payload.len() <= seen.segment.len as usize);
            }
            Ok(None) => return packets,
            Err(error) => assert!(!matches!(error.problem, Problem::TooManyOpen), "{error}"),
        }
        assert!(packets.len() <= octets.len() / 12, "more packets than there is room for");
    }
}

struct Pieces {
    octets: Vec<u8>,
    at: usize,
    piece: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Decompression is somebody else's, and fuzzed by them.
        if let [0x1f, 0x8b, ..] | [0x28, 0xb5, ..] | [0x50..=0x5f, 0x2a, ..] = self.octets[..] {
            return Ok(0);
        }
        let rest = &self.octets[self.at..];
        let octets = rest.len().min(self.piece).min(buffer.len());
        buffer[..octets].copy_from_slice(&rest[..octets]);
        self.at += octets;
        Ok(octets)
    }
}
