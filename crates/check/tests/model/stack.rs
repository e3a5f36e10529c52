//! The stack that the checks see: one clock for all connections, and a path with a delay.

use std::{
    cell::Cell,
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    rc::Rc,
    time::{Duration, Instant},
};

use ackwise_check::{
    card::StackName,
    stack::{
        AckRule, Acknowledge, Arrival, Capabilities, ConnectError, Connection, NotSeen, Receiver,
        Stack, StackEvent, TransportError,
    },
};
use ackwise_http::Behaviour;

use super::{
    receiver::Receiving,
    sender::{Sender, Sending},
    server::{Program, Write},
};

/// A server, a path and a client.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) behaviour: Behaviour,
    pub(crate) sending: Sending,
    /// Bytes of its only page.
    pub(crate) page: u64,
    pub(crate) round_trip: Duration,
    /// An exact RST ends its TIME_WAIT.
    pub(crate) reset_ends_time_wait: bool,
    /// It resets whoever sends after its FIN.
    pub(crate) half_closes: bool,
    /// Offers ranges of its page.
    pub(crate) ranges: bool,
    /// Writes of these sizes, so far apart, instead of those of `behaviour`; the head goes with the first.
    pub(crate) pattern: Option<(&'static [u64], Duration)>,
    /// No two answers of a connection have the same content.
    pub(crate) varies: bool,
}

/// The traits' view of a [`Model`].
pub(crate) struct ModelStack {
    model: Model,
    clock: Rc<Cell<Instant>>,
}

impl ModelStack {
    pub(crate) fn new(model: Model) -> Self {
        Self { model, clock: Rc::new(Cell::new(Instant::now())) }
    }
}

impl Stack for ModelStack {
    fn name(&self) -> StackName {
        StackName::Ackwise
    }

    fn now(&self) -> Instant {
        self.clock.get()
    }

    fn rest(&mut self, until: Instant) {
        self.clock.set(until.max(self.clock.get()));
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            segments: true,
            longest_delay: Duration::from_millis(180),
            ack_rules: &[AckRule::Linux, AckRule::EverySecond, AckRule::TwoFull],
            without_sack: true,
            crafted_segments: true,
        }
    }

    fn connect(
        &mut self,
        _server: SocketAddr,
        receiver: Receiver,
        _deadline: Instant,
    ) -> Result<Box<dyn Connection>, ConnectError> {
        assert!(!receiver.sack, "a tail-loss probe would look like a release");
        let model = self.model.clone();
        self.clock.set(self.clock.get() + model.round_trip);
        Ok(Box::new(ModelConnection {
            sender: Sender::new(model.sending, receiver.mss.into(), receiver.window.into()),
            receiving: Receiving::new(receiver.acknowledge, receiver.mss.into()),
            program: Program::new(&model),
            model,
            clock: Rc::clone(&self.clock),
            events: BTreeMap::new(),
            numbered: 0,
            received: VecDeque::new(),
            closing: false,
        }))
    }
}

/// What is on its way.
enum Event {
    Request(Vec<u8>),
    Write(Write),
    Segment(u64, Vec<u8>),
    Ack(u64),
    Fin,
    Reset,
    /// Look again: a timer fires.
    Wake,
}

struct ModelConnection {
    model: Model,
    sender: Sender,
    receiving: Receiving,
    program: Program,
    clock: Rc<Cell<Instant>>,
    /// Events of one moment in the order in which they were made.
    events: BTreeMap<(Instant, u64), Event>,
    numbered: u64,
    received: VecDeque<StackEvent>,
    /// The server closes when everything has been sent, or has done so.
    closing: bool,
}

impl Connection for ModelConnection {
    fn now(&self) -> Instant {
        self.clock.get()
    }

