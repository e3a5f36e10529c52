//! The chunked transfer coding (RFC 9112, section 7.1). Trailer fields are skipped, not parsed.
//!
//! Unlike heads, chunks are parsed strictly (CRLF only): two recipients that are lenient in
//! different ways would find different ends of the body.

use crate::cursor::Cursor;

/// Parser state at the next byte of a chunked body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChunkScanner {
    state: State,
    /// Bytes so far of this chunk's size line, or of the trailer section.
    overhead: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// Before the first digit of a size.
    Size,
    /// After a digit.
    SizeDigits(u64),
    /// After the size, before the end of its line.
    Extension(u64),
    /// After the CR of the size line.
    SizeLf(u64),
    /// In the data; the remaining size, never zero.
    Data(u64),
    DataCr,
    DataLf,
    /// At the start of a line after the last chunk.
    Trailer,
    TrailerField,
    TrailerFieldLf,
    LastLf,
    End,
}

/// Result of scanning a piece.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ChunkStep<'i> {
    Data(&'i [u8]),
    End,
    NeedsMore,
}

/// The kind of a byte of chunk framing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ChunkSyntax {
    /// A digit of the chunk size.
    Size,
    /// A chunk extension, or white space before it.
    Extension,
    /// A trailer field.
    Trailer,
    /// The CR or LF of a line.
    LineEnd,
}

/// Why a chunked body is malformed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkError {
    /// A chunk that does not begin with a hexadecimal number of at most 64 bits.
    #[error("expected a chunk size")]
    Size,
    /// Something other than the expected CRLF: the preceding size is probably wrong.
    #[error("expected CRLF after {0}")]
    LineEnd(ChunkPart),
    /// More than [`CHUNK_OVERHEAD_LIMIT`] bytes of extension or trailer.
    #[error("expected the end of the {0} within {CHUNK_OVERHEAD_LIMIT} bytes")]
    TooLong(ChunkPart),
}

/// A part of a chunked body.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkPart {
    /// The size and its extensions.
    #[error("chunk size")]
    Size,
    /// The data.
    #[error("chunk data")]
    Data,
    /// The trailer fields after the last chunk.
    #[error("trailer section")]
    Trailer,
}

impl ChunkScanner {
    pub(crate) const fn new() -> Self {
        Self { state: State::Size, overhead: 0 }
    }

