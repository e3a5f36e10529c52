//! Where a sequence number stands in a stream that is longer than the circle of 2^32.

use ackwise_tcp::SeqNumber;

/// Turns sequence numbers of one direction into positions in its stream.
///
/// ```
/// use ackwise_capture::Positions;
/// use ackwise_tcp::SeqNumber;
///
/// let mut positions = Positions::after_syn(SeqNumber(u32::MAX));
/// assert_eq!(positions.position(SeqNumber(0)), Some(0));
/// assert_eq!(positions.position(SeqNumber(2_000_000_000)), Some(2_000_000_000));
/// assert_eq!(positions.position(SeqNumber(4_000_000_000)), Some(4_000_000_000));
/// assert_eq!(positions.position(SeqNumber(5)), Some((1 << 32) + 5));
/// assert_eq!(positions.position(SeqNumber(3_999_999_999)), Some(3_999_999_999));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Positions {
    /// The sequence number of position 0.
    first: SeqNumber,
    highest: u64,
}

impl Positions {
    /// Those of the stream whose SYN has the sequence number `isn`: the next one is position 0.
    #[must_use]
    pub fn after_syn(isn: SeqNumber) -> Self {
        Self { first: isn + 1, highest: 0 }
    }

    /// The position of `number`: the one nearest to the highest seen so far, half a circle away at
    /// most. `None` for what lies before position 0, as the SYN itself does.
    pub fn position(&mut self, number: SeqNumber) -> Option<u64> {
        let position = u64::try_from(number.position(self.first, self.highest)).ok()?;
        self.highest = self.highest.max(position);
        Some(position)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_syn_has_no_position() {
        let mut positions = Positions::after_syn(SeqNumber(7));
        assert_eq!(positions.position(SeqNumber(7)), None);
        assert_eq!(positions.position(SeqNumber(8)), Some(0));
    }

    proptest! {
        #[test]
        fn positions_survive_any_number_of_rounds(
            isn in any::<u32>(),
            steps in proptest::collection::vec(-1_000_000_i64..1_500_000_000, 1..40),
        ) {
            let mut positions = Positions::after_syn(SeqNumber(isn));
            let mut position = 0_u64;
            for step in steps {
                position = position.saturating_add_signed(step);
                #[expect(clippy::cast_possible_truncation, reason = "the circle is modulo 2^32")]
                let number = SeqNumber(isn) + 1 + position as u32;
                prop_assert_eq!(positions.position(number), Some(position));
            }
        }
    }
}
