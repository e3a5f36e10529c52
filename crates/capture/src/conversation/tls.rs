//! TLS: a handshake, then exchanges by turns of application data.
//!
//! What is inside is guessed from the lengths of records. A server's first records may be session
//! tickets (TLS 1.3 has two, as a rule): one that could be is held back until the next record shows
//! that a response comes after it. If none comes, it was the response.

mod alert;
mod cipher;
mod control;
mod credit;
mod first;
mod handshake;
mod hello;
mod opener;
mod opening;
mod records;
mod refusal;
mod sealing;
mod shutdown;
mod unsealed;

use std::sync::Arc;

use ackwise_cause::Direction;
use credit::Sent;
use first::First;
use handshake::{Handshake, Part};
use hello::Hello;
use opening::Waiting;
use records::{Found, Kind, Record, Records};
use unsealed::{SealedRecord, Unsealed};

use super::{
    Alpn, Event, ExchangeReader, TokenKind,
    log::Log,
    span::{Captured, Span, Start},
    turns::{self, Turns},
};

pub use alert::Alert;
pub use opener::NotOpened;
pub(crate) use shutdown::Shutdown;

use crate::keys::{KeyLog, Random};

/// Both directions of a TLS connection.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    client: Records,
    server: Records,
    /// `None` once it is done, or over.
    handshake: Option<Handshake>,
    end: TlsEnd,
    /// The server closed before the handshake was done: what the client sends then is of that, and asks nothing.
    is_cut_short: bool,
    /// What is being read may be an alert in clear, of this direction.
    alerts: Option<Direction>,
    version_13: bool,
    /// What it adds to the client's and to the server's records.
    sealing: [u64; 2],
    /// The handshake is in the capture.
    from_beginning: bool,
    /// What is being read is content for sure, as long as an alert or not.
    is_content: bool,
    /// The hello that is being read, and whose it is.
    hello: Option<(Direction, Hello)>,
    /// Where its message begins, and the record ends that it begins in.
    hello_at: [u64; 2],
    http2: Inside,
    /// It was told that windows of HTTP/2 cannot be seen.
    hides_windows: bool,
    first: First,
    /// What came after the request and may be the server's SETTINGS; or the response, if the client does not acknowledge
    /// them, which it would do at once (RFC 9113, section 6.5.3).
    settings: Option<Record>,
    turns: Turns,
    /// The client's last record was likely a PING.
    pinged: bool,
    /// What the server has sent since, and the window that the client's last record gives anew, as its length has it.
    sent: Sent,
    credit: Option<u64>,
    /// Whose turn it is, and where it began.
    turn: Option<(Direction, u64)>,
    /// How far the streams were seen, which may be within a record.
    asked_to: u64,
    answered_to: u64,
    /// The length of the server's last record.
    last_length: u64,
    keys: Option<Arc<KeyLog>>,
    /// The client's records behind the first of its last flight: of that, or the first data.
    perhaps: Vec<(Record, Context)>,
    /// The server has asked for another ClientHello.
    retried: bool,
    /// The client's last flight has more than Finished: a certificate, or that there is none.
    is_certified: bool,
    /// The client's random, once it is known.
    client_random: Random,
    inside: Opening,
}

/// What becomes of the content.
#[derive(Clone, Debug)]
enum Opening {
    /// There are no secrets, or why they are of no use.
    Sealed(Option<NotOpened>),
    /// The server has not said how it seals, or the secrets are not there yet.
    Awaits(Box<Waiting>),
    Unsealed(Box<Unsealed>),
}

/// Whether HTTP/2 is inside.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Inside {
    Http2,
    MayBeHttp2,
    Other,
}

/// How a handshake ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TlsEnd {
    /// It is done, or may be.
    Done,
    Alert(Alert),
    /// The client has not finished it.
    Unfinished,
}

impl TlsEnd {
    pub(crate) const fn alert(self) -> Option<Alert> {
        if let Self::Alert(alert) = self { Some(alert) } else { None }
    }
}

/// What a record came with.
#[derive(Clone, Copy, Debug)]
struct Context {
    /// The server is within a record.
    interrupts: bool,
    /// Position of the first byte of the segment.
    segment: u64,
}

