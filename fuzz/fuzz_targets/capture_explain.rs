//! Bytes that claim to be a capture, all the way from the file to the causes: no panic, no more
//! memory than a bound, and the time of each exchange is divided without a rest.

#![no_main]

use std::{alloc::System, io::Cursor};

use ackwise_capture::{analysis::Analyser, decode::decode, read::Source};
use ackwise_fuzz::analysed;
use cap::Cap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Decompression is somebody else's, and fuzzed by them.
    if let [0x1f, 0x8b, ..] | [0x28, 0xb5, ..] | [0x50..=0x5f, 0x2a, ..] = bytes {
        return;
    }
    let before = MEMORY.allocated();
    MEMORY.set_limit(before + MOST_MEMORY).expect("more than is in use");
    let mut source = Source::of("fuzz", Cursor::new(bytes.to_vec()));
    let mut analyser = Analyser::default().with_series();
    let mut last_number = 0;
    loop {
        match source.next() {
            Ok(Some(frame)) => {
                last_number = frame.number;
                if let Ok(seen) = decode(&frame) {
                    analyser.handle(&seen);
                }
            }
            Ok(None) => break,
            // What was read before stays.
            Err(_) => {}
        }
    }
    analysed::check(&analyser.finish(), source.packets(), last_number);
    MEMORY.set_limit(usize::MAX).expect("more than is in use");
});

/// An allocation beyond the limit fails, and with it the run.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// What an input of some kilobytes may take, in bytes: a read buffer with the longest packet in it
/// and all that a report draws are under half of it.
const MOST_MEMORY: usize = 64 << 20;
