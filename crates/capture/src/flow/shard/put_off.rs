//! How newcomers go on: their segments are put off until they know what others have shown, and those of brief connections
//! until they may be over.

use ackwise_tcp::Instant;

use super::{Awaiting, Batch, EndpointPair, Shard, Slot, charge};
use crate::flow::{batch::Located, closed::Closed, ends::Ends, newcomer::Newcomer, packet::begins};

/// What of a shard a newcomer needs.
pub(super) struct Waits<'a> {
    pub awaiting: &'a mut Vec<Awaiting>,
    pub deferred: &'a mut Vec<u32>,
    pub reopening: &'a mut Option<u64>,
    pub trial: &'a mut Ends,
}

/// How far a newcomer has come.
pub(super) struct Run {
    /// The place of the next segment.
    pub next: u32,
    /// The latest time of a segment.
    pub latest: Instant,
    /// When the segment was seen with which it may be over.
    pub over: Option<Instant>,
}

impl Waits<'_> {
    /// Takes the segments from the one at `index` on to `newcomer`, as long as they are of `pair` and can be put off. What
    /// comes once it waits for what others have shown, waits, too.
    pub(super) fn put_off_run(
        &mut self,
        newcomer: &mut Newcomer,
        pair: EndpointPair,
        batch: &Batch,
        (part, index): (usize, u32),
    ) -> Run {
        let mut run = Run { next: index, latest: Instant::EPOCH, over: None };
        while (run.next as usize) < batch.part(part)
            && batch.pair(part, run.next as usize) == pair
            && run.over.is_none()
        {
            let seen = batch.glance(part, run.next as usize);
            if newcomer.awaits_paces().is_some() {
                self.deferred.push(run.next);
                if begins(&seen.segment) {
                    self.reopening.get_or_insert(seen.ordinal);
                }
            } else if newcomer.is_reused_by(&seen.segment)
                || !newcomer.puts_off(&seen.segment, seen.payload)
            {
                break;
            } else {
                let direction = newcomer.direction_in_order(seen.in_order);
                newcomer.handle(&seen.packet(), direction, self.trial);
                newcomer.touched = seen.ordinal;
                let located = Located { ordinal: seen.ordinal, pair };
                self.awaiting.extend(Awaiting::of(newcomer, located, seen.at));
                run.over = newcomer.may_be_over().then_some(seen.at);
            }
            run.next += 1;
            run.latest = run.latest.max(seen.at);
        }
        run
    }
}

impl Shard {
    /// A newcomer has come this far. Which segment comes next.
    pub(super) fn end_run(&mut self, pair: EndpointPair, run: &Run) -> u32 {
        self.forget(run.latest);
        if let Some(at) = run.over {
            self.put_off_no_more(pair, at);
        }
        run.next
    }

    /// The connection was told what is known of its path.
    pub(super) fn begin(&mut self, awaiting: &Awaiting) {
        if let Some(Slot::New(newcomer)) = self.slots.get_mut(&awaiting.pair)
            && !newcomer.learn(awaiting.paces)
        {
            self.put_off_no_more(awaiting.pair, awaiting.at);
        }
    }

    /// A newcomer that was told what is known goes on, and may be over.
    pub(super) fn put_off_no_more(&mut self, pair: EndpointPair, now: Instant) {
        let Some(slot @ Slot::New(_)) = self.slots.get_mut(&pair) else { return };
        let Slot::New(newcomer) = std::mem::replace(slot, Slot::Over(Closed::default())) else {
            return;
        };
        let (charged, paces) = (newcomer.charged, newcomer.told.unwrap_or_default());
        let mut connection = self.judge(newcomer, &paces);
        connection.charged = charged;
        if connection.is_over() {
            let closed = self.finish_one(connection);
            self.note_over(pair, closed, now);
        } else {
            let cost = connection.cost();
            charge(&mut connection.charged, cost, &mut self.live_bytes);
            self.slots.insert(pair, Slot::Alive(connection));
        }
    }
}
