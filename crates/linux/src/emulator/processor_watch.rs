//! Measures how long processors do not run a runnable thread.
//!
//! A hypervisor that takes a processor away, or a real-time thread that keeps it, delays programs,
//! the kernel and captures alike, without a trace in the packets. One thread per processor
//! repeatedly sleeps for [`PERIOD`] and records how late it wakes.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};

use super::{Disturbance, Scheduling};

/// Watches the processors that the calling thread may use, until it is stopped or dropped.
///
/// ```
/// use ackwise_linux::emulator::ProcessorWatch;
///
/// let watch = ProcessorWatch::start()?;
/// // ... measure something ...
/// println!("no processor was away for longer than {:.1?}", watch.stop());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "dropping it ends the watch"]
pub struct ProcessorWatch {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Pauses>>,
}

/// Pauses of the processors.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Pauses {
    /// The longest time for which a processor did not run its thread.
    pub longest: Duration,
    /// Those longer than [`Disturbance::PAUSE`]: from when until when. At most
    /// [`Pauses::MAX_PER_PROCESSOR`] of each processor, the first ones.
    pub long: Vec<[Instant; 2]>,
}

impl Pauses {
    /// Our choice: with more, nothing was measured anyway.
    pub const MAX_PER_PROCESSOR: usize = 4096;

    fn record(&mut self, asleep_since: Instant, woken: Instant) {
        let pause = (woken - asleep_since).saturating_sub(PERIOD);
        self.longest = self.longest.max(pause);
        if pause > Disturbance::PAUSE && self.long.len() < Self::MAX_PER_PROCESSOR {
            self.long.push([asleep_since, woken]);
        }
    }
}

/// Sleep of each thread (our choice): a quarter of the shortest pause that counts.
const PERIOD: Duration = Duration::from_millis(1);
/// Maximum number of watched processors (our choice).
const MAX_PROCESSORS: usize = 64;

impl ProcessorWatch {
    /// Starts a thread for each processor, under SCHED_RR if permitted.
    ///
    /// # Errors
    ///
    /// If the kernel refuses a thread, or does not report the processors.
    pub fn start() -> io::Result<Self> {
        let allowed = sched_getaffinity(THIS_THREAD)?;
        let mut watch = Self { stop: Arc::default(), threads: Vec::new() };
        let processors =
            (0..CpuSet::count()).filter(|&processor| allowed.is_set(processor) == Ok(true));
        for processor in processors.take(MAX_PROCESSORS) {
            let stop = Arc::clone(&watch.stop);
            let thread = thread::Builder::new().name("watch".to_owned());
            watch.threads.push(thread.spawn(move || watch_one(processor, &stop))?);
        }
        Ok(watch)
    }

    /// Stops the threads. Returns the longest time for which a processor did not run its thread.
    #[must_use]
    pub fn stop(self) -> Duration {
        self.stop_and_list().longest
    }

    /// Stops the threads. Returns the pauses of all processors.
    #[must_use]
    pub fn stop_and_list(mut self) -> Pauses {
        self.finish()
    }

    fn finish(&mut self) -> Pauses {
        self.stop.store(true, Ordering::Release);
        let mut all = Pauses::default();
        // These threads do not panic.
        for pauses in self.threads.drain(..).filter_map(|it| it.join().ok()) {
            all.longest = all.longest.max(pauses.longest);
            all.long.extend(pauses.long);
        }
        all
    }
}

impl Drop for ProcessorWatch {
    fn drop(&mut self) {
        self.finish();
    }
}

fn watch_one(processor: usize, stop: &AtomicBool) -> Pauses {
    let mut only = CpuSet::new();
    // If its processor has been removed, the thread watches the one it runs on.
    let _ = only.set(processor).and_then(|()| sched_setaffinity(THIS_THREAD, &only));
    // Above the programs and the emulator, so that they do not appear as pauses.
    let _ = Scheduling::prefer_before_round_robin();
    let mut pauses = Pauses::default();
    while !stop.load(Ordering::Acquire) {
        let asleep_since = Instant::now();
        thread::sleep(PERIOD);
        pauses.record(asleep_since, Instant::now());
    }
    pauses
}

/// The calling thread, for `sched_setaffinity(2)`.
const THIS_THREAD: Pid = Pid::from_raw(0);
