//! The run pauses, and windows are set from outside. Runs that nobody steers have none of this.

use std::time::Duration;

use ackwise_link::Link;
use ackwise_tcp::{Instant, State, congestion::Windows};
use slab::Slab;

use super::{Event, START, World, host::Host};
use crate::{
    connection::Connection,
    error::RunError,
    network::Network,
    observe::{ConnectionId, Observer, Side},
    pause::{LiveConnection, LiveDirection, NotSet, Pause, PauseReason},
};

/// What of the world can be seen and set while it pauses.
struct Paused<'w> {
    reason: PauseReason,
    now: Instant,
    hosts: &'w [Host],
    connections: &'w mut Slab<Connection>,
    network: &'w Network,
    /// The place of the connection that is probably meant.
    likely: Option<u32>,
    /// The ends whose windows were set.
    changed: Vec<(u32, Side)>,
}

impl<O: Observer> World<'_, O> {
    /// The next event, unless it comes after `end`. The run may pause before.
    #[inline]
    pub(super) fn next(&mut self, end: Instant) -> Option<(Instant, Event)> {
        loop {
            let Some(pause) = self.observer.pauses_at() else { return self.queue.pop(end) };
            let pause = START + pause.min(self.scenario.duration);
            let next = self.queue.pop(pause);
            if next.is_some() || pause >= end {
                return next;
            }
            self.now = self.now.max(pause);
            self.pause(PauseReason::Time, None);
            if self.failure.is_some() {
                return None;
            }
        }
    }

    /// Windows that are set now change nothing any more.
    pub(super) fn pause_at_end(&mut self, now: Instant) {
        if self.observer.pauses_at().is_some() {
            self.now = now;
            let _ = self.ask_observer(PauseReason::End, None);
        }
    }

    /// A congestion control that is set from outside has something to hear.
    #[cold]
    pub(super) fn hear_of_congestion(&mut self, place: u32, side: Side) {
        loop {
            let connection = &mut self.connections[place as usize];
            let (id, host) = (connection.id, connection.end(side).host);
            let Some(event) = connection.end_mut(side).endpoint.poll_congestion() else { return };
            let reason = PauseReason::Congestion { connection: id, side, host, event };
            self.pause(reason, Some((place, side)));
        }
    }

    /// The end at `under_way` is about to send what its windows allow; others do so now, if theirs were set.
    #[cold]
    fn pause(&mut self, reason: PauseReason, under_way: Option<(u32, Side)>) {
        for (place, side) in self.ask_observer(reason, under_way) {
            if Some((place, side)) != under_way {
                self.act(place, side);
            }
        }
    }

    /// Asks the observer; the ends whose windows it has set.
    fn ask_observer(
        &mut self,
        reason: PauseReason,
        under_way: Option<(u32, Side)>,
    ) -> Vec<(u32, Side)> {
        let mut paused = Paused {
            reason,
            now: self.now,
            hosts: &self.hosts,
            connections: &mut self.connections,
            network: &self.network,
            likely: under_way.map(|(place, _)| place),
            changed: Vec::new(),
        };
        let goes_on = self.observer.on_pause(&mut paused);
        let changed = paused.changed;
        if goes_on.is_break() {
            self.failure = Some(RunError::Stopped);
        }
        changed
    }
}

impl Paused<'_> {
    fn place(&self, id: ConnectionId) -> Option<u32> {
        let is_it =
            |place: &u32| self.connections.get(*place as usize).is_some_and(|it| it.id == id);
        self.likely.filter(is_it).or_else(|| {
            let found = self.connections.iter().find(|(_, connection)| connection.id == id);
            found.and_then(|(place, _)| u32::try_from(place).ok())
        })
    }
}

impl Pause for Paused<'_> {
    fn reason(&self) -> &PauseReason {
        &self.reason
    }

    fn time(&self) -> Duration {
        self.now.since(START)
    }

    fn connections(&self) -> Vec<LiveConnection<'_>> {
        self.connections.iter().map(|(_, connection)| live(connection)).collect()
    }

    fn hosts(&self) -> Vec<[u64; 2]> {
        self.hosts.iter().map(Host::holds).collect()
    }

    fn directions(&self) -> Vec<LiveDirection> {
        let direction = |link: &Link<_>| LiveDirection {
            counters: link.counters(),
            in_flight: link.in_flight(),
            queue: link.busy_until().saturating_since(self.now),
        };
        self.network.links().map(direction).collect()
    }

    fn connection(&self, id: ConnectionId) -> Option<LiveConnection<'_>> {
        Some(live(&self.connections[self.place(id)? as usize]))
    }

    fn set_windows(
        &mut self,
        id: ConnectionId,
        side: Side,
        windows: Windows,
    ) -> Result<(), NotSet> {
        let place = self.place(id).ok_or(NotSet::NoConnection)?;
        let endpoint = &mut self.connections[place as usize].end_mut(side).endpoint;
        if matches!(endpoint.state(), State::Listen | State::SynSent | State::SynReceived) {
            return Err(NotSet::NotEstablished);
        }
        if !endpoint.set_windows(windows) {
            return Err(NotSet::NotExternal);
        }
        if !self.changed.contains(&(place, side)) {
            self.changed.push((place, side));
        }
        Ok(())
    }
}

fn live(connection: &Connection) -> LiveConnection<'_> {
    LiveConnection {
        id: connection.id,
        application: connection.application,
        hosts: [Side::Client, Side::Server].map(|side| connection.end(side).host),
        ends: [Side::Client, Side::Server].map(|side| &connection.end(side).endpoint),
    }
}
