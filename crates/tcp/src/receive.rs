//! The receive side of a connection.

pub(crate) mod quick_ack;
