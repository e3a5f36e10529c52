//! Finds the end of a head that arrives in pieces.
//!
//! `httparse` starts again at every call, so a peer that sends a large head byte by byte would cost
//! the square of its size. This looks at each byte once and calls the parser once.

use alloc::vec::Vec;

use crate::cursor::Cursor;

/// Collects one head, up to and with the empty line that ends it.
#[derive(Clone, Debug)]
pub(crate) struct HeadScanner {
    bytes: Vec<u8>,
    limit: usize,
    line: Line,
}

/// How far the line that may be the empty one has come.
///
/// A lone LF counts as the end of a line, RFC 9112, section 2.2: "a recipient MAY recognize a
/// single LF as a line terminator and ignore any preceding CR".
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Line {
    /// It has content, or it is the first.
    Filled,
    /// Nothing yet.
    Start,
    /// A CR.
    Cr,
}

/// What came of scanning a piece.
#[derive(Debug)]
pub(crate) enum HeadStep {
    /// The whole head.
    Whole(Vec<u8>),
    /// The piece is used up.
    NeedsMore,
    /// `limit` bytes and no empty line.
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

/// Where in `head` the first line begins that makes `is_malformed` true of the bytes up to its end.
///
/// The parser says what is wrong but not where. What it refuses of a prefix it refuses of every
/// longer one, so the line is found by bisection.
pub(crate) fn malformed_line(head: &[u8], is_malformed: impl Fn(&[u8]) -> bool) -> usize {
    let line_ends: Vec<usize> =
        head.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    match line_ends.partition_point(|&end| !is_malformed(&head[..end])) {
        0 => 0,
        nth => line_ends[nth - 1],
    }
}

/// More fields than any server that answers sensibly sends; nginx and Apache accept 100.
pub const FIELD_LIMIT: usize = 256;
