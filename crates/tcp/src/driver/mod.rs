//! What a driver needs beside endpoints: the bytes of the two streams, and a backlog.
//!
//! An [`Endpoint`](crate::Endpoint) handles ranges of streams, and a simulation needs no more. Whoever moves bytes wraps it
//! in a [`Stream`]. Not here: sockets, clocks, addresses and tables of connections.
//! `examples/pipe.rs` drives two streams over a pipe.

mod listener;
mod reassembly;
mod send_buffer;
mod stream;

pub use listener::{ListenOutcome, Listener};
pub use reassembly::Reassembly;
pub use send_buffer::SendBuffer;
pub use stream::Stream;
