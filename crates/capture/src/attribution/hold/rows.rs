//! The rules that name what a segment waited for: ordered tables, of which the first row that applies decides.

use ackwise_cause::{Cause, RepairedBy};
use ackwise_tcp::Wait;

use super::{
    super::{Confidence, CorkTimer, Rule, nagle::NagleHabit, window::Plateau},
    Facts, Hold, Loss,
};

/// A rule, and what the sender waited for if it applies.
pub(super) struct Row {
    pub(super) rule: Rule,
    pub(super) detect: fn(&Facts) -> Option<Hold>,
}

/// Rows of a table, written as `Rule => function`.
macro_rules! rows {
    ($($rule:ident => $detect:path,)*) => {
        &[$(Row { rule: Rule::$rule, detect: $detect },)*]
    };
}

/// The segment has to do with a loss.
pub(super) const OF_LOSS: &[Row] = rows! {
    AckRepair => ack_repair,
    TimerRepair => timer_repair,
    BehindRepair => behind_repair,
};

/// An acknowledgement released it: what that changed decides.
pub(super) const RELEASED: &[Row] = rows! {
    ClosedWindow => closed_window,
    SameBuffer => same_buffer,
    NagleOrPace => nagle_or_pace,
    NagleHeld => nagle_held,
    RoomForTwo => room_for_two,
    FirstWindow => first_window,
    RoomInWindow => room_in_window,
    NothingOutstanding => nothing_outstanding,
    EmptiedBuffer => emptied_buffer,
    PastThreshold => past_threshold,
    AfterIdle => after_idle,
    BufferFarAway => buffer_far_away,
    WindowFull => window_full,
};

/// Nothing is seen to have released it.
pub(super) const UNRELEASED: &[Row] = rows! {
    FillsWindow => fills_window,
    LostBefore => lost_before,
    ReadyAfterAck => ready_after_ack,
    Corked => corked,
    SentLate => sent_late,
    LateOrLost => late_or_lost,
    Paced => paced,
    Written => written,
};

fn ack_repair(facts: &Facts) -> Option<Hold> {
    let soon = facts.since_ack.is_some_and(|late| late <= facts.reordering_window());
    let is_recovery = facts.was_released()
        || soon
        || facts.since_event() < Hold::LEAST_TIMEOUT
        || facts.is_reordering_timer();
    let repairs = facts.loss == Some(Loss::Repairs) && is_recovery;
    let lost = Some(RepairedBy::Recovery);
    repairs.then(|| Hold { lost, ..Hold::new(Wait::Recovery, Confidence::High) })
}

fn timer_repair(facts: &Facts) -> Option<Hold> {
    let (wait, lost) = (Wait::RetransmissionTimeout, Some(RepairedBy::Timeout));
    let repairs = facts.loss == Some(Loss::Repairs);
    repairs.then(|| Hold { lost, ..Hold::new(wait, Confidence::High) })
}

fn behind_repair(facts: &Facts) -> Option<Hold> {
    let released = facts.was_released() || facts.follows_ack();
    let applies = facts.loss == Some(Loss::Repaired) && released;
    applies.then(|| Hold::new(Wait::Recovery, Confidence::Medium).or(facts.window()))
}

fn closed_window(facts: &Facts) -> Option<Hold> {
    facts.receive_window_had_no_room().then(|| Hold::receive_window(Confidence::High))
}

fn same_buffer(facts: &Facts) -> Option<Hold> {
    facts.is_held_by_same_buffer().then(|| Hold::send_buffer(facts))
}

/// Nobody is accused where the program's own pace explains it as well.
fn nagle_or_pace(facts: &Facts) -> Option<Hold> {
    let applies = facts.may_be_held_by_nagle() && facts.nagle == NagleHabit::WritesLate;
    applies.then(|| Hold::new(Wait::Application, Confidence::Low).or(Cause::NagleRtt))
}

fn nagle_held(facts: &Facts) -> Option<Hold> {
    facts.may_be_held_by_nagle().then(|| Hold::new(Wait::Nagle, Confidence::High))
}

fn room_for_two(facts: &Facts) -> Option<Hold> {
    let hold = || Hold::receive_window(Confidence::Medium).or(facts.window());
    facts.waits_for_two_segments_of_window().then(hold)
}

/// Without PSH, more was ready; with it, a window that had room held nothing.
fn has_written_no_more(facts: &Facts) -> bool {
    facts.pushed && facts.has_room()
}

fn is_buffer(facts: &Facts) -> bool {
    let is_large = facts.flight[0] >= 2 * facts.full;
    (is_large && !facts.answers) || facts.may_be_all_of_a_buffer()
}

fn first_window(facts: &Facts) -> Option<Hold> {
    let applies = has_written_no_more(facts) && !is_buffer(facts) && facts.may_fill_first_window();
    applies.then(|| Hold::new(Wait::SlowStart, Confidence::Medium).or(Cause::ApplicationLimited))
}

fn room_in_window(facts: &Facts) -> Option<Hold> {
    if !has_written_no_more(facts) {
        return None;
    }
    if is_buffer(facts) {
        return Some(Hold::send_buffer(facts));
    }
    Some(Hold::new(Wait::Application, Confidence::Medium).or(facts.window()))
}

