//! What a driver needs beside endpoints: the bytes of the two streams, a backlog, and SYN cookies for when it is full.
//!
//! An [`Endpoint`](crate::Endpoint) handles ranges of streams, and a simulation needs no more. Whoever moves bytes wraps it
//! in a [`Stream`]. Not here: sockets, clocks, addresses and tables of connections.
//! `examples/pipe.rs` drives two streams over a pipe.

mod cookies;
mod listener;
mod reassembly;
mod send_buffer;
mod stream;

pub use cookies::{Cookie, CookieSecret, SynCookies};
pub use listener::{ListenOutcome, Listener};
pub use reassembly::Reassembly;
pub use send_buffer::SendBuffer;
pub use stream::Stream;
