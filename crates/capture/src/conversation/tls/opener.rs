//! Which key opens which record. A record that opens proves its key and its number (RFC 8446, section 5.2), so both are
//! tried where the capture leaves them open.

use std::{collections::VecDeque, mem};

use ackwise_cause::Direction;

use super::{
    cipher::{Opened, RecordKey, Suite},
    records::Kind,
};
use crate::keys::{KeyLog, Label, Random, Secret};

/// Why records of TLS are not opened although there are secrets.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum NotOpened {
    /// The capture lacks the handshake, or cut it.
    NoHandshake,
    /// There is no secret for it.
    NoSecret,
    /// Its cipher suite, with this number, is not among those that can be opened.
    CipherSuite(u16),
    /// No record opens: the secrets are of something else, or the capture lacks parts of all of them.
    NothingOpens,
    /// From some record on, none did: the capture lacks too much.
    Lost,
}

/// Opens the records of both directions.
#[derive(Clone, Debug)]
pub(super) struct Opener {
    suite: Suite,
    sides: [Side; 2],
    /// A record has been opened.
    is_confirmed: bool,
}

#[derive(Clone, Debug)]
struct Side {
    /// The secrets of the keys that are tried next, the current one first. TLS 1.2 has none.
    secrets: VecDeque<Secret>,
    key: Option<Box<RecordKey>>,
    /// Of the next record.
    number: u64,
    /// Records may be missing since the last that was opened.
    is_lost: bool,
    /// What is sent is sealed: in TLS 1.2 from change_cipher_spec on.
    is_sealed: bool,
    /// Records that did not open, one after the other.
    failed: u8,
    /// How much work may be done on keys and numbers that do not open a record, in bytes.
    work: u64,
}

impl Default for Side {
    fn default() -> Self {
        Self {
            secrets: VecDeque::new(),
            key: None,
            number: 0,
            is_lost: false,
            is_sealed: false,
            failed: 0,
            work: FIRST_WORK,
        }
    }
}

/// How many records are missing before one that was opened, as their numbers say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Missed(pub(super) u64);

impl Opener {
    /// For a connection, by what both hellos say.
    pub(super) fn new(
        keys: &KeyLog,
        randoms: [Random; 2],
        chosen: [u16; 2],
    ) -> Result<Self, NotOpened> {
        let suite = Suite::of(chosen).ok_or(NotOpened::CipherSuite(chosen[1]))?;
        let find = |label| keys.find(&randoms[0], label);
        let sides = if suite.is_version_13() {
            // Without one of these, a direction stays sealed after its handshake.
            if [Label::ClientTraffic, Label::ServerTraffic].iter().any(|&it| find(it).is_none()) {
                return Err(NotOpened::NoSecret);
            }
            let of = |labels: &[Label]| {
                let secrets: VecDeque<_> = labels.iter().filter_map(|&label| find(label)).collect();
                Side { secrets, is_sealed: true, ..Side::default() }
            };
            [
                of(&[Label::ClientEarly, Label::ClientHandshake, Label::ClientTraffic]),
                of(&[Label::ServerHandshake, Label::ServerTraffic]),
            ]
        } else {
            let master = find(Label::Master).ok_or(NotOpened::NoSecret)?;
            let keys = suite.keys_12(&master, randoms).ok_or(NotOpened::NoSecret)?;
            keys.map(|key| Side { key: Some(Box::new(key)), ..Side::default() })
        };
        Ok(Self { suite, sides, is_confirmed: false })
    }

    /// Whether a record of this kind is sealed.
    pub(super) fn is_sealed(&self, direction: Direction, kind: Kind) -> bool {
        match kind {
            Kind::ApplicationData => true,
            Kind::Handshake | Kind::Alert => {
                self.sides[direction as usize].is_sealed && !self.suite.is_version_13()
            }
            Kind::ChangeCipherSpec | Kind::Unknown => false,
        }
    }

    /// A change_cipher_spec was sent: in TLS 1.3 it means nothing (RFC 8446, appendix D.4).
    pub(super) const fn change_cipher(&mut self, direction: Direction) {
        self.sides[direction as usize].is_sealed = true;
    }

    /// Records were sent in `direction` that cannot be seen whole: one, or nobody knows how many.
    pub(super) const fn miss(&mut self, direction: Direction) {
        self.sides[direction as usize].is_lost = true;
    }

    /// A record of data was sent in `direction` that cannot be seen whole.
    pub(super) fn pass_over(&mut self, direction: Direction) {
        let side = &mut self.sides[direction as usize];
        side.number = side.number.saturating_add(1);
    }

    /// Whether nobody knows how many records were sent in `direction`.
    pub(super) const fn is_lost(&self, direction: Direction) -> bool {
        self.sides[direction as usize].is_lost
    }

    /// The sender has changed its key (RFC 8446, section 7.2).
    pub(super) fn update(&mut self, direction: Direction) {
        let side = &mut self.sides[direction as usize];
        let secret = side.secrets.front().and_then(|it| self.suite.updated(it));
        if let (Some(secret), 1) = (secret, side.secrets.len()) {
            side.secrets = [secret].into();
            (side.key, side.number) = (None, 0);
        }
    }

