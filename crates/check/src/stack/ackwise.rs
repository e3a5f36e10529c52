//! Our own TCP on a TUN device: exact segments, ACKs withheld as long as a check wants, no SACK where
//! it disturbs, and segments that no kernel would send.

mod stream;
mod time_wait;

pub use ackwise_linux::wire::{Changes, RouteError};

use std::{
    cell::RefCell,
    collections::VecDeque,
    net::SocketAddr,
    num::NonZeroU8,
    rc::Rc,
    time::{Duration, Instant},
};

use ackwise_linux::{
    ConnectionId, HostChanges, TunStack,
    stack::{Tap, Traced, WireDirection},
    wire::{Wire, poll},
};
use ackwise_tcp::{
    Config, Endpoint, Policies, State,
    policy::{AckDelay, AckPolicy, BufferTuning, HoldPolicy, Offer, Preset, TimerPolicy},
};
use stream::InOrder;

use super::{
    AckRule, Acknowledge, Arrival, Capabilities, ConnectError, Connection, Hold, NotSeen, Receiver,
    Stack, StackEvent, TransportError,
};
use super::{
    distance::{Distance, PathLoss},
    kernel::KernelStack,
};
use crate::stack::StackName;

/// Our own TCP on a TUN device.
pub struct AckwiseStack {
    tun: Rc<RefCell<TunStack>>,
    /// Where the server that was asked for is found from the device.
    peer: SocketAddr,
    /// The path to it.
    distance: Option<Distance>,
    /// What the client copies where the checks do not decide.
    preset: Option<Preset>,
    kernel: KernelStack,
    _changes: Option<HostChanges>,
}

impl AckwiseStack {
    /// A host of our own on a TUN device that can reach `server`.
    ///
    /// # Errors
    ///
    /// If there can be no device, or the way to `server` needs changes to the host that are not
    /// allowed.
    pub fn open(
        server: SocketAddr,
        changes: Changes<'_>,
        distance: Option<Distance>,
        preset: Option<Preset>,
    ) -> Result<Self, RouteError> {
        let Wire { mut tun, peer, changes } = Wire::open(server, changes)?;
        tun.set_path(distance.map(|distance| distance.links(PathLoss::Off)));
        let tun = Rc::new(RefCell::new(tun));
        Ok(Self { tun, peer, distance, preset, kernel: KernelStack, _changes: changes })
    }
}

impl Stack for AckwiseStack {
    fn name(&self) -> StackName {
        StackName::Ackwise
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            segments: true,
            longest_delay: LONGEST_DELAY,
            ack_rules: &[AckRule::Linux, AckRule::EverySecond, AckRule::TwoFull],
            without_sack: true,
            crafted_segments: true,
        }
    }

    fn kernel(&mut self) -> Option<&mut dyn Stack> {
        // Its packets would not take the emulated path.
        self.distance.is_none().then_some(&mut self.kernel as &mut dyn Stack)
    }

    fn emulate(&mut self, loss: PathLoss) {
        if let Some(distance) = self.distance.filter(|distance| distance.loss.is_some()) {
            self.tun.borrow_mut().set_path(Some(distance.links(loss)));
        }
    }

    fn rest(&mut self, until: Instant) {
        let mut tun = self.tun.borrow_mut();
        while Instant::now() < until && poll(&mut tun, until).is_ok() {}
    }

    fn connect(
        &mut self,
        server: SocketAddr,
        receiver: Receiver,
        deadline: Instant,
    ) -> Result<Box<dyn Connection>, ConnectError> {
        let began = Instant::now();
        let system = |error: &dyn ToString| ConnectError::System(server, error.to_string());
        let mut tun = self.tun.borrow_mut();
        let id = tun
            .connect(self.peer, config(receiver, self.preset), TAP)
            .map_err(|error| system(&error))?;
        loop {
            poll(&mut tun, deadline).map_err(|error| system(&error))?;
            match tun.endpoint(id).map_or(State::Closed, Endpoint::state) {
                State::SynSent | State::SynReceived if Instant::now() < deadline => {}
                State::SynSent | State::SynReceived => {
                    tun.abort(id);
                    tun.release(id);
                    return Err(ConnectError::TimedOut(server, began.elapsed()));
                }
                State::Closed => {
                    tun.release(id);
                    return Err(ConnectError::Refused(server));
                }
                _ => break,
            }
        }
        drop(tun);
        Ok(Box::new(AckwiseConnection {
            tun: Rc::clone(&self.tun),
            id,
            handshake: began.elapsed(),
            seen: 0,
            stream: InOrder::default(),
            bytes: VecDeque::new(),
            acknowledged: 0,
            fin: None,
            over: false,
            events: VecDeque::new(),
        }))
    }
}

