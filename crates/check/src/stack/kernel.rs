//! The kernel's sockets play the client: unprivileged, on any Unix.
//!
//! What it cannot do: see segments (one read may hold several), tell retransmissions apart, leave
//! SACK out of the offer, withhold an ACK longer than the kernel's own delayed-ACK timer, or make up
//! segments. [`Capabilities`] says so and the checks draw their conclusions.

mod pending_ack;
mod receive;

use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    net::SocketAddr,
    os::fd::AsFd,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use socket2::{Domain, Protocol, Socket, Type};

pub(crate) use self::pending_ack::{LONGEST, quick_ack};
use self::{pending_ack::PendingAck, receive::Receiving};
use super::{
    AckRule, Acknowledge, Arrival, Capabilities, ConnectError, Connection, Hold, LOOPBACK_MSS,
    NotSeen, Receiver, Stack, StackEvent, TransportError,
};
use crate::stack::StackName;

/// The kernel's TCP.
#[derive(Clone, Copy, Debug, Default)]
pub struct KernelStack;

impl Stack for KernelStack {
    fn name(&self) -> StackName {
        StackName::Kernel
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            segments: false,
            longest_delay: LONGEST,
            // Elsewhere, nothing can be withheld, so that no rule is asked for.
            ack_rules: &[AckRule::Linux],
            without_sack: false,
            crafted_segments: false,
        }
    }

    fn connect(
        &mut self,
        server: SocketAddr,
        receiver: Receiver,
        deadline: Instant,
    ) -> Result<Box<dyn Connection>, ConnectError> {
        receive::enable_timestamps();
        let begun = Instant::now();
        let socket = open(server, receiver, deadline).map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused => ConnectError::Refused(server),
            ErrorKind::TimedOut => ConnectError::TimedOut(server, begun.elapsed()),
            _ => ConnectError::System(server, error.to_string()),
        })?;
        Ok(Box::new(KernelConnection {
            receiving: Receiving::new(&socket),
            pending_ack: PendingAck::new(receiver.acknowledge, &socket),
            socket,
            handshake: begun.elapsed(),
            received: 0,
            active: begun,
            half: Half::Open,
            events: VecDeque::new(),
        }))
    }
}

/// A connected socket with the receiver's properties set before the SYN, where they belong.
fn open(server: SocketAddr, receiver: Receiver, deadline: Instant) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(server), Type::STREAM, Some(Protocol::TCP))?;
    // Loopback's MTU of 64 KB would hide what happens on an Ethernet. A system that cannot set the
    // MSS still measures something true, so failure is no error.
    if receiver.mss != LOOPBACK_MSS {
        let _ = socket.set_tcp_mss(receiver.mss.into());
    }
    if receiver.window <= AUTOTUNED_FROM {
        socket.set_recv_buffer_size(receiver.window as usize)?;
    }
    socket.set_tcp_nodelay(receiver.hold == Hold::Off)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&server.into()) {
        Err(error) if error.raw_os_error() == Some(Errno::EINPROGRESS as i32) => {
            if !wait(&socket, PollFlags::POLLOUT, deadline) {
                return Err(ErrorKind::TimedOut.into());
            }
            socket.take_error()?.map_or(Ok(socket), Err)
        }
        other => other.map(|()| socket),
    }
}

/// One connected socket.
struct KernelConnection {
    socket: Socket,
    receiving: Receiving,
    pending_ack: PendingAck,
    handshake: Duration,
    received: u64,
    /// When something was last sent or received.
    active: Instant,
    half: Half,
    /// At most a few: one read's worth.
    events: VecDeque<StackEvent>,
}

/// The server's direction of the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Half {
    Open,
    /// The server's FIN has been read; an RST may still come.
    Closed,
    /// Nothing can come any more.
    Gone,
}

impl Connection for KernelConnection {
    fn handshake(&self) -> Duration {
        self.handshake
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<(), TransportError> {
        let deadline = Instant::now() + SEND_LIMIT;
        self.events.extend(self.pending_ack.carried(self.received, Instant::now()));
        while !bytes.is_empty() {
            match self.socket.send(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if !wait(&self.socket, PollFlags::POLLOUT, deadline) {
                        return Err(TransportError::TimedOut);
                    }
                }
                Err(error) => return Err(blame(&error)),
            }
        }
        self.pending_ack.renew(&self.socket);
        self.active = Instant::now();
        Ok(())
    }

