//! Gaps whose cause only later packets show.
//!
//! After a hole in the stream, it is not known yet what happened to the missing data. If it is
//! retransmitted, the network lost it; if it arrives late, it was reordered; if it is acknowledged but
//! never captured, the capture lost it. A retransmission of captured data counts if more of the
//! response follows. A segment that came late was sent by a timer or held by the path, which the next one shows.

use crate::attribution::{Nanos, Stall, gap::Gap, later::Resolution};

/// Gaps that wait for a decision, oldest first.
#[derive(Debug, Default)]
pub(super) struct Unsettled {
    waiting: Vec<Waiting>,
    /// The number of them of which it is known what happened to the missing data: only what happened first counts.
    resolved: usize,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    gap: Gap,
    /// The gap ends with data that had been captured already.
    again: bool,
}

impl Unsettled {
    /// Most gaps that wait: a window of 1.4 MB after a hole. Our choice.
    const MAX_WAITING: usize = 1_024;

    /// Adds a gap, `again` if it ends with data that had been captured already. Whether there is room.
    pub(super) fn put_off(&mut self, gap: &Gap, again: bool) -> bool {
        let has_room = self.waiting.len() < Self::MAX_WAITING;
        if has_room {
            self.waiting.push(Waiting { gap: *gap, again });
        }
        has_room
    }

    /// Bytes that they take.
    pub(super) const fn held(&self) -> usize {
        self.waiting.capacity() * size_of::<Waiting>()
    }

    /// How many wait.
    pub(super) const fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Records what happened to missing data.
    pub(super) fn resolve(&mut self, resolution: Resolution) {
        for Waiting { gap, .. } in &mut self.waiting[self.resolved..] {
            gap.later.note(resolution);
        }
        self.resolved = self.waiting.len();
    }

    /// Records what an acknowledgement shows of the data that was sent again last.
    pub(super) fn resolve_last_again(&mut self, resolution: Resolution) {
        if let Resolution::Refused { sure } = resolution {
            let again = self.waiting.iter_mut().filter(|it| it.again);
            // Of the first data of a connection: one copy may have been damaged, not one after the other.
            let several = again.count() > 1;
            let resolution = Resolution::Refused { sure: sure && several };
            let again = self.waiting.iter_mut().filter(|it| it.again);
            return again.for_each(|it| it.gap.later.note(resolution));
        }
        if let Some(last) = self.waiting.iter_mut().rfind(|it| it.again) {
            last.gap.later.note(resolution);
        }
    }

    /// The last data that was sent again had arrived before, or `all` of it.
    pub(super) fn forget_again(&mut self, all: bool) {
        let last = self.waiting.iter().rposition(|it| it.again);
        let mut place = 0..;
        let mut resolved = self.resolved;
        self.waiting.retain(|it| {
            let at = place.next();
            let stays = !(it.again && (all || at == last));
            resolved -= usize::from(!stays && at < Some(self.resolved));
            stays
        });
        self.resolved = resolved;
    }

    /// Data followed that was not in the capture before. If it came within `soon` of a segment that came
    /// late, no timer had sent that one: after a timeout, nothing more is sent for a round trip (RFC 5681,
    /// section 3.1: the loss window is one segment).
    pub(super) fn follow(&mut self, gap: &Gap, soon: Nanos) {
        let late = self.waiting.last_mut().map(|it| &mut it.gap);
        let late = late.filter(|it| it.stall == Stall::OrTimeout);
        if let Some(late) = late.filter(|it| Nanos::between(it.until, gap.until) < soon) {
            late.later.note_followed();
        }
    }

    /// Whether none waits.
    pub(super) const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the last one ends with data that had been captured already.
    pub(super) fn is_again(&self) -> bool {
        self.waiting.last().is_some_and(|it| it.again)
    }

