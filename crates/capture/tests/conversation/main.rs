//! Conversations as the wire shows them, and what comes of them.

mod cut;
mod http1;
mod http2;
mod tls;
mod wire;
