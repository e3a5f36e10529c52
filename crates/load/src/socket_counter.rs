//! Both ends' socket tables, counted on a thread of its own: a look takes milliseconds, which would hold
//! the load up.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel},
    thread,
    time::{Duration, Instant},
};

use super::ends::End;

/// The ends that the kernel can be asked about. Why not, for one that it cannot.
pub(super) struct Ends {
    pub(super) server: Result<End, String>,
    /// `None`: the transport knows.
    pub(super) clients: Option<Result<End, String>>,
}

/// What both held at one moment.
pub(super) struct Counts {
    /// When the look began.
    pub(super) at: Instant,
    pub(super) took: Duration,
    pub(super) server: Result<u64, String>,
    pub(super) clients: Option<Result<u64, String>>,
}

/// Asks for a count, and hears of it later. The thread ends with it.
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

    /// Asks, unless an answer is awaited already.
    pub(super) fn start(&mut self) {
        self.asked = self.asked || self.ask.send(()).is_ok();
    }

    /// The answer, if it has come.
    pub(super) fn poll(&mut self) -> Option<Counts> {
        match self.counts.try_recv() {
            Ok(counts) => {
                self.asked = false;
                Some(counts)
            }
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => None,
        }
    }

    /// The answer, which may take so long.
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
