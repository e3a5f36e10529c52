//! Threads that judge batches of packets together.
//!
//! Each of them takes what is next: one shard's part of the batch that is under way. Whoever is done last with that
//! says what comes next, so that nobody waits for somebody in particular. The thread that reads works, too, and
//! reads on when it has nothing else to do.

mod plan;
mod round;

use std::{
    any::Any,
    hint,
    num::NonZeroUsize,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
};

use self::{
    plan::Plan,
    round::{Next, Round},
};
use super::{batch::Batch, endpoint_pair::EndpointPair, shard::Shard};
use crate::{attribution::KnownPaces, limits::Extent};

/// All connections, by parts that know nothing of each other, and those who judge them.
#[derive(Debug)]
pub(crate) struct Crew {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    shards: Box<[Mutex<Shard>]>,
    between: Mutex<Between>,
    plan: Mutex<Plan>,
    /// How often the plan has changed in a way that somebody may wait for.
    changes: AtomicU64,
    changed: Condvar,
}

/// What is used only while nobody is at the shards.
#[derive(Debug, Default)]
pub(crate) struct Between {
    pub known: KnownPaces,
    /// How much of what the limits allow is kept.
    pub extent: Extent,
}

impl Crew {
    /// The caller's thread, for this number of shards.
    pub(crate) fn new(shards: usize) -> Self {
        let shared = Shared {
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            between: Mutex::default(),
            plan: Mutex::default(),
            changes: AtomicU64::new(0),
            changed: Condvar::new(),
        };
        Self { shared: Arc::new(shared), helpers: Vec::new() }
    }

    /// From now on with as many threads beside the caller's as the system gives, at most `helpers`.
    pub(crate) fn hire(&mut self, helpers: usize) {
        self.dismiss();
        self.shared.plan().is_over = false;
        let start = |number| {
            let shared = Arc::clone(&self.shared);
            let work = move || shared.help(number);
            thread::Builder::new().name("explain".to_owned()).spawn(work).ok()
        };
        let most = self.shards().saturating_sub(1);
        self.helpers = (1..=helpers.min(most)).map_while(start).collect();
        self.shared.plan().threads = self.helpers.len() + 1;
    }

    fn dismiss(&mut self) {
        self.shared.plan().is_over = true;
        self.shared.note_change();
        for helper in self.helpers.drain(..) {
            // A panic has been handed on already, or is being handled.
            let _ = helper.join();
        }
    }

    /// How many threads there are.
    pub(crate) const fn threads(&self) -> NonZeroUsize {
        NonZeroUsize::MIN.saturating_add(self.helpers.len())
    }

    /// How many shards there are.
    pub(crate) fn shards(&self) -> usize {
        self.shared.shards.len()
    }

    /// One of them.
    pub(crate) fn shard(&self, number: usize) -> MutexGuard<'_, Shard> {
        self.shared.shard(number)
    }

    /// That of a connection.
    pub(crate) fn shard_of(&self, pair: &EndpointPair) -> MutexGuard<'_, Shard> {
        self.shard(pair.part(self.shards()))
    }

    /// All of them. Nobody is at them.
    pub(crate) fn lock_all(&self) -> Vec<MutexGuard<'_, Shard>> {
        self.shared.lock_all()
    }

    /// What is used only while nobody is at them.
    pub(crate) fn between(&self) -> MutexGuard<'_, Between> {
        self.shared.between()
    }

    /// Has a batch judged after those before it. Gives an empty one, once it is time to fill that.
    pub(crate) fn submit(&self, batch: Batch) -> Batch {
        let mut plan = self.shared.plan();
        plan.waiting.push_back(batch);
        if plan.is_between_batches() {
            plan.begin_next();
        }
        drop(plan);
        self.shared.note_change();
        let is_alone = self.helpers.is_empty();
        self.work(|plan| if is_alone { plan.is_done() } else { plan.wants_more() });
        self.shared.plan().empty.pop().unwrap_or_default()
    }

    /// Helps until all batches are judged.
    pub(crate) fn finish(&self) {
        self.work(Plan::is_done);
    }

    /// # Panics
    ///
    /// If a helper has panicked.
    fn work(&self, is_enough: impl Fn(&Plan) -> bool) {
        if let Err(what) = self.shared.work(0, is_enough) {
            panic::resume_unwind(what);
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.dismiss();
    }
}

/// Whoever panics with a lock takes the whole analysis down.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// Looks before somebody who waits sleeps: some 30 us. What is waited for is mostly about to happen, and to sleep
    /// and be woken takes as long as the rest of a shard. Our choice.
    const LOOKS: u32 = 1_000;

    fn plan(&self) -> MutexGuard<'_, Plan> {
        lock(&self.plan)
    }

    fn between(&self) -> MutexGuard<'_, Between> {
        lock(&self.between)
    }

    fn shard(&self, number: usize) -> MutexGuard<'_, Shard> {
        lock(&self.shards[number])
    }

    fn lock_all(&self) -> Vec<MutexGuard<'_, Shard>> {
        self.shards.iter().map(lock).collect()
    }

    /// What a helper does, until all is over.
    fn help(&self, thread: usize) {
        let work = AssertUnwindSafe(|| self.work(thread, |plan| plan.is_over));
        if let Err(what) = panic::catch_unwind(work) {
            self.plan().panic = Some(what);
            self.note_change();
        }
    }

    /// Does what nobody else does, until it is enough. An error is what somebody else has panicked with.
    fn work(
        &self,
        thread: usize,
        is_enough: impl Fn(&Plan) -> bool,
    ) -> Result<(), Box<dyn Any + Send>> {
        let mut plan = self.plan();
        loop {
            if thread == 0
                && let Some(what) = plan.panic.take()
            {
                return Err(what);
            }
            if is_enough(&plan) {
                return Ok(());
            }
            let Some(part) = plan.take_part(thread) else {
                plan = self.wait(plan);
                continue;
            };
            drop(plan);
            part.judge(&mut self.shard(part.number));
            drop(part);
            plan = self.plan();
            if let Some(round) = plan.end_part() {
                drop(plan);
                let next = self.go_on(round);
                plan = self.plan();
                plan.go_on(next);
                drop(plan);
                self.note_change();
                plan = self.plan();
            }
        }
    }

    /// All shards are done with a round.
    fn go_on(&self, round: Round) -> Next {
        round.go_on(&mut self.lock_all(), &mut self.between())
    }

    /// Wakes those who wait for the plan to change, which it has.
    fn note_change(&self) {
        let plan = self.plan();
        self.changes.fetch_add(1, Ordering::Release);
        let somebody_sleeps = plan.asleep > 0;
        drop(plan);
        if somebody_sleeps {
            self.changed.notify_all();
        }
    }

    /// Waits for a change of the plan.
    fn wait<'a>(&'a self, plan: MutexGuard<'a, Plan>) -> MutexGuard<'a, Plan> {
        let before = self.changes.load(Ordering::Acquire);
        drop(plan);
        for _ in 0..Self::LOOKS {
            if self.changes.load(Ordering::Acquire) != before {
                return self.plan();
            }
            hint::spin_loop();
        }
        let mut plan = self.plan();
        if self.changes.load(Ordering::Acquire) == before {
            plan.asleep += 1;
            plan = self.changed.wait(plan).unwrap_or_else(PoisonError::into_inner);
            plan.asleep -= 1;
        }
        plan
    }
}
