//! Live interfaces, real servers and real hosts: `ackwise explain --interface` on networks of our own.
//!
//! Where root or a program is missing, a test says so and does not fail.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod bridge;
mod cable;
#[expect(dead_code, reason = "the tests of known causes need more of it")]
#[path = "../known_causes/lab.rs"]
mod lab;
mod pair;
mod program;
mod router;
#[path = "../known_causes/tap.rs"]
mod tap;
mod verdicts;
