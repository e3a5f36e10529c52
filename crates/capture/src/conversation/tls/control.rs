//! Encrypted control records, which begin no exchange: alerts, session tickets, and frames of HTTP/2. Only their lengths show what they are.

use ackwise_cause::Direction;

use super::records::Record;

/// Whether a record is likely an alert of TLS 1.3, which its type no longer says: 2 bytes, and what encryption adds.
pub(super) fn is_alert(record: &Record, sealing: Option<u64>) -> bool {
    sealing.is_some_and(|sealing| record.length() == 2 + sealing)
}

/// When a record comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) direction: Direction,
    /// No response has begun yet.
    pub(super) is_start: bool,
    /// The other side's last record was likely a PING.
    pub(super) answers_ping: bool,
    /// Bytes that the other side has sent in its turn, which this one has had no turn to answer.
    pub(super) answers_bytes: u64,
}

/// Whether a record is likely one or two of HTTP/2's frames that begin nothing and end nothing.
///
/// Requests and responses are as short when HPACK knows all their fields, so the moment must fit,
/// too.
pub(super) fn is_http2_control(record: &Record, sealing: Option<u64>, moment: Moment) -> bool {
    plain_lengths(record, sealing).any(|length| match length {
        // SETTINGS with an acknowledgement. From a server, later, it is an empty DATA: an end.
        9 => moment.is_start || moment.direction == Direction::ToServer,
        // It and WINDOW_UPDATE.
        22 => moment.is_start,
        // WINDOW_UPDATE; a request of four fields, none of them User-Agent, has as many.
        13 => true,
        // PING, or the answer to one.
        17 => moment.is_start || moment.answers_ping || moment.direction == Direction::ToServer,
        // WINDOW_UPDATE of the stream and of the connection.
        26 => moment.is_start || moment.answers_bytes >= WINDOW_STEP,
        _ => false,
    })
}

/// Whether a control record may have an acknowledgement of SETTINGS: alone, or with WINDOW_UPDATE.
pub(super) fn may_acknowledge_settings(record: &Record, sealing: Option<u64>) -> bool {
    plain_lengths(record, sealing).any(|length| matches!(length, 9 | 22))
}

/// Whether a record has the length of a PING.
pub(super) fn may_be_ping(record: &Record, sealing: Option<u64>) -> bool {
    plain_lengths(record, sealing).any(|length| length == 17)
}

/// Whether a record has the length of WINDOW_UPDATE, or of several: of a stream and of the connection, twice.
pub(super) fn may_be_credit(record: &Record, sealing: Option<u64>) -> bool {
    plain_lengths(record, sealing).any(|length| matches!(length, 13 | 26 | 39 | 52))
}

/// Whether a server's first record is likely its SETTINGS, perhaps with WINDOW_UPDATE and the
/// acknowledgement of the client's.
pub(super) fn is_http2_settings(record: &Record, sealing: Option<u64>) -> bool {
    let frames = |length: u64| {
        [0, 13, 9, 22].into_iter().any(|others| {
            let parameters = length.checked_sub(9 + others);
            parameters.is_some_and(|bytes| bytes % 6 == 0 && bytes <= 6 * 8)
        })
    };
    plain_lengths(record, sealing).any(frames)
}

/// Whether a record may hold session tickets of TLS 1.3, to judge by its length.
pub(super) const fn may_be_ticket(record: &Record) -> bool {
    let length = record.length();
    60 <= length && length <= 2048
}

/// What encryption may add, given what TLS 1.3 adds: TLS 1.2's GCM adds 24 bytes, ChaCha20-Poly1305 16.
pub(super) fn added(sealing: Option<u64>) -> [u64; 2] {
    sealing.map_or([24, 16], |it| [it; 2])
}

/// What a record may hold.
fn plain_lengths(record: &Record, sealing: Option<u64>) -> impl Iterator<Item = u64> {
    let length = record.length();
    added(sealing).into_iter().filter_map(move |added| length.checked_sub(added))
}

/// The fewest bytes that are worth two WINDOW_UPDATEs to the implementations we saw: Go's.
const WINDOW_STEP: u64 = 4096;
