//! Records on their way to be opened, and what is done if they cannot be.

use std::mem;

use ackwise_cause::Direction;

use super::{
    super::span::Captured,
    Context, ExchangeReader, Kind, Log, Opening, Tls,
    hello::Said,
    opener::{NotOpened, Opener},
    unsealed::{Found, SealedRecord, Unsealed},
};
use crate::keys::Random;

/// Records that wait for what opens them, in the order in which they began.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    records: Vec<(Direction, SealedRecord)>,
    /// Both randoms, version and cipher suite.
    hellos: Option<([Random; 2], [u16; 2])>,
}

impl Waiting {
    /// The most of a connection: more than the early data that OpenSSL's and Go's servers take. Our choice.
    const MOST: usize = 1 << 16;

    pub(super) fn held(&self) -> usize {
        self.records.iter().map(|it| it.1.held()).sum()
    }

    /// Where the first of a direction begins.
    pub(super) fn since(&self, direction: Direction) -> Option<u64> {
        self.records.iter().find(|it| it.0 == direction).map(|it| it.1.record.start)
    }

    /// The client's handshake was over before `position`.
    pub(super) fn end_flight_before(&mut self, position: u64) {
        let of_client = self.records.iter_mut().filter(|it| it.0 == Direction::ToServer);
        for (_, sealed) in of_client.filter(|it| it.1.record.start >= position) {
            sealed.is_within = false;
        }
    }

    fn last(&mut self, direction: Direction) -> Option<&mut SealedRecord> {
        self.records.iter_mut().rev().find(|it| it.0 == direction).map(|it| &mut it.1)
    }
}

impl Tls {
    /// The server has said how records will be sealed.
    pub(super) fn begin_opening(&mut self, said: &Said, log: &mut Log) {
        let Opening::Awaits(waiting) = &mut self.inside else { return };
        let Some(chosen) = said.chosen else { return self.give_up_opening(log) };
        waiting.hellos = Some(([self.client_random, said.random], chosen));
        self.try_opening(log);
    }

    /// Looks for the secrets of a connection whose hellos are known.
    fn try_opening(&mut self, log: &mut Log) {
        let (Some(keys), Opening::Awaits(waiting)) = (&self.keys, &mut self.inside) else { return };
        let Some((randoms, chosen)) = waiting.hellos else { return };
        let opener = match Opener::new(keys, randoms, chosen) {
            Err(NotOpened::NoSecret) if keys.is_growing() && waiting.held() < Waiting::MOST => {
                return;
            }
            opener => opener,
        };
        let records = mem::take(&mut waiting.records);
        self.inside = match opener {
            Ok(mut opener) => {
                if records.iter().any(|it| it.0 == Direction::ToClient) {
                    // What was sealed before them did not wait.
                    for direction in [Direction::ToServer, Direction::ToClient] {
                        opener.change_cipher(direction);
                        opener.miss(direction);
                    }
                }
                Opening::Unsealed(Box::new(Unsealed::new(opener)))
            }
            Err(why) => Opening::Sealed(Some(why)),
        };
        self.end_waiting(records, log);
    }

    /// Opens what has waited, or takes it as it is.
    fn end_waiting(&mut self, records: Vec<(Direction, SealedRecord)>, log: &mut Log) {
        for (direction, sealed) in records {
            match &mut self.inside {
                Opening::Unsealed(unsealed) if sealed.is_over() => {
                    let found = unsealed.end(direction, sealed, log);
                    self.note_found(direction, found, log);
                }
                Opening::Unsealed(unsealed) => unsealed.begin(direction, sealed),
                _ => self.hand_back(direction, &sealed, log),
            }
        }
    }

    /// There will be no secrets.
    pub(super) fn give_up_opening(&mut self, log: &mut Log) {
        self.try_opening(log);
        if let Opening::Awaits(waiting) = &mut self.inside {
            let why = match waiting.hellos {
                Some(_) => NotOpened::NoSecret,
                None => NotOpened::NoHandshake,
            };
            let records = mem::take(&mut waiting.records);
            self.inside = Opening::Sealed(Some(why));
            self.end_waiting(records, log);
        }
    }

