//! A reading position in a stream that arrives in pieces.

/// The unread rest of one piece, and where in the stream it begins.
///
/// Scanners read through this instead of a slice, so that an error knows its offset without a sum
/// in every scanner.
pub(crate) struct Cursor<'i> {
    rest: &'i [u8],
    at: u64,
}

impl<'i> Cursor<'i> {
    pub(crate) const fn new(rest: &'i [u8], at: u64) -> Self {
        Self { rest, at }
    }

    /// Offset in the stream of the next byte.
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

    /// At most `limit` of the bytes at hand.
    pub(crate) fn take(&mut self, limit: u64) -> &'i [u8] {
        let length = usize::try_from(limit).map_or(self.rest.len(), |n| n.min(self.rest.len()));
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        self.at += length as u64;
        taken
    }
}
