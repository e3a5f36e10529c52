//! HTTP over a [`Connection`]: sends requests, and records when each byte of the response arrived.
//!
//! Offsets are those of the server's TCP stream, also under TLS, because that is where stalls live.
//! Nothing here judges; the probes do.

mod budget;
mod client;
mod error;
mod exchange;
mod layer;
mod plain;
mod reader;
mod request;
mod reused_connection;
mod tls;

use std::time::{Duration, Instant};

pub use budget::{Budget, LimitReached};
pub use client::Client;
pub use error::ExchangeError;
pub use exchange::{Acked, Arrived, Closed, Exchange, HeadEnd, Stall};
pub use request::{ByteRange, Page, Request, Template};
pub use reused_connection::ReusedConnection;
pub use tls::TlsSettings;

use self::{
    layer::Layer,
    reader::{PartialResponse, Reader},
};
use super::stack::{Acknowledge, Connection, NotSeen, StackEvent, TransportError};

/// HTTP on one connection, with or without TLS.
pub struct HttpConnection {
    connection: Box<dyn Connection>,
    layer: Layer,
    reader: Reader,
    /// Arrivals and ACKs since the last response ended.
    arrivals: Vec<Arrived>,
    acks: Vec<Acked>,
    /// How the server's direction ended, if it has.
    closed: Option<Closed>,
    requests: u32,
    persists: bool,
    /// Bytes of each content that are kept.
    kept: usize,
    /// When it takes no more requests, if that is the client's wish.
    last_request: Option<Instant>,
}

impl HttpConnection {
    fn new(connection: Box<dyn Connection>, layer: Layer, last_request: Option<Instant>) -> Self {
        Self {
            connection,
            layer,
            reader: Reader::new(),
            arrivals: Vec::new(),
            acks: Vec::new(),
            closed: None,
            requests: 0,
            persists: true,
            kept: 0,
            last_request,
        }
    }

