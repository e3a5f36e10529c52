//! How a pool of buffer memory is divided: max-min fairness.
//!
//! Okamoto et al. 2001, section 1: buffers are assigned "with consideration on a max-min fairness".
//! A division is max-min fair if no share can grow except at the expense of one that is smaller or
//! equal. This holds if each connection gets its demand or a common *level*, whichever is less, and
//! the level is as high as the pool allows. The level is never below an equal part of the pool, so
//! every connection gets at least that or its whole demand.
//!
//! The level is found by bisection: at most 64 passes over the demands, without sorting and without
//! memory of its own, and independent of their order. From then on, a share is one comparison.

use core::fmt;

use ackwise_tcp::ByteCount;

/// What happens to memory that is left when all demands are met.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Spare {
    /// It stays free for new connections (our choice: the paper does not say).
    Keep,
    /// Each connection gets a part in proportion to its demand.
    Proportional,
    /// Each connection gets an equal part.
    Equal,
}

/// A pool divided among demands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Division {
    cut: Cut,
    /// Belongs to no connection.
    free: ByteCount,
}

/// How a demand becomes a share.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Cut {
    /// The pool is short.
    AtLevel(ByteCount),
    /// All demands are met.
    Nowhere,
    /// All demands are met, and each byte of demand gets spare / demanded bytes more.
    Proportional { spare: u64, demanded: u64 },
    /// All demands are met, and each connection gets this much more.
    Equal { each: u64 },
}

/// The part of the pool that a connection gets.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Share {
    /// The size of its buffer.
    pub bytes: ByteCount,
    /// Why not more, and not less.
    pub reason: ShareReason,
}

/// The reason for a [`Share`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ShareReason {
    /// The demand is met.
    Met,
    /// The pool is short, and no connection gets more than this one.
    Short {
        /// What the connection could use.
        demand: ByteCount,
    },
    /// The demand is met, and a part of the spare memory added.
    WithSpare {
        /// What the connection can use.
        demand: ByteCount,
    },
    /// The connection came after the division, and its initial size was free.
    New,
}

impl Division {
    /// Divides `pool`. Reads the demands at most 67 times.
    #[must_use]
    pub fn new<D>(pool: ByteCount, demands: D, spare: Spare) -> Self
    where
        D: Iterator<Item = ByteCount> + Clone,
    {
        let demanded = sum(demands.clone());
        let Some(left) = u128::from(pool.0).checked_sub(demanded) else {
            let level = level(pool.0, &demands);
            let taken = sum(demands.map(|demand| demand.min(level)));
            return Self { cut: Cut::AtLevel(level), free: bytes(u128::from(pool.0) - taken) };
        };
        let (left, demanded) = (bytes(left), bytes(demanded).0);
        let connections = u64::try_from(demands.count()).expect("an address has 64 bits at most");
        match spare {
            Spare::Proportional if demanded > 0 => {
                let cut = Cut::Proportional { spare: left.0, demanded };
                // What rounding leaves, less than a byte for each connection, stays unused.
                Self { cut, free: ByteCount(0) }
            }
            Spare::Equal if connections > 0 => {
                let cut = Cut::Equal { each: left.0 / connections };
                Self { cut, free: ByteCount(left.0 % connections) }
            }
            Spare::Keep | Spare::Proportional | Spare::Equal => {
                Self { cut: Cut::Nowhere, free: left }
            }
        }
    }

    /// The share of a connection that demands `demand`, which must be one of those divided.
    #[must_use]
    pub fn share(&self, demand: ByteCount) -> Share {
        let spare = match self.cut {
            Cut::AtLevel(level) if demand > level => {
                return Share { bytes: level, reason: ShareReason::Short { demand } };
            }
            Cut::AtLevel(_) | Cut::Nowhere => 0,
            Cut::Proportional { spare, demanded } => {
                let part = u128::from(spare) * u128::from(demand.0) / u128::from(demanded);
                u64::try_from(part).unwrap_or(u64::MAX)
            }
            Cut::Equal { each } => each,
        };
        let reason = if spare == 0 { ShareReason::Met } else { ShareReason::WithSpare { demand } };
        Share { bytes: ByteCount(demand.0.saturating_add(spare)), reason }
    }

    /// The largest share, if the pool is short; `None` if all demands are met.
    #[must_use]
    pub const fn level(&self) -> Option<ByteCount> {
        match self.cut {
            Cut::AtLevel(level) => Some(level),
            Cut::Nowhere | Cut::Proportional { .. } | Cut::Equal { .. } => None,
        }
    }

    /// The memory that belongs to no connection.
    #[must_use]
    pub const fn free(&self) -> ByteCount {
        self.free
    }

    /// A share for a connection that comes after the division, if its initial size is free. `None`:
    /// the pool has to be divided again, with its demand among the others.
    pub fn admit(&mut self, initial: ByteCount) -> Option<Share> {
        self.free = ByteCount(self.free.0.checked_sub(initial.0)?);
        Some(Share { bytes: initial, reason: ShareReason::New })
    }
}

