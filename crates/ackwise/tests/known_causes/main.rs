//! Captures of the real kernel with known causes: programs that waste time on purpose between two
//! namespaces, tcpdump at both ends, and the verdicts against what the programs measured.
//!
//! Times are real and the machine may be busy. Clients and servers run before other programs, and what is
//! between them knows how late it delivered packets and whether processors paused: a wrong
//! verdict fails the case, unless [`disturbances`] had been reported before it was computed. Then the run is
//! repeated, at most three times; a case without an undisturbed run is inconclusive.
//!
//! [`disturbances`]: ackwise_linux::emulator::Report::disturbances

#![cfg(target_os = "linux")]

mod cases;
mod http;
mod lab;
mod peer;
mod scenario;
mod score;
#[path = "../real_servers/site.rs"]
mod site;
mod tap;
mod truth;
