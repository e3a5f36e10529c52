//! What is inside of records for which there are secrets: another conversation, as if TLS were not there.
//!
//! Its positions are those of the sealed stream: the content of a record ends where the record does. So who asks when a
//! byte was seen gets the answer that a program would: all of a record is there at once.

use std::mem;

use ackwise_cause::Direction;

use super::{
    super::{
        ExchangeReader, Log, State,
        span::{Captured, Span},
    },
    Context,
    opener::{Missed, NotOpened, Opener},
    records::{Kind, Record},
};

/// Both directions, opened.
#[derive(Clone, Debug)]
pub(super) struct Unsealed {
    opener: Opener,
    reader: Box<ExchangeReader>,
    /// The record that is under way, by direction.
    sealed: [Option<SealedRecord>; 2],
    /// Up to where each direction was opened.
    opened_to: [u64; 2],
    /// What sealing adds to the records of data of each direction, with their headers; 0 if none was opened.
    added: [u64; 2],
    /// What the client has sent before the handshake was done, until the server says whether it takes that.
    early: Early,
}

/// A record whose payload is collected.
#[derive(Clone, Debug)]
pub(super) struct SealedRecord {
    pub(super) record: Record,
    /// It may be of a handshake.
    pub(super) is_within: bool,
    pub(super) interrupts: bool,
    pub(super) segment: u64,
    bytes: Vec<u8>,
    /// Parts of it were not captured.
    is_cut: bool,
    /// Nothing more of it comes.
    is_over: bool,
}

/// Early data (RFC 8446, section 2.3).
#[derive(Clone, Debug)]
enum Early {
    /// Where each piece begins, and what it is.
    Waits(Vec<(u64, Vec<u8>)>),
    Decided,
}

/// What became of a record.
#[derive(Debug)]
pub(super) enum Found {
    /// It was opened, and read.
    Opened,
    /// It was opened: an alert with this description.
    Alert(Option<u8>),
    /// It was not, and nothing of the connection has been.
    Nothing(SealedRecord),
    /// It was not.
    Missed,
    /// Nothing more will be.
    GivesUp(NotOpened, Option<SealedRecord>),
}

impl Unsealed {
    pub(super) fn new(opener: Opener) -> Self {
        Self {
            opener,
            reader: Box::default(),
            sealed: [None, None],
            opened_to: [0; 2],
            added: [0; 2],
            early: Early::Waits(Vec::new()),
        }
    }

    /// Whether something has been opened.
    pub(super) const fn is_confirmed(&self) -> bool {
        self.opener.is_confirmed()
    }

    /// Whether data of a direction has been opened.
    pub(super) const fn has_data(&self, direction: Direction) -> bool {
        self.added[direction as usize] > 0
    }

    pub(super) fn opens(&self, direction: Direction, kind: Kind) -> bool {
        self.opener.is_sealed(direction, kind)
    }

    pub(super) const fn change_cipher(&mut self, direction: Direction) {
        self.opener.change_cipher(direction);
    }

    /// Records cannot be seen any more.
    pub(super) fn lose(&mut self, direction: Direction) {
        self.sealed[direction as usize] = None;
        self.opener.miss(direction);
    }

    /// A record begins.
    pub(super) fn begin(&mut self, direction: Direction, record: SealedRecord) {
        // The one before it has not ended.
        if self.sealed[direction as usize].replace(record).is_some() {
            self.opener.miss(direction);
        }
    }

    /// Where the record begins that is under way.
    pub(super) fn undecided_since(&self, direction: Direction) -> Option<u64> {
        let sealed = self.sealed[direction as usize].as_ref().map(|it| it.record.start);
        // What was sent since then may have begun anything.
        let is_lost = self.opener.is_lost(direction) && self.is_confirmed();
        let lost = is_lost.then_some(self.opened_to[direction as usize]);
        let sealed = lost.or(sealed);
        match (&self.early, direction) {
            (Early::Waits(pieces), Direction::ToServer) => pieces.first().map(|it| it.0).or(sealed),
            _ => sealed,
        }
    }

    /// Adds bytes to the record that is under way.
    pub(super) fn extend(&mut self, direction: Direction, payload: Captured<'_>) {
        if let Some(sealed) = &mut self.sealed[direction as usize] {
            sealed.extend(payload);
        }
    }

