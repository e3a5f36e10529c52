//! Ctrl-C and SIGTERM: the work is dropped, not killed, so that whatever it set up is taken down.

use std::{
    any::Any,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI32, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use ackwise_text::output_file::discard_unfinished;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
    low_level,
};

use super::{outcome::Failure, privileges};

/// Asks whether the work is still wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    stopped: Arc<AtomicBool>,
}

impl Wanted {
    /// Does not return once the user has given up: it unwinds, past every `Drop`, to
    /// [`until_interrupted`].
    ///
    /// Unwinding is how work that only reports its progress can be left at any such point; no panic
    /// is reported, because none has happened.
    pub(crate) fn or_unwind(&self) {
        if self.stopped.load(Ordering::Relaxed) {
            panic::resume_unwind(Box::new(Abandoned));
        }
    }
}

/// What [`Wanted::or_unwind`] unwinds with.
struct Abandoned;

/// Does `work` on a thread of its own, until it is done or the user interrupts it.
///
/// After an interrupt the work has [`CLEAN_UP_LIMIT`] to notice; a second interrupt does not wait.
pub(crate) fn until_interrupted<T: Send + 'static>(
    work: impl FnOnce(&Wanted) -> T + Send + 'static,
) -> Result<T, Failure> {
    let (tell, hear) = mpsc::channel();
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(Failure::Signals)?;
    let watcher = tell.clone();
    thread::spawn(move || {
        privileges::give_up();
        for signal in signals.forever() {
            // The command has ended if nobody listens.
            let _ = watcher.send(Event::Signal(signal));
        }
    });
    let wanted = Wanted::default();
    let wanted_there = wanted.clone();
    thread::spawn(move || {
        let end = panic::catch_unwind(AssertUnwindSafe(|| work(&wanted_there)));
        let _ = tell.send(Event::Ended(end));
    });
    // Both threads have started with what they need; this one only waits, and writes files.
    privileges::give_up();
    match hear.recv().expect("the watcher holds a sender for as long as the process lives") {
        Event::Ended(Ok(answer)) => Ok(answer),
        Event::Ended(Err(payload)) => panic::resume_unwind(payload),
        Event::Signal(signal) => {
            wanted.stopped.store(true, Ordering::Relaxed);
            // Whatever comes first: the end of the work, another signal, or the limit.
            let _ = hear.recv_timeout(CLEAN_UP_LIMIT);
            Err(Failure::Interrupted { signal: u8::try_from(signal).unwrap_or(0) })
        }
    }
}

/// A flag for work that ends early and well when it is asked to: a first signal sets it, a second one ends
/// the process at once.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    asked: Arc<AtomicBool>,
    by: Arc<AtomicI32>,
}

impl Stop {
    /// From now on SIGINT and SIGTERM ask to stop.
    pub(crate) fn on_signal() -> Result<Self, Failure> {
        Self::on(&[SIGINT, SIGTERM])
    }

    /// The same for SIGHUP, for work that leaves something behind; not if it is ignored, as nohup wants it.
    pub(crate) fn on_hangup_too() -> Result<Self, Failure> {
        match ignores_hangup() {
            true => Self::on_signal(),
            false => Self::on(&[SIGINT, SIGTERM, SIGHUP]),
        }
    }

    fn on(signals: &[i32]) -> Result<Self, Failure> {
        let stop = Self { asked: Arc::default(), by: Arc::default() };
        let mut signals = Signals::new(signals).map_err(Failure::Signals)?;
        let listener = stop.clone();
        thread::spawn(move || {
            privileges::give_up();
            for signal in signals.forever() {
                listener.handle(signal);
            }
        });
        Ok(stop)
    }

    fn handle(&self, signal: i32) {
        self.by.store(signal, Ordering::Relaxed);
        if self.asked.swap(true, Ordering::Relaxed) {
            end_at_once(signal);
        }
    }

    /// Whether it was asked to.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Ends work that looks, as a signal would.
    pub(crate) fn ask(&self) {
        self.asked.store(true, Ordering::Relaxed);
    }

    /// The same for work that looks by itself.
    pub(crate) fn asked(&self) -> &Arc<AtomicBool> {
        &self.asked
    }

    /// By which signal.
    pub(crate) fn signal(&self) -> Option<u8> {
        u8::try_from(self.by.load(Ordering::Relaxed)).ok().filter(|signal| *signal != 0)
    }
}

/// By `/proc`, where there is one: elsewhere, a hangup ends the process as it does by default.
fn ignores_hangup() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return true };
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}

fn end_at_once(signal: i32) {
    discard_unfinished();
    low_level::exit(128 + signal);
}

enum Event<T> {
    Ended(Result<T, Box<dyn Any + Send>>),
    Signal(i32),
}

/// Nobody wants to wait longer after Ctrl-C. What is not taken down by then goes with the process.
const CLEAN_UP_LIMIT: Duration = Duration::from_secs(1);
