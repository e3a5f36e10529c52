//! Accepts connections, and stops within a bounded time.

use std::{
    collections::BTreeMap,
    io,
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::{fd::AsFd, unix::net::UnixStream},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use ackwise_http::behaviour::Tail;
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use socket2::{Domain, Protocol, Socket, Type};

use crate::{
    Config, Stats,
    connection::Connection,
    counters::Counters,
    limits::{ACCEPT_PAUSE, STACK_SIZE, STOP_WAIT},
    stop::StopSignal,
};

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
    /// Starts listening. Clients can connect when this returns.
    ///
    /// # Errors
    ///
    /// If the address is not available, a socket option is rejected, or the system does not support
    /// corking (`Unsupported`; Linux supports it).
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

    /// The listening address.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The event counts so far.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.counters.stats()
    }

    /// Closes the listener and every connection, and waits until their threads have ended.
    ///
    /// Takes milliseconds, and at most five seconds. Dropping does the same.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.raise();
        drop(self.wake.take());
        if let Some(acceptor) = self.acceptor.take() {
            // A panic of the thread was already printed.
            let _ = acceptor.join();
        }
        self.shared.close_connections();
    }
}

/// State shared by the acceptor, the connections and the handle.
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

    /// Starts a thread for `stream`, unless the connection limit is reached or the system rejects
    /// the thread.
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

    /// Shuts down every connection, which ends its thread's reads and writes, and waits for the
    /// threads.
    fn close_connections(&self) {
        let open = self.open();
        for stream in open.values() {
            // Fails if the client has closed first, which is harmless.
            let _ = stream.shutdown(Shutdown::Both);
        }
        let _ = self.closed_one.wait_timeout_while(open, STOP_WAIT, |open| !open.is_empty());
    }
}

/// A connection's slot among the open ones, freed on drop, also after a panic.
struct Seat {
    id: u64,
    shared: Arc<Shared>,
}

impl Seat {
    fn serve(self, stream: &TcpStream) {
        let Shared { config, stop, counters, .. } = &*self.shared;
        Connection { stream, config, stop, counters }.run();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.shared.open().remove(&self.id);
        self.shared.closed_one.notify_all();
    }
}

fn listen(config: &Config) -> io::Result<TcpListener> {
    let Config { bind, behaviour, limits, .. } = config;
    let socket = Socket::new(Domain::for_address(*bind), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?; // Connections of the last run may still be in TIME-WAIT.
    if let Some(size) = behaviour.send_buffer {
        socket.set_send_buffer_size(size.get())?; // Accepted sockets inherit it.
    }
    socket.set_nonblocking(true)?; // A reset before the accept must not block it.
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

/// Accepted sockets inherit the listener's mode on BSD, but not on Linux.
fn blocking(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nonblocking(false)?;
    Ok(stream)
}
