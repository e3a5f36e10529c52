//! A run that has paused: what can be seen of it, and the windows that may be set from outside.
//!
//! Not here: when it pauses, which its [`Observer`](crate::Observer) decides.

use std::time::Duration;

use ackwise_link::Counters;
use ackwise_tcp::{
    Endpoint, Instant,
    congestion::{CongestionEvent, Windows},
};
use slab::Slab;
use thiserror::Error;

use crate::{
    connection::Connection,
    network::Network,
    observe::{ConnectionId, Side},
    scenario::NodeId,
    world::Host,
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

/// A run that has paused.
#[derive(Debug)]
pub struct Pause<'w> {
    pub(crate) reason: PauseReason,
    pub(crate) time: Duration,
    pub(crate) hosts: &'w [Host],
    pub(crate) connections: &'w mut Slab<Connection>,
    pub(crate) network: &'w Network,
    /// The place of the connection that is probably meant.
    pub(crate) likely: Option<u32>,
    /// The ends whose windows were set.
    pub(crate) changed: &'w mut Vec<(u32, Side)>,
    pub(crate) now: Instant,
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
}

impl Pause<'_> {
    /// Why.
    #[must_use]
    pub const fn reason(&self) -> &PauseReason {
        &self.reason
    }

    /// Virtual time since the beginning of the run.
    #[must_use]
    pub const fn time(&self) -> Duration {
        self.time
    }

    /// Connections that are not over, in no order that means anything.
    pub fn connections(&self) -> impl Iterator<Item = LiveConnection<'_>> {
        self.connections.iter().map(|(_, connection)| LiveConnection {
            id: connection.id,
            application: connection.application,
            hosts: [Side::Client, Side::Server].map(|side| connection.end(side).host),
            ends: [Side::Client, Side::Server].map(|side| &connection.end(side).endpoint),
        })
    }

    /// By the node's place: how many connections it has open, and in TIME-WAIT.
    pub fn hosts(&self) -> impl Iterator<Item = [u64; 2]> {
        self.hosts.iter().map(Host::holds)
    }

    /// Both directions of each link, in the scenario's order, each in two consecutive places.
    pub fn directions(&self) -> impl Iterator<Item = LiveDirection> {
        self.network.links().map(|link| LiveDirection {
            counters: link.counters(),
            in_flight: link.in_flight(),
            queue: link.busy_until().saturating_since(self.now),
        })
    }

    /// One end of a connection.
    #[must_use]
    pub fn end(&self, connection: ConnectionId, side: Side) -> Option<&Endpoint> {
        let place = self.place(connection)?;
        Some(&self.connections[place as usize].end(side).endpoint)
    }

    /// Sets the windows of one end of a connection. It sends what they allow as soon as the run goes on.
    ///
    /// # Errors
    ///
    /// If there is no such connection, or its window is not set from outside.
    pub fn set_windows(
        &mut self,
        connection: ConnectionId,
        side: Side,
        windows: Windows,
    ) -> Result<(), NotSet> {
        let place = self.place(connection).ok_or(NotSet::NoConnection)?;
        let endpoint = &mut self.connections[place as usize].end_mut(side).endpoint;
        if !endpoint.set_windows(windows) {
            return Err(NotSet::NotExternal);
        }
        if !self.changed.contains(&(place, side)) {
            self.changed.push((place, side));
        }
        Ok(())
    }

    fn place(&self, id: ConnectionId) -> Option<u32> {
        let is_it =
            |place: &u32| self.connections.get(*place as usize).is_some_and(|it| it.id == id);
        self.likely.filter(is_it).or_else(|| {
            let found = self.connections.iter().find(|(_, connection)| connection.id == id);
            found.and_then(|(place, _)| u32::try_from(place).ok())
        })
    }
}
