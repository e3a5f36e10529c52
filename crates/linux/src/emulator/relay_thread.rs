//! The thread that both emulators run: it sleeps, takes a turn when packets come or are due, and stops when asked.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use nix::sys::eventfd::{EfdFlags, EventFd};

use super::{EmulatorError, ProcessorWatch, Scheduling, processor_watch::Pauses};
use crate::wake::Wake;

/// What moves packets, without the loop around it.
pub(super) trait Relay: Send + 'static {
    /// What it did.
    type Report: Send + 'static;

    /// Delivers what is due, and takes some of what has come.
    fn turn(&mut self) -> io::Result<()>;

    /// When the next turn is due, if a packet is in flight.
    fn poll_timeout(&self) -> Option<Instant>;

    /// The devices that wake the thread when they are readable.
    fn sources(&self) -> Vec<BorrowedFd<'_>>;

    /// Ends it; `course` is what the thread observed of itself.
    fn report(self, course: Course) -> Self::Report;
}

/// How a relay's thread ran.
pub(super) struct Course {
    pub(super) scheduling: Scheduling,
    pub(super) pauses: Pauses,
    pub(super) ran: Duration,
}

/// A running relay. Dropping it stops it.
#[derive(Debug)]
pub(super) struct RelayThread<R> {
    stop: Arc<Stop>,
    /// `None` after it was joined.
    thread: Option<JoinHandle<io::Result<R>>>,
}

impl<R: Send + 'static> RelayThread<R> {
    /// Starts a thread named `name`.
    pub(super) fn start(name: &str, relay: impl Relay<Report = R>) -> io::Result<Self> {
        let stop = Arc::new(Stop::new()?);
        let sources = relay.sources().into_iter().chain([stop.bell.as_fd()]);
        let wake = Wake::new(&sources.collect::<Vec<_>>())?;
        let asked = Arc::clone(&stop);
        let thread = thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || run(relay, &asked, wake))?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl<R> RelayThread<R> {
    /// Stops it, and returns its report.
    ///
    /// # Panics
    ///
    /// If its thread panicked.
    pub(super) fn stop(mut self) -> Result<R, EmulatorError> {
        self.stop.ask();
        let thread = self.thread.take().expect("only this and `drop` join it, and both end it");
        match thread.join() {
            Ok(result) => result.map_err(EmulatorError::Ended),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl<R> Drop for RelayThread<R> {
    fn drop(&mut self) {
        self.stop.ask();
        if let Some(thread) = self.thread.take() {
            // The result is only available from `stop`.
            let _ = thread.join();
        }
    }
}

fn run<T: Relay>(mut relay: T, stop: &Stop, mut wake: Wake) -> io::Result<T::Report> {
    let scheduling = Scheduling::prefer_round_robin();
    let watch = ProcessorWatch::start()?;
    let began = Instant::now();
    while !stop.is_asked() {
        relay.turn()?;
        wake.sleep(relay.poll_timeout().unwrap_or_else(|| Instant::now() + IDLE))?;
    }
    let ran = began.elapsed();
    Ok(relay.report(Course { scheduling, pauses: watch.stop_and_list(), ran }))
}

/// Signals the thread to stop.
#[derive(Debug)]
struct Stop {
    asked: AtomicBool,
    /// Wakes the thread. It is never read, so it stays readable once signalled.
    bell: EventFd,
}

impl Stop {
    fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self { asked: AtomicBool::new(false), bell: EventFd::from_flags(flags)? })
    }

    fn ask(&self) {
        self.asked.store(true, Ordering::Release);
        // Fails only after 2^64 writes, when it is readable anyway.
        let _ = self.bell.write(1);
    }

    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// Packets taken from one device between reads of the clock (our choice): each may delay due
/// packets by about 3 us.
pub(super) const PACKETS_PER_TURN: usize = 16;
/// IPv4's limit, whatever the device's current MTU: packets are never truncated.
pub(super) const LARGEST_PACKET: usize = 65_535;
/// Sleep when nothing is in flight (our choice); packets and the stop signal wake earlier.
const IDLE: Duration = Duration::from_secs(1);
