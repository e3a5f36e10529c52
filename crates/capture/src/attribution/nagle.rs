//! What a sender's small segments show of Nagle's algorithm, which no packet tells.
//!
//! A small segment that follows an acknowledgement at once was held, or its program happened to write
//! then. One such segment does not tell these apart; what the same sender did before does.

use super::Nanos;

/// Small segments of one sender, counted by when they left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NagleRecord {
    /// While another small one was outstanding, which the algorithm forbids.
    despite: u8,
    /// At once after the acknowledgement that Nagle's algorithm waits for.
    prompt: u8,
    /// Long after it: nothing but the program kept them.
    late: u8,
    /// The longest time between data before one of those, and the shortest.
    longest: Nanos,
    shortest: Nanos,
}

/// What the record says of the next one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NagleHabit {
    /// Nothing was seen yet.
    Unknown,
    /// It waits for acknowledgements.
    Holds,
    /// It did so as often as it did not.
    Mixed,
    /// Its program writes late, so that an acknowledgement just before is a coincidence.
    WritesLate,
    /// It sends what the algorithm would hold.
    Off,
}

impl NagleRecord {
    /// Observations needed to conclude that Nagle is off: a loss probe looks like one. Our choice.
    const OFF_AFTER: u8 = 2;
    /// A segment is late if it follows the acknowledgement by this many times what counts as at once;
    /// a busy host may need what is between. Our choice.
    pub(super) const LATE: u64 = 4;
    /// One coincidence in this many is taken for Nagle's algorithm. Our choice.
    pub(super) const COINCIDENCE: u64 = 16;

    pub(super) const fn habit(&self) -> NagleHabit {
        if self.despite >= Self::OFF_AFTER {
            NagleHabit::Off
        } else if self.late > self.prompt {
            NagleHabit::WritesLate
        } else if self.prompt > self.late {
            NagleHabit::Holds
        } else if self.late > 0 {
            NagleHabit::Mixed
        } else {
            NagleHabit::Unknown
        }
    }

    /// The same of one that leaves `pause` after the data before it, and `since_ack` after an acknowledgement. What its
    /// program was never seen to take, its own pace does not explain, unless that is short enough for the
    /// acknowledgement to be a coincidence. One late segment is no habit against one that is none.
    pub(super) fn habit_after(
        &self,
        pause: Nanos,
        immediate: Nanos,
        since_ack: Option<Nanos>,
    ) -> NagleHabit {
        let is_unusual = pause > self.longest * 2 && pause >= immediate * Self::COINCIDENCE;
        let is_coincidence = since_ack.is_none_or(|late| late * Self::COINCIDENCE > pause);
        match self.habit() {
            NagleHabit::WritesLate if is_unusual => NagleHabit::Mixed,
            NagleHabit::WritesLate if self.late == 1 && !is_coincidence => NagleHabit::Mixed,
            habit => habit,
        }
    }

    /// How long its program took at least wherever nothing held what it wrote, if that was seen.
    pub(super) fn own_pause(&self) -> Option<Nanos> {
        Some(self.shortest).filter(|_| self.late > 0)
    }

    /// A small segment left while another was outstanding; `promptly` after it, when no loss probe is sent.
    pub(super) const fn note_despite(&mut self, promptly: bool) {
        self.despite = self.despite.saturating_add(if promptly { Self::OFF_AFTER } else { 1 });
    }

    /// A small segment left this much after nothing but Nagle's algorithm or its program kept it, and `pause` after
    /// the data before it.
    pub(super) fn note_after_ack(&mut self, since: Nanos, pause: Nanos, immediate: Nanos) {
        if since <= immediate {
            self.prompt = self.prompt.saturating_add(1);
        } else if since > immediate * Self::LATE {
            self.late = self.late.saturating_add(1);
            self.longest = self.longest.max(pause);
            self.shortest = if self.late == 1 { pause } else { self.shortest.min(pause) };
        }
        // Old observations give way: programs change what they do.
        if self.prompt.max(self.late) == Self::REMEMBERED {
            self.prompt /= 2;
            self.late /= 2;
            self.despite /= 2;
        }
    }

    #[cfg(test)]
    pub(super) const fn despite(&self) -> u8 {
        self.despite
    }

    /// Observations after which half of them are forgotten. Our choice.
    const REMEMBERED: u8 = 64;
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMMEDIATE: Nanos = Nanos::from_micros(300);

    fn after(micros: &[u64]) -> NagleRecord {
        let mut record = NagleRecord::default();
        for &late in micros {
            record.note_after_ack(Nanos::from_micros(late), Nanos::from_micros(late), IMMEDIATE);
        }
        record
    }

