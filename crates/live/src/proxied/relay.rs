//! The reference relay: the four schemes of Okamoto et al. 2001 on kernel sockets, by the rules of `ackwise-tuning`.
//!
//! A connection has a *place* of the N_max that the scheme allows. To get one, a newcomer asks [`Limit::admit`], which
//! names the idle connection that closes for it, or refuses; then the newcomer waits, accepted and unread. Every second,
//! each connection's sender says what buffer it can use, and [`Division`] shares the pool (`buffers`).
//!
//! A document is relayed as it arrives: the thread of a client's connection reads from the server what the client's
//! send buffer takes. So both buffers limit it, as in the paper's Figure 1.
//!
//! A connection counts as idle when its response is written, not when it is acknowledged: the kernel still sends what is
//! in the buffer of a socket that is shut down. Connections to servers have no timeout: theirs, 60 s, is as long as a run.
//!
//! Not here: a cache (the run says what hits), HTTP beyond [`message`], and a limit for clients only.

mod buffers;

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread::Scope,
    time,
};

use ackwise_linux::SocketTable;
use ackwise_sim::{requests::Wanted, scenario::Persistence};
use ackwise_tcp::{ByteCount, Instant, Nanos};
use ackwise_tuning::{Admission, Division, Gain, Idle, Limit, LossEstimate, Register, Spare};

use super::{LOOK, Run, message, message::Form, servers, spawn};
use crate::PlayError;

/// The direction of a connection: to a client, or to a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Direction {
    Down,
    Up,
}

/// The relay, which all its threads share.
pub(super) struct Relay<'a> {
    run: &'a Run<'a>,
    limit: Limit,
    state: Mutex<State>,
    /// A place is free, or a connection is idle that may close for another.
    changed: Condvar,
    began: time::Instant,
    /// Of the proxy's namespace, and of the servers'.
    tables: Mutex<[SocketTable; 2]>,
}

struct State {
    next: u64,
    members: BTreeMap<u64, Member>,
    /// Places taken: by connections to clients, to servers.
    open: [u64; 2],
    /// Those that are idle, likewise.
    idle: [Register<u64>; 2],
    /// Idle connections by server; the one used last is used next.
    free: BTreeMap<u32, Vec<u64>>,
    division: Division,
}

/// A connection with a place.
struct Member {
    stream: TcpStream,
    direction: Direction,
    /// Which server, of a connection to one.
    server: u32,
    /// The address by which its sender knows the other end.
    peer: SocketAddr,
    buffer: ByteCount,
    demand: ByteCount,
    loss: LossEstimate,
    /// Segments and retransmissions of its sender at the last sample.
    sampled: [u64; 2],
    sender: Option<ackwise_tuning::Sender>,
    /// The connection over which the document comes, of one to a client.
    source: Option<u64>,
}

impl<'a> Relay<'a> {
    pub(super) fn new(run: &'a Run<'a>, tables: [SocketTable; 2]) -> Self {
        let proxy = run.proxy;
        let limit = proxy.scheme.limit(proxy.pool, proxy.n_max).expect("the scenario was checked");
        let state = State {
            next: 0,
            members: BTreeMap::new(),
            open: [0; 2],
            idle: [Register::new(), Register::new()],
            free: BTreeMap::new(),
            division: Division::new(proxy.pool, std::iter::empty(), Spare::Keep),
        };
        let (state, changed, tables) = (Mutex::new(state), Condvar::new(), Mutex::new(tables));
        Self { run, limit, state, changed, began: time::Instant::now(), tables }
    }

    /// Starts the thread that accepts, and the one that divides. The calling thread is in the proxy's namespace.
    pub(super) fn start<'scope, 'env>(
        &'scope self,
        scope: &'scope Scope<'scope, 'env>,
        listener: TcpListener,
    ) -> io::Result<()> {
        let failed = |error| match error {
            PlayError::Program(error) => error,
            error => io::Error::other(error),
        };
        buffers::prepare_namespace(self.initial_buffer())?;
        spawn(scope, || self.divides_at_intervals()).map_err(failed)?;
        spawn(scope, move || self.accepts(scope, &listener)).map_err(failed)
    }

