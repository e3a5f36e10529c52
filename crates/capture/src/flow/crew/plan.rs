//! Which batch is under way, and who does what of it.

use std::{any::Any, collections::VecDeque};

use super::{
    Batch,
    round::{Next, Part, Round},
};

/// What the threads of a crew know of each other.
#[derive(Debug)]
pub(super) struct Plan {
    /// Batches that nobody has begun with, oldest first.
    pub(super) waiting: VecDeque<Batch>,
    /// Those that were judged, without their packets.
    pub(super) empty: Vec<Batch>,
    round: Option<Round>,
    /// Somebody decides what comes after the last round.
    is_between_rounds: bool,
    pub(super) threads: usize,
    /// Threads that sleep until something changes.
    pub(super) asleep: usize,
    pub(super) is_over: bool,
    /// What a helper has panicked with.
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            empty: Vec::new(),
            round: None,
            is_between_rounds: false,
            threads: 1,
            asleep: 0,
            is_over: false,
            panic: None,
        }
    }
}

impl Plan {
    /// The most batches that wait. Our choice: nobody runs out of them while another one is read, and they stay in
    /// the cache that processors share.
    const MOST_WAITING: usize = 2;

    /// Whether no batch is under way.
    pub(super) const fn is_between_batches(&self) -> bool {
        self.round.is_none() && !self.is_between_rounds
    }

    /// Whether all batches are judged.
    pub(super) fn is_done(&self) -> bool {
        self.is_between_batches() && self.waiting.is_empty()
    }

    /// Whether another batch should be read now: before others run out of them, or instead of waiting for somebody.
    pub(super) fn wants_more(&self) -> bool {
        let has_parts = self.round.as_ref().is_some_and(Round::has_parts);
        self.waiting.is_empty() || (!has_parts && self.waiting.len() < Self::MOST_WAITING)
    }

    /// Begins with the next batch.
    pub(super) fn begin_next(&mut self) {
        self.round = self.waiting.pop_front().map(Round::new);
    }

    /// What a thread is to do next.
    pub(super) fn take_part(&mut self, thread: usize) -> Option<Part> {
        self.round.as_mut()?.take_part(thread, self.threads)
    }

    /// A part is done. The round, if it was the last.
    pub(super) fn end_part(&mut self) -> Option<Round> {
        let is_last = self.round.as_mut().is_some_and(Round::end_part);
        self.is_between_rounds |= is_last;
        self.round.take_if(|_| is_last)
    }

    /// Somebody has decided what comes after the last round.
    pub(super) fn go_on(&mut self, next: Next) {
        self.is_between_rounds = false;
        match next {
            Next::Round(round) => self.round = Some(round),
            Next::Done(batch) => {
                self.empty.push(*batch);
                self.begin_next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_batch_is_read_before_threads_run_out_of_them_and_no_earlier() {
        let plan = |waiting: usize, under_way: bool, taken: bool| {
            let mut plan = Plan::default();
            plan.waiting.extend((0..=waiting).map(|_| Batch::default()));
            if under_way {
                plan.begin_next();
            } else {
                plan.waiting.pop_front();
            }
            while taken && plan.take_part(0).is_some() {}
            plan.wants_more()
        };
        for (waiting, under_way, taken, wants) in [
            (0, false, false, true),
            (0, true, false, true),
            (1, true, false, false),
            (1, true, true, true),
            (1, false, false, true),
            (2, true, true, false),
        ] {
            assert_eq!(plan(waiting, under_way, taken), wants, "{waiting} {under_way} {taken}");
        }
    }

    #[test]
    fn all_is_done_when_nothing_waits_or_is_under_way() {
        let mut plan = Plan::default();
        assert!(plan.is_done());
        plan.waiting.push_back(Batch::default());
        assert!(!plan.is_done() && plan.is_between_batches());
        plan.begin_next();
        assert!(!plan.is_done() && !plan.is_between_batches());
        plan.round = None;
        plan.is_between_rounds = true;
        assert!(!plan.is_done() && !plan.is_between_batches());
    }
}
