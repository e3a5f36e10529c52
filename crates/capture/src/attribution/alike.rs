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
