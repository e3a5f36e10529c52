//! How newcomers go on: their segments are put off until they are told what others have shown, and those of brief
//! connections until they may be over.

use ackwise_tcp::Instant;

use super::{Awaiting, Batch, EndpointPair, Shard, Slot, charge};
use crate::flow::{batch::Located, closed::Closed, packet::begins};

impl Shard {
    /// [`handle_run`](Self::handle_run) of a newcomer: what comes once it waits for what others have shown, is put off.
    pub(super) fn put_off_run(&mut self, batch: &Batch, part: usize, index: u32) -> u32 {
        let pair = batch.pair(part, index as usize);
        let Some(Slot::New(newcomer)) = self.slots.get_mut(&pair) else { return index };
        let (mut next, mut latest, mut over) = (index, Instant::EPOCH, None);
        while (next as usize) < batch.part(part) && batch.pair(part, next as usize) == pair {
            let seen = batch.glance(part, next as usize);
            if newcomer.awaits_paces().is_some() {
                self.deferred.push(next);
                if begins(&seen.segment) {
                    self.reopening.get_or_insert(seen.ordinal);
                }
            } else if newcomer.is_reused_by(&seen.segment)
                || !newcomer.puts_off(&seen.segment, seen.payload)
            {
                break;
            } else {
                let direction = newcomer.direction_in_order(seen.in_order);
                newcomer.handle(&seen.packet(), direction, &mut self.trial);
                newcomer.touched = seen.ordinal;
                let located = Located { ordinal: seen.ordinal, pair };
                self.awaiting.extend(Awaiting::of(newcomer, located, seen.at));
                over = newcomer.may_be_over().then_some(seen.at);
            }
            (next, latest) = (next + 1, latest.max(seen.at));
            if over.is_some() {
                break;
            }
        }
        if next > index {
            let cost = newcomer.cost();
            charge(&mut newcomer.charged, cost, &mut self.live_bytes);
            self.forget(latest);
        }
        if let Some(at) = over {
            self.put_off_no_more(pair, at);
        }
        next
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
