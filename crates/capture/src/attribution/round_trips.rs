//! Which acknowledgements tell how long a round trip takes, and how long links are busy.

use std::{collections::VecDeque, ops::Range};

use ackwise_tcp::Instant;

use super::Nanos;

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
    bytes: u64,
    seen: Instant,
}

/// What was sent when nothing else was outstanding, before any of it was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Burst {
    start: u64,
    seen: Instant,
    /// Known with the first acknowledgement.
    end: Option<u64>,
    /// Up to where the last acknowledgement went, and when that was seen.
    last: Option<(u64, Instant)>,
    /// Some of it is acknowledged.
    is_answered: bool,
}

/// What of a burst is acknowledged.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct OfBurst {
    pub bytes: u64,
    /// When its first segment was seen.
    pub since: Instant,
    /// Bytes that were not before, and how long ago the acknowledgement before was seen; `None` of the first.
    pub step: Option<(u64, Nanos)>,
}

/// What an acknowledgement that covers a segment and nothing after it tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Answer {
    /// When the segment was seen.
    pub seen: Instant,
    /// Bytes of the segment.
    pub bytes: u64,
    /// Bytes that were acknowledged with it.
    pub newly: u64,
    /// More is outstanding.
    pub more: bool,
    /// Nothing was when it was sent, or the first of what was sent with it: it waited for nothing of its own.
    pub first: bool,
}

impl RoundTrips {
    /// The most segments that are timed at once. Our choice.
    const MAX_TIMED: usize = 16;

    /// As new, with the memory of its queue.
    pub(super) fn forget_all(&mut self) {
        let mut timed = std::mem::take(&mut self.timed);
        timed.clear();
        *self = Self { timed, ..Self::default() };
    }

    /// Data was seen for the first time; up to `highest` was sent before.
    pub(super) fn sent(&mut self, bytes: &Range<u64>, highest: u64, seen: Instant) {
        if self.timed.is_empty() && self.acked >= highest {
            let (start, end, last) = (bytes.start, None, None);
            self.burst = Some(Burst { start, seen, end, last, is_answered: false });
        }
        if self.timed.len() < Self::MAX_TIMED {
            self.timed.push_back(Timed { end: bytes.end, bytes: bytes.end - bytes.start, seen });
        }
    }

    /// All up to `acked` is acknowledged.
    pub(super) fn acknowledged(&mut self, acked: u64) -> Option<Answer> {
        let mut newest = None;
        while let Some(timed) = self.timed.pop_front_if(|it| it.end <= acked) {
            newest = Some(timed);
        }
        let newly = acked.saturating_sub(std::mem::replace(&mut self.acked, acked));
        let burst = self.burst.as_mut().filter(|it| acked > it.start);
        let first = burst.is_some_and(|it| !std::mem::replace(&mut it.is_answered, true));
        let Timed { seen, bytes, .. } = newest.filter(|it| it.end == acked)?;
        Some(Answer { seen, bytes, newly, more: !self.timed.is_empty(), first })
    }

    /// What of the burst is acknowledged with `acked`, which is seen `now`; up to `highest` was sent by then.
    pub(super) fn of_burst(&mut self, acked: u64, highest: u64, now: Instant) -> Option<OfBurst> {
        let burst = self.burst.as_mut()?;
        if acked <= burst.start || acked > *burst.end.get_or_insert(highest) {
            return None;
        }
        let before = burst.last.replace((acked, now));
        let step = before.map(|(to, at)| (acked.saturating_sub(to), Nanos::between(at, now)));
        Some(OfBurst { bytes: acked - burst.start, since: burst.seen, step })
    }

    /// Its acknowledgements do not tell for how long a link was busy.
    pub(super) const fn forget_burst(&mut self) {
        self.burst = None;
    }

    /// What begins at `from` was sent again: nobody knows which of the segments that are the same an
    /// acknowledgement is for (Karn). It does not matter for what was sent before those.
    pub(super) fn forget(&mut self, from: u64) {
        self.timed.retain(|it| it.end <= from);
        self.burst = self.burst.take().filter(|it| it.start < from).map(|burst| {
            let end = burst.end.map_or(from, |end| end.min(from));
            Burst { end: Some(end), ..burst }
        });
    }

