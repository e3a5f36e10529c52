//! What the hellos say in clear: the protocols of the ALPN extension (RFC 7301), and with which version, cipher suite and
//! random numbers records are sealed.

use super::super::Alpn;
use crate::keys::Random;

/// Collects a hello.
#[derive(Clone, Debug, Default)]
pub(super) struct Hello {
    bytes: Vec<u8>,
}

/// What one says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Said {
    pub(super) random: Random,
    pub(super) alpn: Alpn,
    /// The version and the cipher suite that a server has chosen.
    pub(super) chosen: Option<[u16; 2]>,
}

impl Said {
    /// Whether the server asks for another ClientHello.
    pub(super) fn is_retry_request(&self) -> bool {
        self.chosen.is_some() && self.random == RETRY
    }
}

impl Hello {
    /// Whether nothing of it was seen yet.
    pub(super) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The type of the message and its length, as its header says, once that is there.
    pub(super) fn message(&self) -> Option<(u8, usize)> {
        let length = usize::try_from(number(self.bytes.get(1..4)?)).ok()?;
        Some((self.bytes[0], length))
    }

    /// Adds bytes of handshake records; what they say, once all are there.
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Option<Said> {
        let room = HELLO_LIMIT.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        let (kind, length) = self.message()?;
        let message = self.bytes.get(4..4 + length)?;
        Some(read(kind, message).unwrap_or(Said {
            random: [0; 32],
            alpn: Alpn::Absent,
            chosen: None,
        }))
    }
}

/// Reads a ClientHello or a ServerHello (RFC 8446, section 4.1).
fn read(kind: u8, message: &[u8]) -> Option<Said> {
    let (version, rest) = message.split_first_chunk::<2>()?;
    let (random, rest) = rest.split_first_chunk::<32>()?;
    let (_session, rest) = vector(rest, 1)?;
    let mut chosen = None;
    let rest = match kind {
        1 => {
            let (_cipher_suites, rest) = vector(rest, 2)?;
            vector(rest, 1)?.1
        }
        2 => {
            let (suite, rest) = rest.split_first_chunk::<2>()?;
            chosen = Some([version, suite].map(|it| u16::from_be_bytes(*it)));
            rest.get(1..)?
        }
        _ => return None,
    };
    let mut said = Said { random: *random, alpn: Alpn::Absent, chosen };
    let mut extensions = vector(rest, 2).map_or(&[][..], |(extensions, _)| extensions);
    while let Some((kind, rest)) = extensions.split_first_chunk::<2>() {
        let Some((data, rest)) = vector(rest, 2) else { break };
        match (u16::from_be_bytes(*kind), data, &mut said.chosen) {
            (ALPN, ..) => said.alpn = protocols(data),
            // What a server has chosen stands there in TLS 1.3 (section 4.2.1).
            (SUPPORTED_VERSIONS, &[high, low], Some([version, _])) => {
                *version = u16::from_be_bytes([high, low]);
            }
            _ => {}
        }
        extensions = rest;
    }
    Some(said)
}

fn protocols(data: &[u8]) -> Alpn {
    let mut names = vector(data, 2).map_or(&[][..], |(names, _)| names);
    while let Some((name, rest)) = vector(names, 1) {
        if name == b"h2" {
            return Alpn::Http2;
        }
        names = rest;
    }
    Alpn::Other
}

/// A vector whose length stands before it in `width` bytes, and what comes after it.
fn vector(bytes: &[u8], width: usize) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_at_checked(width)?;
    rest.split_at_checked(usize::try_from(number(length)).ok()?)
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Extensions.
const ALPN: u16 = 16;
const SUPPORTED_VERSIONS: u16 = 43;

/// The random of a HelloRetryRequest: SHA-256 of its name (RFC 8446, section 4.1.3).
const RETRY: Random = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Longest hello that is read. With post-quantum key shares they have about 1800 bytes.
const HELLO_LIMIT: usize = 4096;

/// Bytes of a handshake message's header (RFC 8446, section 4).
pub(super) const HEADER: u64 = 4;

#[cfg(test)]
mod tests {
    use ring::digest::{SHA256, digest};

    use super::*;

    #[test]
    fn a_retry_request_is_known_by_the_hash_of_its_name() {
        assert_eq!(digest(&SHA256, b"HelloRetryRequest").as_ref(), RETRY);
    }
}