    /// Scans up to the next data. On an error the cursor is at the offending byte.
    pub(crate) fn advance<'i>(
        &mut self,
        cursor: &mut Cursor<'i>,
    ) -> Result<ChunkStep<'i>, ChunkError> {
        loop {
            if self.state == State::End {
                return Ok(ChunkStep::End);
            }
            let Some(byte) = cursor.peek() else { return Ok(ChunkStep::NeedsMore) };
            if let State::Data(left) = self.state {
                let data = cursor.take(left);
                self.state = match left - data.len() as u64 {
                    0 => State::DataCr,
                    left => State::Data(left),
                };
                return Ok(ChunkStep::Data(data));
            }
            self.state = self.after(byte)?;
            cursor.skip_one();
        }
    }

    /// Scans the next run of framing bytes of one kind; `None` if data, the end of the body or the
    /// end of the input is next. On an error the cursor is at the offending byte.
    pub(crate) fn advance_framing<'i>(
        &mut self,
        cursor: &mut Cursor<'i>,
    ) -> Result<Option<(ChunkSyntax, &'i [u8])>, ChunkError> {
        let bytes = cursor.rest();
        let mut run = None;
        let mut length = 0;
        while let Some(byte) = cursor.peek() {
            if matches!(self.state, State::Data(_) | State::End) {
                break;
            }
            let before = *self;
            let state = match self.after(byte) {
                Ok(state) => state,
                // The valid bytes before the error are a separate run.
                Err(error) if run.is_none() => return Err(error),
                Err(_) => {
                    *self = before;
                    break;
                }
            };
            let syntax = match state {
                State::SizeDigits(_) => ChunkSyntax::Size,
                State::Extension(_) => ChunkSyntax::Extension,
                State::TrailerField => ChunkSyntax::Trailer,
                _ => ChunkSyntax::LineEnd,
            };
            if *run.get_or_insert(syntax) != syntax {
                *self = before;
                break;
            }
            self.state = state;
            length += 1;
            cursor.skip_one();
        }
        Ok(run.map(|syntax| (syntax, &bytes[..length])))
    }

    /// Skips missing bytes; `false` if some of them are framing.
    pub(crate) fn skip(&mut self, bytes: u64) -> bool {
        match self.state {
            _ if bytes == 0 => true,
            State::Data(left) if bytes <= left => {
                self.state = if bytes == left { State::DataCr } else { State::Data(left - bytes) };
                true
            }
            _ => false,
        }
    }

    /// The state after a framing byte.
    fn after(&mut self, byte: u8) -> Result<State, ChunkError> {
        Ok(match (self.state, byte) {
            (State::Size, _) => {
                self.overhead = 0;
                State::SizeDigits(hex(byte).ok_or(ChunkError::Size)?)
            }
            (State::SizeDigits(size) | State::Extension(size), b'\r') => State::SizeLf(size),
            (State::SizeDigits(size), b';' | b' ' | b'\t') => State::Extension(size),
            (State::SizeDigits(size), _) => {
                self.count(ChunkPart::Size)?; // Endless leading zeros never overflow.
                let digit = hex(byte).ok_or(ChunkError::Size)?;
                State::SizeDigits(append_digit(size, digit).ok_or(ChunkError::Size)?)
            }
            (State::Extension(_), b'\n') => return Err(ChunkError::LineEnd(ChunkPart::Size)),
            (State::Extension(size), _) => {
                self.count(ChunkPart::Size)?;
                State::Extension(size)
            }
            (State::SizeLf(0), b'\n') => {
                self.overhead = 0;
                State::Trailer
            }
            (State::SizeLf(size), b'\n') => State::Data(size),
            (State::SizeLf(_), _) => return Err(ChunkError::LineEnd(ChunkPart::Size)),
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size,
            (State::DataCr | State::DataLf, _) => {
                return Err(ChunkError::LineEnd(ChunkPart::Data));
            }
            (State::Trailer, b'\r') => State::LastLf,
            (State::TrailerField, b'\r') => State::TrailerFieldLf,
            (State::Trailer | State::TrailerField, b'\n') => {
                return Err(ChunkError::LineEnd(ChunkPart::Trailer));
            }
            (State::Trailer | State::TrailerField, _) => {
                self.count(ChunkPart::Trailer)?;
                State::TrailerField
            }
            (State::TrailerFieldLf, b'\n') => State::Trailer,
            (State::LastLf, b'\n') => State::End,
            (State::TrailerFieldLf | State::LastLf, _) => {
                return Err(ChunkError::LineEnd(ChunkPart::Trailer));
            }
            (State::Data(_) | State::End, _) => unreachable!("handled before framing is read"),
        })
    }

    fn count(&mut self, part: ChunkPart) -> Result<(), ChunkError> {
        self.overhead += 1;
        if self.overhead > CHUNK_OVERHEAD_LIMIT { Err(ChunkError::TooLong(part)) } else { Ok(()) }
    }
}

fn hex(byte: u8) -> Option<u64> {
    char::from(byte).to_digit(16).map(u64::from)
}

fn append_digit(size: u64, digit: u64) -> Option<u64> {
    size.checked_mul(16).map(|size| size + digit)
}