    /// All of them.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Gap> + use<> {
        self.resolved = 0;
        std::mem::take(&mut self.waiting).into_iter().map(|it| it.gap.settled())
    }

    /// All except the last ones that end with data captured already: nothing followed, so it delayed
    /// nothing.
    pub(super) fn take_needed(&mut self) -> impl Iterator<Item = Gap> + use<> {
        let needed = self.waiting.iter().rposition(|it| !it.again).map_or(0, |last| last + 1);
        self.waiting.truncate(needed);
        self.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{
        Confidence,
        gap::{
            Missing,
            tests::{HELD, at},
        },
    };
    use ackwise_cause::RepairedBy;

    /// A gap for each, that ends with data which had been captured already or not.
    fn waiting(again: &[bool]) -> Unsettled {
        let mut unsettled = Unsettled::default();
        for (end, &again) in (70..).zip(again) {
            let mut gap = Gap { until: at(end), missing: Missing::JustBefore, ..HELD };
            gap.hold.lost = Some(RepairedBy::Timeout);
            assert!(unsettled.put_off(&gap, again));
        }
        unsettled
    }

    fn ends(gaps: impl Iterator<Item = Gap>) -> Vec<u64> {
        gaps.map(|it| it.until.as_nanos() / 1_000_000).collect()
    }

    #[test]
    fn no_more_than_a_window_of_them_waits() {
        let mut unsettled = waiting(&[false; Unsettled::MAX_WAITING]);
        assert!(!unsettled.put_off(&HELD, false));
        assert_eq!(unsettled.len(), Unsettled::MAX_WAITING);
    }

    #[test]
    fn what_follows_soon_shows_that_no_timer_sent_what_came_late() {
        for (stall, after, follows) in
            [(Stall::OrTimeout, 9, true), (Stall::OrTimeout, 10, false), (Stall::OrLoss, 9, false)]
        {
            let mut unsettled = Unsettled::default();
            unsettled.put_off(&Gap { stall, ..HELD }, false);
            let next = Gap { until: at(70 + after), ..HELD };
            unsettled.follow(&next, Nanos::from_millis(10));
            let settled = unsettled.take().next().unwrap();
            assert_eq!(settled.stall == Stall::Shown, follows, "{stall:?} {after}");
        }
    }

    #[test]
    fn what_happened_first_to_missing_data_counts() {
        let mut unsettled = waiting(&[false]);
        unsettled.resolve(Resolution::LostByCapture);
        unsettled.put_off(&Gap { missing: Missing::JustBefore, ..HELD }, false);
        unsettled.resolve(Resolution::SentAgain);
        let lost: Vec<_> = unsettled.take().map(|it| it.capture_lost_data).collect();
        assert_eq!(lost, [true, false]);
    }

    #[test]
    fn only_the_last_that_was_sent_again_is_what_an_acknowledgement_is_of() {
        let resolved = |again: &[bool], resolution| {
            let mut unsettled = waiting(again);
            unsettled.resolve_last_again(resolution);
            unsettled.take().map(|it| it.stall != Stall::None).collect::<Vec<_>>()
        };
        let spurious = Resolution::Spurious;
        assert_eq!(resolved(&[true, true, false], spurious), [false, true, false]);
        // Two copies that were refused: one alone may have been damaged.
        let refused = Resolution::Refused { sure: true };
        assert_eq!(resolved(&[true, false, true], refused), [true, false, true]);
        for (again, sure) in [(&[true, true][..], true), (&[true, false], false)] {
            let mut unsettled = waiting(again);
            unsettled.resolve_last_again(refused);
            let first = unsettled.take().next().unwrap();
            assert_eq!(first.hold.confidence == Confidence::High, sure, "{again:?}");
        }
    }

    #[test]
    fn what_had_arrived_before_is_forgotten_and_what_was_resolved_stays_so() {
        let again = [true, false, true, false];
        for (all, left) in [(false, &[70, 71, 73][..]), (true, &[71, 73])] {
            let mut unsettled = waiting(&again);
            unsettled.forget_again(all);
            assert_eq!(ends(unsettled.take()), left, "{all}");
        }
        for (resolved, forgotten) in [(&[true, false][..], 1), (&[false, false], 2)] {
            let mut unsettled = waiting(resolved);
            unsettled.resolve(Resolution::Overtaken);
            unsettled.put_off(&Gap { until: at(90), ..HELD }, false);
            unsettled.forget_again(true);
            assert_eq!(unsettled.resolved, forgotten, "{resolved:?}");
        }
        let mut later = waiting(&[false]);
        later.resolve(Resolution::Overtaken);
        later.put_off(&HELD, true);
        later.forget_again(true);
        assert_eq!((later.resolved, later.len()), (1, 1), "it was not resolved");
    }

    #[test]
    fn what_was_sent_again_last_has_delayed_nothing() {
        for (again, needed) in [
            (&[true, false, true, true][..], &[70, 71][..]),
            (&[true, true], &[]),
            (&[false], &[70]),
        ] {
            let mut unsettled = waiting(again);
            assert_eq!(unsettled.is_again(), again[again.len() - 1]);
            assert_eq!(ends(unsettled.take_needed()), needed, "{again:?}");
            assert!(unsettled.is_empty() && !unsettled.is_again());
        }
    }
}
