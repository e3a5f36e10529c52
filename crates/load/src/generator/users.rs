//! The users of a closed loop: what each requests next, and how long it thinks before. Pure: the random
//! numbers come from a named, seeded stream.
//!
//! Each slot of the schedule stands for one user, who reads one document after the other: its files in
//! their order, on as many connections as they need. An open loop has no users: its requests are in the
//! order of the plan, whichever connection carries them.

use std::{collections::BTreeSet, time::Duration};

use ackwise_http::workload::Span;
use ackwise_link::{Seed, Stream};
use ackwise_net::Slot;

use super::Plan;

/// How long users think before they request more.
#[derive(Clone, Debug, PartialEq)]
pub struct Think {
    /// The distribution of the times.
    pub span: Span,
    /// After what.
    pub scope: ThinkScope,
    /// Selects the times.
    pub seed: Seed,
}

/// What a user thinks after.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ThinkScope {
    /// The last file of a document.
    #[default]
    Document,
    /// Each file.
    File,
}

/// All users of a run.
#[derive(Debug)]
pub(super) struct Users {
    think: Option<(Think, Stream)>,
    /// For each slot, the next file of the document that its user reads, or none between documents; `None` in
    /// an open loop.
    reading: Option<Vec<Option<usize>>>,
    /// The first file of the next document; in an open loop, the next file.
    next: usize,
    /// Those who think and have a connection: until when, and where. At most one for each slot.
    thinking: BTreeSet<(Duration, Slot)>,
}

impl Users {
    /// Users for `slots` slots.
    pub(super) fn new(slots: usize) -> Self {
        Self { reading: Some(vec![None; slots]), ..Self::open_loop() }
    }

    /// The requests of an open loop.
    pub(super) const fn open_loop() -> Self {
        Self { think: None, reading: None, next: 0, thinking: BTreeSet::new() }
    }

    pub(super) fn thinking(mut self, think: Option<Think>) -> Self {
        self.think = think.map(|think| {
            let stream = think.seed.named(STREAM).stream();
            (think, stream)
        });
        self
    }

    /// The index of the request that follows in `slot`.
    pub(super) fn next_request(&mut self, slot: Slot, plan: &Plan) -> usize {
        let place = self.reading.as_mut().and_then(|reading| reading.get_mut(slot.0));
        let Some(place) = place else {
            let at = self.next;
            self.next = (at + 1) % plan.len();
            return at;
        };
        let at = place.take().unwrap_or_else(|| {
            let first = self.next;
            self.next = (plan.end_of_document(first) + 1) % plan.len();
            first
        });
        *place = (plan.end_of_document(at) != at).then_some(at + 1);
        at
    }

    /// How long the user of `slot` thinks, now that it has a response.
    pub(super) fn think(&mut self, slot: Slot) -> Duration {
        let Some((think, stream)) = &mut self.think else { return Duration::ZERO };
        let is_reading = self.reading.as_ref().is_some_and(|reading| reading[slot.0].is_some());
        match think.scope {
            ThinkScope::Document if is_reading => Duration::ZERO,
            ThinkScope::Document | ThinkScope::File => think.span.draw(stream),
        }
    }

    /// The user of `slot`, which has a connection, thinks until `due`.
    pub(super) fn wait(&mut self, slot: Slot, due: Duration) {
        self.thinking.insert((due, slot));
    }

    /// The connection of `slot` is gone.
    pub(super) fn forget(&mut self, slot: Slot, due: Duration) {
        self.thinking.remove(&(due, slot));
    }

    /// When the first one that thinks ends.
    pub(super) fn next_due(&self) -> Option<Duration> {
        self.thinking.first().map(|(due, _)| *due)
    }

    /// One who has thought until `now`, and until when it meant to.
    pub(super) fn poll(&mut self, now: Duration) -> Option<(Duration, Slot)> {
        self.next_due().filter(|due| *due <= now)?;
        self.thinking.pop_first()
    }
}

const STREAM: &str = "load think times";

#[cfg(test)]
mod tests {
    use super::{
        super::{Ask, Close},
        *,
    };

    /// Documents of two files and of one.
    fn plan() -> Plan {
        let ask = |path: &str, ends_document| Ask { ends_document, ..Ask::get("h", path) };
        let asks = [ask("/a1", false), ask("/a2", true), ask("/b", true)];
        Plan::of(&asks, "h", Close::Server).unwrap()
    }

    #[test]
    fn each_user_reads_a_document_to_its_end_and_then_the_next_one() {
        let (mut users, plan) = (Users::new(2), plan());
        let mut next = |slot| users.next_request(Slot(slot), &plan);
        assert_eq!([next(0), next(1), next(0), next(1), next(0), next(1)], [0, 2, 1, 0, 2, 1]);
    }

    #[test]
    fn requests_of_an_open_loop_are_in_their_order() {
        let (mut users, plan) = (Users::open_loop(), plan());
        let mut next = |slot| users.next_request(Slot(slot), &plan);
        assert_eq!([next(0), next(1), next(0), next(1)], [0, 1, 2, 0]);
    }

    #[test]
    fn a_user_thinks_after_a_document_or_after_each_file() {
        let plan = plan();
        let second = Duration::from_secs(1);
        for (scope, expected) in [
            (ThinkScope::Document, [Duration::ZERO, second, second]),
            (ThinkScope::File, [second; 3]),
        ] {
            let think = Think { span: Span::Fixed(second), scope, seed: Seed(1) };
            let mut users = Users::new(1).thinking(Some(think));
            let thought = [(); 3].map(|()| {
                users.next_request(Slot(0), &plan);
                users.think(Slot(0))
            });
            assert_eq!(thought, expected, "{scope:?}");
        }
    }

    #[test]
    fn those_who_think_go_on_in_the_order_of_their_times() {
        let mut users = Users::new(3);
        let second = Duration::from_secs;
        for (slot, due) in [(0, 3), (1, 1), (2, 2)] {
            users.wait(Slot(slot), second(due));
        }
        users.forget(Slot(1), second(1));
        assert_eq!(users.next_due(), Some(second(2)));
        assert_eq!(users.poll(second(1)), None);
        assert_eq!(users.poll(second(3)), Some((second(2), Slot(2))));
        assert_eq!(users.poll(second(3)), Some((second(3), Slot(0))));
    }
}
