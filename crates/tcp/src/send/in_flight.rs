//! What is out, and what of it is lost: the list of segments, if a policy needs it, and what RACK knows of the path.

use alloc::boxed::Box;

use super::{flight::Flight, news::News, phase::Phase, rack::Rack};
use crate::{
    congestion::{DUPLICATE_THRESHOLD, Snapshot},
    units::{Instant, Nanos},
};

/// What is out, and what is known of the path for finding losses by time.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    /// The segments that are out, if a policy needs them.
    list: Option<Box<Flight>>,
    rack: Rack,
}

/// Why losses are looked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SearchCause {
    Ack,
    Timer,
}

impl InFlight {
    /// The segments that are out, if they are listed.
    #[inline]
    pub(crate) fn list(&self) -> Option<&Flight> {
        self.list.as_deref()
    }

    #[inline]
    pub(crate) fn list_mut(&mut self) -> Option<&mut Flight> {
        self.list.as_deref_mut()
    }

    /// Whether they are listed.
    #[inline]
    pub(crate) const fn has_list(&self) -> bool {
        self.list.is_some()
    }

    /// What the ACK that is being taken has told of them.
    #[inline]
    pub(crate) fn news(&self) -> Option<&News> {
        self.list().map(Flight::news)
    }

    /// The shortest round trip.
    #[inline]
    pub(crate) fn min_rtt(&self) -> Option<Nanos> {
        self.rack.min_rtt()
    }

    /// A round trip of the handshake.
    pub(crate) fn on_round_trip(&mut self, sample: Nanos, now: Instant) {
        self.rack.on_round_trip(sample, now);
    }

    /// `[start, end)` leaves, and is listed.
    pub(crate) fn on_sent(&mut self, start: u64, end: u64, snapshot: Snapshot, now: Instant) {
        let shortest = self.rack.min_rtt().unwrap_or_default();
        let list = self.list.get_or_insert_with(|| Box::new(Flight::new(start, shortest)));
        list.on_sent(start, end, snapshot, now);
    }

    /// Frees the list when nothing is out, and no probe is in question.
    pub(crate) fn drop_empty_list(&mut self) {
        if self.list().is_some_and(|it| it.is_empty() && !it.probe().is_out()) {
            self.list = None;
        }
    }

    /// Frees the list.
    pub(crate) fn forget(&mut self) {
        self.list = None;
    }

    /// What the round trips and the order of delivered segments tell about the path.
    pub(crate) fn measure(&mut self, mss: u32, now: Instant) {
        let Some(list) = self.list.as_deref_mut() else { return };
        self.rack.note_overtaken(list.latest().overtaken(), mss);
        if let Some(sample) = list.news().clear_round_trip() {
            self.rack.on_round_trip(sample, now);
        }
        list.latest_mut().set_shortest(self.rack.min_rtt().unwrap_or_default());
    }

    /// Marks what is lost; how long to wait for what may be.
    pub(crate) fn search(
        &mut self,
        cause: SearchCause,
        phase: Phase,
        srtt: Option<Nanos>,
        now: Instant,
    ) -> Nanos {
        let Some(list) = self.list.as_deref_mut() else { return Nanos::ZERO };
        if cause == SearchCause::Ack && !list.latest().has_advanced() {
            return Nanos::ZERO;
        }
        list.latest_mut().note_search();
        if list.is_nothing_late() {
            return Nanos::ZERO;
        }
        let window = match phase == Phase::Open && list.sacked() < u32::from(DUPLICATE_THRESHOLD) {
            true => self.rack.window(srtt),
            false => self.rack.eager_window(srtt),
        };
        list.detect_losses(window, now)
    }

    /// Whether the ACK has SACKed what was sent before the head was, for the last time: then the timer starts again
    /// (Linux `tcp_clean_rtx_queue`; RFC 6298 would leave it alone).
    pub(crate) fn has_sacked_older(&self, now: Instant) -> bool {
        let Some(list) = self.list() else { return false };
        let Some(round_trip) = list.news().first_round_trip else { return false };
        list.head_sent().is_some_and(|head| round_trip > Nanos::between(head, now))
    }

    /// The peer has received `segments` twice, the last of which ends at `right`, while `una` is acknowledged and
    /// everything before `max` was sent. RFC 8985, section 6.2, step 4: the window grows at most once in a round trip.
    pub(crate) fn on_d_sack(&mut self, right: u64, segments: u32, una: u64, max: u64) {
        let counts = self.list.as_deref_mut().is_none_or(|list| {
            // "A spurious retransmission is delivered" (Linux `tcp_dsack_seen`).
            list.on_duplicates(segments);
            // A probe was sent by time, not because a segment was believed lost.
            let of_probe = list.probe_mut().on_dsack(right);
            !of_probe && list.latest_mut().counts_dsack(una, max)
        });
        if counts {
            self.rack.on_d_sack();
        }
    }

    /// A late original has filled a hole that begins at `start`, and not what was sent again (Linux
    /// `tcp_try_undo_partial`).
    pub(crate) fn note_late_original(&mut self, start: u64, mss: u32) {
        let highest = self.list().map_or(0, |list| list.latest().highest());
        let by = u32::try_from(highest.saturating_sub(start)).unwrap_or(u32::MAX);
        self.rack.note_overtaken(by, mss);
    }

    /// Whether segments overtake each other by far, so that the order in which they arrive tells nothing.
    pub(crate) fn is_reordered_far(&self) -> bool {
        self.rack.is_reordered_far()
    }

    /// A repair is over.
    pub(crate) fn on_repaired(&mut self) {
        self.rack.on_repaired();
    }
}
