//! The server's TCP, sending half: what may leave now, and what waits for what.

use std::time::{Duration, Instant};

/// How it sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    pub(crate) nagle: bool,
    /// Segments before the first ACK.
    pub(crate) initial_window: u64,
    /// After so long without sending, the window is the initial one again.
    pub(crate) restart_after: Option<Duration>,
    /// Bytes in flight at most.
    pub(crate) buffer: u64,
}

/// Its state. Offsets are those of its stream; nothing is ever lost.
pub(crate) struct Sender {
    how: Sending,
    mss: u64,
    window: u64,
    congestion_window: u64,
    written: Vec<u8>,
    una: u64,
    nxt: u64,
    /// The end of the last small segment.
    small: u64,
    /// The end of what a cork holds, and when its timer fires.
    corked: Option<Instant>,
    sent_at: Option<Instant>,
}

impl Sender {
    pub(crate) fn new(how: Sending, mss: u64, window: u64) -> Self {
        Self {
            how,
            mss,
            window,
            congestion_window: how.initial_window,
            written: Vec::new(),
            una: 0,
            nxt: 0,
            small: 0,
            corked: None,
            sent_at: None,
        }
    }

    /// The application writes; a cork holds back what does not fill a segment.
    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    pub(crate) fn write(&mut self, bytes: &[u8], corked: bool, now: Instant) {
        let idle = self.sent_at.map(|sent| now - sent);
        let restarts = self.how.restart_after.zip(idle).is_some_and(|(after, idle)| idle > after);
        if restarts && self.una == self.nxt {
            self.congestion_window = self.how.initial_window;
        }
        self.written.extend_from_slice(bytes);
        self.corked = corked.then_some(now + CORK);
    }

    /// The cork is taken away: the connection closes, or more is written.
    pub(crate) fn uncork(&mut self) {
        self.corked = None;
    }

    pub(crate) fn acknowledged(&mut self, up_to: u64) {
        if up_to > self.una {
            self.una = up_to;
            self.congestion_window += 1;
        }
    }

    /// The next segment that may leave: its offset and bytes.
    pub(crate) fn segment(&mut self, now: Instant) -> Option<(u64, Vec<u8>)> {
        let flight = self.nxt - self.una;
        let waiting = self.written.len() as u64 - self.nxt;
        let len = waiting.min(self.mss);
        let congestion = self.congestion_window * self.mss;
        let room = congestion.min(self.window).min(self.how.buffer).saturating_sub(flight);
        // A full segment is not cut to fit the window (RFC 9293, section 3.8.6.2.1).
        let held = if len < self.mss { self.holds_small(now) } else { false };
        if len == 0 || len > room || held {
            return None;
        }
        let offset = self.nxt;
        self.nxt += len;
        if len < self.mss {
            self.small = self.nxt;
        }
        self.sent_at = Some(now);
        let bytes = &self.written[usize::try_from(offset).expect("a model's stream is short")..];
        Some((offset, bytes[..usize::try_from(len).expect("at most an MSS")].to_vec()))
    }

    /// When something held leaves by itself.
    pub(crate) fn timer(&self) -> Option<Instant> {
        self.corked.filter(|_| self.nxt < self.written.len() as u64)
    }

    /// Everything written has been sent.
    pub(crate) fn is_drained(&self) -> bool {
        self.nxt == self.written.len() as u64
    }

    /// Minshall's variant of Nagle's algorithm, as in Linux: one small segment may be in flight.
    fn holds_small(&self, now: Instant) -> bool {
        match self.corked {
            Some(fires) => now < fires,
            None => self.how.nagle && self.small > self.una,
        }
    }
}

/// Linux: one RTO, at least 200 ms.
const CORK: Duration = Duration::from_millis(204);
