//! Which packets of a sender never passed the vantage point: the identification of IPv4 tells.
//!
//! Linux numbers the packets of a connection one by one (`ip_select_ident_segs`). So if two data segments
//! have numbers in a row, none between them was lost before the vantage point.

/// The numbers of one end's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Serial {
    next: Option<u16>,
    /// How many numbers followed the one before.
    in_order: u8,
    /// The numbers before it that were skipped since the last data, the nearest in the lowest bit.
    skipped: u64,
    /// Some are farther away.
    gone: bool,
    /// Since the last data, nothing can be said.
    unsure: bool,
}

impl Serial {
    /// Numbers in a row after which a sender is known to count. Two random ones follow each other by
    /// accident once in 65,536 times. Our choice.
    const ENOUGH: u8 = 2;
    /// A larger step is not of a counter, or it counts for all connections: as many as there are bits for. Our choice.
    const LARGEST_STEP: u16 = 64;

    /// A packet, which offloads may have joined from several segments.
    #[inline(always)]
    pub(crate) const fn see(&mut self, identification: u16, segments: u16) {
        let next = identification.wrapping_add(segments);
        match self.next {
            // Most come in a row.
            Some(expected) if identification == expected && self.skipped == 0 => {
                self.in_order = self.in_order.saturating_add(1);
                self.next = Some(next);
            }
            Some(expected) => self.see_after(identification.wrapping_sub(expected), segments, next),
            None => (self.next, self.unsure) = (Some(next), true),
        }
    }

    /// A packet that comes `step` after the one that was expected, before `next`.
    #[inline(never)]
    const fn see_after(&mut self, step: u16, segments: u16, next: u16) {
        if step > Self::LARGEST_STEP {
            let late = step.wrapping_neg();
            if late <= Self::LARGEST_STEP {
                // One that was overtaken: it is not missing, if it is of those since the last data.
                self.unsure |= !self.fill(late, segments);
                return;
            }
            (self.in_order, self.unsure) = (0, true);
            self.push(u16::MAX);
        } else {
            if step == 0 {
                self.in_order = self.in_order.saturating_add(1);
            }
            self.push(step);
            self.skipped |= Self::bits(step);
            self.push(segments);
        }
        self.next = Some(next);
    }

    /// Adds `numbers` that came between those that were skipped and the next one.
    const fn push(&mut self, numbers: u16) {
        let kept = Self::bits(Self::LARGEST_STEP.saturating_sub(numbers));
        self.gone |= self.skipped & !kept != 0;
        self.skipped = match self.skipped.checked_shl(numbers as u32) {
            Some(skipped) => skipped,
            None => 0,
        };
    }

    /// `segments` numbers have come after all, the first of them `late` before the next one; whether they were skipped.
    const fn fill(&mut self, late: u16, segments: u16) -> bool {
        let before = Self::bits(late.saturating_sub(segments));
        let filled = Self::bits(late) & !before;
        let were_skipped = self.skipped & filled == filled;
        self.skipped &= !filled;
        were_skipped
    }

    /// The `count` lowest bits.
    const fn bits(count: u16) -> u64 {
        match 1_u64.checked_shl(count as u32) {
            Some(next) => next - 1,
            None => u64::MAX,
        }
    }

    /// Whether a number seems to be skipped since the last data, though it is not known yet that the sender
    /// counts.
    pub(crate) const fn seems_skipped(&self) -> bool {
        self.skipped != 0 || self.gone
    }

    /// Whether a packet is missing since the last data; `None` if the numbers do not tell.
    pub(crate) const fn skipped(&self) -> Option<bool> {
        if self.unsure || self.in_order < Self::ENOUGH { None } else { Some(self.seems_skipped()) }
    }

