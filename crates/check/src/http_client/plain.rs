//! Bytes of HTTP, and where they stand in TCP's stream.

/// Bytes of HTTP that became readable together, and where they stand in the TCP stream.
#[derive(Clone, Debug)]
pub(super) struct Plain {
    pub(super) bytes: Vec<u8>,
    /// Offset in HTTP's stream.
    pub(super) offset: u64,
    /// Offsets in TCP's stream: the same bytes in clear text, the whole record under TLS.
    pub(super) wire: std::ops::Range<u64>,
    pub(super) sealed: bool,
}

impl Plain {
    /// Where in TCP's stream HTTP's byte at `offset` begins.
    pub(super) fn start_on_wire(&self, offset: u64) -> u64 {
        self.wire.start + if self.sealed { 0 } else { offset.saturating_sub(self.offset) }
    }

    /// How far TCP's stream must have arrived for HTTP's bytes before `offset` to be readable.
    pub(super) fn end_on_wire(&self, offset: u64) -> u64 {
        if self.sealed { self.wire.end } else { self.start_on_wire(offset) }
    }

    /// Whether something that ends before `offset` ends where these bytes can be cut on the wire.
    pub(super) fn can_end_at(&self, offset: u64) -> bool {
        !self.sealed || offset == self.offset + self.bytes.len() as u64
    }
}