    /// The capture does not show what was sent next.
    pub(super) fn skip(&mut self) {
        self.timed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn only_an_acknowledgement_of_the_end_of_a_segment_times_it() {
        let mut trips = RoundTrips::default();
        for (number, start) in (1..).zip([0, 100, 200, 300]) {
            trips.sent(&(start..start + 100), start, at(number));
        }
        let answer = |seen, newly, more| {
            let first = false; // A part of the first segment is acknowledged before.
            Some(Answer { seen: at(seen), bytes: 100, newly, more, first })
        };
        for (acked, expected) in [
            (50, None),
            (100, answer(1, 50, true)),
            (250, None),
            (300, answer(3, 50, true)),
            (300, None),
            (400, answer(4, 100, false)),
        ] {
            assert_eq!(trips.acknowledged(acked), expected, "{acked}");
        }
    }

    #[test]
    fn segments_are_timed_up_to_a_bound() {
        let mut trips = RoundTrips::default();
        for start in 0..20 {
            trips.sent(&(start..start + 1), start, at(start));
        }
        let answer = trips.acknowledged(16).unwrap();
        assert_eq!((answer.seen, answer.more), (at(15), false));
        assert_eq!(trips.acknowledged(17), None);
    }

    #[test]
    fn nothing_that_was_sent_twice_or_that_the_capture_lacks_is_timed() {
        let again: fn(&mut RoundTrips) = |trips| trips.forget(0);
        for forget in [again, RoundTrips::skip] {
            let mut trips = RoundTrips::default();
            trips.sent(&(0..100), 0, at(1));
            forget(&mut trips);
            assert_eq!(trips.acknowledged(100), None);
        }
        let mut trips = RoundTrips::default();
        trips.sent(&(0..100), 0, at(1));
        trips.forget(0);
        assert_eq!(trips.of_burst(100, 100, at(2)), None);
    }

    #[test]
    fn what_was_sent_before_data_that_is_sent_again_is_timed_all_the_same() {
        let mut trips = RoundTrips::default();
        for (number, start) in (1..).zip([0, 100, 200]) {
            trips.sent(&(start..start + 100), start, at(number));
        }
        trips.forget(200);
        let answer = Answer { seen: at(2), bytes: 100, newly: 200, more: false, first: true };
        assert_eq!(trips.acknowledged(200), Some(answer));
        let of_burst = OfBurst { bytes: 200, since: at(1), step: None };
        assert_eq!(trips.of_burst(200, 300, at(9)), Some(of_burst));
        assert_eq!((trips.acknowledged(300), trips.of_burst(300, 300, at(9))), (None, None));
    }

    #[test]
    fn a_burst_is_what_was_sent_before_its_first_acknowledgement() {
        let mut trips = RoundTrips::default();
        trips.sent(&(0..100), 0, at(1));
        trips.sent(&(100..200), 100, at(2));
        assert_eq!(trips.of_burst(0, 200, at(5)), None);
        let first = OfBurst { bytes: 50, since: at(1), step: None };
        assert_eq!(trips.of_burst(50, 200, at(5)), Some(first));
        trips.acknowledged(50);
        trips.sent(&(200..300), 200, at(3));
        let step = Some((150, Nanos::from_millis(2)));
        let second = OfBurst { bytes: 200, since: at(1), step };
        assert_eq!(trips.of_burst(200, 300, at(7)), Some(second));
        assert_eq!(trips.of_burst(201, 300, at(8)), None, "sent after the acknowledgement");
        trips.acknowledged(300);
        trips.sent(&(300..400), 300, at(9));
        let other = OfBurst { bytes: 100, since: at(9), step: None };
        assert_eq!(trips.of_burst(400, 400, at(9)), Some(other), "all was acknowledged");
        trips.acknowledged(350);
        trips.acknowledged(400);
        trips.sent(&(450..500), 450, at(10));
        let none = trips.of_burst(500, 500, at(11));
        assert_eq!(none, None, "what is before it is outstanding");
    }
}
