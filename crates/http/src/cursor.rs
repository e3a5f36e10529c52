//! A reading position in a stream that arrives in pieces.

/// The unread rest of one piece, and its offset in the stream.
///
/// Scanners read through a cursor instead of a slice, so that an error has its stream offset
/// without arithmetic in every scanner.
pub(crate) struct Cursor<'i> {
    rest: &'i [u8],
    at: u64,
}

impl<'i> Cursor<'i> {
    pub(crate) const fn new(rest: &'i [u8], at: u64) -> Self {
        Self { rest, at }
    }

    /// Offset of the next byte in the stream.
    pub(crate) const fn at(&self) -> u64 {
        self.at
    }

    pub(crate) const fn rest(&self) -> &'i [u8] {
        self.rest
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    pub(crate) fn skip_one(&mut self) {
        self.take(1);
    }

    /// Takes at most `limit` of the available bytes.
    pub(crate) fn take(&mut self, limit: u64) -> &'i [u8] {
        let length = usize::try_from(limit).map_or(self.rest.len(), |n| n.min(self.rest.len()));
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.at += length as u64;
        taken
    }
}
