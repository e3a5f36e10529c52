//! A range of the stream that may leave.

/// A range of the stream that may leave, with the FIN if it follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Piece {
    start: u64,
    len: u32,
    fin: bool,
}

impl Piece {
    /// `len` bytes from `start` on, and a FIN if it follows.
    #[inline]
    #[expect(clippy::fn_params_excessive_bools, reason = "FIN, as it is")]
    pub(crate) fn new(start: u64, len: u64, fin: bool) -> Self {
        Self { start, len: u32::try_from(len).unwrap_or(u32::MAX), fin }
    }

    #[inline]
    pub(crate) const fn start(&self) -> u64 {
        self.start
    }

    /// Bytes of data.
    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) const fn has_fin(&self) -> bool {
        self.fin
    }

    #[inline]
    pub(crate) const fn data_end(&self) -> u64 {
        self.start + self.len as u64
    }

    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.data_end() + self.fin as u64
    }
}