    /// Opens the record that is under way, of which there is no more.
    pub(super) fn end_record(&mut self, direction: Direction, log: &mut Log) -> Option<Found> {
        let sealed = self.sealed[direction as usize].take()?;
        Some(self.end(direction, sealed, log))
    }

    /// Takes a record of which there is no more.
    pub(super) fn end(
        &mut self,
        direction: Direction,
        sealed: SealedRecord,
        log: &mut Log,
    ) -> Found {
        let found = self.open(direction, sealed, log);
        match (self.opener.gives_up(), found) {
            (Some(why), Found::Nothing(sealed)) => Found::GivesUp(why, Some(sealed)),
            (Some(why), _) => Found::GivesUp(why, None),
            (None, found) => found,
        }
    }

    fn open(&mut self, direction: Direction, mut sealed: SealedRecord, log: &mut Log) -> Found {
        if sealed.is_cut {
            return self.take_cut(direction, sealed, log);
        }
        let mut payload = mem::take(&mut sealed.bytes);
        let content_type = sealed.record.kind.number();
        let opened = self.opener.open(direction, content_type, &mut payload);
        let Some((Missed(missed), opened)) = opened else { return self.not_opened(sealed) };
        let (content_type, content) = (opened.content_type, opened.bytes);
        let length = content.len() as u64;
        let &Record { start, end, .. } = &sealed.record;
        let missing = Missing {
            from: mem::replace(&mut self.opened_to[direction as usize], end),
            until: start,
            records: missed,
            added: end - start - length,
        };
        match content_type {
            ALERT => return Found::Alert(content.get(1).copied()),
            HANDSHAKE => self.take_handshake(direction, content, log),
            APPLICATION_DATA => {
                self.added[direction as usize] = missing.added;
                self.take_data(direction, missing, end - length, content, log);
            }
            _ => {}
        }
        Found::Opened
    }

    /// A record was sent of which the capture lacks a part. Behind data it is data, too.
    fn take_cut(&mut self, direction: Direction, sealed: SealedRecord, log: &mut Log) -> Found {
        let Record { start, end, .. } = sealed.record;
        let added = self.added[direction as usize];
        let length = end.saturating_sub(start).checked_sub(added);
        let Some(length) = length.filter(|_| added > 0 && !self.opener.is_lost(direction)) else {
            self.opener.miss(direction);
            return self.not_opened(sealed);
        };
        self.opener.pass_over(direction);
        self.opened_to[direction as usize] = end;
        self.read(direction, Span::gap(end - length, length), log);
        Found::Missed
    }

    fn not_opened(&self, sealed: SealedRecord) -> Found {
        if self.is_confirmed() { Found::Missed } else { Found::Nothing(sealed) }
    }

    /// Takes handshake messages: the few that say something about what follows.
    fn take_handshake(&mut self, direction: Direction, mut messages: &[u8], log: &mut Log) {
        const ENCRYPTED_EXTENSIONS: u8 = 8;
        const KEY_UPDATE: u8 = 24;
        while let [kind, a, b, c, rest @ ..] = messages {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            let (message, rest) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            match *kind {
                ENCRYPTED_EXTENSIONS if direction == Direction::ToClient => {
                    match accepts_early_data(message) {
                        true => self.take_early(log),
                        false => self.early = Early::Decided, // The client sends it again.
                    }
                }
                KEY_UPDATE if self.opener.is_done(direction) => self.opener.update(direction),
                _ => {}
            }
            messages = rest;
        }
    }

    /// The server takes the early data.
    fn take_early(&mut self, log: &mut Log) {
        if let Early::Waits(pieces) = mem::replace(&mut self.early, Early::Decided) {
            for (at, content) in pieces {
                self.read(
                    Direction::ToServer,
                    Span::segment(at, content.len() as u64, &content),
                    log,
                );
            }
        }
    }

    fn take_data(
        &mut self,
        direction: Direction,
        missing: Missing,
        at: u64,
        content: &[u8],
        log: &mut Log,
    ) {
        if let (Early::Waits(pieces), Direction::ToServer) = (&mut self.early, direction) {
            let held: usize = pieces.iter().map(|it| it.1.len()).sum();
            if held + content.len() <= MOST_EARLY {
                return pieces.push((at, content.to_vec()));
            }
        }
        // A server that sends data has taken the early data, if its extensions were not seen.
        self.take_early(log);
        if let Some((from, length)) = missing.content() {
            self.read(direction, Span::gap(from, length), log);
        }
        self.read(direction, Span::segment(at, content.len() as u64, content), log);
    }

