//! Flow-control windows of one direction of DATA (RFC 9113, section 5.2), and credit for them.

use std::collections::VecDeque;

use ackwise_cause::H2Window;
use ackwise_http::http2::settings;

/// What may still be sent, of a stream or of the connection.
///
/// It may be below zero: SETTINGS can take away what was granted (section 6.9.2). Of a stream, it is
/// what is left beside the size that SETTINGS gives all of them: a change of that touches none.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowWindow {
    left: i64,
    /// The most that was ever left.
    most: i64,
    /// That it is used up has been told.
    blocked: bool,
}

impl FlowWindow {
    pub(super) const fn new(left: i64) -> Self {
        Self { left, most: left, blocked: false }
    }

    /// What is left, to be compared with other windows.
    pub(super) const fn left(&self) -> i64 {
        self.left
    }

    /// What there is of it, with that number of bytes `beside`.
    pub(super) const fn room(&self, beside: i64) -> Room {
        let [left, most] = [self.left.saturating_add(beside), self.most.saturating_add(beside)];
        Room { left, most }
    }

    /// Whether it is used up, as has been told.
    pub(super) const fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Takes DATA. Whether this used up the window, to which `beside` adds that number of bytes.
    pub(super) const fn spend(&mut self, bytes: u32, beside: i64) -> bool {
        self.left = self.left.saturating_sub(bytes as i64);
        let used_up = self.left.saturating_add(beside) <= 0 && !self.blocked;
        self.blocked |= used_up;
        used_up
    }

    /// Takes WINDOW_UPDATE; whether the window is open now and was not before.
    pub(super) const fn grant(&mut self, bytes: i64, beside: i64) -> bool {
        self.left = self.left.saturating_add(bytes);
        if self.left > self.most {
            self.most = self.left;
        }
        self.open(beside)
    }

    /// What is `beside` has changed; whether the window is open now and was not before.
    pub(super) const fn open(&mut self, beside: i64) -> bool {
        let opens = self.left.saturating_add(beside) > 0 && self.blocked;
        self.blocked &= !opens;
        opens
    }
}

/// How much of a window is left, and the most that ever was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Room {
    left: i64,
    most: i64,
}

impl Room {
    /// The window that holds data once it is used up, `other` being the other one that DATA must fit.
    ///
    /// Both do if a sender with more room in this one would be held by the other soon: that has no room for a frame of the
    /// default size, or never had more than this one had (RFC 9113, section 6.5.2, SETTINGS_MAX_FRAME_SIZE; our choice).
    pub(super) fn holds(self, which: H2Window, other: Option<Self>) -> H2Window {
        let is_as_small = |it: Self| it.left < DEFAULT_FRAME || it.most <= self.most;
        if other.is_some_and(is_as_small) { H2Window::Both } else { which }
    }
}

/// What a WINDOW_UPDATE, or a change by SETTINGS, gives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Credit {
    pub(super) whom: Whom,
    /// What it adds; for all streams, the new size of their windows at first.
    pub(super) bytes: i64,
    /// Of the first byte after the frame, in the stream of who gives it.
    pub(super) position: u64,
}

/// Whose window changes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Whom {
    Connection,
    Stream(u32),
    AllStreams,
}

/// Credit in flight: it counts for the sender of DATA when it arrives, not when it passes the
/// vantage point. A receiver returns credit before a window is used up, so that in a capture at the
/// receiver no window would ever look empty.
#[derive(Clone, Debug)]
pub(super) struct Credits {
    in_flight: VecDeque<Credit>,
}

impl Credits {
    /// The most frames in flight; earlier ones count as arrived. Our choice.
    const MOST: usize = 1024;

    pub(super) const fn new() -> Self {
        Self { in_flight: VecDeque::new() }
    }

    /// Takes credit that passes. Returns the credit that counts as arrived because the queue is full.
    pub(super) fn push(&mut self, credit: Credit) -> Option<Credit> {
        let arrived =
            if self.in_flight.len() < Self::MOST { None } else { self.in_flight.pop_front() };
        self.in_flight.push_back(credit);
        arrived
    }

    /// The next that has arrived when all bytes before `position` have.
    pub(super) fn pop(&mut self, position: u64) -> Option<Credit> {
        self.in_flight.pop_front_if(|credit| credit.position <= position)
    }
}

/// The size of each window at first (RFC 9113, section 6.9.2).
pub(super) const INITIAL_WINDOW: i64 = 65_535;

/// The largest frame by default (RFC 9113, section 6.5.2).
const DEFAULT_FRAME: i64 = 1 << 14;

/// SETTINGS_INITIAL_WINDOW_SIZE in the payload of SETTINGS, if it is there.
pub(super) fn initial_window_size(payload: &[u8]) -> Option<i64> {
    let sizes = settings::read(payload).filter(|(name, _)| *name == settings::INITIAL_WINDOW_SIZE);
    let found = sizes.last().map(|(_, size)| i64::from(size));
    // More than 2^31-1 is an error (section 6.5.2).
    found.filter(|size| *size < 1 << 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_once_that_a_window_is_used_up_and_once_that_it_opens() {
        let mut window = FlowWindow::new(100);
        assert!(!window.spend(99, 0));
        assert!(window.spend(1, 0));
        assert!(!window.spend(1, 0));
        assert!(!window.grant(1, 0));
        assert!(window.grant(1, 0));
        assert!(!window.grant(1, 0));
        assert!(window.spend(2, 0));
        assert!(!window.open(0));
        assert!(window.open(1));
    }

    #[test]
    fn a_window_that_is_no_larger_holds_data_as_well() {
        use H2Window::{Both, Connection, Stream};
        let used_up = |most: i64| Room { left: 0, most };
        for (size, left, other, expected) in [
            (65_535, 0, 65_535, Both),
            (65_535, 40_000, 65_535, Both),
            (65_535, 16_383, 1 << 20, Both),
            (65_535, 16_384, 1 << 20, Stream),
            (4_096, 61_439, 65_535, Stream),
        ] {
            let other = Room { left, most: other };
            assert_eq!(used_up(size).holds(Stream, Some(other)), expected, "{other:?}");
        }
        assert_eq!(used_up(65_535).holds(Connection, None), Connection, "a stream that has ended");
        let mut stream = FlowWindow::new(0);
        stream.spend(1_000, 4_096);
        stream.grant(3_000, 4_096);
        assert_eq!(stream.room(4_096), Room { left: 6_096, most: 6_096 });
    }

    #[test]
    fn credit_counts_when_all_before_it_is_there_or_when_there_is_too_much() {
        let credit = |position| Credit { whom: Whom::Stream(1), bytes: 1, position };
        let mut credits = Credits::new();
        assert_eq!((credits.push(credit(10)), credits.push(credit(20))), (None, None));
        let arrived = [9, 10, 19, 90, 90].map(|position| credits.pop(position));
        assert_eq!(arrived, [None, Some(credit(10)), None, Some(credit(20)), None]);
        for position in 0..1024 {
            assert_eq!(credits.push(credit(position)), None);
        }
        assert_eq!(credits.push(credit(1024)), Some(credit(0)));
    }

    #[test]
    fn the_last_of_several_sizes_counts() {
        let settings = [0, 3, 0, 0, 0, 1, 0, 4, 0, 0, 0, 7, 0, 4, 0, 0, 0, 9, 0];
        assert_eq!(initial_window_size(&settings), Some(9));
        assert_eq!(initial_window_size(&[0, 4, 255, 255, 255, 255]), None);
        assert_eq!(initial_window_size(&[0, 4, 1]), None);
    }
}