/// Nothing was outstanding, or less than any send buffer holds: a coincidence. So it is where all that was written had
/// left, and too little is acknowledged to wake a program that waits for room.
fn nothing_outstanding(facts: &Facts) -> Option<Hold> {
    let stays = facts.stays == Plateau::Yes;
    if facts.flight[0] == 0 || (stays && facts.flight[0] < 2 * facts.full) {
        return Some(Hold::new(Wait::Application, Confidence::Medium));
    }
    let by_chance = has_emptied_buffer(facts) && !facts.blocked_writer_may_go_on();
    by_chance.then(|| Hold::new(Wait::Application, Confidence::Medium).or(Cause::SendBuffer))
}

fn has_emptied_buffer(facts: &Facts) -> bool {
    let is_usual = facts.emptied_before && facts.may_have_filled_buffer();
    let stays = facts.stays == Plateau::Yes;
    is_usual || (stays && facts.pushed && facts.is_near_most_flight())
}

fn emptied_buffer(facts: &Facts) -> Option<Hold> {
    has_emptied_buffer(facts).then(|| Hold::send_buffer(facts))
}

/// What was outstanding may still grow, and slow start does not end there for all that is known.
fn may_grow(facts: &Facts) -> bool {
    facts.stays == Plateau::No && facts.slow_start && !facts.is_below_peak()
}

fn past_threshold(facts: &Facts) -> Option<Hold> {
    let applies = may_grow(facts) && facts.may_be_past_threshold();
    let hold = || Hold::window(facts, Wait::CongestionWindow, Confidence::Medium);
    applies.then(|| hold().or(Cause::SlowStart))
}

/// How large the window was before it was idle, what was sent then need not show.
fn after_idle(facts: &Facts) -> Option<Hold> {
    if !may_grow(facts) || !facts.after_idle {
        return None;
    }
    let hold = Hold::window(facts, facts.window_wait(), Confidence::Medium);
    Some(match facts.flight[0] < facts.reach_before_idle {
        true => Hold { cut_by_idle: true, ..hold.or(Cause::SlowStart) },
        false => hold.or(Cause::IdleRestart),
    })
}

/// Its window had no room for a full segment just where its program had written no more: a coincidence.
fn buffer_far_away(facts: &Facts) -> Option<Hold> {
    let applies = facts.stays == Plateau::No
        && facts.may_miss_losses
        && facts.may_have_filled_buffer()
        && !facts.is_below_peak()
        && !facts.lossy;
    applies.then(|| Hold::send_buffer(facts))
}

fn window_full(facts: &Facts) -> Option<Hold> {
    Some(Hold::window(facts, facts.window_wait(), Confidence::High))
}

/// A timer sends a segment that fills the window to its last byte, whatever was written.
fn fills_window(facts: &Facts) -> Option<Hold> {
    let fills = facts.fills_receive_window && (facts.is_small() || facts.takes_last_of_window());
    fills.then(|| Hold::receive_window(Confidence::Medium).or(Cause::ApplicationLimited))
}

fn lost_before(facts: &Facts) -> Option<Hold> {
    let is_missing = facts.lost_before == Some(true) && facts.may_miss_losses;
    let by_timer = facts.flight[1] == 0 && facts.since_event() >= Hold::LEAST_TIMEOUT;
    (is_missing && by_timer).then(Hold::sent_by_timer)
}

fn ready_after_ack(facts: &Facts) -> Option<Hold> {
    let applies = facts.was_ready_after_ack() && facts.since_event() < Hold::LEAST_TIMEOUT;
    let hold = applies.then(|| Hold::first_of(RELEASED, facts).with_doubts(facts))?;
    Some(Hold { confidence: hold.confidence.min(Confidence::Medium), ..hold })
}

/// The end of a write has PSH; a segment followed by more data of the same write has not.
fn corked(facts: &Facts) -> Option<Hold> {
    let is_tail = !facts.ended && facts.is_small();
    let is_alone = facts.flight[1] == 0 || facts.is_corked_beside_a_segment();
    if !is_tail || !is_alone || !facts.cork_timer_may_have_run() {
        return None;
    }
    // At the sender, a program would have to pause for the time of that timer by chance.
    let fits = CorkTimer::fits(facts.since_event(), facts.round_trip);
    if fits && !facts.pushed && !facts.may_miss_losses {
        return Some(Hold::new(Wait::Cork, Confidence::High));
    }
    Some(Hold::new(Wait::Cork, Confidence::Medium).or(Cause::ApplicationLimited))
}

/// It was ready, nothing held it, and it was sent late: a timer retransmitted it after a loss before the
/// vantage point.
fn sent_late(facts: &Facts) -> Option<Hold> {
    let applies = facts.is_late_though_ready() && facts.left_late;
    (applies && !facts.is_too_soon_for_timeout()).then(Hold::sent_by_timer)
}

/// It was ready and nothing held it. Either a copy was lost before the vantage point or the path delayed it;
/// without a retransmission, the capture does not show which.
fn late_or_lost(facts: &Facts) -> Option<Hold> {
    let applies = facts.is_late_though_ready() && !facts.left_late;
    applies.then(|| Hold { unknown: true, ..Hold::new(Wait::Application, Confidence::Low) })
}

fn paced(facts: &Facts) -> Option<Hold> {
    let was_ready = !facts.ended && !facts.is_small() && facts.flight[1] > 0;
    was_ready.then(|| Hold::ready(facts.pushed && !facts.may_miss_losses))
}

fn written(_: &Facts) -> Option<Hold> {
    Some(Hold::just_written())
}
