//! Accepts connections, and stops within a bounded time.

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    os::{fd::AsFd, unix::net::UnixStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use ackwise_http::{Behaviour, behaviour::Tail};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use socket2::{Domain, Protocol, Socket, Type};

use crate::{
    Limits, Stats,
    connection::Connection,
    counters::Counters,
    limits::{ACCEPT_PAUSE, STACK_SIZE, STOP_WAIT},
    stop::StopSignal,
};

/// What a server is started with.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Where to listen; port 0 lets the kernel choose.
    pub bind: SocketAddr,
    /// How to answer.
    pub behaviour: Behaviour,
    /// What clients may use.
    pub limits: Limits,
    /// Whether a CLIENT_CLOSE is understood ([`ackwise_http::client_close`]): the connection closes
    /// without a reply. Otherwise it is a method that is not implemented.
    pub client_close: bool,
}

impl Config {
    /// A server on a free port of 127.0.0.1, which does not know CLIENT_CLOSE.
    #[must_use]
    pub fn loopback(behaviour: Behaviour) -> Self {
        let bind = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self { bind, behaviour, limits: Limits::default(), client_close: false }
    }
}

/// A running server. It stops when dropped.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    shared: Arc<Shared>,
    /// Closing it ends the acceptor's wait.
    wake: Option<UnixStream>,
    acceptor: Option<thread::JoinHandle<()>>,
}

impl Server {
    /// Starts to listen; when this returns, clients can connect.
    ///
    /// # Errors
    ///
    /// If the address cannot be had, a socket option is refused, or the system cannot cork
    /// (`Unsupported`: Linux can).
    pub fn start(config: Config) -> io::Result<Self> {
        if config.behaviour.tail == Tail::Corked && !cfg!(target_os = "linux") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let listener = listen(&config)?;
        let local_addr = listener.local_addr()?;
        let (wake, woken) = UnixStream::pair()?;
        let shared = Arc::new(Shared {
            config,
            stop: StopSignal::default(),
            open: Mutex::default(),
            closed_one: Condvar::new(),
            counters: Counters::default(),
        });
        let acceptor = thread::Builder::new().name("acceptor".into()).spawn({
            let shared = Arc::clone(&shared);
            move || accept_until(&woken, &listener, &shared)
        })?;
        Ok(Self { local_addr, shared, wake: Some(wake), acceptor: Some(acceptor) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// What has happened so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.counters.stats()
    }

    /// Closes the listener and every connection, and waits until their threads have ended.
    ///
    /// That takes milliseconds, and never more than five seconds. Dropping does the same.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.raise();
        drop(self.wake.take());
        if let Some(acceptor) = self.acceptor.take() {
            // A panic there was printed when it happened; there is nothing to add here.
            let _ = acceptor.join();
        }
        self.shared.close_connections();
    }
}

/// What the acceptor, the connections and the handle know in common.
#[derive(Debug)]
struct Shared {
    config: Config,
    stop: StopSignal,
    open: Mutex<BTreeMap<u64, Arc<TcpStream>>>,
    closed_one: Condvar,
    counters: Counters,
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<TcpStream>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a thread for `stream`, unless there are too many or the system refuses one more.
    fn admit(self: &Arc<Self>, stream: TcpStream) {
        let id = self.counters.accepted();
        let stream = Arc::new(stream);
        let seat = {
            let mut open = self.open();
            if open.len() >= self.config.limits.connections {
                self.counters.count_refused();
                return;
            }
            open.insert(id, Arc::clone(&stream));
            Seat { id, shared: Arc::clone(self) }
        };
        let serve = move || seat.serve(&stream);
        let thread = thread::Builder::new().name("connection".into()).stack_size(STACK_SIZE);
        match thread.spawn(serve) {
            Ok(_) => self.counters.count_accepted(),
            Err(_) => self.counters.count_refused(),
        }
    }

    /// Shuts every connection down, which ends its thread's reads and writes, and waits for that.
    fn close_connections(&self) {
        let open = self.open();
        for stream in open.values() {
            // It fails if the client was faster, which is as good.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let _ = self.closed_one.wait_timeout_while(open, STOP_WAIT, |open| !open.is_empty());
    }
}

/// A connection's place among those open; leaving it frees the place, also after a panic.
struct Seat {
    id: u64,
    shared: Arc<Shared>,
}

impl Seat {
    fn serve(self, stream: &TcpStream) {
        let Shared { config, stop, counters, .. } = &*self.shared;
        let Config { behaviour, limits, client_close, bind: _ } = config;
        let client_close = *client_close;
        Connection { stream, behaviour, limits, client_close, stop, counters }.run();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.open().remove(&self.id);
        self.shared.closed_one.notify_all();
    }
}

fn listen(config: &Config) -> io::Result<TcpListener> {
    let Config { bind, behaviour, limits, client_close: _ } = config;
    let socket = Socket::new(Domain::for_address(*bind), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?; // Connections of the last run may still be in TIME-WAIT.
    if let Some(size) = behaviour.send_buffer {
        socket.set_send_buffer_size(size.get())?; // Accepted sockets inherit it.
    }
    socket.set_nonblocking(true)?; // A client that resets first must not leave accept waiting.
    socket.bind(&(*bind).into())?;
    socket.listen(i32::try_from(limits.connections).unwrap_or(i32::MAX))?;
    Ok(socket.into())
}

/// Accepts until the other end of `woken` closes.
fn accept_until(woken: &UnixStream, listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let mut waits =
            [listener.as_fd(), woken.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match poll(&mut waits, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => panic!("poll refuses two valid descriptors: {error}"),
        }
        if waits[1].any().unwrap_or(true) {
            return;
        }
        match listener.accept().and_then(|(stream, _)| blocking(stream)) {
            Ok(stream) => shared.admit(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // Too many open files, or a connection reset before it was accepted.
            Err(_) if shared.stop.sleep(ACCEPT_PAUSE) => {}
            Err(_) => return,
        }
    }
}

/// BSD's accepted sockets inherit the listener's mode, Linux's do not.
fn blocking(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nonblocking(false)?;
    Ok(stream)
}
