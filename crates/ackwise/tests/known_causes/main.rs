//! Captures of the real kernel with known causes: programs that waste time on purpose between two
//! namespaces, tcpdump at both ends, and the verdicts against what the programs measured.
//!
//! Times are real and the machine may be busy, so a case has five attempts, and each is printed. One
//! good attempt is enough if time was missing in the others, or a program was found to pause that was not
//! told to: a machine with other work does that. Three attempts in which anybody is accused of something
//! else (a stall of TCP that nobody injected) fail the case, whatever the other two would say: no such
//! machine turns a pause into a held segment. Numbers of exchanges that do not agree count as that.

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
