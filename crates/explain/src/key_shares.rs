//! TLS handshakes that took a round trip more, because the server did not take the client's key share.

use ackwise_capture::analysis::Analysis;
use ackwise_text::words::{counted, millis};

/// How many there were, of what the capture shows; `None` if none.
pub(super) fn note(analysis: &Analysis) -> Option<String> {
    let retried: Vec<_> = analysis.connections.iter().filter(|it| it.hello_retried).collect();
    let longest = retried.iter().map(|it| it.round_trip).max()?;
    Some(format!(
        "{} took a round trip more (up to {}): the server asked for another key share \
         (HelloRetryRequest, RFC 8446, 4.1.4). Let the client's first group be one that \
         the server takes (curl --curves, OpenSSL's Groups), or the server take the client's (nginx's \
         ssl_ecdh_curve).",
        counted(retried.len() as u64, "TLS handshake"),
        millis(longest),
    ))
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::Flags;

    use super::*;
    use crate::failures::tests::{Host, Pair};

    /// The random of a HelloRetryRequest (RFC 8446, section 4.1.3).
    const RETRY: [u8; 32] = [
        0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8,
        0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8,
        0x33, 0x9c,
    ];

    /// A hello of 80 bytes with its record's header.
    fn hello(kind: u8, random: [u8; 32], rest: &[u8]) -> Vec<u8> {
        let mut body = [&[3, 3], &random[..], &[0], rest].concat();
        body.resize(71, 0);
        [&[22, 3, 3, 0, 75, kind, 0, 0, 71], &body[..]].concat()
    }

    #[test]
    fn a_handshake_with_a_retry_request_took_a_round_trip_more() {
        for (random, expected) in [(RETRY, true), ([7; 32], false)] {
            let mut host = Host::default();
            let pair = Pair(1_000, "10.0.0.2:443");
            host.packet(pair, 0, true, (0, None), Flags::SYN, b"");
            host.packet(pair, 20, false, (0, Some(1)), Flags::SYN, b"");
            host.packet(
                pair,
                20,
                true,
                (1, Some(1)),
                Flags::PSH,
                &hello(1, [1; 32], &[0, 2, 0x13, 1, 1, 0]),
            );
            host.packet(
                pair,
                40,
                false,
                (1, Some(81)),
                Flags::PSH,
                &hello(2, random, &[0x13, 1, 0]),
            );
            host.packet(
                pair,
                40,
                true,
                (81, Some(81)),
                Flags::PSH,
                &hello(1, [1; 32], &[0, 2, 0x13, 1, 1, 0]),
            );
            let analysis = host.finish();
            let note = note(&analysis).unwrap_or_default();
            let said = "1 TLS handshake took a round trip more (up to 20.000 ms): the server asked for another key share";
            assert_eq!(note.starts_with(said), expected, "{note:?}");
            assert_eq!(analysis.connections[0].hello_retried, expected);
        }
    }
}