impl Tls {
    pub(super) fn new(start: Start, keys: Option<Arc<KeyLog>>) -> Self {
        let from_beginning = start == Start::Beginning;
        Self {
            client: Records::new(start),
            server: Records::new(start),
            handshake: from_beginning.then(Handshake::default),
            end: if from_beginning { TlsEnd::Unfinished } else { TlsEnd::Done },
            is_cut_short: false,
            alerts: None,
            version_13: false,
            sealing: [sealing::USUAL; 2],
            from_beginning,
            is_content: false,
            hello: from_beginning.then(|| (Direction::ToServer, Hello::default())),
            hello_at: [0; 2],
            http2: Inside::MayBeHttp2,
            hides_windows: false,
            first: if from_beginning { First::Nothing } else { First::Data },
            settings: None,
            turns: Turns::Idle,
            pinged: false,
            sent: Sent::default(),
            credit: None,
            turn: None,
            asked_to: 0,
            answered_to: 0,
            last_length: 0,
            inside: match &keys {
                Some(_) if from_beginning => Opening::Awaits(Box::default()),
                keys => Opening::Sealed(keys.as_ref().map(|_| NotOpened::NoHandshake)),
            },
            keys,
            perhaps: Vec::new(),
            retried: false,
            is_certified: false,
            client_random: [0; 32],
        }
    }

    /// What is read next is content, until it [may be an alert](Self::expect_alert) again.
    pub(super) const fn expect_content(&mut self) {
        self.is_content = true;
    }

    pub(super) const fn expect_alert(&mut self) {
        self.is_content = false;
    }

    pub(super) fn handle(&mut self, direction: Direction, span: &mut Span<'_>, log: &mut Log) {
        match direction {
            Direction::ToServer => self.asked_to = span.end(),
            Direction::ToClient => self.answered_to = span.end(),
        }
        // Before its records are looked at: is the server within one?
        let context = Context { interrupts: self.server.is_within_record(), segment: span.at() };
        while let Some(found) = self.records(direction).advance(span) {
            match found {
                Found::Record(record) => {
                    self.note_record(direction, &record, log);
                    self.note_end(direction, &record);
                    self.handle_record(direction, &record, context, log);
                }
                Found::Payload(payload) => {
                    self.read_alert(direction, payload.bytes);
                    self.read_hello(direction, payload, log);
                    self.read_sealed(direction, payload, log);
                }
            }
        }
    }

    /// A server writes tickets as soon as it has read the handshake (RFC 8446, section 4.6.1, lets it do so at any time):
    /// what comes after a pause answers the request.
    pub(super) const fn handle_silence(&mut self) {
        if matches!((&self.first, &self.turns), (First::Nothing, Turns::Request { .. })) {
            self.first = First::Tickets;
        }
    }

    pub(super) fn handle_end(&mut self, direction: Direction, log: &mut Log) {
        if let Some(unsealed) = self.unsealed() {
            unsealed.with_reader(log, |reader| reader.handle_end(direction));
        } else if direction == Direction::ToClient {
            self.handle_abort(log);
        }
    }

    pub(super) fn handle_abort(&mut self, log: &mut Log) {
        self.end_flight_early(log);
        self.give_up_opening(log);
        if let Some(unsealed) = self.unsealed() {
            unsealed.with_reader(log, ExchangeReader::handle_abort);
        }
        if let Some(mut handshake) = self.handshake.take() {
            handshake.break_flight(log);
            self.is_cut_short = true;
        }
        self.release(log);
        self.end_with_what_was_seen();
        self.turns.handle_abort(log);
    }

    /// As of [`ExchangeReader::handle_arrival`].
    pub(super) fn handle_arrival(&mut self, direction: Direction, position: u64, log: &mut Log) {
        if let Some(unsealed) = self.unsealed() {
            unsealed.with_reader(log, |reader| reader.handle_arrival(direction, position));
        }
    }

