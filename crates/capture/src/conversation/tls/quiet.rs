//! Encrypted records that begin no exchange, told by nothing but their lengths.

use super::records::Record;

/// Whether a record is likely an alert of TLS 1.3, which its type no longer says: 2 octets, 1 for the
/// type and a tag of 16.
pub(super) const fn is_alert(record: &Record) -> bool {
    record.length() == 2 + OVERHEAD_13
}

/// Whether a record is likely one or two of HTTP/2's frames without content: SETTINGS with an
/// acknowledgement (9 octets), WINDOW_UPDATE or RST_STREAM (13), PING (17).
///
/// No request and no response that is read here has so few octets.
pub(super) fn is_http2_control(record: &Record, version_13: bool) -> bool {
    plain_lengths(record, version_13).any(|length| matches!(length, 9 | 13 | 17 | 22 | 26))
}

/// Whether a server's first record is likely its SETTINGS, perhaps with WINDOW_UPDATE and the
/// acknowledgement of the client's.
pub(super) fn is_http2_settings(record: &Record, version_13: bool) -> bool {
    let frames = |length: u64| {
        [0, 13, 9, 22].into_iter().any(|others| {
            let parameters = length.checked_sub(9 + others);
            parameters.is_some_and(|octets| octets % 6 == 0 && octets <= 6 * 8)
        })
    };
    plain_lengths(record, version_13).any(frames)
}

/// Whether a record may hold session tickets of TLS 1.3, to judge by its length.
pub(super) const fn may_be_ticket(record: &Record) -> bool {
    let length = record.length();
    60 <= length && length <= 2048
}

/// What a record may hold: TLS 1.2's GCM adds 24 octets, ChaCha20-Poly1305 16.
fn plain_lengths(record: &Record, version_13: bool) -> impl Iterator<Item = u64> {
    let overheads: &[u64] = if version_13 { &[OVERHEAD_13] } else { &[24, 16] };
    let length = record.length();
    overheads.iter().filter_map(move |overhead| length.checked_sub(*overhead))
}

/// What TLS 1.3 adds to octets: the type and a tag.
const OVERHEAD_13: u64 = 1 + 16;
