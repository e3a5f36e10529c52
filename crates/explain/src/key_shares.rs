//! TLS handshakes that took a round trip more, because the server did not take the client's key share.

use ackwise_capture::analysis::Analysis;
use ackwise_report::words::{counted, millis};

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