/// A prober's end: nothing that it does not want, and nothing held back when it sends.
fn config(receiver: Receiver, preset: Option<Preset>) -> Config {
    let prober = Policies { timers: TimerPolicy::Linux, ..Policies::RFC };
    let policies = Policies {
        ack: ack_policy(receiver.acknowledge),
        hold: match receiver.hold {
            Hold::Off => HoldPolicy::Off,
            Hold::Nagle => HoldPolicy::Minshall,
        },
        // The window is the check's, as with `SO_RCVBUF`.
        receive_tuning: BufferTuning::Off,
        offer: Offer {
            sack: receiver.sack,
            timestamps: false,
            window_scale: receiver.window > UNSCALED,
        },
        ..preset.map_or(prober, Preset::policies)
    };
    Config { mss: receiver.mss, receive_buffer: receiver.window, ..Config::new(policies) }
}

fn ack_policy(acknowledge: Acknowledge) -> AckPolicy {
    let legal = |delay: Duration| {
        AckDelay::try_from(delay.min(LONGEST_DELAY)).expect("the longest delay is a legal one")
    };
    match acknowledge {
        Acknowledge::Promptly => AckPolicy::EverySegment,
        Acknowledge::Delayed(rule, delay) => {
            let delay = legal(delay);
            match rule {
                AckRule::Linux => AckPolicy::OverOneFull { delay },
                AckRule::EverySecond => AckPolicy::AnySegments { every: TWO, delay },
                AckRule::TwoFull => AckPolicy::Delayed { every: TWO, delay },
            }
        }
        Acknowledge::After(delay) => AckPolicy::Withheld { delay: legal(delay) },
    }
}

/// One connection of our own TCP.
struct AckwiseConnection {
    tun: Rc<RefCell<TunStack>>,
    id: ConnectionId,
    handshake: Duration,
    /// Segments of the trace that were turned into happenings.
    seen: u64,
    stream: InOrder,
    /// Bytes in order that no arrival has carried to the check yet.
    bytes: VecDeque<u8>,
    /// How far we have acknowledged the server's stream.
    acknowledged: u64,
    /// Where the server's stream ends, once its FIN was seen.
    fin: Option<u64>,
    /// The end of the connection was told.
    over: bool,
    events: VecDeque<StackEvent>,
}

impl AckwiseConnection {
    /// Reads what has arrived, and the trace from where we were.
    fn look(&mut self) {
        let mut tun = self.tun.borrow_mut();
        let mut buffer = [0; READ_SIZE];
        loop {
            let count = tun.read(self.id, &mut buffer);
            self.bytes.extend(&buffer[..count]);
            if count == 0 {
                break;
            }
        }
        while tun.poll_event().is_some() {}
        let entries: Vec<(Instant, Traced)> = tun.trace(self.id).map_or_else(Vec::new, |trace| {
            let timed = |entry: &Traced| Some((tun.outside(entry.at)?, *entry));
            trace.since(self.seen).filter_map(timed).collect()
        });
        self.seen = tun.trace(self.id).map_or(self.seen, |trace| trace.recorded());
        let closed = tun.endpoint(self.id).is_none_or(|end| end.state() == State::Closed);
        drop(tun);
        for (at, entry) in entries {
            match entry.direction {
                WireDirection::In => self.arrived(at, &entry),
                WireDirection::Out => self.left(at, &entry),
            }
        }
        if closed {
            self.end(Instant::now(), TransportError::TimedOut);
        }
    }