    fn handshake(&self) -> Duration {
        self.model.round_trip
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), TransportError> {
        let now = self.now();
        let up_to = self.acknowledge(now);
        self.later(self.model.round_trip / 2, Event::Ack(up_to), now);
        self.later(self.model.round_trip / 2, Event::Request(bytes.to_vec()), now);
        Ok(())
    }

    fn set_acknowledge(&mut self, acknowledge: Acknowledge) {
        self.receiving.acknowledge = acknowledge;
        if acknowledge == Acknowledge::Promptly {
            self.receiving.hurry(self.now());
        }
    }

    fn next(&mut self, deadline: Instant) -> Option<StackEvent> {
        loop {
            if let Some(event) = self.received.pop_front() {
                return Some(event);
            }
            let event = self.events.first_key_value().map(|((at, _), _)| *at);
            let ack = self.receiving.due();
            let at = event.into_iter().chain(ack).min().filter(|at| *at <= deadline);
            let Some(at) = at else {
                self.clock.set(self.now().max(deadline));
                return None;
            };
            self.clock.set(self.now().max(at));
            if ack == Some(at) {
                let up_to = self.acknowledge(at);
                self.later(self.model.round_trip / 2, Event::Ack(up_to), at);
            } else {
                let (_, event) = self.events.pop_first().expect("it was just seen");
                self.handle(event, at);
            }
        }
    }

    fn half_close(&mut self) {}

    fn abort(&mut self) {
        self.events.clear();
    }

    fn exact_reset_ends_time_wait(&mut self, _limit: Duration) -> Result<bool, NotSeen> {
        Ok(self.model.reset_ends_time_wait)
    }
}

impl ModelConnection {
    /// All that has come is acknowledged, by a segment of its own or by one with bytes.
    fn acknowledge(&mut self, now: Instant) -> u64 {
        let up_to = self.receiving.acknowledge();
        self.received.push_back(StackEvent::Acknowledged { at: now, up_to });
        up_to
    }

    fn handle(&mut self, event: Event, now: Instant) {
        match event {
            Event::Request(_) if self.closing => {
                if !self.model.half_closes {
                    self.later(self.model.round_trip / 2, Event::Reset, now);
                }
            }
            Event::Request(bytes) => {
                let mut after = Duration::ZERO;
                for write in self.program.read(&bytes) {
                    after += write.after;
                    self.later(after, Event::Write(write), now);
                }
            }
            Event::Write(write) => {
                self.sender.write(&write.bytes, write.corked, now);
                if write.closes {
                    self.sender.uncork(); // A FIN takes everything along.
                    self.closing = true;
                }
            }
            Event::Ack(up_to) => self.sender.acknowledged(up_to),
            Event::Segment(offset, bytes) => {
                let len = u32::try_from(bytes.len()).expect("at most an MSS");
                self.receiving.arrived(len.into(), now);
                let arrival = Arrival { at: now, offset, bytes, len, retransmission: false };
                self.received.push_back(StackEvent::Arrived(arrival));
                return;
            }
            Event::Fin => self.received.push_back(StackEvent::PeerClosed { at: now }),
            Event::Reset => self
                .received
                .push_back(StackEvent::Broken { at: now, error: TransportError::Reset }),
            Event::Wake => {}
        }
        self.transmit(now);
    }

    /// Lets the server's TCP send what it may.
    fn transmit(&mut self, now: Instant) {
        let way = self.model.round_trip / 2;
        let drained = self.sender.is_drained();
        while let Some((offset, bytes)) = self.sender.segment(now) {
            self.later(way, Event::Segment(offset, bytes), now);
        }
        if let Some(fires) = self.sender.timer() {
            self.later(fires.saturating_duration_since(now), Event::Wake, now);
        }
        if self.closing && !drained && self.sender.is_drained() {
            self.later(way, Event::Fin, now);
        }
    }

    fn later(&mut self, after: Duration, event: Event, now: Instant) {
        self.numbered += 1;
        self.events.insert((now + after, self.numbered), event);
    }
}
