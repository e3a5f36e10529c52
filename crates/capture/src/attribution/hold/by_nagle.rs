//! Whether Nagle's algorithm held a segment.

use super::{
    super::nagle::{NagleHabit, NagleRecord},
    Facts,
};

impl Facts {
    /// What waited for a window that counts segments may have waited for Nagle's algorithm, where it counts bytes.
    pub(super) fn nagle_may_hold_it_too(&self) -> bool {
        let may_hold = self.nagle != NagleHabit::Off && self.is_small() && !self.answers;
        let fits = self.fits_window_in_bytes();
        may_hold && fits && (self.flight[1] == 0 || self.small_acknowledged)
    }

    /// Nagle's algorithm held it: in RFC 896 and BSD until everything is acknowledged, in Minshall's
    /// variant and Linux until the last small segment is.
    pub(super) fn may_be_held_by_nagle(&self) -> bool {
        self.nagle != NagleHabit::Off && self.nagle_would_hold()
    }

    /// Until an earlier acknowledgement came, the congestion window may have held it, too.
    pub(super) const fn window_may_have_held_it_first(&self) -> bool {
        self.window_was_full && self.outstanding > self.flight[0]
    }

    /// As that, if the sender uses the algorithm.
    pub(in super::super) fn nagle_would_hold(&self) -> bool {
        self.is_small()
            && !self.answers
            && !self.is_held_by_same_buffer()
            && self.flight[0] > 0
            && (self.flight[1] == 0 || self.small_acknowledged)
            && !self.fills_window()
    }

    /// An acknowledgement arrived so much more recently than the last data left that it is no coincidence.
    pub(super) fn follows_ack(&self) -> bool {
        self.since_ack.is_some_and(|late| late * NagleRecord::COINCIDENCE <= self.since_data)
    }

    /// The sender waited for the acknowledgement, by its habit, and then for a busy host, or, far from it, for a path
    /// whose delay varies: shorter than what the acknowledgement took.
    pub(super) fn nagle_released_it_late(&self) -> bool {
        /// One in this many, far from the sender. Our choice.
        const FAR: u64 = 2;
        let coincidence = if self.may_miss_losses { FAR } else { NagleRecord::COINCIDENCE };
        self.nagle == NagleHabit::Holds
            && self.may_be_held_by_nagle()
            && self.since_ack.is_some_and(|late| {
                late <= self.immediate * NagleRecord::LATE && late * coincidence <= self.since_data
            })
    }
}
