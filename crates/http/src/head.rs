//! Finds the end of a head that arrives in pieces.
//!
//! `httparse` restarts at every call, so parsing a large head that arrives byte by byte takes
//! quadratic time. This scanner examines each byte once and calls the parser once.

use alloc::vec::Vec;

use crate::cursor::Cursor;

/// Collects one head, including the empty line that ends it.
#[derive(Clone, Debug)]
pub(crate) struct HeadScanner {
    bytes: Vec<u8>,
    limit: usize,
    line: Line,
}

/// State of the current line, which may be the empty one.
///
/// A lone LF counts as the end of a line, RFC 9112, section 2.2: "a recipient MAY recognize a
/// single LF as a line terminator and ignore any preceding CR".
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Line {
    /// It has content, or it is the first line.
    Filled,
    /// No bytes yet.
    Start,
    /// A CR.
    Cr,
}

/// Result of scanning a piece.
#[derive(Debug)]
pub(crate) enum HeadStep {
    /// The whole head.
    Whole(Vec<u8>),
    /// The piece is consumed.
    NeedsMore,
    /// `limit` bytes without an empty line.
    TooLarge,
}

impl HeadScanner {
    pub(crate) const fn new(limit: usize) -> Self {
        Self { bytes: Vec::new(), limit, line: Line::Filled }
    }

    pub(crate) fn seen(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn advance(&mut self, cursor: &mut Cursor<'_>) -> HeadStep {
        let room = self.limit - self.bytes.len();
        let offered = &cursor.rest()[..room.min(cursor.rest().len())];
        let end = offered.iter().position(|&byte| self.ends_with(byte));
        self.bytes.extend_from_slice(cursor.take(end.map_or(offered.len(), |at| at + 1) as u64));
        if end.is_some() {
            HeadStep::Whole(core::mem::take(&mut self.bytes))
        } else if self.bytes.len() == self.limit {
            HeadStep::TooLarge
        } else {
            HeadStep::NeedsMore
        }
    }

    /// Whether `byte` ends the head.
    fn ends_with(&mut self, byte: u8) -> bool {
        let (line, ends) = match (self.line, byte) {
            (Line::Start | Line::Cr, b'\n') => (Line::Filled, true),
            (Line::Start, b'\r') => (Line::Cr, false),
            (_, b'\n') => (Line::Start, false),
            _ => (Line::Filled, false),
        };
        self.line = line;
        ends
    }
}

/// Offset in `head` of the first line for which `is_malformed` holds on the bytes up to its end.
///
/// The parser reports an error without its position. Bisection finds the line, because a malformed
/// prefix stays malformed when it is extended.
pub(crate) fn malformed_line(head: &[u8], is_malformed: impl Fn(&[u8]) -> bool) -> usize {
    let line_ends: Vec<usize> =
        head.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    match line_ends.partition_point(|&end| !is_malformed(&head[..end])) {
        0 => 0,
        nth => line_ends[nth - 1],
    }
}

/// Limit on the number of fields (our choice: nginx and Apache accept 100).
pub const FIELD_LIMIT: usize = 256;
