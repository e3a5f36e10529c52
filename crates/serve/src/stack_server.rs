//! The server on Ackwise's own TCP over a TUN device, for what the kernel's TCP does not have: an agreement on which
//! end holds TIME-WAIT.
//!
//! One thread drives all connections. Of a behaviour, what is about answers and persistent connections holds; its plan
//! of writes does not: each response is written as far as the send buffer takes it.

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    time::{Duration, Instant, SystemTime},
};

use ackwise_http::{RequestParser, behaviour::Outlook};
use ackwise_linux::{
    ConnectionId, TunDevice, TunStack,
    stack::{Listen, StackOptions, Tap},
};
use ackwise_tcp::{Event, Policies, TimeWaitReason, policy::ClosePolicy};

use crate::{
    Config, Stats,
    connection::{parse, replies_to},
    counters::Counters,
    limits::READ_SIZE,
    reply::Reply,
    send::Copier,
};

/// A server on a TUN device.
pub struct StackServer {
    stack: TunStack,
    address: SocketAddr,
    config: Config,
    counters: Counters,
    connections: BTreeMap<ConnectionId, Serving>,
    /// Those that are closed, and may be in TIME-WAIT.
    closed: Vec<ConnectionId>,
    buffer: Vec<u8>,
}

/// One connection.
struct Serving {
    parser: RequestParser,
    answered: u32,
    /// What is being sent, and how many bytes of it have been.
    replies: Vec<Reply>,
    sent: u64,
    copier: Copier,
    stage: Stage,
    /// When it began to wait: for a request, or for room in the send buffer.
    since: Instant,
    /// When it has taken too long.
    deadline: Instant,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    Open,
    /// No request follows what is being sent.
    Last,
    /// The client closes, as its CLIENT_CLOSE said.
    ClientCloses,
    /// This end has closed, and reads to the client's FIN.
    Closing,
}

impl StackServer {
    /// A server on `device`, at the port of `config`, with `close` for its connections.
    ///
    /// # Errors
    ///
    /// If no descriptors are left, or the port of `config` is 0.
    pub fn start(device: TunDevice, config: Config, close: ClosePolicy) -> io::Result<Self> {
        Self::on(TunStack::new(device, StackOptions::default())?, config, close)
    }

    /// The same on a stack with other options.
    ///
    /// # Errors
    ///
    /// If the port of `config` is 0, or has a listener.
    pub fn on(mut stack: TunStack, config: Config, close: ClosePolicy) -> io::Result<Self> {
        let port = config.bind.port();
        if port == 0 {
            let text = "port 0 is not supported on a TUN device (expected 1 to 65535)";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let address = (stack.device().v4().ours, port).into();
        let policies = Policies { close, ..Policies::LINUX_6 };
        let listen = Listen {
            config: ackwise_tcp::Config::new(policies),
            backlog: config.limits.connections,
            tap: Tap::Off,
        };
        stack.listen(port, listen).map_err(io::Error::other)?;
        Ok(Self {
            stack,
            address,
            config,
            counters: Counters::default(),
            connections: BTreeMap::new(),
            closed: Vec::new(),
            buffer: vec![0; READ_SIZE],
        })
    }

    /// Where it listens: the stack's address on the device.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The event counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.counters.stats()
    }

    /// The stack, for its counters and the number of its connections.
    #[must_use]
    pub const fn stack(&self) -> &TunStack {
        &self.stack
    }

    /// Why connections are in TIME-WAIT at this end now, one entry for each.
    #[must_use]
    pub fn time_wait(&self) -> Vec<TimeWaitReason> {
        let ends = self.closed.iter().chain(self.connections.keys());
        ends.filter_map(|id| self.stack.endpoint(*id)?.time_wait_reason()).collect()
    }

    /// Serves until `deadline`, or until one wake-up's packets are handled.
    ///
    /// # Errors
    ///
    /// If the device was removed.
    pub fn poll(&mut self, deadline: Instant) -> io::Result<()> {
        self.stack.poll(deadline.min(Instant::now() + SWEEP_INTERVAL))?;
        while let Some(id) = self.stack.accept(self.address.port()) {
            self.admit(id);
        }
        while let Some((id, event)) = self.stack.poll_event() {
            match event {
                Event::Reset | Event::TimedOut(_) | Event::Closed => self.release(id),
                Event::PeerClosed => {
                    self.serve(id);
                    if self.connections.get(&id).is_some_and(|it| it.replies.is_empty()) {
                        self.release(id);
                    }
                }
                _ => self.serve(id),
            }
        }
        self.sweep(Instant::now());
        Ok(())
    }

