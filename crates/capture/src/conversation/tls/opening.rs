//! Records on their way to be opened, and what is done if they cannot be.

use std::mem;

use ackwise_cause::Direction;

use super::{
    Alert, Context, ExchangeReader, Kind, Log, Opening, Tls, TlsEnd,
    hello::Said,
    opener::{NotOpened, Opener},
    unsealed::{Found, MOST_EARLY, SealedRecord, Unsealed},
};

impl Tls {
    /// The server has said how records will be sealed.
    pub(super) fn begin_opening(&mut self, said: &Said, log: &mut Log) {
        let (Some(keys), Opening::Awaits(early)) = (&self.keys, &mut self.inside) else { return };
        let opener = match said.chosen {
            Some(chosen) => Opener::new(keys, [self.client_random, said.random], chosen),
            None => Err(NotOpened::NoHandshake),
        };
        let early = mem::take(early);
        self.inside = match opener {
            Ok(opener) => Opening::Unsealed(Box::new(Unsealed::new(opener))),
            Err(why) => Opening::Sealed(Some(why)),
        };
        for sealed in early {
            match &mut self.inside {
                Opening::Unsealed(unsealed) => {
                    let found = unsealed.end(Direction::ToServer, sealed, log);
                    self.note_found(Direction::ToServer, found, log);
                }
                _ => self.hand_back(Direction::ToServer, &sealed, log),
            }
        }
    }

    /// There will be no secrets.
    pub(super) fn give_up_opening(&mut self, log: &mut Log) {
        if let Opening::Awaits(early) = &mut self.inside {
            let early = mem::take(early);
            self.inside = Opening::Sealed(Some(NotOpened::NoHandshake));
            for sealed in early {
                self.hand_back(Direction::ToServer, &sealed, log);
            }
        }
    }

    /// Whether a record waits to be opened.
    pub(super) fn seals(&mut self, direction: Direction, sealed: SealedRecord) -> bool {
        let kind = sealed.record.kind;
        match &mut self.inside {
            Opening::Sealed(_) => false,
            Opening::Awaits(early) => {
                let held: usize = early.iter().map(SealedRecord::held).sum();
                let waits = kind == Kind::ApplicationData && direction == Direction::ToServer;
                let has_room = held < MOST_EARLY;
                if waits && has_room {
                    early.push(sealed);
                }
                waits && has_room
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
            Opening::Awaits(_) => Some(Err(NotOpened::NoHandshake)),
            Opening::Sealed(why) => why.map(Err),
        }
    }

    /// Takes what was captured of a record's payload.
    pub(super) fn read_sealed(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        is_whole: bool,
        log: &mut Log,
    ) {
        let ends = self.records(direction).is_between_records();
        match &mut self.inside {
            Opening::Awaits(early) if direction == Direction::ToServer => {
                if let Some(sealed) = early.last_mut() {
                    sealed.extend(bytes, is_whole);
                }
            }
            Opening::Unsealed(unsealed) => {
                if let Some(found) = unsealed.extend(direction, bytes, is_whole, ends, log) {
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

    /// An alert that ends the handshake says why.
    const fn note_opened_alert(&mut self, direction: Direction, description: Option<u8>) {
        if let (TlsEnd::Alert(_), Some(_)) = (self.end, description) {
            self.end = TlsEnd::Alert(Alert { by: direction.sender(), description });
        }
    }
}
