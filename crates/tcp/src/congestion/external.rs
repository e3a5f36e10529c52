//! A window that is set from outside ([`CongestionPolicy::External`]): what happens is noted for whoever sets it.
//!
//! Not here: any rule for the window. What is retransmitted is the endpoint's business, as with every control.
//!
//! [`CongestionPolicy::External`]: crate::policy::CongestionPolicy::External

use alloc::{boxed::Box, collections::VecDeque};
use core::time::Duration;

use super::{Acked, Window, Windows};
use crate::units::Nanos;

/// What a congestion control that is set from outside hears.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct CongestionEvent {
    /// What has happened.
    pub kind: CongestionEventKind,
    /// Bytes newly acknowledged by the ACK number.
    pub acknowledged: u32,
    /// Bytes newly acknowledged by the ACK number or by SACK blocks.
    pub delivered: u32,
    /// The round trip that the ACK has measured, if it has: to a millisecond where only a timestamp tells.
    pub round_trip: Option<Duration>,
    /// Whether the window was used, so that it may grow (RFC 7661). In slow start, half of it is enough.
    pub window_limited: bool,
}

/// What has happened to a connection, as its congestion control sees it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum CongestionEventKind {
    /// The connection is open, with the initial window.
    Established,
    /// New data is acknowledged, and no fast recovery is under way.
    Ack,
    /// A duplicate ACK (RFC 5681, section 2; RFC 6675, section 2).
    DuplicateAck,
    /// Duplicate ACKs, SACK blocks or time show a loss: a fast recovery begins.
    Loss,
    /// New data is acknowledged, and the fast recovery goes on.
    PartialAck,
    /// New data is acknowledged, and the fast recovery is over.
    Recovered,
    /// The retransmission timer has expired.
    Timeout,
    /// It has expired once more for the same segment.
    TimeoutAgain,
    /// The last loss or timeout was none ([`UndoPolicy`](crate::policy::UndoPolicy)).
    Spurious,
}

impl CongestionEventKind {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Established => "established",
            Self::Ack => "ack",
            Self::DuplicateAck => "duplicate-ack",
            Self::Loss => "loss",
            Self::PartialAck => "partial-ack",
            Self::Recovered => "recovered",
            Self::Timeout => "timeout",
            Self::TimeoutAgain => "timeout-again",
            Self::Spurious => "spurious",
        }
    }
}

/// cwnd and ssthresh as they were last set, and what was not yet heard of.
#[derive(Clone, Debug)]
#[repr(C)] // As for `Cubic`.
pub(crate) struct External {
    window: Window,
    notes: Box<Notes>,
}

#[derive(Clone, Debug, Default)]
struct Notes {
    events: VecDeque<CongestionEvent>,
    /// What the ACK that is being taken has measured.
    round_trip: Option<Nanos>,
}

impl External {
    /// A segment or a timer makes at most three events, and a driver takes them before the next. One that does
    /// not loses the oldest beyond this (our choice).
    pub(crate) const MOST_NOTES: usize = 64;

    /// Begins with `windows`, for segments of `mss` bytes.
    pub(crate) fn new(windows: Windows, mss: u32) -> Self {
        Self { window: Window::new(windows, mss), notes: Box::default() }
    }

    #[inline]
    pub(super) const fn window(&self) -> &Window {
        &self.window
    }

    pub(super) const fn window_mut(&mut self) -> &mut Window {
        &mut self.window
    }

    /// Notes something that is no ACK.
    pub(super) fn note(&mut self, kind: CongestionEventKind) {
        self.note_ack(kind, None, 0);
    }

    /// Notes an ACK of new data, or one that has told of `delivered` bytes beyond a gap.
    pub(super) fn note_ack(
        &mut self,
        kind: CongestionEventKind,
        acked: Option<Acked>,
        delivered: u32,
    ) {
        let Notes { events, round_trip } = &mut *self.notes;
        if events.len() == Self::MOST_NOTES {
            events.pop_front();
        }
        events.push_back(CongestionEvent {
            kind,
            acknowledged: acked.map_or(0, |acked| acked.bytes),
            delivered: acked.map_or(delivered, |acked| acked.delivered),
            round_trip: round_trip.take().map(Duration::from),
            window_limited: acked.is_some_and(|acked| self.window.was_used(acked)),
        });
    }

    /// The ACK that is being taken has measured a round trip.
    pub(super) const fn note_round_trip(&mut self, round_trip: Nanos) {
        self.notes.round_trip = Some(round_trip);
    }

    /// Whether something was noted.
    pub(super) fn has_notes(&self) -> bool {
        !self.notes.events.is_empty()
    }

    /// The oldest of what was noted.
    pub(crate) fn take_note(&mut self) -> Option<CongestionEvent> {
        self.notes.events.pop_front()
    }

    /// Sets cwnd, to one segment at least, and ssthresh.
    pub(crate) fn set(&mut self, windows: Windows) {
        self.window.set(windows);
    }
}
