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
    /// Since the last data: some number was skipped, or nothing can be said.
    skipped: bool,
    unsure: bool,
}

impl Serial {
    /// Numbers in a row after which a sender is known to count. Two random ones follow each other by
    /// accident once in 65,536 times. Our choice.
    const ENOUGH: u8 = 2;
    /// A larger step is not of a counter, or it counts for all connections. Our choice.
    const LARGEST_STEP: u16 = 64;

    /// A packet, which offloads may have joined from several segments.
    pub(crate) const fn see(&mut self, identification: u16, segments: u16) {
        let next = identification.wrapping_add(segments);
        let Some(expected) = self.next else {
            (self.next, self.unsure) = (Some(next), true);
            return;
        };
        let step = identification.wrapping_sub(expected);
        if step > Self::LARGEST_STEP {
            self.unsure = true;
            // One that was overtaken.
            if step.wrapping_neg() <= Self::LARGEST_STEP {
                return;
            }
            self.in_order = 0;
        } else if step > 0 {
            self.skipped = true;
        } else {
            self.in_order = self.in_order.saturating_add(1);
        }
        self.next = Some(next);
    }

    /// Whether a number seems to be skipped since the last data, though it is not known yet that the sender
    /// counts.
    pub(crate) const fn seems_skipped(&self) -> bool {
        self.skipped
    }

    /// Whether a packet is missing since the last data; `None` if the numbers do not tell.
    pub(crate) const fn skipped(&self) -> Option<bool> {
        if self.unsure || self.in_order < Self::ENOUGH { None } else { Some(self.skipped) }
    }

    /// The same, and that was data.
    pub(crate) const fn take_skipped(&mut self) -> Option<bool> {
        let skipped = self.skipped();
        (self.skipped, self.unsure) = (false, false);
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
            (&[9, 40_000, 1, 30_000], None),
            // Overtaken.
            (&[5, 6, 7, 9, 8], None),
            (&[5, 6, 7, 9, 8, 10], Some(false)),
        ] {
            assert_eq!(said(numbers), skipped, "{numbers:?}");
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
