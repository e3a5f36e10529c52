//! A stripped capture says the same, and tells nothing.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

#[path = "../conversation/wire.rs"]
#[expect(dead_code, reason = "scripts are written there for another test, too")]
mod script;

mod recording;
mod secrets;
mod verdicts;

use std::io::Cursor;

use ackwise_capture::{
    analysis::{Analyser, Analysis},
    decode::decode,
    read::Source,
    strip::Stripper,
};

/// What a capture says.
fn analyse(file: &[u8]) -> Analysis {
    let mut source = Source::of("test", Cursor::new(file.to_vec()));
    let mut analyser = Analyser::default();
    while let Some(frame) = source.next().unwrap() {
        analyser.handle(&decode(&frame).unwrap());
    }
    analyser.finish()
}

/// What is left of it.
fn strip(file: &[u8]) -> Vec<u8> {
    let mut source = Source::of("test", Cursor::new(file.to_vec()));
    let mut stripper = Stripper::new(Vec::new()).unwrap();
    while let Some(frame) = source.next().unwrap() {
        stripper.handle(&frame).unwrap();
    }
    stripper.finish(source.drops()).unwrap()
}