    fn read(&mut self, direction: Direction, span: Span<'_>, log: &mut Log) {
        self.with_reader(log, |reader| {
            let end = span.end();
            reader.handle(direction, span);
            *reader.end(direction) = end;
        });
    }

    /// What the `later`th record after the next one is, if `payload` is all of it: its type and its first bytes.
    pub(super) fn peek(
        &self,
        direction: Direction,
        later: u64,
        kind: Kind,
        payload: &[u8],
    ) -> Option<(u8, [u8; 4])> {
        self.opener.peek(direction, later, kind.number(), payload, |opened| {
            let mut first = [0; 4];
            for (to, from) in first.iter_mut().zip(opened.bytes) {
                *to = *from;
            }
            (opened.content_type, first)
        })
    }

    /// Whether HTTP/2 is inside.
    pub(super) const fn is_http2(&self) -> bool {
        matches!(self.reader.state, State::Http2(_))
    }

    /// Lets the inner conversation write to `log`.
    pub(super) fn with_reader(&mut self, log: &mut Log, tell: impl FnOnce(&mut ExchangeReader)) {
        mem::swap(&mut self.reader.log, log);
        tell(&mut self.reader);
        mem::swap(&mut self.reader.log, log);
    }

    /// Bytes that it takes in memory, about.
    pub(super) fn cost(&self) -> usize {
        let held: usize = self.sealed.iter().flatten().map(SealedRecord::held).sum();
        let early = match &self.early {
            Early::Waits(pieces) => pieces.iter().map(|it| it.1.len()).sum(),
            Early::Decided => 0,
        };
        self.opener.cost() + size_of::<Self>() + self.reader.cost() + held + early
    }
}

impl SealedRecord {
    #[expect(clippy::fn_params_excessive_bools, reason = "a fact of the record")]
    pub(super) const fn new(record: Record, is_within: bool, context: Context) -> Self {
        let Context { interrupts, segment } = context;
        Self {
            record,
            is_within,
            interrupts,
            segment,
            bytes: Vec::new(),
            is_cut: false,
            is_over: false,
        }
    }

    /// Bytes of it that are held.
    pub(super) const fn held(&self) -> usize {
        self.bytes.capacity() + size_of::<Self>()
    }

    /// Whether nothing more of it comes.
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    pub(super) const fn end(&mut self) {
        self.is_over = true;
    }

    /// Adds what comes next of it.
    pub(super) fn extend(&mut self, Captured { bytes, is_whole }: Captured<'_>) {
        self.is_cut |= !is_whole;
        if self.is_cut {
            self.bytes = Vec::new();
            return;
        }
        if self.bytes.is_empty() {
            let length = usize::try_from(self.record.length()).unwrap_or_default();
            self.bytes.reserve_exact(length.min(LONGEST));
        }
        self.bytes.extend_from_slice(bytes);
    }
}

/// What was not opened before a record.
#[derive(Clone, Copy, Debug)]
struct Missing {
    from: u64,
    until: u64,
    records: u64,
    /// What sealing adds to a record, with its header.
    added: u64,
}

impl Missing {
    /// Where content is missing, and how much: the same is added to all records of a direction.
    fn content(self) -> Option<(u64, u64)> {
        let Self { from, until, records, added } = self;
        let sealed = until.checked_sub(from).filter(|_| records > 0)?;
        let length = sealed.saturating_sub(records * added);
        (length > 0).then_some((from, length))
    }
}

/// Whether EncryptedExtensions have the one that takes early data (RFC 8446, section 4.2.10).
fn accepts_early_data(message: &[u8]) -> bool {
    const EARLY_DATA: [u8; 2] = [0, 42];
    let mut extensions = message.get(2..).unwrap_or_default();
    while let [a, b, high, low, rest @ ..] = extensions {
        if [*a, *b] == EARLY_DATA {
            return true;
        }
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        extensions = rest.get(length..).unwrap_or_default();
    }
    false
}

/// Content types (RFC 8446, section 5.1).
pub(super) const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
pub(super) const APPLICATION_DATA: u8 = 23;

/// The longest payload: 2^14 bytes and what TLS 1.2 may add.
const LONGEST: usize = (1 << 14) + 2048;

/// The most early data that waits: more than OpenSSL's and Go's servers take. Our choice.
const MOST_EARLY: usize = 1 << 16;