    /// The time by the stack's clock.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.connection.now()
    }

    /// How long opening took: about one round trip.
    #[must_use]
    pub fn handshake(&self) -> Duration {
        self.connection.handshake()
    }

    /// Requests sent so far.
    #[must_use]
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Whether another request may be sent, as far as the server has said, and as the client wishes.
    #[must_use]
    pub fn accepts_requests(&self) -> bool {
        let in_time = self.last_request.is_none_or(|last| self.now() < last);
        self.persists && self.closed.is_none() && in_time
    }

    /// How the server ended its direction, if it has.
    #[must_use]
    pub fn closed(&self) -> Option<Closed> {
        self.closed
    }

    /// Keeps the first `bytes` of the contents that are read from now on: [`Exchange::beginning`].
    pub fn keep_content(&mut self, bytes: usize) {
        self.kept = bytes;
    }

    /// Changes when we acknowledge.
    pub fn set_acknowledge(&mut self, acknowledge: Acknowledge) {
        self.connection.set_acknowledge(acknowledge);
    }

    /// Sends one request and reads its answer.
    ///
    /// # Errors
    ///
    /// If the budget is used up, or there is no answer that can be understood in time.
    pub fn request(
        &mut self,
        request: &Request,
        budget: &mut Budget,
    ) -> Result<Exchange, ExchangeError> {
        let sent = self.send(std::slice::from_ref(request), budget)?;
        self.receive(sent, budget)
    }

    /// Sends requests together, in one segment if they fit; returns when.
    ///
    /// # Errors
    ///
    /// If the budget is used up or the connection is gone.
    pub fn send(
        &mut self,
        requests: &[Request],
        budget: &mut Budget,
    ) -> Result<Instant, ExchangeError> {
        for request in requests {
            budget.spend_request(self.now())?;
            self.reader.expect(request.method());
            self.requests += 1;
        }
        let bytes: Vec<u8> = requests.iter().flat_map(Request::bytes).copied().collect();
        let sent = self.now();
        self.transmit(&bytes)?;
        Ok(sent)
    }

    /// Sends one request in two segments, cut after `cut` bytes and `pause` apart; returns when
    /// the second left.
    ///
    /// # Errors
    ///
    /// If the budget is used up or the connection is gone.
    pub fn send_in_two(
        &mut self,
        request: &Request,
        cut: usize,
        pause: Duration,
        budget: &mut Budget,
    ) -> Result<Instant, ExchangeError> {
        budget.spend_request(self.now())?;
        self.reader.expect(request.method());
        self.requests += 1;
        let (first, second) = request.bytes().split_at(cut);
        self.transmit(first)?;
        self.observe_until(budget.cap(self.now() + pause));
        let sent = self.now();
        self.transmit(second)?;
        Ok(sent)
    }

    /// Sends bytes, whatever they mean.
    ///
    /// # Errors
    ///
    /// If the connection is gone.
    pub fn transmit(&mut self, bytes: &[u8]) -> Result<(), ExchangeError> {
        let wire = self.layer.seal(bytes)?;
        Ok(self.connection.send(&wire)?)
    }

    /// Sends one request and reads the first `content` bytes of its answer, or a little more.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub fn request_beginning(
        &mut self,
        request: &Request,
        content: u64,
        budget: &mut Budget,
    ) -> Result<Exchange, ExchangeError> {
        let sent = self.send(std::slice::from_ref(request), budget)?;
        self.read(sent, content, AfterAck::Same, budget)
    }

    /// As [`request_beginning`](Self::request_beginning), but acknowledges promptly what follows the first ACK.
    ///
    /// # Errors
    ///
    /// As [`request`](Self::request).
    pub fn request_first_flight(
        &mut self,
        request: &Request,
        content: u64,
        budget: &mut Budget,
    ) -> Result<Exchange, ExchangeError> {
        let sent = self.send(std::slice::from_ref(request), budget)?;
        self.read(sent, content, AfterAck::Promptly, budget)
    }

    /// Reads the next response, to a request whose last byte was sent at `sent`.
    ///
    /// A response that is too large to be read whole comes back incomplete; so does one that is
    /// still under way when its time is up.
    ///
    /// # Errors
    ///
    /// If not even the head of a response comes in time, or it cannot be understood.
    pub fn receive(&mut self, sent: Instant, budget: &Budget) -> Result<Exchange, ExchangeError> {
        self.read(sent, CONTENT_LIMIT, AfterAck::Same, budget)
    }

    fn read(
        &mut self,
        sent: Instant,
        content: u64,
        mut after_ack: AfterAck,
        budget: &Budget,
    ) -> Result<Exchange, ExchangeError> {
        let deadline = budget.answer_by(self.now());
        let mut draft = PartialResponse::keeping(self.kept);
        loop {
            if self.reader.advance(&mut draft)? {
                return self.finish(draft, sent);
            }
            if after_ack == AfterAck::Promptly && self.acknowledged(&draft) {
                self.set_acknowledge(Acknowledge::Promptly);
                after_ack = AfterAck::Same;
            }
            if let Some(closed) = self.closed {
                return match self.reader.close(&mut draft)? {
                    true => self.finish(draft, sent),
                    false => Err(ExchangeError::ClosedUnanswered(closed.error)),
                };
            }
            if draft.content() > content || !self.advance(deadline)? {
                self.persists = false;
                return match draft.has_head() {
                    true => self.finish(draft, sent),
                    false => {
                        budget.check_time(self.now())?;
                        Err(self.reader.unanswered(self.now() - sent))
                    }
                };
            }
        }
    }

    /// Whether something of the response was acknowledged.
    fn acknowledged(&self, draft: &PartialResponse) -> bool {
        draft.start().is_some_and(|start| self.acks.iter().any(|acked| acked.up_to > start))
    }

    /// Lets the connection live until `deadline`: whatever happens is noted. Returns early when the
    /// server closes, or sends more than anybody asked for.
    pub fn observe_until(&mut self, deadline: Instant) {
        while self.closed.is_none() && matches!(self.advance(deadline), Ok(true)) {}
    }

    /// Whether an RST comes by `deadline`, after the server has closed its direction.
    pub fn is_reset_by(&mut self, deadline: Instant) -> bool {
        while let Some(event) = self.connection.next_in_time(deadline) {
            match event {
                StackEvent::Broken { error, .. } => return error == TransportError::Reset,
                _ if event.at() > deadline => return false,
                _ => {}
            }
        }
        false
    }

    /// Would an RST at exactly the server's RCV.NXT end its TIME_WAIT? See
    /// [`Connection::exact_reset_ends_time_wait`].
    ///
    /// # Errors
    ///
    /// Why it cannot be determined.
    pub fn exact_reset_ends_time_wait(&mut self, limit: Duration) -> Result<bool, NotSeen> {
        self.connection.exact_reset_ends_time_wait(limit)
    }

    /// Sends RST and forgets the connection.
    pub fn abort(&mut self) {
        self.connection.abort();
    }

    /// Closes our direction.
    pub fn half_close(&mut self) {
        self.connection.half_close();
    }

    /// Takes the next happening; false if it was not before `deadline`. A server that never stops
    /// sending is thus read until then, and no longer.
    fn advance(&mut self, deadline: Instant) -> Result<bool, ExchangeError> {
        let Some(event) = self.connection.next_in_time(deadline) else { return Ok(false) };
        let in_time = event.at() <= deadline;
        match event {
            StackEvent::Arrived(arrival) if arrival.bytes.is_empty() => {}
            StackEvent::Arrived(arrival) => {
                let (at, offset) = (arrival.at, arrival.offset);
                self.arrivals.push(Arrived { at, offset, len: arrival.bytes.len() as u64 });
                self.layer.open(offset, arrival.bytes, |plain| self.reader.feed(plain))?;
                if self.reader.is_full() || self.arrivals.len() > ARRIVALS_LIMIT {
                    return Err(ExchangeError::TooMuch);
                }
            }
            StackEvent::Acknowledged { at, up_to } => self.acks.push(Acked { at, up_to }),
            StackEvent::PeerClosed { at } => self.closed = Some(Closed { at, error: None }),
            StackEvent::Broken { at, error } => {
                self.closed = Some(Closed { at, error: Some(error) });
            }
        }
        Ok(in_time)
    }

    /// Turns what was read into an exchange, and keeps what already belongs to the next response.
    fn finish(&mut self, draft: PartialResponse, sent: Instant) -> Result<Exchange, ExchangeError> {
        let arrivals = std::mem::take(&mut self.arrivals);
        let acks = std::mem::take(&mut self.acks);
        let end = draft.end().unwrap_or_else(|| arrivals.last().map_or(0, Arrived::end));
        self.arrivals = arrivals.iter().filter(|arrived| arrived.end() > end).copied().collect();
        self.acks = acks.iter().filter(|acked| acked.up_to > end).copied().collect();
        let exchange = draft.into_exchange(sent, arrivals, acks, end)?;
        self.persists &= exchange.complete && exchange.persists();
        Ok(exchange)
    }
}

/// How what follows the first ACK of a response is acknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum AfterAck {
    /// As the rest.
    Same,
    Promptly,
}

/// More of one response is not read: stalls show in the first megabytes or not at all.
pub const CONTENT_LIMIT: u64 = 4 << 20;

/// More arrivals than this in one response are not remembered.
const ARRIVALS_LIMIT: usize = 1 << 16;
