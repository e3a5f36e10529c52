//! TLS records of one direction: their types and lengths, which are not encrypted.

use core::ops::RangeInclusive;

use super::super::{
    guess::{self, Guess},
    span::{Captured, Span, Start},
    token::TokenKind,
};

/// A record, or bytes that nobody can tell records in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) kind: Kind,
    /// Position of the first byte of its header.
    pub(super) start: u64,
    /// Position after its last byte, which need not have been seen yet.
    pub(super) end: u64,
}

/// The content type in the header (RFC 8446, section 5.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    ChangeCipherSpec,
    Alert,
    Handshake,
    ApplicationData,
    /// The header was not captured.
    Unknown,
}

impl Kind {
    /// Its number; 0, which is none's, if the header was not captured.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::ChangeCipherSpec => 20,
            Self::Alert => 21,
            Self::Handshake => 22,
            Self::ApplicationData => 23,
            Self::Unknown => 0,
        }
    }
}

impl Record {
    /// What its header says; `None` if that was not captured.
    pub(super) fn header(&self) -> Option<TokenKind> {
        let content_type = match self.kind {
            Kind::Unknown => return None,
            kind => kind.number(),
        };
        let length = u16::try_from(self.length()).ok()?;
        Some(TokenKind::RecordHeader { content_type, length })
    }

    /// Bytes after the header.
    pub(super) const fn length(&self) -> u64 {
        (self.end - self.start).saturating_sub(HEADER as u64)
    }
}

/// What the next bytes are.
#[derive(Debug)]
pub(super) enum Found<'a> {
    Record(Record),
    /// What was captured of the next bytes of the record that was found last.
    Payload(Captured<'a>),
}

/// Follows the records of one direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records {
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Header {
        bytes: [u8; HEADER],
        seen: usize,
    },
    Payload {
        left: u64,
    },
    /// The capture does not show where records begin. A segment may begin one; and what looks like a header is one if
    /// another follows where it says.
    Lost {
        /// Where another would be, if what looked like a header was one.
        next: Option<u64>,
    },
}

impl Records {
    pub(super) const fn new(start: Start) -> Self {
        let stage = match start {
            Start::Beginning => Stage::BETWEEN,
            Start::Middle => Stage::LOST,
        };
        Self { stage }
    }

    /// The bytes of a header that is under way.
    pub(super) const fn header_bytes(&self) -> u64 {
        match self.stage {
            Stage::Header { seen, .. } => seen as u64,
            _ => 0,
        }
    }

    /// Whether the next byte begins a record.
    pub(super) const fn is_between_records(&self) -> bool {
        matches!(self.stage, Stage::Header { seen: 0, .. })
    }

    /// Whether a record has begun and not ended.
    pub(super) const fn is_within_record(&self) -> bool {
        matches!(self.stage, Stage::Payload { .. } | Stage::Header { seen: 1.., .. })
    }

    /// Takes bytes off the front of `span`; `None` if none are left.
    pub(super) fn advance<'a>(&mut self, span: &mut Span<'a>) -> Option<Found<'a>> {
        while !span.is_empty() {
            match &mut self.stage {
                Stage::Payload { left } => {
                    let before = span.at();
                    let bytes = span.take(*left);
                    let passed = span.at() - before;
                    *left -= passed;
                    if *left == 0 {
                        self.stage = Stage::BETWEEN;
                    }
                    let is_whole = bytes.len() as u64 == passed;
                    return Some(Found::Payload(Captured { bytes, is_whole }));
                }
                Stage::Header { .. } => {
                    if let Some(record) = self.read_header(span) {
                        return Some(Found::Record(record));
                    }
                }
                Stage::Lost { next } => {
                    let is_expected = span.begins_segment() || *next == Some(span.at());
                    let seen = guess::tls_record(span.bytes(), TYPES);
                    if is_expected && seen == Guess::Yes {
                        self.stage = Stage::BETWEEN;
                        continue;
                    }
                    let start = span.at();
                    let ahead = next.filter(|&it| it > start);
                    *next = ahead.or_else(|| header_within(span.bytes()).map(|it| start + it));
                    span.take(next.map_or(u64::MAX, |next| next - start));
                    let end = span.at();
                    return Some(Found::Record(Record { kind: Kind::Unknown, start, end }));
                }
            }
        }
        None
    }

    fn read_header(&mut self, span: &mut Span<'_>) -> Option<Record> {
        let Stage::Header { bytes, seen } = &mut self.stage else { return None };
        let start = span.at() - *seen as u64;
        let count = (HEADER - *seen).min(span.bytes().len());
        bytes[*seen..][..count].copy_from_slice(span.take(count as u64));
        *seen += count;
        match guess::tls_record(&bytes[..*seen], TYPES) {
            Guess::Yes => {
                let [kind, _, _, high, low] = *bytes;
                let left = u64::from(u16::from_be_bytes([high, low]));
                self.stage = if left == 0 { Stage::BETWEEN } else { Stage::Payload { left } };
                let kind = match kind {
                    20 => Kind::ChangeCipherSpec,
                    21 => Kind::Alert,
                    22 => Kind::Handshake,
                    _ => Kind::ApplicationData,
                };
                Some(Record { kind, start, end: start + HEADER as u64 + left })
            }
            Guess::Maybe if span.is_empty() => None,
            Guess::Maybe | Guess::No => {
                self.stage = Stage::LOST;
                span.take_all();
                Some(Record { kind: Kind::Unknown, start, end: span.at() })
            }
        }
    }
}

impl Stage {
    const BETWEEN: Self = Self::Header { bytes: [0; HEADER], seen: 0 };
    const LOST: Self = Self::Lost { next: None };
}

/// Where the record would end, from the first byte on, of which a header may be among `bytes`.
fn header_within(bytes: &[u8]) -> Option<u64> {
    let mut headers = bytes.windows(HEADER).enumerate();
    let (at, header) = headers.find(|(_, it)| guess::tls_record(it, TYPES) == Guess::Yes)?;
    let length = u16::from_be_bytes([header[3], header[4]]);
    Some((at + HEADER) as u64 + u64::from(length))
}

/// The content types that there are (RFC 8446, appendix B.1).
const TYPES: RangeInclusive<u8> = 20..=23;

/// Bytes of a record's header.
const HEADER: usize = 5;
