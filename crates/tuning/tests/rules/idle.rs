//! Idle buffers only shrink, step by step.

use ackwise_tcp::{ByteCount, Instant, Nanos};
use ackwise_tuning::Halving;
use proptest::prelude::*;

proptest! {
    #[test]
    fn an_idle_buffer_never_grows_and_its_steps_are_those_announced(
        held: u64, least in 0_u64..100_000, period in 1_u64..10_000, since in 0_u64..1_000_000,
        early in 0_u64..1_000_000, later in 0_u64..1_000_000,
    ) {
        let halving = Halving::new(Nanos::new(period), ByteCount(least)).unwrap();
        let (held, since) = (ByteCount(held), Instant::from_nanos(since));
        let early = since + Nanos::new(early);
        let now = early + Nanos::new(later);
        prop_assert!(halving.size(held, since, now) <= halving.size(held, since, early));
        prop_assert!(halving.size(held, since, now) >= held.min(ByteCount(least)));
        prop_assert_eq!(halving.size(held, since, since), held);
        match halving.next(held, since, now) {
            Some(step) => {
                prop_assert!(step.at > now && step.bytes < halving.size(held, since, now));
                prop_assert_eq!(halving.size(held, since, step.at), step.bytes);
                let before = Instant::from_nanos(step.at.as_nanos() - 1);
                prop_assert_eq!(halving.size(held, since, before), halving.size(held, since, now));
            }
            None => {
                prop_assert_eq!(halving.size(held, since, Instant::FAR_FUTURE),
                    halving.size(held, since, now));
            }
        }
    }
}
