//! Counts the socket tables of both ends on a separate thread: a count takes milliseconds, which
//! would delay the load.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel},
    thread,
    time::{Duration, Instant},
};

use super::{ends::End, time_wait::Held};

/// The ends in the kernel's tables, or why one cannot be inspected.
pub(super) struct Ends {
    pub(super) server: Result<End, String>,
    /// `None` if the transport counts them.
    pub(super) clients: Option<Result<End, String>>,
}

/// The counts at both ends at one moment.
pub(super) struct Counts {
    /// When the count began.
    pub(super) at: Instant,
    pub(super) took: Duration,
    pub(super) server: Result<Held, String>,
    pub(super) clients: Option<Result<Held, String>>,
}

/// Requests counts from its thread, which ends when this is dropped.
pub(super) struct SocketCounter {
    ask: Sender<()>,
    counts: Receiver<Counts>,
    asked: bool,
}

impl SocketCounter {
    pub(super) fn new(mut ends: Ends) -> Self {
        let (ask, asked) = channel();
        let (tell, counts) = channel();
        thread::spawn(move || while asked.recv().is_ok() && tell.send(ends.count()).is_ok() {});
        Self { ask, counts, asked: false }
    }

    /// Requests a count, unless one is pending.
    pub(super) fn start(&mut self) {
        self.asked = self.asked || self.ask.send(()).is_ok();
    }

    /// The count, if it has arrived.
    pub(super) fn poll(&mut self) -> Option<Counts> {
        match self.counts.try_recv() {
            Ok(counts) => {
                self.asked = false;
                Some(counts)
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }

    /// Waits at most `limit` for the count.
    pub(super) fn wait(&mut self, limit: Duration) -> Option<Counts> {
        self.start();
        match self.counts.recv_timeout(limit) {
            Ok(counts) => {
                self.asked = false;
                Some(counts)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }
}

impl Ends {
    /// About how long a count takes.
    pub(super) fn cost(&self) -> Duration {
        let cost = |end: &Result<End, String>| end.as_ref().map_or(Duration::ZERO, End::cost);
        cost(&self.server) + self.clients.as_ref().map_or(Duration::ZERO, cost)
    }

    fn count(&mut self) -> Counts {
        let at = Instant::now();
        let count = |end: &mut Result<End, String>| match end {
            Ok(end) => end.count(),
            Err(why) => Err(why.clone()),
        };
        let server = count(&mut self.server);
        let clients = self.clients.as_mut().map(count);
        Counts { at, took: at.elapsed(), server, clients }
    }
}