    /// Where what may turn out to begin something begins.
    pub(super) fn undecided_since(&self, direction: Direction) -> Option<u64> {
        match (&self.inside, direction) {
            (Opening::Unsealed(unsealed), _) => return unsealed.undecided_since(direction),
            (Opening::Awaits(waiting), _) if let Some(since) = waiting.since(direction) => {
                return Some(since);
            }
            _ => {}
        }
        if direction == Direction::ToServer {
            return self.perhaps.first().map(|it| it.0.start);
        }
        let ticket = match self.first {
            First::Ticket { record, asked: true } => Some(record),
            _ => None,
        };
        self.settings.or(ticket).map(|it| it.start)
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn cost(&self) -> usize {
        let inside = match &self.inside {
            Opening::Unsealed(unsealed) => unsealed.cost(),
            Opening::Awaits(waiting) => waiting.held(),
            Opening::Sealed(_) => 0,
        };
        size_of::<Self>() + inside
    }

    fn take_turn(&mut self, direction: Direction, record: &Record, log: &mut Log) {
        self.end_with_what_was_seen();
        if self.turn.is_none_or(|(whose, _)| whose != direction) {
            self.turn = Some((direction, record.start));
        }
        self.turns.handle(direction, record.start, record.end, log);
    }

    /// A turn may be over in the middle of a record.
    fn end_with_what_was_seen(&mut self) {
        match &mut self.turns {
            Turns::Idle | Turns::Asked { .. } => {}
            Turns::Request { end, .. } => *end = self.asked_to.min(*end),
            Turns::Response { end, .. } => *end = self.answered_to.min(*end),
        }
    }

    const fn records(&mut self, direction: Direction) -> &mut Records {
        match direction {
            Direction::ToServer => &mut self.client,
            Direction::ToClient => &mut self.server,
        }
    }

    /// Notes the header of a record.
    fn note_record(&mut self, direction: Direction, record: &Record, log: &mut Log) {
        if let Some(header) = record.header() {
            log.token(direction, record.start, || header);
        }
        if self.hello.as_ref().is_some_and(|(whose, it)| *whose == direction && it.is_empty()) {
            self.hello_at = [record.end - record.length(), record.end];
        }
    }

    /// Where the header or the hello begins that is under way.
    pub(super) fn undecided(&self, direction: Direction) -> Option<u64> {
        let (records, end) = match direction {
            Direction::ToServer => (&self.client, self.asked_to),
            Direction::ToClient => (&self.server, self.answered_to),
        };
        if self.hello.as_ref().is_some_and(|(whose, it)| *whose == direction && !it.is_empty()) {
            return Some(self.hello_at[0]);
        }
        match records.header_bytes() {
            0 => None,
            bytes => Some(end.saturating_sub(bytes)),
        }
    }

    /// Whether HTTP/2 is inside, as far as can be told, and cannot be read.
    pub(super) const fn may_be_multiplexed(&self) -> bool {
        let is_read = matches!(&self.inside, Opening::Unsealed(it) if it.is_confirmed());
        matches!(self.http2, Inside::Http2) && !is_read
    }

    /// Whether the server has asked for another ClientHello (RFC 8446, section 4.1.4).
    pub(super) const fn hello_retried(&self) -> bool {
        self.retried
    }

    /// How the handshake has ended by now.
    pub(super) const fn end(&self) -> TlsEnd {
        self.end
    }

    /// Notes what a record says of the handshake's end.
    fn note_end(&mut self, direction: Direction, record: &Record) {
        self.alerts = None;
        let by = direction.sender();
        let Some(handshake) = &self.handshake else { return };
        let is_clear = record.kind == Kind::Alert && record.length() == ALERT;
        let is_alert = match record.kind {
            Kind::Alert => is_clear || !handshake.may_be_done(),
            // RFC 8446, section 6: alerts are encrypted as soon as there are keys.
            Kind::ApplicationData => handshake.may_be_alert(direction, record),
            _ => false,
        };
        match self.end {
            // It is the last of its direction.
            TlsEnd::Alert(alert) if alert.by == by && !is_alert => self.end = TlsEnd::Done,
            TlsEnd::Unfinished | TlsEnd::Done if is_alert => {
                self.alerts = is_clear.then_some(direction);
                self.end = TlsEnd::Alert(Alert { by, description: None, refuses_client: false });
            }
            _ => {}
        }
    }

    /// Reads what an alert says that is not encrypted: a level and a description. After a warning, the handshake may go
    /// on (RFC 5246, section 7.2.2), or its sender cancels it.
    fn read_alert(&mut self, direction: Direction, bytes: &[u8]) {
        const WARNING: u8 = 1;
        if let (TlsEnd::Alert(alert), true) = (&mut self.end, self.alerts == Some(direction)) {
            match *bytes {
                [WARNING, ..] => self.end = TlsEnd::Unfinished,
                [_, description] => alert.description = Some(description),
                _ => {}
            }
        }
        self.alerts = None;
    }

    fn read_hello(&mut self, direction: Direction, payload: Captured<'_>, log: &mut Log) {
        let Some((expected, _)) = &self.hello else { return };
        match (*expected, direction) {
            // Early data.
            (Direction::ToClient, Direction::ToServer) => return,
            // It answers one that cannot be read.
            (Direction::ToServer, Direction::ToClient) => self.hello = None,
            _ if !payload.is_whole => self.hello = None,
            _ => {}
        }
        let Some((_, hello)) = &mut self.hello else { return self.give_up_opening(log) };
        let Some(said) = hello.extend(payload.bytes) else { return };
        let offer = said.alpn;
        if let Some((kind, length)) = hello.message() {
            let [at, record_end] = self.hello_at;
            if at + hello::HEADER + length as u64 <= record_end {
                log.token(direction, at, || TokenKind::Hello {
                    message_type: kind,
                    length,
                    alpn: offer,
                });
            }
        }
        self.hello = match direction {
            Direction::ToServer => {
                self.client_random = said.random;
                Some((Direction::ToClient, Hello::default()))
            }
            Direction::ToClient if said.is_retry_request() => {
                self.retried = true;
                Some((Direction::ToServer, Hello::default()))
            }
            Direction::ToClient => {
                if let (Some(handshake), Some([_, suite])) = (&mut self.handshake, said.chosen) {
                    handshake.choose(suite);
                }
                self.begin_opening(&said, log);
                None
            }
        };
        self.http2 = match (direction, offer) {
            (Direction::ToServer, Alpn::Http2) => Inside::MayBeHttp2,
            (Direction::ToClient, Alpn::Http2) => Inside::Http2,
            // TLS 1.3 encrypts the choice.
            (Direction::ToClient, Alpn::Absent) => self.http2,
            (_, Alpn::Absent | Alpn::Other) => Inside::Other,
        };
    }

    fn handle_record(
        &mut self,
        direction: Direction,
        record: &Record,
        context: Context,
        log: &mut Log,
    ) {
        let is_within = self.shake_hands(direction, record, context, log);
        let sealed = SealedRecord::new(*record, is_within, context);
        if self.seals(direction, sealed, log) {
            return;
        }
        if !is_within {
            self.handle_content(direction, record, context, log);
        }
    }

    /// Takes a record as one of the handshake, if that is not done. Whether it is.
    fn shake_hands(
        &mut self,
        direction: Direction,
        record: &Record,
        context: Context,
        log: &mut Log,
    ) -> bool {
        if direction == Direction::ToClient {
            self.end_flight_early(log);
        }
        let Some(handshake) = &mut self.handshake else { return false };
        let place = handshake.handle(direction, record, log);
        match place {
            Part::Perhaps if self.perhaps.len() < MOST_PERHAPS => {
                self.perhaps.push((*record, context));
                return true;
            }
            Part::Perhaps => {
                self.end_flight_early(log);
                return false;
            }
            Part::Last => self.perhaps.clear(),
            Part::Within | Part::Early | Part::After => {}
        }
        self.version_13 = handshake.is_version_13();
        self.sealing = handshake.sealing();
        let is_over = matches!(place, Part::Last | Part::After);
        if self.end == TlsEnd::Unfinished && (is_over || handshake.may_be_done()) {
            self.end = TlsEnd::Done;
        }
        if is_over {
            self.is_certified = handshake.has_client_certificate();
            self.handshake = None;
        }
        matches!(place, Part::Within | Part::Last)
    }

    /// The client's flight was over with its first record: what came behind it is data.
    fn end_flight_early(&mut self, log: &mut Log) {
        if self.perhaps.is_empty() {
            return;
        }
        if let Some(mut handshake) = self.handshake.take() {
            self.is_certified = handshake.has_client_certificate();
            handshake.end_flight(log);
        }
        let perhaps = std::mem::take(&mut self.perhaps);
        match &mut self.inside {
            Opening::Unsealed(_) => {}
            Opening::Awaits(waiting) => waiting.end_flight_before(perhaps[0].0.start),
            Opening::Sealed(_) => {
                for (record, context) in perhaps {
                    self.handle_content(Direction::ToServer, &record, context, log);
                }
            }
        }
    }

    /// Takes a record whose content cannot be read.
    fn handle_content(
        &mut self,
        direction: Direction,
        record: &Record,
        context: Context,
        log: &mut Log,
    ) {
        if self.is_cut_short {
            return;
        }
        if self.http2 == Inside::Http2 && !self.hides_windows {
            self.hides_windows = true;
            // The settings of both ends are sealed, too.
            log.push(Event::FlowControlUnseen { least: [0, 0] });
        }
        self.note_window(direction, record, log);
        let is_data = matches!(record.kind, Kind::ApplicationData | Kind::Unknown);
        let is_control = !is_data || self.is_control(direction, record);
        let sealing = self.sealing(direction);
        if direction == Direction::ToServer {
            self.pinged = is_control && control::may_be_ping(record, sealing);
        }
        if is_control {
            if direction == Direction::ToServer
                && control::may_acknowledge_settings(record, sealing)
            {
                self.note_acknowledged_settings();
            }
            return;
        }
        match direction {
            Direction::ToServer => self.handle_request(record, context, log),
            Direction::ToClient => self.handle_response(record, context.segment, log),
        }
    }

    /// What TLS 1.3 adds to records of one direction; `None` for an older version.
    fn sealing(&self, direction: Direction) -> Option<u64> {
        self.version_13.then_some(self.sealing[direction as usize])
    }

    fn is_control(&self, direction: Direction, record: &Record) -> bool {
        let moment = control::Moment {
            direction,
            is_start: !matches!(self.first, First::Data),
            answers_ping: direction == Direction::ToClient && self.pinged,
            answers_bytes: match self.turn {
                Some((Direction::ToServer, start)) if direction == Direction::ToClient => {
                    self.asked_to.saturating_sub(start)
                }
                Some((Direction::ToClient, start)) if direction == Direction::ToServer => {
                    self.answered_to.saturating_sub(start)
                }
                _ => 0,
            },
        };
        let may_be_control = self.http2 != Inside::Other;
        let sealing = self.sealing(direction);
        record.kind == Kind::ApplicationData
            && ((may_be_control && control::is_http2_control(record, sealing, moment))
                || (!self.is_content && control::is_alert(record, sealing)))
    }

    fn handle_request(&mut self, record: &Record, context: Context, log: &mut Log) {
        self.release(log);
        let before = match self.turns {
            Turns::Response { exchange, .. } => Some(exchange),
            _ => None,
        };
        self.take_turn(Direction::ToServer, record, log);
        // A request while a response is on its way: no HTTP/1 client of today pipelines.
        let overlaps = context.interrupts || self.last_length >= FULL_RECORD;
        if let (Some(before), true, true) = (before, overlaps, self.http2 != Inside::Other) {
            log.push(Event::Multiplexed { exchange: before });
            if let Turns::Request { exchange, .. } = self.turns {
                log.push(Event::Multiplexed { exchange });
            }
        }
    }
}

/// The most records of a client's last flight behind the first: CertificateVerify and Finished. With early data, the first
/// is EndOfEarlyData, and there is one more (RFC 8446, section 4).
const MOST_PERHAPS: usize = 3;

/// Bytes of an alert that is not encrypted.
const ALERT: u64 = 2;

/// Most bytes of a record: a sender that fills a record usually has more to send.
const FULL_RECORD: u64 = 1 << 14;