    #[test]
    fn what_most_small_segments_did_is_expected_of_the_next() {
        for (micros, habit) in [
            (&[][..], NagleHabit::Unknown),
            (&[14], NagleHabit::Holds),
            (&[300], NagleHabit::Holds),
            (&[301], NagleHabit::Unknown),
            (&[1_200], NagleHabit::Unknown),
            (&[1_201], NagleHabit::WritesLate),
            (&[45_000, 100], NagleHabit::Mixed),
            (&[45_000, 100, 120], NagleHabit::Holds),
            (&[45_000, 100, 2_000, 100, 3_000], NagleHabit::WritesLate),
        ] {
            assert_eq!(after(micros).habit(), habit, "{micros:?}");
        }
    }

    #[test]
    fn a_program_that_writes_late_explains_no_pause_much_longer_than_its_own() {
        let record = after(&[14, 4_000, 5_000]);
        for (micros, habit) in [
            (5_000, NagleHabit::WritesLate),
            (10_000, NagleHabit::WritesLate),
            (10_001, NagleHabit::Mixed),
            (40_000, NagleHabit::Mixed),
        ] {
            let pause = Nanos::from_micros(micros);
            assert_eq!(record.habit_after(pause, IMMEDIATE, None), habit, "{micros}");
        }
        let brief = after(&[1_300]).habit_after(Nanos::from_micros(4_799), IMMEDIATE, None);
        assert_eq!(brief, NagleHabit::WritesLate, "one in sixteen is a coincidence");
        let ack = Some(Nanos::from_micros(300));
        let coincidence = after(&[1_300]).habit_after(Nanos::from_micros(4_799), IMMEDIATE, ack);
        assert_eq!(coincidence, NagleHabit::WritesLate);
        // Longer than its own twice, and so long after what lets a segment go that it is none.
        for (micros, habit) in [(4_799, NagleHabit::WritesLate), (4_800, NagleHabit::Mixed)] {
            let record = after(&[1_300, 1_400]);
            let found = record.habit_after(Nanos::from_micros(micros), IMMEDIATE, None);
            assert_eq!(found, habit, "{micros}");
        }
        let no_habit = after(&[1_300]).habit_after(Nanos::from_micros(4_800), IMMEDIATE, ack);
        assert_eq!(no_habit, NagleHabit::Mixed, "one late segment against one that follows an ACK");
        let habit = after(&[1_300, 2_500]).habit_after(Nanos::from_micros(4_800), IMMEDIATE, ack);
        assert_eq!(habit, NagleHabit::WritesLate);
        let prompt = after(&[14]).habit_after(Nanos::from_millis(40), IMMEDIATE, None);
        assert_eq!(prompt, NagleHabit::Holds);
    }

    #[test]
    fn a_program_takes_as_long_as_it_ever_took_where_nothing_held_it() {
        for (micros, own) in [
            (&[][..], None),
            (&[14, 1_200], None),
            (&[14, 30_000], Some(30_000)),
            (&[30_000, 14, 14], Some(30_000)),
            (&[30_000, 45_000, 20_000, 14], Some(20_000)),
        ] {
            assert_eq!(after(micros).own_pause(), own.map(Nanos::from_micros), "{micros:?}");
        }
        let mut record = after(&[30_000]);
        (0..64).for_each(|_| record.note_after_ack(Nanos::ZERO, Nanos::ZERO, IMMEDIATE));
        assert_eq!(record.own_pause(), None, "forgotten");
    }

    #[test]
    fn one_that_was_seen_twice_without_nagle_has_none_whatever_else_it_does() {
        let mut record = after(&[14; 20]);
        record.note_despite(false);
        assert_eq!(record.habit(), NagleHabit::Holds);
        record.note_despite(false);
        assert_eq!(record.habit(), NagleHabit::Off);
    }

    #[test]
    fn one_that_was_seen_promptly_without_nagle_has_none() {
        let mut record = after(&[14; 20]);
        record.note_despite(true);
        assert_eq!(record.habit(), NagleHabit::Off);
    }

    #[test]
    fn two_loss_probes_are_not_held_against_it_for_ever() {
        let mut record = NagleRecord::default();
        record.note_despite(false);
        record.note_despite(false);
        assert_eq!(record.habit(), NagleHabit::Off);
        for _ in 0..64 {
            record.note_after_ack(Nanos::from_micros(14), Nanos::from_millis(40), IMMEDIATE);
        }
        assert_eq!(record.habit(), NagleHabit::Holds);
    }

    #[test]
    fn a_program_that_changes_is_followed() {
        let mut record = after(&[14; 1_000]);
        for _ in 0..64 {
            record.note_after_ack(Nanos::from_millis(5), Nanos::from_millis(5), IMMEDIATE);
        }
        assert_eq!(record.habit(), NagleHabit::WritesLate);
    }
}
