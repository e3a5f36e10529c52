//! The gallery: bugs from public GitHub issues rebuilt as programs of a few lines, run on the real kernel,
//! captured at both ends, and explained. `docs/gallery.md` shows them; [`guide`] keeps it true.
//!
//! Each is shown twice: with the bug, where `ackwise explain` must name it and who can change it, and
//! with a fix of a line or two, where it must accuse nobody of it. Times are real: an exhibit has three
//! attempts, each that fails is printed with what disturbed it, and the fifteen percent that a report may
//! differ from the printed one are what other work on the machine may cost. If all three fail and were
//! disturbed, the exhibit is inconclusive.

#![cfg(target_os = "linux")]

mod exhibit;
mod guide;
#[path = "../known_causes/http.rs"]
mod http;
mod http2;
#[expect(dead_code, reason = "the tests of known causes need more of it")]
#[path = "../known_causes/lab.rs"]
mod lab;
mod patterns;
mod report;
#[path = "../known_causes/tap.rs"]
mod tap;
