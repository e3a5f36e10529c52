//! What lies between TCP's bytes and HTTP's: nothing, or TLS.

use super::{ExchangeError, plain::Plain, tls::Tls};

/// The layer of one connection.
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

impl Layer {
    pub(super) fn clear() -> Self {
        Self::Clear { plain: 0 }
    }

    /// The bytes to send for `bytes`.
    pub(super) fn seal(&mut self, bytes: &[u8]) -> Result<Vec<u8>, ExchangeError> {
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
    ) -> Result<(), ExchangeError> {
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
