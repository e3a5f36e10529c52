//! Our own TCP on a TUN device: ACKs are withheld as long as a check wants, and each segment is seen in its order.

use std::{
    collections::{BTreeMap, VecDeque},
    io,
    net::SocketAddr,
    time::{Duration, Instant},
};

use ackwise_linux::{
    ConnectionId, TunDevice, TunStack,
    stack::{Listen, StackOptions, Tap, Traced, WireDirection},
};
use ackwise_tcp::{
    Config, Policies,
    policy::{AckDelay, AckPolicy, BufferTuning},
    wire,
};

use super::{
    Happening, MOST_CONNECTIONS, Outgoing, RECEIVE_BUFFER, SLOW_PAUSE, SLOW_READ, Sending, What,
    Wire,
};
use crate::stack::{
    StackName,
    distance::{Distance, PathLoss},
};

/// Our own TCP.
pub(crate) struct OwnWire {
    stack: TunStack,
    address: SocketAddr,
    begun: Instant,
    connections: BTreeMap<u64, Seat>,
    next: u64,
    silent: TunDevice,
    unanswered: Vec<Duration>,
    buffer: Vec<u8>,
}

struct Seat {
    id: ConnectionId,
    /// Segments of the trace that were reported.
    seen: u64,
    /// Where the client's stream ends so far.
    end: u64,
    /// Read, and not reported.
    unread: VecDeque<u8>,
    outgoing: Outgoing,
    slow: bool,
    over: bool,
}

impl OwnWire {
    /// A server at `port` of the stack's address on `device`; what comes to `silent` is not answered.
    pub(crate) fn on(device: TunDevice, silent: TunDevice, port: u16) -> io::Result<Self> {
        let begun = Instant::now();
        let address = (device.v4().ours, port).into();
        let mut stack = TunStack::new(device, StackOptions::default())?;
        let policies = Policies {
            ack: AckPolicy::EverySegment,
            receive_tuning: BufferTuning::Off,
            ..Policies::LINUX_6
        };
        let config = Config { receive_buffer: RECEIVE_BUFFER, ..Config::new(policies) };
        let listen = Listen { config, backlog: MOST_CONNECTIONS, tap: Tap::Last(TAP) };
        stack.listen(port, listen).map_err(io::Error::other)?;
        stack.wake_for(&silent)?;
        Ok(Self {
            stack,
            address,
            begun,
            connections: BTreeMap::new(),
            next: 0,
            silent,
            unanswered: Vec::new(),
            buffer: vec![0; SLOW_READ],
        })
    }

    fn accept(&mut self, into: &mut Vec<Happening>) {
        while let Some(id) = self.stack.accept(self.address.port()) {
            if self.connections.len() >= MOST_CONNECTIONS {
                self.stack.abort(id);
                self.stack.release(id);
                continue;
            }
            let first = self.stack.trace(id).and_then(|trace| trace.since(0).next());
            let at = first
                .map_or_else(|| self.begun.elapsed(), |it| elapsed(&self.stack, self.begun, it));
            self.connections.insert(self.next, Seat::new(id));
            into.push(Happening { connection: self.next, at, what: What::Opened });
            self.next += 1;
        }
    }

    fn hear_silent(&mut self) -> io::Result<()> {
        while let Some(len) = self.silent.receive(&mut self.buffer)? {
            if is_syn(&self.buffer[..len]) && self.unanswered.len() < MOST_SYNS {
                self.unanswered.push(self.begun.elapsed());
            }
        }
        Ok(())
    }

    fn id(&self, connection: u64) -> Option<ConnectionId> {
        self.connections.get(&connection).map(|seat| seat.id)
    }
}

