//! Segments to connections, and each connection's streams.

mod again_elsewhere;
mod batch;
mod closed;
mod connection;
mod copies;
mod crew;
mod endpoint_pair;
mod ends;
pub(crate) mod exchange;
mod flow_control;
mod heard;
mod held_segment;
mod lingering;
mod measures;
mod message_hold;
mod message_watch;
mod multiplexed;
mod newcomer;
mod open;
mod packet;
mod reassembly;
mod relief;
mod round_trips;
mod samples;
mod sealed_credit;
mod serial;
mod setup;
mod shard;
mod stream;
mod table;
mod teardown;
#[cfg(test)]
mod tests;
mod tunnels;
mod unseen;
mod unsettled;
mod warm_up;

pub use batch::Batch;
pub(crate) use connection::tell;
pub(crate) use endpoint_pair::{EndpointPair, roles};
pub(crate) use exchange::OpenExchange;
pub(crate) use reassembly::{Arrival, Reassembly};
pub(crate) use stream::ObservedStream;
pub(crate) use table::ConnectionTable;
