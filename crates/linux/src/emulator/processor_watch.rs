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

use super::Scheduling;

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
    threads: Vec<JoinHandle<Duration>>,
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
            watch.threads.push(thread.spawn(move || longest_pause(processor, &stop))?);
        }
        Ok(watch)
    }

    /// Stops the threads. Returns the longest time for which a processor did not run its thread.
    #[must_use]
    pub fn stop(mut self) -> Duration {
        self.finish()
    }

    fn finish(&mut self) -> Duration {
        self.stop.store(true, Ordering::Release);
        // These threads do not panic.
        self.threads.drain(..).filter_map(|it| it.join().ok()).max().unwrap_or_default()
    }
}

impl Drop for ProcessorWatch {
    fn drop(&mut self) {
        self.finish();
    }
}

fn longest_pause(processor: usize, stop: &AtomicBool) -> Duration {
    let mut only = CpuSet::new();
    // If its processor has been removed, the thread watches the one it runs on.
    let _ = only.set(processor).and_then(|()| sched_setaffinity(THIS_THREAD, &only));
    // Above the programs and the emulator, so that they do not appear as pauses.
    let _ = Scheduling::prefer_before_round_robin();
    let mut longest = Duration::ZERO;
    while !stop.load(Ordering::Acquire) {
        let asleep_since = Instant::now();
        thread::sleep(PERIOD);
        longest = longest.max(asleep_since.elapsed().saturating_sub(PERIOD));
    }
    longest
}

/// The calling thread, for `sched_setaffinity(2)`.
const THIS_THREAD: Pid = Pid::from_raw(0);
