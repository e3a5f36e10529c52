//! Bytes that claim to be a capture, compressed or not, with all that can be asked of it: memory and
//! processor time stay in proportion to what it expands to.

#![no_main]

use std::{alloc::System, fs, io::Cursor};

use ackwise_capture::{analysis::Analyser, decode::decode, read::Source, strip::Stripper};
use cap::Cap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some(expanded) = expand(bytes) else { return };
    let started = nanos();
    MEMORY.set_limit(MEMORY.allocated() + FIXED_MEMORY + EACH_MEMORY * expanded).expect("more");
    analyse(bytes, Analyser::default().with_measures());
    analyse(bytes, Analyser::default().with_series());
    strip(bytes);
    MEMORY.set_limit(usize::MAX).expect("more than is in use");
    let took = nanos().saturating_sub(started);
    let most = FIXED_NANOS + EACH_NANOS * expanded as u64;
    assert!(took <= most, "{took} ns of processor time for {expanded} bytes, not {most}");
});

/// Bytes of its packets with their headers; `None` if they are too many for a fuzzer, which compressed
/// ones easily are.
fn expand(bytes: &[u8]) -> Option<usize> {
    let mut source = Source::of("fuzz", Cursor::new(bytes.to_vec()));
    let mut expanded = bytes.len();
    while let Ok(Some(frame)) = source.next() {
        expanded += frame.bytes.len() + PACKET_HEADER;
        if expanded > MOST_BYTES {
            return None;
        }
    }
    Some(expanded)
}

fn analyse(bytes: &[u8], mut analyser: Analyser) {
    let mut source = Source::of("fuzz", Cursor::new(bytes.to_vec()));
    while let Ok(Some(frame)) = source.next() {
        if let Ok(seen) = decode(&frame) {
            analyser.handle(&seen);
        }
    }
    drop(analyser.finish());
}

fn strip(bytes: &[u8]) {
    let mut source = Source::of("fuzz", Cursor::new(bytes.to_vec()));
    let mut stripper = Stripper::new(std::io::sink()).expect("a sink takes everything");
    while let Ok(Some(frame)) = source.next() {
        stripper.handle(&frame).expect("a sink takes everything");
    }
    stripper.finish(source.drops()).expect("a sink takes everything");
}

/// Processor time of this thread (Linux's `schedstat`, first number); others on the machine do not
/// count.
fn nanos() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0)
}

/// An allocation beyond the limit fails, and with it the run.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

const FIXED_MEMORY: usize = 64 << 20;

/// For each byte of packets; our choice, as the test `hostile_memory` has it.
const EACH_MEMORY: usize = 120;

/// Our choice: a hundred times what it takes without instrumentation.
const FIXED_NANOS: u64 = 1_000_000_000;
const EACH_NANOS: u64 = 10_000;

/// Our choice: some thousand inputs in ten seconds.
const MOST_BYTES: usize = 1 << 20;

/// Of each packet in a pcap file.
const PACKET_HEADER: usize = 16;
