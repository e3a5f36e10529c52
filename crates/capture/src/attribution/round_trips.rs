//! Which acknowledgements tell how long a round trip takes, and how long links are busy.

use std::{collections::VecDeque, ops::Range};

use ackwise_tcp::Instant;

/// The last departures of one end that wait for their acknowledgements.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrips {
    timed: VecDeque<Timed>,
    acked: u64,
    burst: Option<Burst>,
}

#[derive(Clone, Copy, Debug)]
struct Timed {
    end: u64,
    seen: Instant,
}

/// What was sent when nothing else was outstanding, before any of it was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Burst {
    start: u64,
    seen: Instant,
    /// Known with the first acknowledgement.
    end: Option<u64>,
}

/// What an acknowledgement that covers a segment and nothing after it tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Answer {
    /// When the segment was seen.
    pub seen: Instant,
    /// Bytes that were acknowledged with it.
    pub newly: u64,
    /// More is outstanding.
    pub more: bool,
}

impl RoundTrips {
    /// So many segments are timed at once. Ours.
    const MAX_TIMED: usize = 16;

    /// Data was seen for the first time; up to `highest` was sent before.
    pub(super) fn sent(&mut self, bytes: &Range<u64>, highest: u64, seen: Instant) {
        if self.timed.is_empty() && self.acked >= highest {
            self.burst = Some(Burst { start: bytes.start, seen, end: None });
        }
        if self.timed.len() < Self::MAX_TIMED {
            self.timed.push_back(Timed { end: bytes.end, seen });
        }
    }

    /// All up to `acked` is acknowledged.
    pub(super) fn acknowledged(&mut self, acked: u64) -> Option<Answer> {
        let mut newest = None;
        while let Some(timed) = self.timed.front().copied().filter(|it| it.end <= acked) {
            self.timed.pop_front();
            newest = Some(timed);
        }
        let newly = acked.saturating_sub(std::mem::replace(&mut self.acked, acked));
        let Timed { seen, .. } = newest.filter(|it| it.end == acked)?;
        Some(Answer { seen, newly, more: !self.timed.is_empty() })
    }

    /// What of the burst is acknowledged with `acked`, in bytes, and when its first was seen; up to
    /// `highest` was sent by now.
    pub(super) fn of_burst(&mut self, acked: u64, highest: u64) -> Option<(u64, Instant)> {
        let burst = self.burst.as_mut()?;
        if acked <= burst.start || acked > *burst.end.get_or_insert(highest) {
            return None;
        }
        Some((acked - burst.start, burst.seen))
    }

    /// Nobody knows which of the segments that are the same an acknowledgement is for (Karn).
    pub(super) fn forget(&mut self) {
        self.timed.clear();
        self.burst = None;
    }

    /// The capture does not show what was sent next.
    pub(super) fn skip(&mut self) {
        self.timed.clear();
    }
}
