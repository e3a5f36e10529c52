//! Segments to connections, and each connection's streams.

mod connection;
mod exchange;
mod reassembly;
mod setup;
mod stream;
mod table;

pub(crate) use exchange::Open;
pub(crate) use table::Table;
