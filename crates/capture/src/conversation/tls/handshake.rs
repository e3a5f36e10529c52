//! Who shakes hands until when. The types and lengths of records must do: most of it is encrypted.
//!
//! ```text
//!  TLS 1.3                                  TLS 1.2, and resumed
//!  C  ClientHello                           C  ClientHello            ClientHello
//!  S  ServerHello, CCS, 23 … (Finished)     S  ServerHello … Done     ServerHello, CCS, Finished
//!  C  CCS, 23 (Finished)       ── done      C  22 …, CCS, Finished    CCS, Finished   ── done
//!                                           S  CCS, Finished ── done
//! ```

use ackwise_cause::Direction;

use super::{
    super::{Event, TlsFlight, log::Log},
    records::{Kind, Record},
    sealing::{self, Hash},
};

/// A handshake that is not done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handshake {
    flight: Option<TlsFlight>,
    client: Side,
    server: Side,
    /// Of the cipher suite.
    hash: Hash,
}

/// What one side has sent.
#[derive(Clone, Copy, Debug, Default)]
struct Side {
    flights: u8,
    changed_cipher: bool,
    /// Where its change_cipher_spec began, if that came within the other side's flight.
    change_at: Option<u64>,
    /// TLS 1.2's Finished.
    finished: bool,
    /// Early data.
    early: bool,
    /// Records of type 23, which only TLS 1.3 has before the end.
    encrypted: u8,
    /// What the last of them may add to a Finished.
    sealing: Option<u64>,
    /// It has more than Finished.
    is_certified: bool,
}

/// What a record has to do with the handshake.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Part {
    /// It is of it.
    Within,
    /// It ends it.
    Last,
    /// It is of it, or the first data after it: the record before it may have had all of the client's flight.
    Perhaps,
    /// It is data, sent before the end: TLS 1.3's early data, TLS 1.2's False Start.
    Early,
    /// It is the first data after it.
    After,
}

impl Handshake {
    /// The server has chosen a cipher suite.
    pub(super) const fn choose(&mut self, suite: u16) {
        self.hash = Hash::of_suite(suite);
    }

    /// Whether TLS 1.3 was seen.
    pub(super) const fn is_version_13(&self) -> bool {
        self.server.encrypted > 0 || (self.client.encrypted > 0 && !self.client.finished)
    }

    /// Whether the client has sent what may be its Finished.
    pub(super) const fn may_be_done(&self) -> bool {
        self.client.encrypted > 0 || self.client.finished
    }

    /// Whether the client's last flight of TLS 1.3 has what answers a CertificateRequest: a record more, or one that is no
    /// Finished alone. EndOfEarlyData would be one, too.
    pub(super) const fn has_client_certificate(&self) -> bool {
        let Side { encrypted, sealing, early, is_certified, .. } = self.client;
        !early && (is_certified || encrypted > 1 || (encrypted == 1 && sealing.is_none()))
    }

    /// What TLS 1.3 adds to the client's and to the server's records.
    pub(super) fn sealing(&self) -> [u64; 2] {
        [self.client, self.server].map(|it| it.sealing.unwrap_or(sealing::USUAL))
    }

    /// Whether a record of type 23 may be the client's alert, instead of its Finished.
    pub(super) const fn may_be_alert(&self, direction: Direction, record: &Record) -> bool {
        let is_clients = matches!(direction, Direction::ToServer) && self.server.encrypted > 0;
        is_clients && !self.may_be_done() && sealing::may_be_alert(record.length())
    }

    /// Takes a record and tells of the flight before it, if it begins another.
    pub(super) fn handle(&mut self, direction: Direction, record: &Record, log: &mut Log) -> Part {
        let place = self.place(direction, record);
        match place {
            Part::Early | Part::Perhaps => {}
            Part::After => self.end_flight(log),
            Part::Within | Part::Last => self.add(direction, record, log),
        }
        if place == Part::Last {
            self.end_flight(log);
        }
        place
    }

    /// Tells of the flight that is under way: it is done.
    pub(super) fn end_flight(&mut self, log: &mut Log) {
        if let Some(flight) = &mut self.flight {
            flight.done = true;
        }
        self.break_flight(log);
    }

