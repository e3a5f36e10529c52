//! The threads of a process that fill a store: each takes one chunk after the other.

use std::{
    collections::BTreeSet,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
};

use ackwise_sim::RunError;
use ackwise_text::OutputFile;

use super::{
    super::{
        row::{Row, RowKey},
        work::{Options, RunAllError, Step, TICK, Watch, share, stopped},
    },
    Store, StoreError,
};

/// Fills the store.
pub(super) fn run(
    store: &Store<'_>,
    options: &Options,
    on_step: &mut dyn FnMut(Step<'_>),
) -> Result<(), RunAllError> {
    let of = store.files.chunks().rows();
    on_step(Step::Planned(of));
    let missing = store.missing()?.len();
    let threads = options.threads.get().min(missing).min(Options::MOST_THREADS);
    let crew = Crew { store, options, cancelled: AtomicBool::new(false), taken: Mutex::default() };
    let members: Vec<Member> = (0..threads).map(|_| Member::default()).collect();
    let (send, receive) = mpsc::sync_channel(0);
    let ended = thread::scope(|scope| {
        for member in &members {
            let (send, crew) = (send.clone(), &crew);
            scope.spawn(move || {
                if let Err(error) = crew.work(member, &send) {
                    // Nobody listens after a failure.
                    let _ = send.send(Err(error));
                }
            });
        }
        drop(send);
        let ended = crew.listen(receive, &members, on_step);
        crew.cancelled.store(true, Ordering::Relaxed);
        ended
    });
    let is_stopped =
        |error: &RunAllError| matches!(error, RunAllError::Run { error: RunError::Stopped, .. });
    let missing = store.missing()?;
    match ended {
        Err(error) if !is_stopped(&error) => Err(error),
        _ if missing.is_empty() => Ok(()),
        _ => Err(RunAllError::Stopped { finished: of - store.rows_of(&missing), of }),
    }
}

/// What the threads of a process have in common.
struct Crew<'a> {
    store: &'a Store<'a>,
    options: &'a Options,
    cancelled: AtomicBool,
    /// Chunks that a thread of this process has, or has had.
    taken: Mutex<BTreeSet<usize>>,
}

/// What others see of a thread.
struct Member {
    clock: Arc<AtomicU64>,
    /// The chunk that it runs although another process has begun it, or [`NONE`].
    doubled: AtomicUsize,
    /// The other process was faster.
    superseded: AtomicBool,
}

impl Default for Member {
    fn default() -> Self {
        let doubled = AtomicUsize::new(NONE);
        Self { clock: Arc::default(), doubled, superseded: AtomicBool::default() }
    }
}

const NONE: usize = usize::MAX;

/// What threads tell.
enum Message {
    /// How many rows are in the store.
    Stored(usize),
    Finished(Box<Row>),
}

type Told = Result<Message, RunAllError>;

/// A chunk to be run.
struct Task {
    chunk: usize,
    file: OutputFile,
    how: How,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum How {
    /// Nobody else has begun it.
    Alone,
    /// Another process has, which may have been left by its machine.
    Doubled,
}

impl Crew<'_> {
    /// Runs chunks until all are there or taken.
    fn work(&self, member: &Member, send: &mpsc::SyncSender<Told>) -> Result<(), RunAllError> {
        while let Some((task, stored)) = self.take()? {
            let Task { chunk, file, how } = task;
            let _ = send.send(Ok(Message::Stored(stored)));
            member.superseded.store(false, Ordering::Relaxed);
            let doubled = if how == How::Doubled { chunk } else { NONE };
            member.doubled.store(doubled, Ordering::Relaxed);
            match self.run_rows(chunk, member, send) {
                Ok(rows) => self.store.write(chunk, file, &rows)?,
                Err(_) if member.superseded.load(Ordering::Relaxed) => self.give_back(chunk),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn run_rows(
        &self,
        chunk: usize,
        member: &Member,
        send: &mpsc::SyncSender<Told>,
    ) -> Result<Vec<Row>, RunAllError> {
        let Options { stop, on, .. } = self.options;
        let experiment = self.store.experiment;
        let flags = [&**stop, &self.cancelled, &member.superseded];
        let mut rows = Vec::new();
        for row in self.store.files.chunks().range(chunk) {
            let place = RowKey::at(row, experiment);
            let mut watch = Watch::new(flags, &member.clock);
            if flags.iter().any(|flag| flag.load(Ordering::Relaxed)) {
                // A run too short to be asked would else go on to the next one.
                return Err(stopped(experiment));
            }
            let row = on.run(experiment, place, &mut watch, (stop, &member.clock));
            member.clock.store(0, Ordering::Relaxed);
            let row = row?;
            let _ = send.send(Ok(Message::Finished(Box::new(row.clone()))));
            rows.push(row);
        }
        Ok(rows)
    }

    /// A chunk that is missing, and how many rows are not. Chunks that no other process has begun come first, from a
    /// random one on, so that processes which start together do not take the same ones.
    fn take(&self) -> Result<Option<(Task, usize)>, StoreError> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let contents = self.store.files.look()?;
        let count = self.store.files.chunks().count();
        let missing: Vec<usize> = contents.missing(count).collect();
        let mut free: Vec<usize> = missing.clone();
        free.retain(|chunk| !taken.contains(chunk));
        if free.is_empty() {
            return Ok(None);
        }
        let begin = random_below(free.len());
        free.rotate_left(begin);
        let (chunk, how) = match free.iter().find(|chunk| !contents.has_begun(**chunk)) {
            Some(chunk) => (*chunk, How::Alone),
            None => (free[0], How::Doubled),
        };
        let file = self.store.files.begin(chunk)?;
        taken.insert(chunk);
        let stored = self.store.files.chunks().rows() - self.store.rows_of(&missing);
        Ok(Some((Task { chunk, file, how }, stored)))
    }

    fn give_back(&self, chunk: usize) {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&chunk);
    }

    /// Listens until all threads have ended, or to the first failure.
    fn listen(
        &self,
        receive: mpsc::Receiver<Told>,
        members: &[Member],
        on_step: &mut dyn FnMut(Step<'_>),
    ) -> Result<(), RunAllError> {
        let clocks: Vec<_> = members.iter().map(|member| Arc::clone(&member.clock)).collect();
        loop {
            match receive.recv_timeout(TICK) {
                Ok(told) => match told? {
                    Message::Stored(rows) => on_step(Step::Stored(rows)),
                    Message::Finished(row) => on_step(Step::Finished(&row)),
                },
                Err(RecvTimeoutError::Timeout) => {
                    on_step(Step::Running(share(&clocks, self.store.experiment)));
                    members.iter().for_each(|member| self.supersede(member));
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
        }
    }

    /// Has a thread give up what another process has finished.
    fn supersede(&self, member: &Member) {
        let doubled = member.doubled.load(Ordering::Relaxed);
        if doubled != NONE && self.store.files.path_of(doubled).exists() {
            member.superseded.store(true, Ordering::Relaxed);
        }
    }
}

/// A number that differs between processes. It decides who does what, and nothing about rows.
fn random_below(count: usize) -> usize {
    let random = RandomState::new().hash_one(count);
    usize::try_from(random % count as u64).unwrap_or(0)
}