    fn admit(&mut self, id: ConnectionId) {
        let now = Instant::now();
        if self.connections.len() >= self.config.limits.connections && !self.make_room(now) {
            self.counters.count_refused();
            self.stack.abort(id);
            return self.stack.release(id);
        }
        self.counters.count_accepted();
        let mut parser = RequestParser::new();
        if self.config.client_close {
            parser = parser.with_client_close();
        }
        if self.config.getweb {
            parser = parser.with_getweb();
        }
        let serving = Serving {
            parser,
            answered: 0,
            replies: Vec::new(),
            sent: 0,
            copier: Copier::default(),
            stage: Stage::Open,
            since: now,
            deadline: now + self.config.limits.request,
        };
        self.connections.insert(id, serving);
        self.serve(id);
    }

    /// Closes a connection for a new one, if one can be spared: first the one that has waited longest for a request or
    /// for the client's FIN, as in nginx (`ngx_drain_connections`), then the one that has waited longest for room in
    /// the send buffer. Without this, 256 clients that send nothing would shut out all others.
    fn make_room(&mut self, now: Instant) -> bool {
        let spared = self.connections.iter().filter_map(|(id, serving)| {
            let answering = !serving.replies.is_empty();
            let waits = !answering || now.duration_since(serving.since) >= STALL;
            waits.then_some((answering, serving.since, *id))
        });
        let Some((_, _, id)) = spared.min() else { return false };
        self.counters.count_displaced();
        self.release(id);
        true
    }

    /// Sends and reads until neither makes progress.
    fn serve(&mut self, id: ConnectionId) {
        let Some(mut serving) = self.connections.remove(&id) else { return };
        while self.send(id, &mut serving) && self.read(id, &mut serving) {}
        if serving.stage == Stage::Last && serving.replies.is_empty() {
            self.stack.close(id);
            serving.stage = Stage::Closing;
            serving.deadline = Instant::now() + self.config.limits.linger;
        }
        self.connections.insert(id, serving);
    }

    /// Sends what is pending. Returns whether all of it is in the send buffer.
    fn send(&mut self, id: ConnectionId, serving: &mut Serving) -> bool {
        let all: u64 = serving.replies.iter().map(Reply::length).sum();
        while serving.sent < all {
            let copied = match serving.copier.copy(&serving.replies, serving.sent..all) {
                Ok(copied) => self.stack.write(id, copied),
                Err(_) => {
                    // A file is not what its length was taken from.
                    self.stack.abort(id);
                    serving.replies.clear();
                    return false;
                }
            };
            if copied == 0 {
                return false;
            }
            serving.sent += copied as u64;
            serving.since = Instant::now();
        }
        for _ in serving.replies.drain(..) {
            self.counters.count_answer();
        }
        serving.sent = 0;
        true
    }

    /// Reads once. Returns whether there was anything.
    fn read(&mut self, id: ConnectionId, serving: &mut Serving) -> bool {
        let bytes = self.stack.read(id, &mut self.buffer);
        if bytes == 0 || serving.stage != Stage::Open {
            return bytes > 0;
        }
        let batch = parse(&mut serving.parser, &self.buffer[..bytes]);
        serving.replies =
            replies_to(&batch.requests, &self.config, &self.counters, &mut serving.answered);
        let now = Instant::now();
        let limits = &self.config.limits;
        serving.deadline = match serving.replies.last() {
            Some(_) => now + limits.response,
            None => serving.deadline,
        };
        if serving.replies.last().is_some_and(|reply| reply.outlook == Outlook::Closes) {
            serving.stage = Stage::Last;
        } else if batch.client_closes {
            self.counters.count_client_close();
            serving.stage = Stage::ClientCloses;
            serving.deadline = now + limits.linger;
        } else if let Some(error) = batch.broken {
            serving.replies.push(Reply::to_error(&error.kind, SystemTime::now()));
            serving.stage = Stage::Last;
        }
        true
    }

    /// Closes, if that has not happened, and leaves the rest to TCP.
    fn release(&mut self, id: ConnectionId) {
        self.stack.release(id);
        self.forget(id);
    }

    fn forget(&mut self, id: ConnectionId) {
        self.connections.remove(&id);
        self.closed.push(id);
        if self.closed.len() >= CLOSED_LIMIT {
            let Self { closed, stack, .. } = self;
            closed.retain(|id| stack.endpoint(*id).is_some());
        }
    }

    /// Ends what takes too long: a slow client gets a FIN, one that does not close is left to TCP.
    fn sweep(&mut self, now: Instant) {
        let late =
            |(id, serving): (&ConnectionId, &Serving)| (serving.deadline <= now).then_some(*id);
        let late: Vec<_> = self.connections.iter().filter_map(late).collect();
        for id in late {
            self.release(id);
        }
    }
}

/// How long a client may take nothing of a response when its place is needed (our choice): longer than a few
/// retransmissions, shorter than the time limit of a response.
const STALL: Duration = Duration::from_secs(5);
/// How late a timeout may be noticed (our choice).
const SWEEP_INTERVAL: Duration = Duration::from_millis(50);
/// The stack holds at most half as many, so at this length at least half of the entries are stale.
const CLOSED_LIMIT: usize = 2 * 65_536;
