//! Captures made to cost much take no more memory than a bound in proportion to their size. A test of
//! its own, because an allocator counts what the whole process takes.

#[path = "../hostile/attacks/mod.rs"]
mod attacks;

use std::{alloc::System, io::Cursor};

use ackwise_capture::{analysis::Analyser, decode::decode, read::Source, strip::Stripper};
use cap::Cap;

/// An allocation beyond the limit fails, and with it the test.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// Whatever the size: tables and buffers.
const FIXED: usize = 32 << 20;

/// For each byte of a small capture; larger ones reach limits.
const EACH: usize = 120;

#[test]
fn no_attack_takes_more_memory_than_its_size_allows() {
    for attack in attacks::all() {
        let capture = (attack.make)(400_000);
        println!("{}: {} bytes", attack.name, capture.len());
        let most = MEMORY.allocated() + FIXED + EACH * capture.len();
        MEMORY.set_limit(most).unwrap();
        analyse(&capture, Analyser::default().with_measures());
        analyse(&capture, Analyser::default().with_series());
        strip(&capture);
        MEMORY.set_limit(usize::MAX).unwrap();
    }
}

fn analyse(capture: &[u8], mut analyser: Analyser) {
    let mut source = Source::of("attack", Cursor::new(capture.to_vec()));
    while let Ok(Some(frame)) = source.next() {
        if let Ok(seen) = decode(&frame) {
            analyser.handle(&seen);
        }
    }
    drop(analyser.finish());
}

fn strip(capture: &[u8]) {
    let mut source = Source::of("attack", Cursor::new(capture.to_vec()));
    let mut stripper = Stripper::new(std::io::sink()).expect(SINK);
    while let Ok(Some(frame)) = source.next() {
        stripper.handle(&frame).expect(SINK);
    }
    stripper.finish(source.drops()).expect(SINK);
}

const SINK: &str = "a sink takes everything";
