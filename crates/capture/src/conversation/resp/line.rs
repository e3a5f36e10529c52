//! A short line that may come in pieces.

use super::super::span::Span;

/// What was read of a line, or of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    start: u64,
    length: usize,
    bytes: [u8; Self::MOST],
}

/// What came of reading on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Read {
    Whole,
    NeedsMore,
    /// The capture does not show how it goes on.
    Cut,
    /// It is longer than any that matters.
    TooLong,
}

impl Piece {
    /// The longest: a type, a number of 19 digits and a line end, or a command's name. Our choice.
    pub(super) const MOST: usize = 32;

    pub(super) const fn new() -> Self {
        Self { start: 0, length: 0, bytes: [0; Self::MOST] }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Where it begins, if there is something of it.
    pub(super) fn start(&self) -> Option<u64> {
        (self.length > 0).then_some(self.start)
    }

    pub(super) const fn clear(&mut self) {
        self.length = 0;
    }

    /// Takes bytes off the front of `span` up to the end of the line.
    pub(super) fn read_line(&mut self, span: &mut Span<'_>) -> Read {
        let shown = span.bytes();
        let room = Self::MOST - self.length;
        let line = shown.iter().take(room).position(|&byte| byte == b'\n');
        match line {
            Some(last) => {
                self.take(span, last + 1);
                Read::Whole
            }
            None if shown.len() >= room => Read::TooLong,
            None if span.is_cut() => Read::Cut,
            None => {
                self.take(span, shown.len());
                Read::NeedsMore
            }
        }
    }

    /// Takes bytes off the front of `span` up to the `length` of a word.
    pub(super) fn read_word(&mut self, span: &mut Span<'_>, length: usize) -> Read {
        let missing = length.min(Self::MOST) - self.length.min(length);
        let shown = span.bytes().len();
        if shown >= missing {
            self.take(span, missing);
            return Read::Whole;
        }
        if span.is_cut() {
            return Read::Cut;
        }
        self.take(span, shown);
        Read::NeedsMore
    }

    fn take(&mut self, span: &mut Span<'_>, count: usize) {
        if self.length == 0 {
            self.start = span.at();
        }
        let taken = span.take(count as u64);
        self.bytes[self.length..][..taken.len()].copy_from_slice(taken);
        self.length += taken.len();
    }

    /// The number behind the type of a line; `None` if there is none.
    pub(super) fn number(&self) -> Option<i64> {
        let text = self.bytes().get(1..)?.strip_suffix(b"\r\n")?;
        let (digits, sign) = text.strip_prefix(b"-").map_or((text, 1), |digits| (digits, -1));
        /// Redis has at most 2^32 elements and 2^40 bytes: more than this many digits are no length.
        const DIGITS: usize = 13;
        if digits.is_empty() || digits.len() > DIGITS || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        Some(digits.iter().fold(0, |sum, it| sum * 10 + i64::from(it - b'0')) * sign)
    }
}
