//! The server's windows, for what the client sends (RFC 9113, section 5.2).

use std::collections::BTreeMap;

use ackwise_http::http2::settings::DEFAULT_WINDOW;

/// How much the client may send, and has been allowed to.
#[derive(Clone, Debug)]
pub struct Windows {
    /// Of a new stream.
    initial: i64,
    /// What is left of the connection's.
    connection: i64,
    /// What WINDOW_UPDATE has added to the connection's before anything was sent.
    opened: i64,
    has_sent: bool,
    /// What is left of each stream's.
    streams: BTreeMap<u32, i64>,
}

impl Windows {
    pub(super) const fn new() -> Self {
        let initial = DEFAULT_WINDOW as i64;
        Self { initial, connection: initial, opened: 0, has_sent: false, streams: BTreeMap::new() }
    }

    /// Bytes that all streams together could send at first.
    #[must_use]
    pub fn connection_at_first(&self) -> u64 {
        u64::from(DEFAULT_WINDOW) + self.opened.unsigned_abs()
    }

    pub(super) fn open(&mut self, stream: u32) {
        self.streams.retain(|id, _| *id + 2 * STREAMS_LIMIT > stream);
        self.streams.insert(stream, self.initial);
    }

    /// Section 6.9.2: a new initial size changes every window by the difference.
    pub(super) fn set_initial(&mut self, size: u32) {
        let change = i64::from(size) - self.initial;
        self.initial += change;
        self.streams.values_mut().for_each(|left| *left += change);
    }

    pub(super) fn grant(&mut self, stream: u32, bytes: u32) {
        if stream == 0 {
            self.connection += i64::from(bytes);
            if !self.has_sent {
                self.opened += i64::from(bytes);
            }
        } else if let Some(left) = self.streams.get_mut(&stream) {
            *left += i64::from(bytes);
        }
    }

    /// Bytes that `stream` may send now.
    pub(super) fn room(&self, stream: u32) -> usize {
        let of_stream = self.streams.get(&stream).copied().unwrap_or_default();
        usize::try_from(of_stream.min(self.connection)).unwrap_or_default()
    }

    pub(super) fn spend(&mut self, stream: u32, bytes: usize) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.has_sent = true;
        self.connection -= bytes;
        if let Some(left) = self.streams.get_mut(&stream) {
            *left -= bytes;
        }
    }
}

/// Streams whose windows are followed, the newest. Our choice: more are never open.
const STREAMS_LIMIT: u32 = 256;
