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

    /// A small segment left while another was outstanding.
    pub(super) const fn note_despite(&mut self) {
        self.despite = self.despite.saturating_add(1);
    }

    /// A small segment left this much after nothing but Nagle's algorithm or its program kept it.
    pub(super) fn note_after_ack(&mut self, since: Nanos, immediate: Nanos) {
        if since <= immediate {
            self.prompt = self.prompt.saturating_add(1);
        } else if since > immediate * Self::LATE {
            self.late = self.late.saturating_add(1);
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
            record.note_after_ack(Nanos::from_micros(late), IMMEDIATE);
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
    fn one_that_was_seen_twice_without_nagle_has_none_whatever_else_it_does() {
        let mut record = after(&[14; 20]);
        record.note_despite();
        assert_eq!(record.habit(), NagleHabit::Holds);
        record.note_despite();
        assert_eq!(record.habit(), NagleHabit::Off);
    }

    #[test]
    fn two_loss_probes_are_not_held_against_it_for_ever() {
        let mut record = NagleRecord::default();
        record.note_despite();
        record.note_despite();
        assert_eq!(record.habit(), NagleHabit::Off);
        for _ in 0..64 {
            record.note_after_ack(Nanos::from_micros(14), IMMEDIATE);
        }
        assert_eq!(record.habit(), NagleHabit::Holds);
    }

    #[test]
    fn a_program_that_changes_is_followed() {
        let mut record = after(&[14; 1_000]);
        for _ in 0..64 {
            record.note_after_ack(Nanos::from_millis(5), IMMEDIATE);
        }
        assert_eq!(record.habit(), NagleHabit::WritesLate);
    }
}