    /// Whether a record waits to be opened.
    pub(super) fn seals(
        &mut self,
        direction: Direction,
        sealed: SealedRecord,
        log: &mut Log,
    ) -> bool {
        self.try_opening(log);
        let kind = sealed.record.kind;
        match &mut self.inside {
            Opening::Sealed(_) => false,
            // Secrets are logged before they are used. When the server has answered, it would be too late to say what a
            // request waited for.
            Opening::Awaits(_) if direction == Direction::ToClient && !sealed.is_within => {
                self.give_up_opening(log);
                false
            }
            Opening::Awaits(waiting) => {
                let is_early = direction == Direction::ToServer && waiting.held() < Waiting::MOST;
                let waits = kind == Kind::ApplicationData && (waiting.hellos.is_some() || is_early);
                if waits {
                    waiting.records.push((direction, sealed));
                }
                waits
            }
            Opening::Unsealed(unsealed) => {
                match kind {
                    Kind::ChangeCipherSpec => unsealed.change_cipher(direction),
                    Kind::Unknown => unsealed.lose(direction),
                    kind if unsealed.opens(direction, kind) => {
                        unsealed.begin(direction, sealed);
                        return true;
                    }
                    _ => {}
                }
                unsealed.is_confirmed()
            }
        }
    }

    /// The conversation inside, if something of it has been read.
    pub(super) fn unsealed(&mut self) -> Option<&mut Unsealed> {
        match &mut self.inside {
            Opening::Unsealed(unsealed) if unsealed.is_confirmed() => Some(unsealed),
            _ => None,
        }
    }

    /// Whether its records are opened, or why not; `None` if there are no secrets of any connection.
    pub(in super::super) fn opened(&self) -> Option<Result<(), NotOpened>> {
        match &self.inside {
            Opening::Unsealed(unsealed) if unsealed.is_confirmed() => Some(Ok(())),
            Opening::Unsealed(_) => Some(Err(NotOpened::NothingOpens)),
            Opening::Awaits(waiting) => Some(Err(match waiting.hellos {
                Some(_) => NotOpened::NoSecret,
                None => NotOpened::NoHandshake,
            })),
            Opening::Sealed(why) => why.map(Err),
        }
    }

    /// What names the secrets of this connection, if there are secrets of any, and its ClientHello was read.
    pub(in super::super) fn client_random(&self) -> Option<Random> {
        let is_known = self.keys.is_some() && self.client_random != [0; 32];
        is_known.then_some(self.client_random)
    }

    /// Takes what was captured of a record's payload.
    pub(super) fn read_sealed(
        &mut self,
        direction: Direction,
        payload: Captured<'_>,
        log: &mut Log,
    ) {
        let ends = self.records(direction).is_between_records();
        match &mut self.inside {
            Opening::Awaits(waiting) => {
                if let Some(sealed) = waiting.last(direction).filter(|it| !it.is_over()) {
                    sealed.extend(payload);
                    if ends {
                        sealed.end();
                    }
                }
            }
            Opening::Unsealed(unsealed) => {
                unsealed.extend(direction, payload);
                if ends && let Some(found) = unsealed.end_record(direction, log) {
                    self.note_found(direction, found, log);
                }
            }
            _ => {}
        }
    }

    fn note_found(&mut self, direction: Direction, found: Found, log: &mut Log) {
        match found {
            Found::Opened | Found::Missed => {}
            Found::Alert(description) => self.note_opened_alert(direction, description),
            Found::Nothing(sealed) => self.hand_back(direction, &sealed, log),
            Found::GivesUp(why, sealed) => {
                if let Some(unsealed) = self.unsealed() {
                    unsealed.with_reader(log, ExchangeReader::handle_abort);
                }
                self.inside = Opening::Sealed(Some(why));
                if let Some(sealed) = sealed {
                    self.hand_back(direction, &sealed, log);
                }
            }
        }
    }

    /// A record was not opened, and nothing of its connection has been.
    fn hand_back(&mut self, direction: Direction, sealed: &SealedRecord, log: &mut Log) {
        let &SealedRecord { ref record, is_within, interrupts, segment, .. } = sealed;
        if !is_within {
            self.handle_content(direction, record, Context { interrupts, segment }, log);
        }
    }
}
