//! The run pauses, and windows are set from outside. Runs that nobody steers have none of this.

use ackwise_tcp::Instant;

use super::{Event, START, World};
use crate::{
    error::RunError,
    observe::{Observer, Side},
    pause::{Pause, PauseReason},
};

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
        let mut changed = Vec::new();
        let mut pause = Pause {
            reason,
            time: self.now.since(START),
            hosts: &self.hosts,
            connections: &mut self.connections,
            network: &self.network,
            likely: under_way.map(|(place, _)| place),
            changed: &mut changed,
            now: self.now,
        };
        if self.observer.on_pause(&mut pause).is_break() {
            self.failure = Some(RunError::Stopped);
        }
        changed
    }
}
