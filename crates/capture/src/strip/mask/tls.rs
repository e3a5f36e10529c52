//! TLS: record headers, and hellos that say only whether HTTP/2 can be inside.

use crate::conversation::Alpn;

/// The header of a record of this content type and length, as if of TLS 1.2.
pub(super) fn record_header(content_type: u8, length: u16) -> Vec<u8> {
    let [high, low] = length.to_be_bytes();
    vec![content_type, 3, 3, high, low]
}

/// A hello of this type (1: the client's, 2: the server's) whose message has `length` bytes behind
/// its header, and the header: no name of a host, no random number, no session, one cipher suite.
pub(super) fn hello(kind: u8, length: usize, alpn: Alpn) -> Vec<u8> {
    let [.., high, middle, low] = length.to_be_bytes();
    let mut hello = vec![kind, high, middle, low, 3, 3];
    hello.extend([0; 32]);
    hello.push(0); // No session.
    match kind {
        1 => hello.extend([0, 2, 0x13, 1, 1, 0]),
        _ => hello.extend([0x13, 1, 0]),
    }
    let whole = HEADER + length;
    let protocol: &[u8] = match alpn {
        Alpn::Absent => b"",
        Alpn::Http2 => b"\0\x10\0\x05\0\x03\x02h2",
        Alpn::Other => b"\0\x10\0\x05\0\x03\x02xx",
    };
    let room = whole.saturating_sub(hello.len() + 2);
    if let Ok(bytes) = u16::try_from(room) {
        hello.extend(bytes.to_be_bytes());
        hello.extend(protocol);
        // RFC 7685: an extension of zeros.
        if let Some(zeros) = room.checked_sub(protocol.len() + 4) {
            hello.extend([0, 21]);
            hello.extend(u16::try_from(zeros).unwrap_or(0).to_be_bytes());
        }
    }
    hello.resize(whole, 0);
    hello
}

/// Bytes of a handshake message's header (RFC 8446, section 4).
const HEADER: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hello_has_its_length() {
        for length in 0..600 {
            for kind in [1, 2] {
                assert_eq!(hello(kind, length, Alpn::Http2).len(), HEADER + length);
            }
        }
    }
}
