mod tables;

use proptest::prelude::*;

use super::*;
use crate::attribution::{
    decide::limit_of,
    hold::{Lacks, Late, Loss},
};

const FULL: u64 = 1_448;

/// Facts of every kind: what a doubt may look at is any of a few values.
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
fn any_facts() -> impl Strategy<Value = Facts> {
    proptest::collection::vec(any::<u8>(), 48).prop_map(|bytes| {
        let mut bytes = bytes.into_iter();
        let mut any = || bytes.next().unwrap_or_default();
        let times = [0, 1, 6, 20, 45, 60, 199, 204, 240, 700].map(Nanos::from_millis);
        let time = |any: &mut dyn FnMut() -> u8| times[usize::from(any()) % times.len()];
        let sizes = [0, 90, FULL / 2, FULL, 2 * FULL, 3 * FULL, 10 * FULL];
        let size = |any: &mut dyn FnMut() -> u8| sizes[usize::from(any()) % sizes.len()];
        let is = |any: &mut dyn FnMut() -> u8| any().is_multiple_of(2);
        let pick = |any: &mut dyn FnMut() -> u8, count: usize| usize::from(any()) % count;
        let habits = [
            NagleHabit::Unknown,
            NagleHabit::Holds,
            NagleHabit::Mixed,
            NagleHabit::WritesLate,
            NagleHabit::Off,
        ];
        let losses = [None, None, Some(Loss::Repairs), Some(Loss::Missing), Some(Loss::Repaired)];
        let stalls = [Stall::None, Stall::OrTimeout, Stall::Shown, Stall::OrUnread];
        let a = &mut any;
        Facts {
            since_data: time(a),
            by_stamps: time(a),
            since_ack: is(a).then(|| time(a)),
            since_progress: is(a).then(|| time(a)),
            since_room: is(a).then(|| time(a)),
            immediate: Nanos::from_millis(1),
            bytes: size(a).max(1),
            full: FULL,
            flight: [size(a), size(a)],
            usable_window: is(a).then(|| size(a)),
            least_window: size(a),
            sure_window: size(a),
            peak_before_idle: is(a).then(|| size(a)),
            after_idle: is(a),
            reach_before_idle: size(a),
            lossy: is(a),
            slow_start: is(a),
            stays: if is(a) { Plateau::No } else { Plateau::Yes },
            most_flight: size(a),
            fills_receive_window: is(a),
            round_trip: time(a),
            left_late: is(a),
            small_acknowledged: is(a),
            sacked: is(a),
            pushed: is(a),
            ended: is(a),
            forced: is(a),
            may_miss_losses: is(a),
            lost_before: None,
            emptied_before: is(a),
            fills_same_buffer: is(a),
            outstanding: size(a),
            window_was_full: is(a),
            nagle: habits[pick(a, habits.len())],
            answers: is(a),
            follows_held: is(a),
            behind_small: is(a),
            loss: losses[pick(a, losses.len())],
            fills_in_vain: false,
            stall: stalls[pick(a, stalls.len())],
            kind: is(a).then_some(LossKind::AckLost),
            lacks: Lacks { ack: is(a), opening: false, window: is(a) },
            late: Late {
                due_ack: is(a),
                slow: is(a),
                silent: is(a).then(|| time(a)),
                usual: is(a),
                may_have_arrived: is(a),
                sender_nearer: is(a),
                more_acks: is(a),
                unexplained: [time(a), time(a)],
                by_link: is(a),
            },
            without: None,
        }
    })
}

fn in_order(order: &[usize]) -> Vec<Doubt<Facts, Hold>> {
    let doubt = |&place: &usize| {
        let Doubt { rule, applies } = DOUBTS[place];
        Doubt { rule, applies }
    };
    order.iter().map(doubt).collect()
}

proptest! {
    #[test]
    fn doubts_commute(
        facts in any_facts(),
        order in Just((0..DOUBTS.len()).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let claim = Hold::claimed(&facts);
        let limit = limit_of(DOUBTS, &facts, &claim, None);
        prop_assert_eq!(limit_of(&in_order(&order), &facts, &claim, None), limit);
    }

    #[test]
    fn doubts_change_no_claim_and_make_none_surer(facts in any_facts()) {
        let claim = Hold::claimed(&facts);
        let hold = claim.with_doubts(&facts);
        prop_assert!(hold.confidence <= claim.confidence);
        let Hold { confidence, rival, doubt, .. } = claim;
        prop_assert_eq!(Hold { confidence, rival, doubt, ..hold }, claim);
        prop_assert!(rival.is_none() || hold.rival == rival, "its own rival stays");
    }
}