    fn arrived(&mut self, at: Instant, entry: &Traced) {
        let segment = entry.segment;
        if segment.flags.rst {
            self.end(at, TransportError::Reset);
        }
        let Some(offset) = entry.offset.filter(|_| !segment.flags.syn) else { return };
        let len = u64::from(segment.len);
        if segment.flags.fin {
            self.fin = Some(offset + len);
        }
        if len > 0 {
            let fresh = usize::try_from(self.stream.arrive(offset, len)).unwrap_or(usize::MAX);
            let bytes = self.bytes.drain(..fresh.min(self.bytes.len())).collect();
            self.events.push_back(StackEvent::Arrived(Arrival {
                at,
                offset,
                bytes,
                len: segment.len,
                retransmission: entry.retransmission,
            }));
        }
        if self.fin.take_if(|end| *end == self.stream.end()).is_some() {
            self.events.push_back(StackEvent::PeerClosed { at });
        }
    }

    fn left(&mut self, at: Instant, entry: &Traced) {
        if let Some(up_to) = entry.acknowledges.filter(|up_to| *up_to > self.acknowledged) {
            self.acknowledged = up_to;
            self.events.push_back(StackEvent::Acknowledged { at, up_to });
        }
    }

    fn end(&mut self, at: Instant, error: TransportError) {
        if !std::mem::replace(&mut self.over, true) {
            self.events.push_back(StackEvent::Broken { at, error });
        }
    }
}

impl Connection for AckwiseConnection {
    fn handshake(&self) -> Duration {
        self.handshake
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), TransportError> {
        let deadline = Instant::now() + SEND_LIMIT;
        let mut left = bytes;
        while !left.is_empty() {
            let mut tun = self.tun.borrow_mut();
            let state = tun.endpoint(self.id).map_or(State::Closed, Endpoint::state);
            if !matches!(state, State::Established | State::CloseWait) {
                return Err(if self.over { TransportError::Reset } else { TransportError::Closed });
            }
            let taken = tun.write(self.id, left);
            left = &left[taken..];
            if !left.is_empty() {
                if Instant::now() >= deadline || poll(&mut tun, deadline).is_err() {
                    return Err(TransportError::TimedOut);
                }
                drop(tun);
                self.look();
            }
        }
        Ok(())
    }

    fn set_acknowledge(&mut self, acknowledge: Acknowledge) {
        let mut tun = self.tun.borrow_mut();
        tun.set_ack(self.id, ack_policy(acknowledge));
        if acknowledge == Acknowledge::Promptly {
            tun.acknowledge_now(self.id);
        }
    }

    fn next(&mut self, deadline: Instant) -> Option<StackEvent> {
        loop {
            self.look();
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.over || Instant::now() >= deadline {
                return None;
            }
            if poll(&mut self.tun.borrow_mut(), deadline).is_err() {
                self.end(Instant::now(), TransportError::TimedOut);
            }
        }
    }

    fn half_close(&mut self) {
        self.tun.borrow_mut().close(self.id);
    }

    fn abort(&mut self) {
        self.over = true;
        self.tun.borrow_mut().abort(self.id);
    }

    fn exact_reset_ends_time_wait(&mut self, limit: Duration) -> Result<bool, NotSeen> {
        time_wait::exact_reset_ends_it(&mut self.tun.borrow_mut(), self.id, limit)
    }
}

impl Drop for AckwiseConnection {
    fn drop(&mut self) {
        self.tun.borrow_mut().release(self.id);
    }
}

/// RFC 9293, section 3.8.6.3 (SHLD-19): an ACK for at least every second full-sized segment.
const TWO: NonZeroU8 = NonZeroU8::new(2).expect("2 is not 0");
/// Segments that are kept per connection; the trace is read at every wake-up.
const TAP: Tap = Tap::Last(4096);
/// How long `send` waits for room in the send buffer: as long as with the kernel's sockets.
const SEND_LIMIT: Duration = Duration::from_secs(1);
/// Bytes that are taken from a connection at once.
const READ_SIZE: usize = 64 * 1024;
/// A larger window needs window scaling (RFC 7323, section 2).
const UNSCALED: u32 = 65_535;
/// RFC 9293, section 3.8.6.3 (MUST-40) wants less than 500 ms; what is below is ours.
const LONGEST_DELAY: Duration = Duration::from_millis(400);
