//! Threads that judge a batch of packets together.

use std::{
    cmp::Reverse,
    hint, panic,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvError, SyncSender, TryRecvError, sync_channel},
    },
    thread::{self, JoinHandle},
};

use super::{batch::Batch, endpoint_pair::EndpointPair, shard::Shard};

/// All connections, by parts that know nothing of each other.
#[derive(Debug)]
pub(crate) struct Shards(Box<[Mutex<Shard>]>);

impl Shards {
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::default()).collect())
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn lock(&self, number: usize) -> MutexGuard<'_, Shard> {
        // Who panics with it takes the whole analysis down.
        self.0[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn of(&self, pair: &EndpointPair) -> MutexGuard<'_, Shard> {
        self.lock(pair.part(self.len()))
    }

    pub(crate) fn lock_all(&self) -> impl Iterator<Item = MutexGuard<'_, Shard>> {
        (0..self.len()).map(|number| self.lock(number))
    }
}

/// A batch that every shard goes through once. Whoever has time takes the next shard.
#[derive(Debug)]
pub(crate) struct Round {
    shards: Arc<Shards>,
    batch: Batch,
    task: Task,
    /// The shards, those with most to do first: so the threads are done at about the same time.
    order: Box<[usize]>,
    /// Whether somebody has taken it, by shard.
    taken: Box<[AtomicBool]>,
    /// How many threads go through them.
    threads: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Task {
    Handle,
    Resume,
}

impl Round {
    /// One for the threads of a crew.
    pub(crate) fn new(shards: &Arc<Shards>, batch: Batch, crew: &Crew) -> Arc<Self> {
        let mut order: Box<[usize]> = (0..shards.len()).collect();
        order.sort_by_key(|&shard| Reverse(batch.part(shard)));
        let taken = order.iter().map(|_| AtomicBool::new(false)).collect();
        let (shards, threads) = (Arc::clone(shards), crew.helpers.len() + 1);
        Arc::new(Self { shards, batch, task: Task::Handle, order, taken, threads })
    }

    /// The same batch once more, for what was put off. Nobody is at it any more.
    pub(crate) fn resume(this: Arc<Self>) -> Arc<Self> {
        let parts = Self::into_parts(this);
        parts.taken.iter().for_each(|it| it.store(false, Ordering::Relaxed));
        Arc::new(Self { task: Task::Resume, ..parts })
    }

    /// The batch.
    pub(crate) const fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The batch, at which nobody is any more.
    pub(crate) fn into_batch(this: Arc<Self>) -> Batch {
        Self::into_parts(this).batch
    }

    fn into_parts(this: Arc<Self>) -> Self {
        Arc::into_inner(this).expect("helpers let go of a round before they say that it is done")
    }

    /// Does what nobody else does, as one of the threads: the same shards in each round as far as possible, which are
    /// in its processor's cache, and then what is left of the others', from their ends.
    pub(crate) fn work(&self, thread: usize) {
        let is_own = |shard: &&usize| **shard % self.threads == thread;
        let own = self.order.iter().filter(is_own);
        let others = self.order.iter().rev().filter(|it| !is_own(it));
        for &number in own.chain(others) {
            if self.taken[number].swap(true, Ordering::Relaxed) {
                continue;
            }
            let mut shard = self.shards.lock(number);
            match self.task {
                Task::Handle => shard.handle_batch(&self.batch, number),
                Task::Resume => shard.resume(&self.batch, number),
            }
        }
    }
}

/// Threads beside the one that reads.
#[derive(Debug, Default)]
pub(crate) struct Crew {
    helpers: Vec<Helper>,
}

#[derive(Debug)]
struct Helper {
    /// `None` once it is sent home.
    rounds: Option<SyncSender<Arc<Round>>>,
    done: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Crew {
    /// As many as the system gives, at most `helpers`.
    pub(crate) fn new(helpers: usize) -> Self {
        Self { helpers: (1..=helpers).map_while(Helper::start).collect() }
    }

    /// The helpers begin; the caller may do something else meanwhile.
    pub(crate) fn begin(&self, round: &Arc<Round>) {
        for rounds in self.helpers.iter().filter_map(|it| it.rounds.as_ref()) {
            // One that is gone has panicked, which `finish` finds.
            let _ = rounds.send(Arc::clone(round));
        }
    }

    /// Helps, and waits until all is done.
    ///
    /// # Panics
    ///
    /// If a helper has panicked.
    pub(crate) fn finish(&mut self, round: &Round) {
        round.work(0);
        for helper in &mut self.helpers {
            if receive(&helper.done).is_err()
                && let Some(thread) = helper.thread.take()
                && let Err(what) = thread.join()
            {
                panic::resume_unwind(what);
            }
        }
    }
}

/// Waits for a message. Whoever sends it is about to: to sleep and be woken takes as long as the rest of
/// a shard.
fn receive<T>(messages: &Receiver<T>) -> Result<T, RecvError> {
    /// Looks before sleeping: some 30 us. Our choice.
    const LOOKS: u32 = 1_000;
    for _ in 0..LOOKS {
        match messages.try_recv() {
            Ok(message) => return Ok(message),
            Err(TryRecvError::Empty) => hint::spin_loop(),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
        }
    }
    messages.recv()
}

impl Helper {
    /// The thread with this number; the caller's has 0.
    fn start(thread: usize) -> Option<Self> {
        let (rounds, to_do) = sync_channel::<Arc<Round>>(1);
        let (say_done, done) = sync_channel(1);
        let work = move || {
            while let Ok(round) = receive(&to_do) {
                round.work(thread);
                drop(round);
                if say_done.send(()).is_err() {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("explain".to_owned()).spawn(work).ok()?;
        Some(Self { rounds: Some(rounds), done, thread: Some(thread) })
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.rounds = None;
        // Unblocks one that waits to say that it is done.
        while self.done.try_recv().is_ok() {}
        if let Some(thread) = self.thread.take() {
            // A panic has been handed on already, or is being handled.
            let _ = thread.join();
        }
    }
}
