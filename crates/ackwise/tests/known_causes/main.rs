//! Captures of the real kernel with known causes: programs that waste time on purpose between two
//! namespaces, tcpdump at both ends, and the verdicts against what the programs measured.
//!
//! Times are real and the machine may be busy. Clients and servers run before other programs, and an
//! emulated link knows how late it delivered packets: a run with [`disturbances`] is repeated, at most
//! three times, before its verdict is computed. In any other run, and in every run on a cable, a wrong
//! verdict fails the case.
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
