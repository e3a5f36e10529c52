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

    /// Takes bytes that arrived next in TCP's stream, and hands on what they make readable.
    pub(super) fn open(
        &mut self,
        bytes: Vec<u8>,
        mut feed: impl FnMut(Plain),
    ) -> Result<(), ExchangeError> {
        match self {
            Self::Clear { plain } => {
                let offset = *plain;
                *plain += bytes.len() as u64;
                feed(Plain { bytes, offset, wire: offset..*plain, sealed: false });
                Ok(())
            }
            Self::Tls(tls) => tls.open(&bytes, feed),
        }
    }
}
