//! The server against real clients on loopback.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod client;
#[cfg(target_os = "linux")]
mod client_close;
mod exchanges;
#[cfg(target_os = "linux")]
mod first_data;
mod limits;
mod misbehaviour;
#[cfg(target_os = "linux")]
mod site;
#[cfg(target_os = "linux")]
mod stalls;
