//! Throughput and demands move the way they should, for any path.

use std::num::{NonZeroU8, NonZeroU32};

use ackwise_tcp::{ByteCount, Nanos};
use ackwise_tuning::{
    BeforeLoss, Demand, DemandReason, Downward, E2Atbt, Eatbt, Gain, Loss, LossEstimate, LossRate,
    Model, Path, Sender, Sent, Sizing, Source, Use, UseRule,
};
use proptest::{collection::vec, prelude::*};

fn path() -> impl Strategy<Value = Path> {
    (loss_rate(), 0_u64..2_000_000, 0_u64..5_000_000, 1_u32..10_000, 1_u8..4).prop_map(
        |(loss, round_trip, timeout, max_window, every)| Path {
            loss,
            round_trip: Nanos::from_micros(round_trip),
            timeout: Nanos::from_micros(timeout),
            max_window: NonZeroU32::new(max_window).unwrap(),
            segments_per_ack: NonZeroU8::new(every).unwrap(),
        },
    )
}

/// From 10^-12 to 1, and both ends.
fn loss_rate() -> impl Strategy<Value = LossRate> {
    let exponent = prop_oneof![8 => -12.0..0.0, 1 => Just(f64::NEG_INFINITY), 1 => Just(0.0)];
    exponent.prop_map(|exponent: f64| LossRate::new(10_f64.powf(exponent)).unwrap())
}

fn model() -> impl Strategy<Value = Model> {
    prop_oneof![Just(Model::Full), Just(Model::Approximate)]
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        1 => Just(Loss::Unmeasured),
        2 => (1_u64..100_000).prop_map(|segments| {
            let mut estimate = LossEstimate::new(Gain::EIGHTH);
            estimate.observe(Sent { segments, lost: 0 });
            estimate.loss()
        }),
        4 => loss_rate().prop_map(Loss::Measured),
    ]
}

fn sender() -> impl Strategy<Value = Sender> {
    (loss(), path(), 100_u32..9_000, 0_u64..4_000_000).prop_map(|(loss, path, mss, peer_window)| {
        Sender {
            loss,
            round_trip: path.round_trip,
            timeout: path.timeout,
            mss: NonZeroU32::new(mss).unwrap(),
            peer_window: ByteCount(peer_window),
            segments_per_ack: path.segments_per_ack,
        }
    })
}

fn rule() -> impl Strategy<Value = Eatbt> {
    let sizing = prop_oneof![Just(Sizing::Mean), Just(Sizing::Peak)];
    let before = prop_oneof![Just(BeforeLoss::AtLeastInitial), Just(BeforeLoss::Estimate)];
    (model(), sizing, before).prop_map(|(model, sizing, before_loss)| Eatbt {
        model,
        sizing,
        before_loss,
        ..Eatbt::OKAMOTO_2001
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_throughput_is_positive_and_at_most_a_window_a_round_trip(path in path(), model in model()) {
        let rate = model.throughput(&path).as_f64();
        prop_assert!(rate.is_finite() && rate > 0.0, "{}", rate);
        let seconds = path.round_trip.get().max(1) as f64 / 1e9;
        let window = f64::from(path.max_window.get());
        prop_assert!(rate * seconds <= window * (1.0 + 1e-9), "{} over {} s", rate, seconds);
    }

    #[test]
    fn a_longer_way_is_not_faster(path in path(), model in model(), more in 0_u64..1_000_000) {
        let rate = |path: &Path| model.throughput(path).as_f64();
        let more = Nanos::from_micros(more);
        let longer = Path { round_trip: path.round_trip + more, ..path };
        prop_assert!(rate(&longer) <= rate(&path) * (1.0 + 1e-9));
        let patient = Path { timeout: path.timeout + more, ..path };
        prop_assert!(rate(&patient) <= rate(&path) * (1.0 + 1e-9));
    }

    #[test]
    fn more_loss_is_not_faster_by_the_approximation(path in path(), other in loss_rate()) {
        let rate = |loss| Model::Approximate.throughput(&Path { loss, ..path }).as_f64();
        let (less, more) =
            if path.loss < other { (path.loss, other) } else { (other, path.loss) };
        prop_assert!(rate(more) <= rate(less) * (1.0 + 1e-9));
    }

    #[test]
    fn a_demand_is_between_two_segments_and_the_peers_window(
        sender in sender(), rule in rule(),
    ) {
        let demand = rule.demand(&sender);
        let two = 2 * u64::from(sender.mss.get());
        prop_assert!(demand.bytes.0 >= two, "{}", demand);
        prop_assert!(demand.bytes.0 <= sender.peer_window.0.max(two), "{}", demand);
    }

    #[test]
    fn a_slower_server_never_gets_its_client_a_larger_buffer(
        client in sender(), server in sender(), eatbt in rule(),
    ) {
        let rule = E2Atbt { eatbt, ..E2Atbt::OKAMOTO_2001 };
        let buffer = Use { assigned: ByteCount(1), peak: ByteCount(1) };
        let demand = |source| rule.downward(&Downward { sender: client, source, buffer });
        let hit = demand(Source::Cache);
        let miss = demand(Source::Upward(rule.supply(&server)));
        prop_assert!(miss.bytes <= hit.bytes, "{} with a server, {} without", miss, hit);
    }

    #[test]
    fn a_buffer_by_use_moves_by_a_factor_of_two_at_most_and_not_above_what_is_wanted(
        assigned in 1_024_u64..10_000_000, share in 0_u64..=100, wanted in 1_u64..10_000_000,
    ) {
        let wanted = Demand { bytes: ByteCount(wanted), reason: DemandReason::Most };
        let peak = ByteCount(assigned * share / 100);
        let next = UseRule::DEFAULT.demand(Use { assigned: ByteCount(assigned), peak }, wanted);
        prop_assert!(next.bytes <= wanted.bytes);
        prop_assert!(next.bytes.0 <= 2 * assigned);
        prop_assert!(next.bytes.0 >= wanted.bytes.0.min(assigned / 2));
        prop_assert!(next.bytes >= peak.min(wanted.bytes), "{} for {:?}", next, peak);
    }

    #[test]
    fn an_estimated_loss_is_a_probability_and_never_zero(
        intervals in vec((0_u64..1_000, 0_u64..1_000), 1..50),
    ) {
        let mut estimate = LossEstimate::new(Gain::EIGHTH);
        let (mut sent, mut lost_any) = (0, false);
        for (segments, lost) in intervals {
            estimate.observe(Sent { segments, lost });
            sent += segments;
            lost_any |= segments > 0 && lost > 0;
        }
        match estimate.loss() {
            Loss::Unmeasured => prop_assert_eq!(sent, 0),
            Loss::NoneAmong { segments, at_most } => {
                prop_assert!(!lost_any && segments == sent && at_most > LossRate::ZERO);
            }
            Loss::Measured(rate) => {
                prop_assert!(lost_any && rate > LossRate::ZERO && rate.as_f64() <= 1.0);
            }
        }
    }
}
