//! Credit of HTTP/2's flow control under TLS, by the lengths of records: the client's are as long as WINDOW_UPDATE, and
//! the server has sent a window's bytes before them.
//!
//! A request may be as short, if HPACK knows all its fields. What answers it has HEADERS beside DATA, so that it is no
//! longer as long as a window in frames of a usual size.

use ackwise_cause::Direction;

use super::{
    super::{Event, log::Log},
    Inside, Kind, Record, Tls, control,
};

/// What the server has sent since the client's last record.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    records: u64,
    /// Without headers of records.
    bytes: u64,
}

impl Sent {
    /// The window that this uses up, if encryption adds `added` bytes to each record.
    fn window(self, added: u64) -> Option<u64> {
        let plain = self.bytes.checked_sub(self.records.checked_mul(added)?)?;
        FRAMES.into_iter().find_map(|frame| window_in_frames(plain, frame))
    }
}

impl Tls {
    /// Notes a record whose content cannot be read.
    pub(super) fn note_window(&mut self, direction: Direction, record: &Record, log: &mut Log) {
        if !self.from_beginning || self.http2 == Inside::Other {
            return;
        }
        if direction == Direction::ToClient {
            self.sent.records += 1;
            self.sent.bytes += record.length();
            return;
        }
        let sealing = self.sealing(Direction::ToServer);
        let sent = std::mem::take(&mut self.sent);
        let is_credit =
            record.kind == Kind::ApplicationData && control::may_be_credit(record, sealing);
        self.credit = match sent.records {
            _ if !is_credit => None,
            // It came with the record before.
            0 => self.credit,
            _ if self.server.is_within_record() => None,
            _ => control::added(self.sealing(Direction::ToClient))
                .into_iter()
                .find_map(|added| sent.window(added)),
        };
        if let Some(window) = self.credit {
            log.push(Event::SealedCredit { position: record.end, window });
        }
    }
}

/// What `plain` bytes hold of a window, if that is all in frames of `frame` bytes, the last perhaps shorter.
fn window_in_frames(plain: u64, frame: u64) -> Option<u64> {
    let frames = plain.div_ceil(frame + FRAME_HEADER);
    let data = plain.checked_sub(frames * FRAME_HEADER)?;
    (data >= LEAST && is_round(data)).then_some(data)
}

/// Programs choose windows of 2^n or 3 * 2^n bytes, and give credit for parts of them; one byte is missing of those that
/// begin with the default of 65,535. Our choice: what is of another size cannot be distinguished from a response.
fn is_round(bytes: u64) -> bool {
    [bytes, bytes + 1].into_iter().any(|it| matches!(it >> it.trailing_zeros(), 1 | 3))
}

/// Bytes of DATA in a frame: the largest by default (RFC 9113, section 6.5.2), and what servers write at once: nginx's
/// `http2_chunk_size`, Go's buffer of a response.
const FRAMES: [u64; 3] = [1 << 14, 1 << 13, 1 << 12];

/// RFC 9113, section 4.1.
const FRAME_HEADER: u64 = 9;

/// No window is believed that is smaller. Our choice.
const LEAST: u64 = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// What TLS 1.3 adds with the usual ciphers.
    const ADDED: u64 = 17;

    const fn sent(records: u64, plain: u64) -> Sent {
        Sent { records, bytes: plain + records * ADDED }
    }

    #[test]
    fn a_window_s_bytes_are_told_from_those_of_a_response() {
        let headers = |fields: u64| FRAME_HEADER + fields;
        for (records, plain, window) in [
            (1, 4_096 + 9, Some(4_096)),
            (3, 32_768 + 2 * 9, Some(32_768)),
            (3, 32_767 + 2 * 9, Some(32_767)),
            (8, 65_535 + 8 * 9, Some(65_535)),
            (2, 24_576 + 2 * 9, Some(24_576)),
            // A response of a window's bytes has HEADERS, and may end with an empty frame.
            (1, headers(2) + 4_096 + 9, None),
            (1, headers(9) + 4_096 + 9, None),
            (2, headers(9) + 8_192 + 2 * 9, None),
            // Anything.
            (1, 4_000 + 9, None),
            (1, 512 + 9, None),
            (0, 0, None),
        ] {
            assert_eq!(sent(records, plain).window(ADDED), window, "{plain} in {records} records");
        }
        assert_eq!(Sent { records: u64::MAX, bytes: 3 }.window(ADDED), None);
        assert_eq!(Sent { records: 2, bytes: 3 }.window(ADDED), None);
    }
}
