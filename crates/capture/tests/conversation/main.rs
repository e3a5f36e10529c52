//! Conversations as the wire shows them, and what comes of them.
#![expect(clippy::unwrap_used, reason = "a script that cannot be read is a mistake in the test")]

mod cut;
mod http1;
mod http2;
mod messages;
mod postgres;
mod properties;
mod protocols;
mod proxy_header;
mod resp;
mod tls;
mod tunnels;
mod wire;
