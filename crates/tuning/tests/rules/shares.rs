//! A division is max-min fair, for any pool and any demands.

use ackwise_tcp::ByteCount;
use ackwise_tuning::{Division, ShareReason, Spare};
use proptest::{collection::vec, prelude::*};

fn divide(pool: u64, demands: &[u64], spare: Spare) -> Division {
    Division::new(ByteCount(pool), demands.iter().map(|demand| ByteCount(*demand)), spare)
}

fn shares(pool: u64, demands: &[u64], spare: Spare) -> Vec<u64> {
    let division = divide(pool, demands, spare);
    demands.iter().map(|demand| division.share(ByteCount(*demand)).bytes.0).collect()
}

fn sum(shares: &[u64]) -> u128 {
    shares.iter().map(|share| u128::from(*share)).sum()
}

/// Water filling as textbooks have it: the smallest demand first, each an equal part of what is
/// left.
fn filled(pool: u64, demands: &[u64]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by_key(|index| demands[*index]);
    let (mut left, mut shares) = (pool, vec![0; demands.len()]);
    for (place, index) in order.iter().enumerate() {
        let others = u64::try_from(order.len() - place).unwrap();
        shares[*index] = demands[*index].min(left / others);
        left -= shares[*index];
    }
    shares
}

/// Demands with equal ones and zeros among them, and any number up to the largest.
fn demands() -> impl Strategy<Value = Vec<u64>> {
    let demand = prop_oneof![0_u64..5, 1_000_u64..200_000, Just(16_384), any::<u64>()];
    vec(demand, 0..60)
}

fn pool() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..100, 0_u64..2_000_000, any::<u64>()]
}

fn spare() -> impl Strategy<Value = Spare> {
    prop_oneof![Just(Spare::Keep), Just(Spare::Proportional), Just(Spare::Equal)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn shares_and_what_is_free_never_exceed_the_pool(
        pool in pool(), demands in demands(), spare in spare(),
    ) {
        let free = divide(pool, &demands, spare).free().0;
        prop_assert!(sum(&shares(pool, &demands, spare)) + u128::from(free) <= pool.into());
    }

    #[test]
    fn a_short_pool_is_used_up_to_less_than_a_byte_a_connection(
        pool in pool(), demands in demands(), spare in spare(),
    ) {
        let division = divide(pool, &demands, spare);
        let short = sum(&demands) > pool.into();
        prop_assert_eq!(division.level().is_some(), short);
        if short {
            let left = u128::from(pool) - sum(&shares(pool, &demands, spare));
            prop_assert_eq!(left, division.free().0.into());
            prop_assert!(left < demands.len() as u128);
        }
    }

    #[test]
    fn no_share_can_grow_except_at_the_expense_of_a_smaller_one(
        pool in pool(), demands in demands(),
    ) {
        let shares = shares(pool, &demands, Spare::Keep);
        let largest = shares.iter().max().copied().unwrap_or(0);
        for (share, demand) in shares.iter().zip(&demands) {
            prop_assert!(share <= demand);
            prop_assert!(share == demand || *share == largest, "{} of {}", share, demand);
        }
        // A textbook's algorithm differs by one byte at most, which it gives to the last.
        for (share, filled) in shares.iter().zip(filled(pool, &demands)) {
            prop_assert!(filled - share <= 1, "{} and {}", filled, share);
        }
    }

    #[test]
    fn every_connection_gets_its_demand_or_an_equal_part(
        pool in pool(), demands in demands(), spare in spare(),
    ) {
        let equal = pool.checked_div(demands.len() as u64).unwrap_or(0);
        for (share, demand) in shares(pool, &demands, spare).iter().zip(&demands) {
            prop_assert!(*share >= equal.min(*demand), "{} of {}", share, demand);
        }
    }

    #[test]
    fn a_larger_pool_makes_no_share_smaller(
        pool in pool(), more in 0_u64..1_000, demands in demands(), spare in spare(),
    ) {
        let before = shares(pool, &demands, spare);
        let after = shares(pool.saturating_add(more), &demands, spare);
        for (before, after) in before.iter().zip(&after) {
            prop_assert!(before <= after, "{} and {}", before, after);
        }
    }

    #[test]
    fn shares_do_not_depend_on_the_order(
        pool in pool(), demands in demands(), spare in spare(),
    ) {
        let mut turned = demands.clone();
        turned.reverse();
        prop_assert_eq!(divide(pool, &demands, spare), divide(pool, &turned, spare));
    }

    #[test]
    fn a_larger_demand_gets_no_smaller_share(
        pool in pool(), demands in demands(), spare in spare(),
    ) {
        let mut demands = demands;
        demands.sort_unstable();
        let shares = shares(pool, &demands, spare);
        prop_assert!(shares.is_sorted(), "{:?}", shares);
    }

    #[test]
    fn the_reason_fits_the_share(pool in pool(), demands in demands(), spare in spare()) {
        let division = divide(pool, &demands, spare);
        for demand in demands.iter().map(|demand| ByteCount(*demand)) {
            let share = division.share(demand);
            let expected = match share.bytes.cmp(&demand) {
                std::cmp::Ordering::Less => ShareReason::Short { demand },
                std::cmp::Ordering::Equal => ShareReason::Met,
                std::cmp::Ordering::Greater => ShareReason::WithSpare { demand },
            };
            prop_assert_eq!(share.reason, expected);
        }
    }

    #[test]
    fn new_connections_get_no_more_than_is_free(
        pool in pool(), demands in demands(), new in vec(0_u64..100_000, 0..20),
    ) {
        let mut division = divide(pool, &demands, Spare::Keep);
        let admitted = new.iter().filter_map(|initial| division.admit(ByteCount(*initial)));
        let admitted: u128 = admitted.map(|share| u128::from(share.bytes.0)).sum();
        prop_assert!(sum(&shares(pool, &demands, Spare::Keep)) + admitted <= pool.into());
    }
}
