//! A run that has paused: what can be seen of it, and the windows that may be set from outside.
//!
//! Not here: when it pauses, which its [`Observer`](crate::Observer) decides.

use std::time::Duration;

use ackwise_link::Counters;
use ackwise_tcp::{
    Endpoint,
    congestion::{CongestionEvent, Windows},
};
use thiserror::Error;

use crate::{
    ids::{ConnectionId, Side},
    scenario::NodeId,
};

/// Why a run pauses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PauseReason {
    /// It is time.
    Time,
    /// A congestion control that is set from outside hears something, before the end sends what its windows allow.
    Congestion {
        /// Of which connection.
        connection: ConnectionId,
        /// Of which end, which sends.
        side: Side,
        /// The end's host.
        host: NodeId,
        /// What.
        event: CongestionEvent,
    },
    /// The run is over.
    End,
}

/// A connection that is not over.
#[derive(Clone, Copy, Debug)]
pub struct LiveConnection<'w> {
    /// Which.
    pub id: ConnectionId,
    /// Its application, by its place in the scenario.
    pub application: u32,
    /// The client's host and the server's.
    pub hosts: [NodeId; 2],
    /// The client's end and the server's.
    pub ends: [&'w Endpoint; 2],
}

/// What is on one direction of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LiveDirection {
    /// What happened since the beginning of the run.
    pub counters: Counters,
    /// Packets on it, queued ones included.
    pub in_flight: usize,
    /// How long the packets in its queue take to leave.
    pub queue: Duration,
}

/// Windows that cannot be set.
#[derive(Clone, Copy, Debug, Eq, Error, PartialEq)]
pub enum NotSet {
    /// There is no such connection.
    #[error("no such connection, or it is over")]
    NoConnection,
    /// The end has another congestion control.
    #[error("its congestion control is not external")]
    NotExternal,
    /// When the connection is established, its windows begin.
    #[error("its handshake is not over (expected its event \"established\" first)")]
    NotEstablished,
}

/// A run that has paused.
pub trait Pause {
    /// Why.
    fn reason(&self) -> &PauseReason;

    /// Virtual time since the beginning of the run.
    fn time(&self) -> Duration;

    /// Connections that are not over, in no order that means anything.
    fn connections(&self) -> Vec<LiveConnection<'_>>;

    /// By the node's place: how many connections it has open, and in TIME-WAIT.
    fn hosts(&self) -> Vec<[u64; 2]>;

    /// Both directions of each link, in the scenario's order, each in two consecutive places.
    fn directions(&self) -> Vec<LiveDirection>;

    /// One connection.
    fn connection(&self, id: ConnectionId) -> Option<LiveConnection<'_>>;

    /// Sets the windows of one end of a connection. It sends what they allow as soon as the run goes on.
    ///
    /// # Errors
    ///
    /// If there is no such connection, its handshake is not over, or its window is not set from outside.
    fn set_windows(&mut self, id: ConnectionId, side: Side, windows: Windows)
    -> Result<(), NotSet>;
}