    fn set_acknowledge(&mut self, acknowledge: Acknowledge) {
        let now = Instant::now();
        self.events.extend(self.pending_ack.change(acknowledge, &self.socket, self.received, now));
    }

    fn next(&mut self, deadline: Instant) -> Option<StackEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.half == Half::Open && self.receive() {
                continue;
            }
            let now = Instant::now();
            self.events.extend(self.pending_ack.fire(&self.socket, self.received, now));
            if !self.events.is_empty() {
                continue;
            }
            if now >= deadline {
                return None;
            }
            self.rest(deadline, now);
        }
    }

    fn half_close(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write); // Already gone: nothing to close.
    }

    fn abort(&mut self) {
        let _ = self.socket.set_linger(Some(Duration::ZERO)); // Makes the close on drop an RST.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        self.half = Half::Gone;
    }

    fn exact_reset_ends_time_wait(&mut self, _limit: Duration) -> Result<bool, NotSeen> {
        Err(NotSeen::NotOurs)
    }
}

impl KernelConnection {
    /// Reads once; whether anything came of it.
    fn receive(&mut self) -> bool {
        match self.receiving.read(&self.socket) {
            Ok((at, [])) => {
                self.half = Half::Closed;
                self.events.push_back(StackEvent::PeerClosed { at });
            }
            Ok((at, bytes)) => {
                let (offset, bytes) = (self.received, bytes.to_vec());
                let len = u32::try_from(bytes.len()).expect("a read is smaller than its buffer");
                self.received += u64::from(len);
                self.active = Instant::now();
                self.events.push_back(StackEvent::Arrived(Arrival {
                    at,
                    offset,
                    bytes,
                    len,
                    retransmission: false,
                }));
                self.events.extend(self.pending_ack.arrived(&self.socket, self.received, at));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => self.break_off(blame(&error)),
        }
        true
    }

    /// Waits for the socket, the withheld ACK or `deadline`, whichever is first; may return early.
    fn rest(&mut self, deadline: Instant, now: Instant) {
        let until = self.pending_ack.due().map_or(deadline, |due| due.min(deadline));
        match self.half {
            // Two segments that follow each other closely merge into one read unless the reader is
            // awake when the first one comes.
            Half::Open if now < self.active + SPIN => std::hint::spin_loop(),
            Half::Open => {
                wait(&self.socket, PollFlags::POLLIN, until);
            }
            Half::Closed => {
                // Only errors and hang-ups are reported when nothing is asked for.
                if wait(&self.socket, PollFlags::empty(), until) {
                    match self.socket.take_error() {
                        Ok(Some(error)) => self.break_off(blame(&error)),
                        _ => self.half = Half::Gone,
                    }
                }
            }
            Half::Gone => std::thread::sleep(until.saturating_duration_since(now)),
        }
    }

    fn break_off(&mut self, error: TransportError) {
        self.half = Half::Gone;
        self.events.push_back(StackEvent::Broken { at: Instant::now(), error });
    }
}

/// Waits until `socket` is ready, not beyond `deadline`; whether it is.
fn wait(socket: &Socket, events: PollFlags, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    // Rounded up: a wait of zero milliseconds until a deadline half a millisecond away is a spin.
    let millis = left.as_micros().div_ceil(1000).min(u128::from(u16::MAX));
    let timeout = PollTimeout::try_from(millis).unwrap_or(PollTimeout::ZERO);
    let mut sockets = [PollFd::new(socket.as_fd(), events)];
    matches!(poll(&mut sockets, timeout), Ok(ready) if ready > 0)
}

/// The kernel's word for how a connection ended, in ours.
fn blame(error: &io::Error) -> TransportError {
    match error.kind() {
        // EPIPE is what Linux says about an RST that comes after a FIN.
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
            TransportError::Reset
        }
        ErrorKind::TimedOut | ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            TransportError::TimedOut
        }
        _ => TransportError::System(error.raw_os_error().unwrap_or_default()),
    }
}

/// A window above this is left to the kernel's autotuning, which knows better (`SO_RCVBUF` is
/// capped by `net.core.rmem_max` and turns it off).
const AUTOTUNED_FROM: u32 = 65_535;

/// How long the reader stays awake after sending or receiving: longer than a local server takes
/// between two writes, short enough to cost nothing.
const SPIN: Duration = Duration::from_micros(500);

/// A request is small: a server whose buffers do not take it within this time is not reading.
const SEND_LIMIT: Duration = Duration::from_secs(1);
