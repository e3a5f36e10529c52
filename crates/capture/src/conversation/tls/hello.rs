//! Whether HTTP/2 can be inside: the ALPN extension of the hellos (RFC 7301).

use super::super::Alpn;

/// Collects a hello, of which only the extensions are looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Hello {
    bytes: Vec<u8>,
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
    pub(super) fn extend(&mut self, bytes: &[u8]) -> Option<Alpn> {
        let room = HELLO_LIMIT.saturating_sub(self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        let (kind, length) = self.message()?;
        let message = self.bytes.get(4..4 + length)?;
        Some(extensions(kind, message).map_or(Alpn::Absent, offer))
    }
}

/// The extensions of a ClientHello or a ServerHello (RFC 8446, section 4.1).
fn extensions(kind: u8, message: &[u8]) -> Option<&[u8]> {
    let after_random = message.get(2 + 32..)?;
    let (_, rest) = vector(after_random, 1)?;
    let rest = match kind {
        1 => {
            let (_cipher_suites, rest) = vector(rest, 2)?;
            vector(rest, 1)?.1
        }
        2 => rest.get(2 + 1..)?,
        _ => return None,
    };
    Some(vector(rest, 2)?.0)
}

fn offer(mut extensions: &[u8]) -> Alpn {
    const ALPN: [u8; 2] = [0, 16];
    while let [high, low, rest @ ..] = extensions {
        let Some((data, rest)) = vector(rest, 2) else { break };
        if [*high, *low] == ALPN {
            return protocols(data);
        }
        extensions = rest;
    }
    Alpn::Absent
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

/// Longest hello that is read. With post-quantum key shares they have about 1800 bytes.
const HELLO_LIMIT: usize = 4096;

/// Bytes of a handshake message's header (RFC 8446, section 4).
pub(super) const HEADER: u64 = 4;
