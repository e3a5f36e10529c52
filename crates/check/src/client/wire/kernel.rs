//! The kernel's sockets.
//!
//! An ACK is withheld with `TCP_QUICKACK` off, and sent by setting it. What is readable is read before an ACK is sent:
//! what arrives afterwards has not been on its way before. The kernel acknowledges more than one full segment at once.

use std::{
    collections::BTreeMap,
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::SockRef;

use super::{
    Happening, MOST_CONNECTIONS, Outgoing, RECEIVE_BUFFER, SLOW_PAUSE, SLOW_READ, What, Wire,
};
use crate::stack::{
    StackName,
    kernel::{LONGEST, quick_ack},
};

/// The kernel's TCP.
pub(crate) struct KernelWire {
    listener: TcpListener,
    address: SocketAddr,
    begun: Instant,
    connections: BTreeMap<u64, Socket>,
    next: u64,
}

struct Socket {
    stream: TcpStream,
    delay: Duration,
    /// When the pending ACK is to be sent.
    due: Option<Instant>,
    slow: bool,
    outgoing: Outgoing,
    /// Nothing more can arrive.
    over: bool,
}

impl KernelWire {
    pub(crate) fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let socket = SockRef::from(&listener);
        socket.set_recv_buffer_size(RECEIVE_BUFFER as usize)?;
        // Accepted sockets inherit it, so that a first segment is not acknowledged before it is read.
        quick_ack(&socket, false);
        let address = listener.local_addr()?;
        let begun = Instant::now();
        Ok(Self { listener, address, begun, connections: BTreeMap::new(), next: 0 })
    }

    fn accept(&mut self, into: &mut Vec<Happening>) {
        while self.connections.len() < MOST_CONNECTIONS {
            // An error here is about a connection that ended before it was accepted.
            let Ok((stream, _)) = self.listener.accept() else { return };
            if stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true)).is_err() {
                continue;
            }
            let id = self.next;
            self.next += 1;
            let (delay, outgoing) = (Duration::ZERO, Outgoing::default());
            let socket = Socket { stream, delay, due: None, slow: false, outgoing, over: false };
            self.connections.insert(id, socket);
            into.push(Happening { connection: id, at: self.begun.elapsed(), what: What::Opened });
        }
    }

    fn wait(&self, deadline: Instant) {
        let open = || self.connections.values().filter(|it| !it.over);
        let slow = open().any(|it| it.slow).then(|| Instant::now() + SLOW_PAUSE);
        let until = open().filter_map(|it| it.due).chain(slow).fold(deadline, Instant::min);
        let left = until.saturating_duration_since(Instant::now());
        let millis = left.as_micros().div_ceil(1000).min(u128::from(u16::MAX));
        let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::ZERO);
        let events = |it: &Socket| {
            let mut events = PollFlags::empty();
            events.set(PollFlags::POLLIN, !it.slow);
            events.set(PollFlags::POLLOUT, !it.outgoing.bytes.is_empty());
            events
        };
        let pollable = open().filter(|it| !it.slow || !it.outgoing.bytes.is_empty());
        let sockets = pollable.map(|it| PollFd::new(it.stream.as_fd(), events(it)));
        let listener = PollFd::new(self.listener.as_fd(), PollFlags::POLLIN);
        let mut fds: Vec<_> = sockets.chain([listener]).collect();
        let _ = poll(&mut fds, timeout); // An interrupted wait is a short one.
    }
}

impl Wire for KernelWire {
    fn name(&self) -> StackName {
        StackName::Kernel
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn begun(&self) -> Instant {
        self.begun
    }

    fn longest_delay(&self) -> Duration {
        LONGEST
    }

    /// The kernel may have acknowledged the first segment before the connection is accepted.
    fn rules_first_ack(&self) -> bool {
        false
    }

    fn poll(&mut self, deadline: Instant, into: &mut Vec<Happening>) -> io::Result<()> {
        self.wait(deadline);
        self.accept(into);
        let begun = self.begun;
        for (&id, socket) in &mut self.connections {
            let mut push =
                |what| into.push(Happening { connection: id, at: begun.elapsed(), what });
            socket.read(&mut push);
            socket.flush();
            socket.acknowledge(&mut push);
        }
        Ok(())
    }

    fn delay_acks(&mut self, connection: u64, delay: Duration) {
        let Some(socket) = self.connections.get_mut(&connection) else { return };
        socket.delay = delay;
        quick_ack(&SockRef::from(&socket.stream), delay.is_zero());
    }

    fn read_slowly(&mut self, connection: u64) {
        if let Some(socket) = self.connections.get_mut(&connection) {
            socket.slow = true;
        }
    }

    fn send(&mut self, connection: u64, bytes: &[u8]) {
        let Some(socket) = self.connections.get_mut(&connection) else { return };
        socket.outgoing.bytes.extend(bytes);
        socket.flush();
        socket.due = None;
        quick_ack(&SockRef::from(&socket.stream), socket.delay.is_zero());
    }

    fn half_close(&mut self, connection: u64) {
        if let Some(socket) = self.connections.get_mut(&connection) {
            socket.outgoing.closes = true;
            socket.flush();
        }
    }

    fn forget(&mut self, connection: u64) {
        self.connections.remove(&connection);
    }

    fn abort(&mut self, connection: u64) {
        if let Some(socket) = self.connections.remove(&connection) {
            // Makes the close an RST.
            let _ = SockRef::from(&socket.stream).set_linger(Some(Duration::ZERO));
        }
    }
}

impl Socket {
    fn flush(&mut self) {
        // A client that has gone is seen by the next read.
        if self.outgoing.flush(|bytes| self.stream.write(bytes).unwrap_or(0)) {
            let _ = self.stream.shutdown(Shutdown::Write);
        }
    }

    fn read(&mut self, push: &mut impl FnMut(What)) {
        let mut buffer = [0; SLOW_READ];
        for _ in 0..if self.slow { 1 } else { READS } {
            if self.over {
                return;
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    self.over = true;
                    push(What::Fin);
                }
                Ok(len) => {
                    push(What::Arrived(buffer[..len].to_vec()));
                    quick_ack(&SockRef::from(&self.stream), self.delay.is_zero());
                    if !self.delay.is_zero() {
                        self.due.get_or_insert_with(|| Instant::now() + self.delay);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.over = true;
                    push(What::Reset);
                }
            }
        }
    }

    /// Sends the ACK if it is due; everything that has arrived was read just now.
    fn acknowledge(&mut self, push: &mut impl FnMut(What)) {
        if self.due.is_some_and(|due| due <= Instant::now()) {
            self.due = None;
            let socket = SockRef::from(&self.stream);
            quick_ack(&socket, true);
            quick_ack(&socket, false);
            push(What::Acknowledged);
        }
    }
}

/// Reads of one connection before the others have their turn. Our choice.
const READS: usize = 64;
