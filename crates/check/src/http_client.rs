//! HTTP over a [`Connection`]: sends requests, and records when each byte of the response arrived.
//!
//! Offsets are those of the server's TCP stream, also under TLS, because that is where stalls live.
//! Nothing here judges; the checks do.

mod budget;
mod client;
mod draft;
mod error;
mod exchange;
mod http1;
mod http2;
mod layer;
mod plain;
mod reader;
mod request;
mod reused_connection;
mod stream;
mod tls;

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

pub use budget::{Budget, LimitReached};
pub use client::Client;
pub use error::ExchangeError;
pub use exchange::{Acked, Arrived, Closed, Exchange, Head, HeadEnd, Piece, Stall};
pub(crate) use http2::Kept;
pub use http2::{Goaway, Http2, Settings, Windows};
pub use request::{ByteRange, Page, Request, Template};
pub use reused_connection::ReusedConnection;
pub use stream::Watch;
pub use tls::TlsSettings;

use self::{draft::PartialResponse, layer::Layer, plain::Plain, reader::Reader, request::Encoded};
use super::stack::{Acknowledge, Connection, NotSeen, StackEvent, TransportError};

/// The version of HTTP, by its name in ALPN.
#[derive(Clone, Copy, Debug, Eq, JsonSchema, Ord, PartialEq, PartialOrd, Serialize)]
pub enum Protocol {
    /// HTTP/1.1 (RFC 9112).
    #[serde(rename = "http/1.1")]
    Http1,
    /// HTTP/2 (RFC 9113), also in clear text.
    #[serde(rename = "h2")]
    Http2,
}

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
    /// Half of a request is out: nothing may come between its frames.
    is_within_request: bool,
}

impl HttpConnection {
    fn new(
        protocol: Protocol,
        connection: Box<dyn Connection>,
        layer: Layer,
        early: Vec<Plain>,
        last_request: Option<Instant>,
    ) -> Self {
        let mut reader = Reader::new(protocol);
        for plain in early {
            reader.feed(plain);
        }
        Self {
            connection,
            layer,
            reader,
            arrivals: Vec::new(),
            acks: Vec::new(),
            closed: None,
            requests: 0,
            persists: true,
            kept: 0,
            last_request,
            is_within_request: false,
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
        let is_leaving = self.http2().is_some_and(|http2| http2.goaway().is_some());
        self.persists && self.closed.is_none() && in_time && !is_leaving
    }

    /// How the server ended its direction, if it has.
    #[must_use]
    pub fn closed(&self) -> Option<Closed> {
        self.closed
    }

    /// What is known of HTTP/2's windows and end, if the connection speaks it.
    #[must_use]
    pub fn http2(&self) -> Option<&Http2> {
        self.reader.http2()
    }

    /// Sends what is due before any request, and waits for the server's SETTINGS; whether they come.
    pub fn greets(&mut self, budget: &Budget) -> bool {
        let deadline = budget.answer_by(self.now());
        let preface = self.reader.take_due();
        if self.transmit(&preface).is_err() {
            return false;
        }
        while self.http2().is_some_and(|http2| http2.settings().is_none()) {
            let goes_on = self.closed.is_none() && self.reader.advance().is_ok();
            if !goes_on || !matches!(self.advance(deadline), Ok(true)) {
                return false;
            }
        }
        self.http2().is_some()
    }

    /// How long HTTP/2's server takes to acknowledge a PING; `None` if it does not in time, or if this is HTTP/1.1.
    ///
    /// # Errors
    ///
    /// If the connection ends before.
    pub fn ping(&mut self, budget: &Budget) -> Result<Option<Duration>, ExchangeError> {
        let Some(ping) = self.reader.ping() else { return Ok(None) };
        let before = self.http2().map(Http2::pongs);
        let (sent, deadline) = (self.now(), budget.answer_by(self.now()));
        self.transmit(&ping)?;
        while self.http2().map(Http2::pongs) == before {
            if let Some(closed) = self.closed {
                return Err(ExchangeError::ClosedUnanswered(closed.error));
            }
            if !self.advance(deadline)? {
                return Ok(None);
            }
        }
        let pong = self.arrivals.last().map_or_else(|| self.now(), |arrived| arrived.at);
        Ok(Some(pong.saturating_duration_since(sent)))
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
        let mut bytes = Vec::new();
        for request in requests {
            bytes.append(&mut self.ask(request, budget)?.bytes);
        }
        let sent = self.now();
        self.transmit(&bytes)?;
        self.sent_all(sent, budget)
    }

    fn ask(&mut self, request: &Request, budget: &mut Budget) -> Result<Encoded, ExchangeError> {
        budget.spend_request(self.now())?;
        self.requests += 1;
        Ok(self.reader.ask(request))
    }

    /// When the last byte of a request was sent, of which the first part was sent at `sent`: HTTP/2's windows may
    /// have no room for the rest.
    fn sent_all(&mut self, sent: Instant, budget: &Budget) -> Result<Instant, ExchangeError> {
        if !self.reader.http2().is_some_and(Http2::awaits_credit) {
            return Ok(sent);
        }
        let deadline = budget.answer_by(sent);
        while self.closed.is_none()
            && self.reader.http2().is_some_and(Http2::awaits_credit)
            && self.advance(deadline)?
        {}
        Ok(self.now())
    }

    /// Sends one request in two segments, `pause` apart; returns when the second left.
    ///
    /// # Errors
    ///
    /// If the budget is used up or the connection is gone.
    pub fn send_in_two(
        &mut self,
        request: &Request,
        pause: Duration,
        budget: &mut Budget,
    ) -> Result<Instant, ExchangeError> {
        let Encoded { bytes, cut } = self.ask(request, budget)?;
        let (first, second) = bytes.split_at(cut);
        self.transmit(first)?;
        self.is_within_request = true;
        self.observe_until(budget.cap(self.now() + pause));
        self.is_within_request = false;
        let sent = self.now();
        let rest = [second, &self.reader.take_due()].concat();
        self.transmit(&rest)?;
        self.sent_all(sent, budget)
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
        self.reader.begin(self.kept);
        loop {
            if self.reader.advance()? {
                return self.finish(sent);
            }
            if after_ack == AfterAck::Promptly && self.has_acknowledged_response() {
                self.set_acknowledge(Acknowledge::Promptly);
                after_ack = AfterAck::Same;
            }
            if let Some(closed) = self.closed {
                return match self.reader.close()? {
                    true => self.finish(sent),
                    false => Err(ExchangeError::ClosedUnanswered(closed.error)),
                };
            }
            if self.reader.draft().content() > content || !self.advance(deadline)? {
                self.persists = false;
                return match self.reader.draft().has_head() {
                    true => self.finish(sent),
                    false => {
                        budget.check_time(self.now())?;
                        Err(self.reader.unanswered(self.now() - sent))
                    }
                };
            }
        }
    }

    fn has_acknowledged_response(&self) -> bool {
        let start = self.reader.draft().start();
        start.is_some_and(|start| self.acks.iter().any(|acked| acked.up_to > start))
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
                self.layer.open(arrival.bytes, |plain| self.reader.feed(plain))?;
                let due = match self.is_within_request {
                    true => Vec::new(), // With what is sent next.
                    false => self.reader.take_due(),
                };
                if !due.is_empty() {
                    // Whether it arrives does not matter: if the connection is gone, that comes next.
                    let _ = self.transmit(&due);
                }
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
    fn finish(&mut self, sent: Instant) -> Result<Exchange, ExchangeError> {
        let draft: PartialResponse = self.reader.take_draft();
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
