//! How far a long run is, on a terminal.

use std::io::{IsTerminal, stderr};
use std::time::Instant;

/// A line on a terminal that says how far the run is.
pub(crate) struct Progress {
    done: u64,
    of: u64,
    began: Instant,
}

impl Progress {
    pub(crate) fn new(of: u64) -> Self {
        Self { done: 0, of, began: Instant::now() }
    }

    pub(crate) fn step(&mut self, name: &str) {
        self.done += 1;
        if stderr().is_terminal() {
            let seconds = self.began.elapsed().as_secs();
            eprint!("\r\x1b[K{} of {} after {seconds} s: {name}", self.done, self.of);
            if self.done == self.of {
                eprintln!();
            }
        }
    }
}
