//! Parsers against bytes as received from the network.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod client;
mod client_close;
mod properties;
mod requests;
mod responses;
mod unseen;