    /// Tells of the flight that is under way.
    pub(super) fn break_flight(&mut self, log: &mut Log) {
        if let Some(flight) = self.flight.take() {
            log.push(Event::TlsFlight(flight));
        }
    }

    fn add(&mut self, direction: Direction, record: &Record, log: &mut Log) {
        let is_other = self.flight.is_some_and(|flight| flight.direction != direction);
        // A client may send it while the server's flight is under way (RFC 8446, appendix D.4): what follows it
        // ends that.
        if record.kind == Kind::ChangeCipherSpec && is_other {
            self.side(direction).change_at.get_or_insert(record.start);
            return;
        }
        match &mut self.flight {
            Some(flight) if flight.direction == direction => flight.end = record.end,
            _ => {
                self.break_flight(log);
                let change_at = self.side(direction).change_at.take();
                let (start, end) = (change_at.unwrap_or(record.start), record.end);
                self.flight = Some(TlsFlight { direction, start, end, done: false });
                let side = self.side(direction);
                side.flights = side.flights.saturating_add(1);
            }
        }
    }

    fn place(&mut self, direction: Direction, record: &Record) -> Part {
        match record.kind {
            Kind::Alert => {}
            Kind::ChangeCipherSpec => self.side(direction).changed_cipher = true,
            // A hello after HelloRetryRequest and its CCS is longer than any Finished.
            Kind::Handshake => {
                let side = self.side(direction);
                side.finished |= side.changed_cipher && record.length() <= FINISHED_12;
                if self.client.finished && self.server.finished {
                    return Part::Last;
                }
            }
            Kind::ApplicationData => {
                return match direction {
                    Direction::ToServer => self.place_client_data(record),
                    Direction::ToClient => self.place_server_data(record),
                };
            }
            Kind::Unknown if direction == Direction::ToServer => return self.place_unknown(),
            Kind::Unknown => {}
        }
        Part::Within
    }

    fn place_client_data(&mut self, record: &Record) -> Part {
        if self.server.flights == 0 || self.client.finished {
            self.client.early = self.server.flights == 0;
            return Part::Early;
        }
        if self.server.encrypted == 0 && !self.client.changed_cipher {
            return Part::After;
        }
        // Certificates and the end of early data may come before Finished.
        self.client.encrypted = self.client.encrypted.saturating_add(1);
        self.client.sealing = sealing::of_finished(record.length(), self.hash);
        if self.client.sealing.is_none() && self.client.encrypted == 1 {
            let sealing = sealing::of_finished_without_certificate(record.length(), self.hash);
            self.client.sealing = sealing;
            self.client.is_certified = sealing.is_some();
        }
        match self.client.encrypted {
            _ if self.client.sealing.is_some() => Part::Last,
            1 => Part::Within,
            _ => Part::Perhaps,
        }
    }

    const fn place_server_data(&mut self, record: &Record) -> Part {
        if self.client.finished {
            return Part::After;
        }
        // What answers early data may come behind its Finished at once (RFC 8446, section 4.4.4).
        if self.client.early && self.server.sealing.is_some() {
            return Part::Early;
        }
        self.server.encrypted = self.server.encrypted.saturating_add(1);
        self.server.sealing = sealing::of_finished(record.length(), self.hash);
        Part::Within
    }

    /// Bytes of a client whose records cannot be seen: data, if the handshake may have ended.
    fn place_unknown(&self) -> Part {
        let answered = self.server.flights > 0;
        let begins_flight =
            self.flight.is_some_and(|flight| flight.direction == Direction::ToClient);
        let third = begins_flight && self.client.flights >= 2;
        if answered && (third || self.client.changed_cipher) { Part::After } else { Part::Within }
    }

    const fn side(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::ToServer => &mut self.client,
            Direction::ToClient => &mut self.server,
        }
    }
}

/// Longest record with TLS 1.2's Finished: 16 bytes of message, CBC with SHA-384 around it.
const FINISHED_12: u64 = 96;
