//! What both ends of a connection know beside its bytes: the exchanges, as in the simulator.

use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddrV4,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use ackwise_linux::ready::Bell;

/// A request and its response, as ranges of the two streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// Where the request ends in the client's stream.
    pub(crate) request_end: u64,
    /// Where the response ends in the server's stream.
    pub(crate) response_end: u64,
    /// Bytes of the response's head.
    pub(crate) head: u32,
    /// Bytes of its body; [`ENDLESS`](ackwise_sim::bulk::ENDLESS) never ends.
    pub(crate) body: u64,
    /// Files that the response carries.
    pub(crate) files: u32,
    /// What the server needs before it can answer, beside its think time.
    pub(crate) parse: Duration,
}

/// A connection, as its two programs share it.
#[derive(Debug)]
pub(crate) struct Agreed {
    /// By its place in the scenario.
    pub(crate) application: u32,
    /// The client's group and its name for the connection, to tell it something.
    pub(crate) client: (usize, u64),
    shared: Mutex<Asked>,
}

/// What a client has asked for.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// What the server has not begun to answer, oldest first.
    pub(crate) exchanges: VecDeque<Exchange>,
    /// The server is to close when it has answered.
    pub(crate) close: bool,
}

impl Agreed {
    pub(crate) fn new(application: u32, client: (usize, u64)) -> Self {
        Self { application, client, shared: Mutex::default() }
    }

    pub(crate) fn asked(&self) -> MutexGuard<'_, Asked> {
        locked(&self.shared)
    }
}

/// What one thread tells another.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mail {
    /// To the server's: a connection is to be closed that may have nothing to read. It looks at all.
    Close,
    /// To the client's: what the connection with this name sent has wholly arrived.
    Arrived(u64, Instant),
}

/// What the threads share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// When the run began.
    pub(crate) start: Instant,
    /// By the client's address: connections that the server has not accepted.
    pub(crate) opening: Mutex<BTreeMap<SocketAddrV4, Arc<Agreed>>>,
    /// By group.
    pub(crate) boxes: Vec<Mailbox>,
}

/// Messages to one thread, and what wakes it.
#[derive(Debug)]
pub(crate) struct Mailbox {
    pub(crate) mail: Mutex<Vec<Mail>>,
    pub(crate) bell: Bell,
}

impl Shared {
    pub(crate) fn tell(&self, group: usize, mail: Mail) {
        let Some(mailbox) = self.boxes.get(group) else { return };
        locked(&mailbox.mail).push(mail);
        mailbox.bell.ring();
    }

    pub(crate) fn mail(&self, group: usize) -> Vec<Mail> {
        let mailbox = self.boxes.get(group);
        mailbox.map_or_else(Vec::new, |mailbox| std::mem::take(&mut *locked(&mailbox.mail)))
    }

    /// What the server of a new connection has to know.
    pub(crate) fn take(&self, client: SocketAddrV4) -> Option<Arc<Agreed>> {
        locked(&self.opening).remove(&client)
    }

    pub(crate) fn announce(&self, client: SocketAddrV4, agreed: Arc<Agreed>) {
        locked(&self.opening).insert(client, agreed);
    }
}

/// A thread that panicked ends the run anyway.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