impl Wire for OwnWire {
    fn name(&self) -> StackName {
        StackName::Ackwise
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn begun(&self) -> Instant {
        self.begun
    }

    fn longest_delay(&self) -> Duration {
        LONGEST_DELAY
    }

    fn rules_first_ack(&self) -> bool {
        true
    }

    fn poll(&mut self, deadline: Instant, into: &mut Vec<Happening>) -> io::Result<()> {
        let slow = self.connections.values().any(|it| it.slow && !it.over);
        let until = if slow { deadline.min(Instant::now() + SLOW_PAUSE) } else { deadline };
        self.stack.poll(until)?;
        // The traces tell what these tell, and in which order.
        while self.stack.poll_event().is_some() {}
        self.hear_silent()?;
        self.accept(into);
        for (&connection, seat) in &mut self.connections {
            let mut push = |at, what| into.push(Happening { connection, at, what });
            seat.flush(&mut self.stack);
            seat.read(&mut self.stack, &mut self.buffer);
            seat.report(&self.stack, self.begun, &mut push);
            if seat.slow && seat.over {
                // The window bounds what is left.
                seat.slow = false;
                seat.read(&mut self.stack, &mut self.buffer);
            }
            if !seat.unread.is_empty() && (seat.slow || seat.over) {
                push(self.begun.elapsed(), What::Arrived(seat.unread.drain(..).collect()));
            }
        }
        Ok(())
    }

    fn delay_acks(&mut self, connection: u64, delay: Duration) {
        let Some(id) = self.id(connection) else { return };
        let policy = match AckDelay::try_from(delay.min(LONGEST_DELAY)) {
            Ok(delay) if delay != AckDelay::ZERO => AckPolicy::OverOneFull { delay },
            _ => AckPolicy::EverySegment,
        };
        self.stack.set_ack(id, policy);
    }

    fn read_slowly(&mut self, connection: u64) {
        if let Some(seat) = self.connections.get_mut(&connection) {
            seat.slow = true;
        }
    }

    fn send(&mut self, connection: u64, bytes: &[u8]) {
        if let Some(seat) = self.connections.get_mut(&connection) {
            seat.outgoing.bytes.extend(bytes);
            seat.flush(&mut self.stack);
        }
    }

    fn half_close(&mut self, connection: u64) {
        if let Some(seat) = self.connections.get_mut(&connection) {
            seat.outgoing.closes = true;
            seat.flush(&mut self.stack);
        }
    }

    fn forget(&mut self, connection: u64) {
        if let Some(seat) = self.connections.remove(&connection) {
            self.stack.release(seat.id);
        }
    }

    fn abort(&mut self, connection: u64) {
        if let Some(seat) = self.connections.remove(&connection) {
            self.stack.abort(seat.id);
            self.stack.release(seat.id);
        }
    }

    fn set_distance(&mut self, distance: Option<Distance>) -> bool {
        self.stack.set_path(distance.map(|it| it.links(PathLoss::Off)));
        true
    }

    fn sending(&self, connection: u64) -> Option<Sending> {
        let seat = self.connections.get(&connection)?;
        let endpoint = self.stack.endpoint(seat.id)?;
        let acknowledged = endpoint.acknowledged();
        let pending = endpoint.written() - acknowledged + seat.outgoing.bytes.len() as u64;
        Some(Sending { window: endpoint.peer_window().into(), acknowledged, pending })
    }

    fn take_unanswered_syns(&mut self) -> Vec<Duration> {
        std::mem::take(&mut self.unanswered)
    }
}

fn is_syn(packet: &[u8]) -> bool {
    wire::parse(packet).is_ok_and(|packet| packet.segment.flags.syn)
}

impl Seat {
    fn new(id: ConnectionId) -> Self {
        let outgoing = Outgoing::default();
        Self { id, seen: 0, end: 0, unread: VecDeque::new(), outgoing, slow: false, over: false }
    }

    fn flush(&mut self, stack: &mut TunStack) {
        if self.outgoing.flush(|bytes| stack.write(self.id, bytes)) {
            stack.close(self.id);
        }
    }

    fn read(&mut self, stack: &mut TunStack, buffer: &mut [u8]) {
        for _ in 0..if self.slow { 1 } else { READS } {
            let bytes = stack.read(self.id, buffer);
            self.unread.extend(&buffer[..bytes]);
            if bytes == 0 {
                return;
            }
        }
    }

    /// What the trace has that was not reported; of a slow reader, only the end.
    fn report(&mut self, stack: &TunStack, begun: Instant, push: &mut impl FnMut(Duration, What)) {
        let Some(trace) = stack.trace(self.id) else { return };
        for traced in trace.since(self.seen) {
            let at = elapsed(stack, begun, traced);
            let Traced { direction, segment, offset, .. } = traced;
            match direction {
                WireDirection::In if traced.dropped.is_some() => {}
                WireDirection::In => {
                    let end = offset.map_or(0, |offset| offset + u64::from(segment.len));
                    let news = usize::try_from(end.saturating_sub(self.end)).unwrap_or(0);
                    let bytes = news.min(self.unread.len());
                    self.end = self.end.max(end);
                    if !self.slow && bytes > 0 {
                        push(at, What::Arrived(self.unread.drain(..bytes).collect()));
                    }
                    if segment.flags.rst || segment.flags.fin {
                        self.over = true;
                        push(at, if segment.flags.rst { What::Reset } else { What::Fin });
                    }
                }
                WireDirection::Out if traced.ack_reason.is_some() => push(at, What::Acknowledged),
                WireDirection::Out => {}
            }
        }
        self.seen = trace.recorded();
    }
}

/// When a segment was on the wire, counted from `begun`.
fn elapsed(stack: &TunStack, begun: Instant, traced: &Traced) -> Duration {
    stack.outside(traced.at).map_or(Duration::ZERO, |at| at.saturating_duration_since(begun))
}

/// Longer than Linux delays an ACK, and shorter than its RTO after the 1 ms of a local path (`TCP_RTO_MIN`, 200 ms).
const LONGEST_DELAY: Duration = Duration::from_millis(120);

/// Segments of a connection that are kept until the next wake-up. Our choice: what one wake-up handles.
const TAP: usize = ackwise_linux::stack::PACKETS_PER_WAKE_UP;

/// SYNs that are remembered between two calls. Our choice: a client's retransmissions are few.
const MOST_SYNS: usize = 256;

/// Reads of one connection before the others have their turn. Our choice.
const READS: usize = 64;
