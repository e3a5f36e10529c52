//! What is left of a packet behind the headers read so far.

use super::NotTcp;

/// The rest of a packet: what was captured of it, and how long it was on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remaining<'a> {
    captured: &'a [u8],
    length: usize,
}

impl<'a> Remaining<'a> {
    /// `length` bytes on the wire, of which `captured` are there. A capture that claims to have
    /// more than there was is believed about what it has.
    pub(super) fn new(captured: &'a [u8], length: usize) -> Self {
        Self { captured, length: length.max(captured.len()) }
    }

    pub(super) const fn captured(self) -> &'a [u8] {
        self.captured
    }

    /// Bytes on the wire.
    pub(super) const fn length(self) -> usize {
        self.length
    }

    /// The first byte, without taking it.
    pub(super) fn first(self) -> Result<u8, NotTcp> {
        self.captured.first().copied().ok_or_else(|| self.lacks(1))
    }

    /// Takes the next `N` bytes.
    pub(super) fn take<const N: usize>(self) -> Result<(&'a [u8; N], Self), NotTcp> {
        match self.captured.split_first_chunk() {
            Some((bytes, captured)) => Ok((bytes, Self { captured, length: self.length - N })),
            None => Err(self.lacks(N)),
        }
    }

    /// Leaves `bytes` out.
    pub(super) fn skip(self, bytes: usize) -> Result<Self, NotTcp> {
        match self.captured.get(bytes..) {
            Some(captured) => Ok(Self { captured, length: self.length - bytes }),
            None => Err(self.lacks(bytes)),
        }
    }

    /// The same, `length` bytes long, as a header says: what links pad short frames with goes.
    ///
    /// A length greater than that of the frame is believed: tools that cut packets are known to
    /// forget the original length, and a host would have dropped a packet that was really cut.
    pub(super) fn of_length(self, length: usize) -> Self {
        let captured = &self.captured[..self.captured.len().min(length)];
        Self { captured, length }
    }

    /// Why `needed` bytes cannot be had.
    const fn lacks(self, needed: usize) -> NotTcp {
        if self.length < needed { NotTcp::Malformed } else { NotTcp::Cut }
    }
}
