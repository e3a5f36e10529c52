//! What lies between TCP's bytes and HTTP's: nothing, or TLS.

use super::{Trouble, tls::Tls};

/// The layer of one conversation.
#[derive(Debug)]
pub(super) enum Layer {
    /// `http://`
    Clear {
        /// Bytes seen so far.
        plain: u64,
    },
    /// `https://`
    Tls(Box<Tls>),
}

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

impl Layer {
    pub(super) fn clear() -> Self {
        Self::Clear { plain: 0 }
    }

    /// The bytes to send for `bytes`.
    pub(super) fn seal(&mut self, bytes: &[u8]) -> Result<Vec<u8>, Trouble> {
        match self {
            Self::Clear { .. } => Ok(bytes.to_vec()),
            Self::Tls(tls) => tls.seal(bytes),
        }
    }

    /// Takes bytes that arrived at `offset` of TCP's stream, and hands on what they make readable.
    pub(super) fn open(
        &mut self,
        offset: u64,
        bytes: Vec<u8>,
        mut feed: impl FnMut(Plain),
    ) -> Result<(), Trouble> {
        match self {
            Self::Clear { plain } => {
                let len = bytes.len() as u64;
                let wire = offset..offset + len;
                feed(Plain { bytes, offset: *plain, wire, sealed: false });
                *plain += len;
                Ok(())
            }
            Self::Tls(tls) => tls.open(offset, &bytes, feed),
        }
    }
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
