//! Whether round trips vary: distance does not.

use super::Nanos;

/// How many round trips took as little as the least, and how many a little longer, of those of which nothing but other
/// traffic makes any longer.
///
/// A queue that other senders keep filled takes every packet some time, and never two as long: it holds one packet
/// more or less, and grows and shrinks with its senders' windows. So its least round trip is seen once, and distance
/// many times.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Alike {
    pub near: u8,
    pub beyond: u8,
}

impl Alike {
    /// By so much they differ on an idle path: the hosts at its ends need as much, if they are busy. A full packet takes
    /// longer where less than 40 Mb/s pass. Our choice.
    pub(crate) const SAME: Nanos = Nanos::from_micros(300);

    /// Data that a link of 10 Mb/s takes no longer for is compared with SYNs.
    pub(crate) const SMALL: u64 = 375;

    /// Whether a round trip that took so much more than the least may be one of those that a queue made longer: a
    /// receiver's timer makes it longer by more. A queue with a control of its delay varies by some milliseconds (RFC
    /// 8289, section 4.2: 5 ms), any other by a good part of its length. Our choice.
    fn may_vary(least: Nanos, longer: Nanos) -> bool {
        /// No receiver delays an acknowledgement for less than 40 ms (Linux `TCP_DELACK_MIN`), by a timer that may end
        /// a little sooner.
        const MOST: Nanos = Nanos::from_millis(30);
        longer <= (least / 4).max(Self::SAME * 8).min(MOST)
    }

    pub(crate) fn note(&mut self, least: Nanos, round_trip: Nanos) {
        let longer = round_trip - least;
        let count = match longer <= Self::SAME {
            true => &mut self.near,
            false if Self::may_vary(least, longer) => &mut self.beyond,
            false => return,
        };
        *count += 1;
        if *count == u8::MAX {
            *self = Self { near: self.near / 2, beyond: self.beyond / 2 };
        }
    }

    /// One took less than all before.
    pub(crate) fn begin_lower(&mut self, before: Nanos, least: Nanos) {
        let lower = before - least;
        *self = match lower <= Self::SAME {
            true => *self,
            false if Self::may_vary(least, lower) => {
                Self { near: 0, beyond: self.beyond.saturating_add(self.near).min(u8::MAX - 1) }
            }
            false => Self::default(),
        };
    }

    /// Those of two connections between the same hosts, each with its least round trip.
    pub(crate) fn join(pair: [(Nanos, Self); 2]) -> Self {
        let [one, two] = pair;
        let ((least, lower), (before, mut higher)) =
            if one.0 > two.0 { (two, one) } else { (one, two) };
        higher.begin_lower(before, least);
        let sum = |one: u8, two: u8| one.saturating_add(two).min(u8::MAX - 1);
        Self { near: sum(lower.near, higher.near), beyond: sum(lower.beyond, higher.beyond) }
    }

    /// One may be an accident: the first packet on a path waits for ARP, too. Our choice.
    const SEVERAL: u8 = 2;

    /// Whether they are those of an idle path.
    pub(crate) const fn are_steady(self) -> bool {
        self.near >= Self::SEVERAL && self.beyond <= self.near
    }

    /// Whether they are not. Too few show neither.
    pub(crate) const fn vary(self) -> bool {
        self.beyond >= Self::SEVERAL && self.beyond > self.near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn alike(near: u8, beyond: u8) -> Alike {
        Alike { near, beyond }
    }

    /// A quarter of the least, and 2.4 to 30 ms.
    #[test]
    fn round_trips_are_near_the_least_or_a_queue_longer_or_a_timer() {
        for (least, longer, expected) in [
            (40_000, 300, alike(1, 0)),
            (40_000, 301, alike(0, 1)),
            (40_000, 10_000, alike(0, 1)),
            (40_000, 10_001, alike(0, 0)),
            (1_000, 2_400, alike(0, 1)),
            (1_000, 2_401, alike(0, 0)),
            (400_000, 30_000, alike(0, 1)),
            (400_000, 30_001, alike(0, 0)),
        ] {
            let least = Nanos::from_micros(least);
            let mut found = Alike::default();
            found.note(least, least + Nanos::from_micros(longer));
            assert_eq!(found, expected, "{least:?} {longer}");
        }
        let mut many = alike(u8::MAX - 2, 100);
        many.note(Nanos::ZERO, Nanos::ZERO);
        assert_eq!(many, alike(u8::MAX - 1, 100));
        many.note(Nanos::ZERO, Nanos::ZERO);
        assert_eq!(many, alike(u8::MAX / 2, 50), "old ones give way");
    }

    #[test]
    fn a_lower_least_makes_those_before_longer_or_of_another_path() {
        for (lower, expected) in
            [(300, alike(3, 1)), (301, alike(0, 4)), (10_000, alike(0, 4)), (10_001, alike(0, 0))]
        {
            let least = Nanos::from_micros(40_000);
            let mut found = alike(3, 1);
            found.begin_lower(least + Nanos::from_micros(lower), least);
            assert_eq!(found, expected, "{lower}");
            let pair = [(least, alike(5, 0)), (least + Nanos::from_micros(lower), alike(3, 1))];
            let joined = alike(5 + expected.near, expected.beyond);
            assert_eq!(Alike::join(pair), joined, "{lower}");
            assert_eq!(Alike::join([pair[1], pair[0]]), joined, "{lower}");
        }
    }

    #[test]
    fn two_show_whether_a_path_is_idle() {
        for (found, steady, vary) in [
            (alike(1, 0), false, false),
            (alike(2, 0), true, false),
            (alike(2, 2), true, false),
            (alike(2, 3), false, true),
            (alike(0, 1), false, false),
            (alike(1, 2), false, true),
            (alike(0, 2), false, true),
        ] {
            assert_eq!((found.are_steady(), found.vary()), (steady, vary), "{found:?}");
        }
    }
}