/// The highest level at which demands, cut there, fit into a pool that is smaller than their sum.
fn level(pool: u64, demands: &(impl Iterator<Item = ByteCount> + Clone)) -> ByteCount {
    let (mut connections, mut largest) = (0, 0);
    for demand in demands.clone() {
        connections += 1;
        largest = largest.max(demand.0);
    }
    let fits = |level| sum(demands.clone().map(|demand| demand.min(level))) <= u128::from(pool);
    // An equal part always fits, the largest demand does not.
    let (mut fitting, mut too_high) = (pool / connections, largest);
    while too_high - fitting > 1 {
        let middle = fitting + (too_high - fitting) / 2;
        if fits(ByteCount(middle)) { fitting = middle } else { too_high = middle }
    }
    ByteCount(fitting)
}

fn sum(sizes: impl Iterator<Item = ByteCount>) -> u128 {
    sizes.map(|size| u128::from(size.0)).sum()
}

fn bytes(part_of_the_pool: u128) -> ByteCount {
    ByteCount(u64::try_from(part_of_the_pool).expect("a part of a pool of 64 bits"))
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B: {}", self.bytes.0, self.reason)
    }
}

impl fmt::Display for ShareReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Met => f.write_str("all that it can use"),
            Self::Short { demand } => {
                write!(f, "the fair share of a short pool; it could use {} B", demand.0)
            }
            Self::WithSpare { demand } => {
                write!(f, "with a part of the spare memory; it can use {} B", demand.0)
            }
            Self::New => f.write_str("the initial size of a new connection"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{string::ToString, vec::Vec};

    use super::*;

    fn divided(pool: u64, demands: &[u64], spare: Spare) -> (Division, Vec<u64>) {
        let demands = demands.iter().map(|demand| ByteCount(*demand));
        let division = Division::new(ByteCount(pool), demands.clone(), spare);
        let shares = demands.map(|demand| division.share(demand).bytes.0).collect();
        (division, shares)
    }

    #[test]
    fn small_demands_are_met_and_large_ones_share_the_rest() {
        let (division, shares) = divided(100, &[50, 10, 90, 20], Spare::Keep);
        assert_eq!(shares, [35, 10, 35, 20]);
        assert_eq!((division.level(), division.free()), (Some(ByteCount(35)), ByteCount(0)));
        // One byte is missing.
        assert_eq!(divided(10, &[10, 1], Spare::Keep).1, [9, 1]);
        // What cannot be divided evenly stays free.
        let (division, shares) = divided(101, &[50, 10, 90, 20], Spare::Equal);
        assert_eq!((shares, division.free().0), ([35, 10, 35, 20].into(), 1));
    }

    #[test]
    fn spare_memory_is_kept_or_handed_out() {
        for (spare, expected, free) in [
            (Spare::Keep, [10, 20], 60),
            (Spare::Proportional, [30, 60], 0),
            (Spare::Equal, [40, 50], 0),
        ] {
            let (division, shares) = divided(90, &[10, 20], spare);
            assert_eq!((shares, division.free().0), (expected.into(), free), "{spare:?}");
            assert_eq!(division.level(), None);
        }
        assert_eq!(divided(91, &[10, 20], Spare::Equal).0.free(), ByteCount(1));
    }

    #[test]
    fn a_pool_without_demands_stays_free() {
        for spare in [Spare::Keep, Spare::Proportional, Spare::Equal] {
            assert_eq!(divided(90, &[], spare).0.free(), ByteCount(90), "{spare:?}");
        }
        assert_eq!(divided(90, &[0, 0], Spare::Proportional).0.free(), ByteCount(90));
    }

    #[test]
    fn extreme_sizes_do_not_overflow() {
        let all = u64::MAX;
        assert_eq!(divided(all, &[all, all, 3], Spare::Keep).1, [all / 2 - 1, all / 2 - 1, 3]);
        assert_eq!(divided(all, &[all / 2, 1], Spare::Proportional).1[0], all - 2);
        assert_eq!(divided(0, &[5, 0], Spare::Keep).1, [0, 0]);
        assert_eq!(divided(1, &[5, 5, 5], Spare::Keep).1, [0, 0, 0]);
    }

    #[test]
    fn a_new_connection_takes_what_is_free_or_nothing() {
        let mut division = divided(100, &[30, 40], Spare::Keep).0;
        let new = |bytes| Some(Share { bytes: ByteCount(bytes), reason: ShareReason::New });
        assert_eq!(division.admit(ByteCount(20)), new(20));
        assert_eq!((division.admit(ByteCount(11)), division.free()), (None, ByteCount(10)));
        assert_eq!((division.admit(ByteCount(10)), division.free()), (new(10), ByteCount(0)));
    }

    #[test]
    fn a_reason_is_a_sentence() {
        let text = |pool, spare| divided(pool, &[10, 60], spare).0.share(ByteCount(60)).to_string();
        assert_eq!(text(70, Spare::Keep), "60 B: all that it can use");
        assert_eq!(
            text(50, Spare::Keep),
            "40 B: the fair share of a short pool; it could use 60 B"
        );
        assert_eq!(
            text(90, Spare::Equal),
            "70 B: with a part of the spare memory; it can use 60 B"
        );
        let new = divided(9, &[], Spare::Keep).0.admit(ByteCount(5)).unwrap();
        assert_eq!(new.to_string(), "5 B: the initial size of a new connection");
    }
}
