//! Ports that wait for connections.

use std::collections::VecDeque;

use ackwise_tcp::Config;

use super::{ConnectionId, Tap};

/// How connections to a port are taken.
#[derive(Clone, Copy, Debug)]
pub struct Listen {
    /// What each of them is created with.
    pub config: Config,
    /// How many may be in the handshake or wait for [`super::TunStack::accept`]; a SYN beyond that is
    /// dropped, and comes again.
    pub backlog: usize,
    /// Whether their segments are kept.
    pub tap: Tap,
}

/// A port with its connections that nobody has accepted.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) listen: Listen,
    embryonic: usize,
    established: VecDeque<ConnectionId>,
}

impl Listener {
    pub(super) const fn new(listen: Listen) -> Self {
        Self { listen, embryonic: 0, established: VecDeque::new() }
    }

    pub(super) fn has_room(&self) -> bool {
        self.embryonic + self.established.len() < self.listen.backlog
    }

    /// A SYN was taken.
    pub(super) const fn begin(&mut self) {
        self.embryonic += 1;
    }

    /// A handshake came to its end: with a connection, or without.
    pub(super) fn end(&mut self, connection: Option<ConnectionId>) {
        self.embryonic = self.embryonic.saturating_sub(1);
        self.established.extend(connection);
    }

    pub(super) fn accept(&mut self) -> Option<ConnectionId> {
        self.established.pop_front()
    }
}
