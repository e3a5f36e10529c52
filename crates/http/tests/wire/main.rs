//! The parsers against bytes as they come off the wire.
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod client_close;
mod properties;
mod requests;
mod responses;
mod unseen;