    /// The same, and that was data.
    pub(crate) const fn take_skipped(&mut self) -> Option<bool> {
        let skipped = self.skipped();
        (self.skipped, self.gone, self.unsure) = (0, false, false);
        skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the last of these packets shows, each of one segment.
    fn said(numbers: &[u16]) -> Option<bool> {
        let mut serial = Serial::default();
        let mut said = None;
        for &number in numbers {
            serial.see(number, 1);
            said = serial.take_skipped();
        }
        said
    }

    #[test]
    fn a_number_that_is_missing_is_a_packet_that_was_lost() {
        for (numbers, skipped) in [
            (&[5][..], None),
            (&[5, 6], None),
            (&[5, 6, 7], Some(false)),
            (&[65_534, 65_535, 0], Some(false)),
            (&[5, 6, 7, 9], Some(true)),
            (&[5, 6, 7, 9, 10], Some(false)),
            (&[5, 6, 7, 72], Some(true)),
            // Another counter, or none.
            (&[5, 6, 7, 73], None),
            (&[0, 0, 0, 0], None),
            (&[5, 7, 9, 11], None),
            (&[9, 40_000, 1, 30_000], None),
            // Overtaken.
            (&[5, 6, 7, 9, 8], None),
            (&[5, 6, 7, 9, 8, 10], Some(false)),
        ] {
            assert_eq!(said(numbers), skipped, "{numbers:?}");
        }
    }

    /// The last packet has data; those before it since the first do not.
    #[test]
    fn a_packet_that_comes_late_closes_its_gap() {
        for (numbers, missing) in [
            (&[8, 9][..], Some(false)),
            (&[9], Some(true)),
            (&[9, 8, 10], Some(false)),
            (&[10, 8, 9, 11], Some(false)),
            // One of two is still missing.
            (&[10, 9, 11], Some(true)),
            (&[10, 8, 11], Some(true)),
            // Of those before the first: whether it was missing there, nobody asks any more.
            (&[9, 6, 10], None),
            // It comes twice.
            (&[9, 8, 8, 10], None),
            (&[71, 8, 72], Some(true)),
            // Not of this counter.
            (&[9, 30_000, 10], None),
        ] {
            let mut serial = Serial::default();
            for &number in [5, 6, 7].iter() {
                serial.see(number, 1);
                serial.take_skipped();
            }
            for &number in numbers {
                serial.see(number, 1);
            }
            assert_eq!(serial.take_skipped(), missing, "{numbers:?}");
        }
    }

    #[test]
    fn joined_segments_that_come_late_close_all_of_their_gap() {
        for (late, behind, missing) in [
            ((8, 3), 1, false),
            ((8, 2), 1, true),
            ((9, 2), 1, true),
            // What is far behind cannot come any more, and is missing all the same.
            ((8, 2), 70, true),
            ((8, 3), 70, false),
        ] {
            let mut serial = Serial::default();
            for (number, segments) in [(5, 1), (6, 1), (7, 1), (11, 1), late, (12, behind)] {
                serial.see(number, segments);
                if number == 7 {
                    serial.take_skipped();
                }
            }
            assert_eq!(serial.take_skipped(), Some(missing), "{late:?} {behind}");
        }
    }

    #[test]
    fn the_second_number_of_a_sender_may_show_a_loss_already() {
        // Linux: SYN, ACK of a request, and the response that was sent again after twelve were lost.
        let mut serial = Serial::default();
        for number in [0, 4_923] {
            serial.see(number, 1);
            assert!(!serial.seems_skipped());
        }
        serial.see(4_935, 1);
        assert!(serial.seems_skipped());
        assert_eq!(serial.take_skipped(), None);
        serial.see(4_936, 1);
        assert!(!serial.seems_skipped());
    }

    #[test]
    fn what_offloads_have_joined_counts_as_often_as_there_were_segments() {
        let mut serial = Serial::default();
        for (number, segments) in [(1, 1), (2, 1), (3, 10), (13, 1)] {
            serial.see(number, segments);
        }
        assert_eq!(serial.take_skipped(), None, "the first was not followed yet");
        serial.see(14, 1);
        assert_eq!(serial.take_skipped(), Some(false));
        serial.see(16, 1);
        serial.see(17, 1);
        assert_eq!(serial.take_skipped(), Some(true), "an ACK before the data counts, too");
    }
}
