//! Captures of the real kernel with known causes: programs that waste time on purpose between two
//! namespaces, tcpdump at both ends, and the verdicts against what the programs measured.

#![cfg(target_os = "linux")]

mod cases;
mod http;
mod lab;
mod score;
mod talk;
mod tap;
mod truth;