    fn accepts<'scope, 'env>(
        &'scope self,
        scope: &'scope Scope<'scope, 'env>,
        listener: &TcpListener,
    ) {
        while !self.run.is_over() {
            let Ok((stream, peer)) = listener.accept() else { continue };
            if self.waits_for_place() {
                let Ok(known) = stream.try_clone() else { continue };
                let key = self.adds(known, Direction::Down, (0, peer));
                let _ = spawn(scope, move || {
                    let _ = self.answers(key, &stream);
                    self.gone(key);
                });
            }
        }
        // Wakes the threads.
        self.lock().members.values().for_each(|it| drop(it.stream.shutdown(Shutdown::Both)));
    }

    /// Answers requests until the client closes, the timeout of idle connections, or the close for a newcomer.
    fn answers(&self, key: u64, stream: &TcpStream) -> io::Result<()> {
        let Persistence::Timeouts { client, .. } = self.run.proxy.persistence else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(client))?;
        let mut requests = BufReader::new(stream);
        while let Some(asked) = message::read_request(&mut requests)? {
            if !self.becomes_busy(key) {
                // It was closed while the request came; the client sends it again.
                break;
            }
            let size = asked.size;
            match asked.server {
                None => {
                    let mut to = stream;
                    write!(to, "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")?;
                    servers::send(to, size, |_| ())?;
                }
                Some(server) => self.relays((key, stream), server, size)?,
            }
            self.becomes_idle(key);
        }
        Ok(())
    }

    /// A miss: the document comes over a connection to its server.
    fn relays(&self, down: (u64, &TcpStream), server: u32, size: u64) -> io::Result<()> {
        let (up, stream) = self.upward(server)?;
        if let Some(member) = self.lock().members.get_mut(&down.0) {
            member.source = Some(up);
        }
        let relayed = self.copies(&stream, down.1, (server, size));
        match relayed {
            Ok(()) => self.becomes_idle(up),
            Err(_) => self.gone(up),
        }
        relayed
    }

    fn copies(
        &self,
        mut up: &TcpStream,
        mut down: &TcpStream,
        (server, size): (u32, u64),
    ) -> io::Result<()> {
        let wanted = Wanted { size, server, hit: false };
        up.write_all(Form::Path.request(&wanted, &self.run.place).as_bytes())?;
        let mut from = BufReader::with_capacity(PIECE, up);
        let head = message::read_response(&mut from)?;
        if head.length != size {
            return Err(io::ErrorKind::InvalidData.into());
        }
        write!(down, "HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n")?;
        let mut from = from.take(size);
        let mut left = size;
        while left > 0 {
            let piece = from.fill_buf()?;
            if piece.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            down.write_all(piece)?;
            let read = piece.len();
            from.consume(read);
            left -= read as u64;
        }
        Ok(())
    }

    /// An idle connection to a server, or a new one when there is a place for it.
    fn upward(&self, server: u32) -> io::Result<(u64, TcpStream)> {
        let mut state = self.lock();
        loop {
            if let Some(key) = state.free.get_mut(&server).and_then(Vec::pop) {
                let stream = state.members.get(&key).map(|member| member.stream.try_clone());
                drop(state);
                self.becomes_busy(key);
                return Ok((key, stream.ok_or(io::ErrorKind::NotFound)??));
            }
            if self.takes_place(&mut state, Direction::Up) {
                break;
            }
            state = self.waits(state)?;
        }
        drop(state);
        let at = SocketAddr::V4(self.run.place.servers[server as usize]);
        let opened = TcpStream::connect_timeout(&at, self.run.left().max(LOOK)).and_then(|it| {
            it.set_nodelay(true)?;
            Ok((it.try_clone()?, it.local_addr()?, it))
        });
        match opened {
            Ok((known, here, stream)) => {
                Ok((self.adds(known, Direction::Up, (server, here)), stream))
            }
            Err(error) => {
                self.lock().open[Direction::Up as usize] -= 1;
                self.changed.notify_all();
                Err(error)
            }
        }
    }

    /// Waits for a client's place; false if the run is over.
    fn waits_for_place(&self) -> bool {
        let mut state = self.lock();
        while !self.takes_place(&mut state, Direction::Down) {
            match self.waits(state) {
                Ok(again) => state = again,
                Err(_) => return false,
            }
        }
        true
    }

    /// Waits until something has changed; an error if the run is over.
    fn waits<'s>(&self, state: MutexGuard<'s, State>) -> io::Result<MutexGuard<'s, State>> {
        if self.run.is_over() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Whether there is a place; an idle connection may have closed for it. Of N_max, clients leave some to servers:
    /// otherwise, misses of clients with all places block each other (docs/decisions/proxy.md).
    fn takes_place(&self, state: &mut State, direction: Direction) -> bool {
        let [down, up] = state.open;
        let is_share = direction == Direction::Down
            && down + self.run.proxy.reserved >= self.limit.connections.get();
        let (open, closes) = match is_share {
            true => (self.limit.connections.get(), Direction::Down),
            false => (down + up, state.longest_idle()),
        };
        let register = &mut state.idle[closes as usize];
        match self.limit.admit(register, open, None, self.now()) {
            Admission::Admit => {}
            Admission::AdmitInsteadOf(closing) => {
                state.removes(closing.key);
                self.run.measures().closed_for_new += 1;
            }
            Admission::Refuse(_) => return false,
        }
        state.open[direction as usize] += 1;
        true
    }

    /// A connection that has a place gets its first buffer.
    fn adds(
        &self,
        stream: TcpStream,
        direction: Direction,
        (server, peer): (u32, SocketAddr),
    ) -> u64 {
        let mut state = self.lock();
        let buffer = self.buffer_for_new(&mut state);
        let key = state.next;
        state.next += 1;
        let (loss, sampled) = (LossEstimate::new(Gain::EIGHTH), [0; 2]);
        let demand = buffer;
        let mut member = Member {
            stream,
            direction,
            server,
            peer,
            buffer,
            demand,
            loss,
            sampled,
            sender: None,
            source: None,
        };
        member.apply(buffer);
        state.members.insert(key, member);
        key
    }

    fn becomes_idle(&self, key: u64) {
        let now = self.now();
        let mut state = self.lock();
        let Some(member) = state.members.get_mut(&key) else { return };
        member.source = None;
        let (direction, server, held) = (member.direction, member.server, member.buffer);
        state.idle[direction as usize].insert(Idle { key, since: now, held });
        if direction == Direction::Up {
            state.free.entry(server).or_default().push(key);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// False if the connection has been closed for another.
    fn becomes_busy(&self, key: u64) -> bool {
        let now = self.now();
        let mut state = self.lock();
        let Some(direction) = state.members.get(&key).map(|it| it.direction) else { return false };
        if let Some(idle) = state.idle[direction as usize].remove(&key) {
            self.reuses_buffer(&mut state, idle, now);
        }
        true
    }

    /// A connection has ended.
    fn gone(&self, key: u64) {
        self.lock().removes(key);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What it protects is changed in one step each.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Instant {
        Instant::EPOCH + Nanos::of(self.began.elapsed())
    }
}

impl State {
    /// Where the longest idle connection is.
    fn longest_idle(&self) -> Direction {
        match [0, 1].map(|at| self.idle[at].oldest().map(|idle| idle.since)) {
            [Some(down), Some(up)] if up < down => Direction::Up,
            [None, Some(_)] => Direction::Up,
            _ => Direction::Down,
        }
    }

    /// Closes a connection and frees its place, once.
    fn removes(&mut self, key: u64) {
        let Some(member) = self.members.remove(&key) else { return };
        self.open[member.direction as usize] -= 1;
        self.idle[member.direction as usize].remove(&key);
        if let Some(free) = self.free.get_mut(&member.server) {
            free.retain(|it| *it != key);
        }
        let _ = member.stream.shutdown(Shutdown::Both);
    }
}

/// Bytes read and written at once: the kernel exceeds a small buffer by one write (our choice).
const PIECE: usize = 4_096;