    /// Whether the keys are the last of a handshake, which a [KeyUpdate](Self::update) may follow.
    pub(super) fn is_done(&self, direction: Direction) -> bool {
        self.sides[direction as usize].secrets.len() == 1
    }

    pub(super) const fn is_confirmed(&self) -> bool {
        self.is_confirmed
    }

    /// Why it is of no more use, if it is not.
    pub(super) fn gives_up(&self) -> Option<NotOpened> {
        let is_over = self.sides.iter().any(|it| it.failed >= MOST_FAILED);
        is_over.then_some(match self.is_confirmed {
            true => NotOpened::Lost,
            false => NotOpened::NothingOpens,
        })
    }

    /// Opens a record, in `payload`.
    pub(super) fn open<'a>(
        &mut self,
        direction: Direction,
        content_type: u8,
        payload: &'a mut [u8],
    ) -> Option<(Missed, Opened<'a>)> {
        let side = &mut self.sides[direction as usize];
        let found = side.find(self.suite, content_type, payload);
        let opened = found.zip(side.key.as_ref()).and_then(|(missed, key)| {
            key.open(side.number, content_type, payload).map(|it| (missed, it))
        });
        match &opened {
            Some(_) => {
                side.number += 1;
                (side.is_lost, side.failed) = (false, 0);
                self.is_confirmed = true;
            }
            None => {
                side.failed = side.failed.saturating_add(1);
                // Before any was opened, it was sealed with a secret that is not there: that does not move the numbers.
                side.is_lost |= self.is_confirmed;
            }
        }
        opened
    }

    /// What a copy of a record holds that comes `later` records after the next one, and stays where it is.
    pub(super) fn peek<R>(
        &self,
        direction: Direction,
        later: u64,
        content_type: u8,
        payload: &[u8],
        read: impl FnOnce(Opened<'_>) -> R,
    ) -> Option<R> {
        let side = &self.sides[direction as usize];
        let number = side.number + later;
        let mut copy = payload.to_vec();
        side.key.as_ref()?.open(number, content_type, &mut copy).map(read)
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn cost(&self) -> usize {
        let of = |it: &Side| {
            it.secrets.len() * size_of::<Secret>() + it.key.iter().len() * size_of::<RecordKey>()
        };
        size_of::<Self>() + self.sides.iter().map(of).sum::<usize>()
    }
}

impl Side {
    /// Finds the key and the number of a record, unless they are sure.
    fn find(&mut self, suite: Suite, content_type: u8, payload: &[u8]) -> Option<Missed> {
        let is_sure = self.secrets.len() <= 1 && !self.is_lost && self.failed == 0;
        if self.key.is_none() {
            self.key = self.secrets.front().and_then(|it| suite.key(it)).map(Box::new);
        }
        if is_sure {
            return self.key.is_some().then_some(Missed(0));
        }
        let (length, cost) = (payload.len() as u64, payload.len() as u64 + TRY);
        self.work = MOST_WORK.min(self.work + length * MOST_MISSED / 2 + 8 * TRY);
        let most = if self.is_lost { MOST_MISSED } else { 1 };
        let mut copy = Vec::with_capacity(payload.len());
        let work = &mut self.work;
        let mut opens = |key: &RecordKey, numbers: std::ops::Range<u64>| {
            numbers.into_iter().find(|&number| {
                let Some(left) = work.checked_sub(cost) else { return false };
                *work = left;
                copy.clear();
                copy.extend_from_slice(payload);
                key.open(number, content_type, &mut copy).is_some()
            })
        };
        let key = self.key.as_ref()?;
        if let Some(number) = opens(key, self.number..self.number + most) {
            let missed = number - mem::replace(&mut self.number, number);
            return Some(Missed(missed));
        }
        for later in 1..self.secrets.len() {
            let Some(key) = suite.key(&self.secrets[later]) else { continue };
            if let Some(number) = opens(&key, 0..most) {
                self.secrets.drain(..later);
                (self.key, self.number) = (Some(Box::new(key)), number);
                return Some(Missed(number));
            }
        }
        None
    }
}

/// What a try costs beside the bytes of the record, in bytes, about; each record allows half of what is tried at most, and
/// eight tries of a short one. Then trying takes some seconds for 50 MB of a capture. Our choice.
const TRY: u64 = 256;

/// Enough for a hole in a handshake, and for a long hole between full records. Our choice.
const FIRST_WORK: u64 = 1 << 16;
const MOST_WORK: u64 = 1 << 22;

/// The most records that may be missing before one, and are found missing by its number: 1 MB of full ones. Our choice.
const MOST_MISSED: u64 = 64;

/// The most records in a row that are tried in vain: those of a handshake whose secrets were not logged, and what
/// follows several holes. Our choice.
const MOST_FAILED: u8 = 32;