/// Limit on the bytes of one chunk's size line, or of a trailer section (our choice: far more than
/// any known sender needs). Without a limit a body of endless framing would never deliver data.
pub const CHUNK_OVERHEAD_LIMIT: usize = 8 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BodyEnd, Framing};
    use alloc::{vec, vec::Vec};

    fn decode(body: &[u8]) -> Result<Vec<u8>, (ChunkError, u64)> {
        let mut scanner = ChunkScanner::new();
        let mut cursor = Cursor::new(body, 0);
        let mut content = Vec::new();
        loop {
            match scanner.advance(&mut cursor).map_err(|error| (error, cursor.at()))? {
                ChunkStep::Data(data) => content.extend_from_slice(data),
                ChunkStep::End => return Ok(content),
                ChunkStep::NeedsMore => panic!("the body is cut: {body:?}"),
            }
        }
    }

    #[test]
    fn well_formed_bodies() {
        for (body, content) in [
            ("0\r\n\r\n", ""),
            ("5\r\nhello\r\n0\r\n\r\n", "hello"),
            ("5;a=\"b\"\r\nhello\r\n1 \r\n!\r\n000\r\nX: y\r\nZ: q\r\n\r\n", "hello!"),
            ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
        ] {
            assert_eq!(decode(body.as_bytes()).unwrap(), content.as_bytes(), "{body:?}");
        }
    }

    #[test]
    fn an_error_names_the_byte() {
        use ChunkPart::{Data, Size, Trailer};
        for (body, error, at) in [
            ("\r\n", ChunkError::Size, 0),
            ("-1\r\n", ChunkError::Size, 0),
            ("5x\r\n", ChunkError::Size, 1),
            ("5\nhello", ChunkError::Size, 1),
            ("11111111111111111\r\n", ChunkError::Size, 16),
            ("5\r\nhello!\r\n", ChunkError::LineEnd(Data), 8),
            ("5\r\nhello\n", ChunkError::LineEnd(Data), 8),
            ("5;a\nhello", ChunkError::LineEnd(Size), 3),
            ("0\r\n\n", ChunkError::LineEnd(Trailer), 3),
            ("0\r\n\rx", ChunkError::LineEnd(Trailer), 4),
        ] {
            assert_eq!(decode(body.as_bytes()).unwrap_err(), (error, at), "{body:?}");
        }
    }

    #[test]
    fn framing_is_reported_however_the_body_is_cut_and_ends_at_the_same_byte() {
        for body in [
            &b"5;a\r\nhello\r\n1F\r\n0123456789abcdef0123456789abcde\r\n0\r\nA: b\r\n\r\nHTTP"[..],
            b"5\r\nhello!\r\n",
            b"5;a\nhello",
            b"0\r\nA: b\n\r\n",
            b"2\r\nabx",
        ] {
            for size in 1..body.len() {
                let (mut told, mut plain) = [BodyEnd::new(Framing::Chunked); 2].into();
                let mut content = Vec::new();
                for piece in body.chunks(size) {
                    let (mut one, mut other) = (piece, piece);
                    let mut next = 0;
                    let found = told.advance_reporting(&mut one, |syntax, offset, bytes| {
                        assert_eq!(&piece[offset..][..bytes.len()], bytes);
                        content.extend_from_slice(&piece[next..offset]);
                        next = offset + bytes.len();
                        let is = |right: fn(&u8) -> bool| assert!(bytes.iter().all(right));
                        match syntax {
                            ChunkSyntax::Size => is(u8::is_ascii_hexdigit),
                            ChunkSyntax::LineEnd => is(|byte| b"\r\n".contains(byte)),
                            ChunkSyntax::Extension => is(|byte| b";a".contains(byte)),
                            ChunkSyntax::Trailer => is(|byte| b"A: b".contains(byte)),
                        }
                    });
                    assert_eq!(found, plain.advance(&mut other), "{size}");
                    assert!(found.is_err() || one == other, "{size}");
                    content.extend_from_slice(&piece[next..piece.len() - one.len()]);
                    if found != Ok(false) {
                        break;
                    }
                }
                let whole = b"hello0123456789abcdef0123456789abcde";
                assert!(whole.starts_with(&content) || content == b"ab", "{content:?}");
            }
        }
    }

    #[test]
    fn overhead_has_a_limit() {
        for (prefix, part) in [("1;", ChunkPart::Size), ("0\r\n", ChunkPart::Trailer)] {
            let mut body = prefix.as_bytes().to_vec();
            body.extend(vec![b'a'; CHUNK_OVERHEAD_LIMIT + 1]);
            let at = (prefix.len() + CHUNK_OVERHEAD_LIMIT) as u64;
            assert_eq!(decode(&body).unwrap_err(), (ChunkError::TooLong(part), at));
        }
    }
}
