//! The send side of a connection.

pub(crate) mod ack_spacing;
pub(crate) mod packet_count;
pub(crate) mod phase;
pub(crate) mod validation;
