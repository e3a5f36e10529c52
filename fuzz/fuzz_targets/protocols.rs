//! Layers and protocols in any order: no panic, memory below a bound, and each exchange begins and ends once. Dialogues that are
//! sound give the same events, wherever the capture's segments end.

#![no_main]

use std::alloc::System;

use ackwise_fuzz::layers::{self, Input};
use cap::Cap;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: Input| {
    let before = MEMORY.allocated();
    MEMORY.set_limit(before + MOST_MEMORY).expect("more than is in use");
    layers::run(&input);
    MEMORY.set_limit(usize::MAX).expect("more than is in use");
});

/// An allocation beyond the limit fails, and with it the run.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, usize::MAX);

/// What an input of some kilobytes may take, in bytes: its own pieces, and all of its events. Our choice.
const MOST_MEMORY: usize = 32 << 20;
