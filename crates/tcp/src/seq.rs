//! Sequence numbers.

use core::ops::{Add, Sub};

/// A sequence number: a point on a circle of 2^32.
///
/// Deliberately not `Ord`. Comparison is modulo 2^32 (RFC 9293, section 3.4), so "less than" is not
/// transitive and a sorted collection of these would be a bug.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Whether `self` comes before `other`, for points less than half a circle apart.
    #[must_use]
    pub const fn precedes(self, other: Self) -> bool {
        self.0 != other.0 && other.0.wrapping_sub(self.0) < 1 << 31
    }

    /// Whether `self` is `other` or comes before it.
    #[must_use]
    pub const fn at_or_before(self, other: Self) -> bool {
        other.0.wrapping_sub(self.0) < 1 << 31
    }

    /// Bytes from `earlier` to `self`, going forward around the circle.
    #[must_use]
    pub const fn distance_from(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }

    /// The number of `position` in a stream whose position 0 has the number `self`.
    #[must_use]
    pub const fn at(self, position: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "the circle has 2^32 points")]
        Self(self.0.wrapping_add(position as u32))
    }

    /// The position that `self` has in a stream whose position 0 has the number `first`: of all the
    /// positions with this number, the one nearest to `near` (of two equally near, the lower one).
    /// Negative if it lies before `first`.
    ///
    /// ```
    /// use ackwise_tcp::SeqNumber;
    /// let first = SeqNumber(u32::MAX);
    /// assert_eq!(SeqNumber(4).position(first, 0), 5);
    /// assert_eq!(SeqNumber(4).position(first, 1 << 40), (1 << 40) + 5);
    /// assert_eq!((first - 3).position(first, 0), -3);
    /// ```
    #[must_use]
    pub fn position(self, first: Self, near: u64) -> i64 {
        let offset = self.distance_from(first.at(near)).cast_signed();
        i64::try_from(near).unwrap_or(i64::MAX).saturating_add(i64::from(offset))
    }

    /// [`position`](Self::position) in a stream of fewer than 2^63 bytes: every segment asks several times.
    pub(crate) const fn position_in_stream(self, first: Self, near: u64) -> i64 {
        near.cast_signed() + self.distance_from(first.at(near)).cast_signed() as i64
    }

    /// Whether `self` lies in the `length` numbers that begin at `start` (RFC 9293, section 3.4).
    #[must_use]
    pub const fn within(self, start: Self, length: u32) -> bool {
        self.0.wrapping_sub(start.0) < length
    }

    /// The later of two points less than half a circle apart.
    #[must_use]
    pub const fn later(self, other: Self) -> Self {
        if self.precedes(other) { other } else { self }
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;

    fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl Sub<u32> for SeqNumber {
    type Output = Self;

    fn sub(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }
}

/// What is left of a position where there is no room for more: the peer's window keeps those that are
/// compared together.
#[expect(clippy::cast_possible_truncation, reason = "positions are compared modulo 2^32")]
pub(crate) const fn low(position: u64) -> u32 {
    position as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    static_assertions::assert_not_impl_any!(SeqNumber: PartialOrd, Ord, From<u32>, core::ops::Deref);

    #[test]
    fn comparison_goes_around_the_circle() {
        let before_wrap = SeqNumber(u32::MAX - 1);
        let after_wrap = before_wrap + 5;
        assert_eq!(after_wrap, SeqNumber(3));
        assert!(before_wrap.precedes(after_wrap));
        assert!(!after_wrap.precedes(before_wrap));
        assert_eq!(after_wrap.distance_from(before_wrap), 5);
        assert!(after_wrap.within(before_wrap, 6) && !after_wrap.within(before_wrap, 5));
        assert_eq!(after_wrap.later(before_wrap), after_wrap);
    }

    #[test]
    fn a_position_is_the_nearest_of_those_that_share_a_number() {
        let first = SeqNumber(u32::MAX - 2);
        assert_eq!(first.at(5), SeqNumber(2));
        let half = 1 << 31;
        for near in [0, 5, 3 << 32, u64::from(u32::MAX) + 9] {
            let base = i64::try_from(near).unwrap();
            for offset in [-half, -7, -1, 0, 1, 7, half - 1] {
                let position = base + offset;
                let number = first.at(near.wrapping_add_signed(offset));
                assert_eq!(number.position(first, near), position, "{offset} from {near}");
                assert_eq!(number.position_in_stream(first, near), position);
            }
            assert_eq!(first.at(near.wrapping_add_signed(half)).position(first, near), base - half);
        }
    }
}
