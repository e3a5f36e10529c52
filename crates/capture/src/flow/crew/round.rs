//! A batch that every shard goes through, mostly twice: as far as its connections can go on without what others have
//! shown, and once they have been told.

use std::{
    cmp::Reverse,
    sync::{Arc, MutexGuard},
};

use super::{Batch, Between, Shard};
use crate::{
    attribution::KnownPaces,
    flow::{relief, shard::Rest},
};

/// What is under way of a batch.
#[derive(Debug)]
pub(super) struct Round {
    batch: Arc<Batch>,
    task: Task,
    /// How many were before it.
    number: usize,
    /// The shards that nobody has taken yet, those with least to do first: so the threads are done at about the same
    /// time.
    order: Vec<usize>,
    /// How many shards are not done.
    left: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Task {
    Handle,
    Resume,
}

/// A shard's part of a round.
#[derive(Debug)]
pub(super) struct Part {
    batch: Arc<Batch>,
    task: Task,
    pub(super) number: usize,
}

/// What comes after a round.
#[derive(Debug)]
pub(super) enum Next {
    Round(Round),
    /// The batch has been judged. It is empty.
    Done(Box<Batch>),
}

impl Part {
    /// Lets the shard do it.
    pub(super) fn judge(&self, shard: &mut Shard) {
        match self.task {
            Task::Handle => shard.handle_batch(&self.batch, self.number),
            Task::Resume => shard.resume(&self.batch, self.number),
        }
    }
}

impl Round {
    /// This many connections are worth sharing. Our choice.
    const MANY: usize = 16;
    /// Rounds after which the rest of a batch is judged in order: in each, all that was put off is looked
    /// at again. Our choice.
    const MOST: usize = 8;

    pub(super) fn new(batch: Batch) -> Self {
        let mut round = Self {
            batch: Arc::new(batch),
            task: Task::Handle,
            number: 0,
            order: Vec::with_capacity(Batch::PARTS),
            left: 0,
        };
        round.plan(|_| true);
        round
    }

    /// Has the shards to do that have something to do.
    fn plan(&mut self, has_something: impl Fn(usize) -> bool) {
        self.order.extend((0..Batch::PARTS).filter(|&shard| has_something(shard)));
        self.order.sort_by_key(|&shard| (self.batch.part(shard), Reverse(shard)));
        self.left = self.order.len();
    }

    /// Whether there are shards that nobody has taken.
    pub(super) const fn has_parts(&self) -> bool {
        !self.order.is_empty()
    }

    /// What one of the threads does next: the same shards in each round as far as possible, which are in its
    /// processor's cache, and then what is left of the others', from their ends.
    pub(super) fn take_part(&mut self, thread: usize, threads: usize) -> Option<Part> {
        let own = self.order.iter().rposition(|shard| shard % threads == thread);
        let number = match own {
            Some(place) => self.order.remove(place),
            None if self.order.is_empty() => return None,
            None => self.order.remove(0),
        };
        Some(Part { batch: Arc::clone(&self.batch), task: self.task, number })
    }

    /// A shard is done. Whether it was the last.
    pub(super) const fn end_part(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// All shards are done; nobody is at them.
    pub(super) fn go_on(
        mut self,
        shards: &mut [MutexGuard<'_, Shard>],
        between: &mut Between,
    ) -> Next {
        let Between { known, extent } = between;
        loop {
            if self.number == Self::MOST {
                self.finish_in_order(shards, known);
                break;
            }
            let told = tell_all(shards, known);
            if told == 0 {
                break;
            }
            self.number += 1;
            if told >= Self::MANY {
                self.task = Task::Resume;
                self.plan(|shard| shards[shard].has_rest());
                return Next::Round(self);
            }
            for (number, shard) in shards.iter_mut().enumerate() {
                shard.resume(&self.batch, number);
            }
        }
        let batch = Arc::into_inner(self.batch);
        let mut batch = batch.expect("whoever is done with a part lets go of it before saying so");
        batch.clear();
        relief::relieve(shards, *extent, known);
        Next::Done(Box::new(batch))
    }

    /// Goes on with all that was put off, in the order of the capture.
    fn finish_in_order(&self, shards: &mut [MutexGuard<'_, Shard>], known: &mut KnownPaces) {
        let mut rest: Vec<(u64, usize, Rest)> = Vec::new();
        for (number, shard) in shards.iter_mut().enumerate() {
            let of_shard = shard.take_rest(&self.batch, number);
            rest.extend(of_shard.map(|(ordinal, it)| (ordinal, number, it)));
        }
        // What a connection has shown is told before the next segment.
        rest.sort_by_key(|(ordinal, ..)| *ordinal);
        for (_, number, it) in rest {
            match it {
                Rest::Awaiting(awaiting) => shards[number].tell(*awaiting, known),
                Rest::Packet(index) => {
                    let (located, seen) = self.batch.get(number, index as usize);
                    shards[number].handle(located, &seen, known);
                }
            }
        }
    }
}

/// Tells the connections that wait what others have shown, in the order of the capture. How many
/// they are.
fn tell_all(shards: &mut [MutexGuard<'_, Shard>], known: &mut KnownPaces) -> usize {
    let reopening = shards.iter().filter_map(|it| it.reopening()).min().unwrap_or(u64::MAX);
    let awaiting = shards.iter_mut().flat_map(|it| it.awaiting());
    let mut awaiting: Vec<_> = awaiting.filter(|it| it.ordinal <= reopening).collect();
    awaiting.sort_unstable_by_key(|it| it.ordinal);
    for it in &mut awaiting {
        it.paces = known.add(it.hosts, &it.paces);
        it.told = true;
    }
    awaiting.len()
}
