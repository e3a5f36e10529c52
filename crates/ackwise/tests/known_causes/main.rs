//! Captures of the real kernel with known causes: programs that waste time on purpose between two
//! namespaces, tcpdump at both ends, and the verdicts against what the programs measured.
//!
//! Times are real and the machine may be busy. An emulated link knows how late it delivered packets: a
//! run that it doubts ([`Report::doubts`]) is repeated, at most three times, before anybody looks at its
//! verdict. In any other run, and in every run on a cable, a wrong verdict fails the case.
//!
//! [`Report::doubts`]: ackwise_linux::emulator::Report::doubts

#![cfg(target_os = "linux")]

mod cases;
mod http;
mod lab;
mod peer;
mod score;
#[path = "../real_servers/site.rs"]
mod site;
mod talk;
mod tap;
mod truth;
