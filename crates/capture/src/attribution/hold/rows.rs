//! The rules that name what a segment waited for: ordered tables, of which the first row that applies decides.

use ackwise_cause::{Cause, RepairedBy};
use ackwise_tcp::Wait;

use super::{
    super::{Confidence, CorkTimer, Rule, Stall, decide::Row, nagle::NagleHabit, window::Plateau},
    Facts, Hold, Loss,
};

/// Rows of a table, written as `Rule => function`.
macro_rules! rows {
    ($($rule:ident => $detect:path,)*) => {
        &[$(Row { rule: Rule::$rule, detect: $detect },)*]
    };
}

/// The segment has to do with a loss.
pub(super) const OF_LOSS: &[Row<Facts, Hold>] = rows! {
    FillsWindow => probes_window,
    AckRepair => ack_repair,
    TimerRepair => timer_repair,
};

/// An acknowledgement released it: what that changed decides.
pub(super) const RELEASED: &[Row<Facts, Hold>] = rows! {
    ClosedWindow => closed_window,
    SameBuffer => same_buffer,
    NagleHeld => nagle_held,
    FirstWindow => first_window,
    RoomInWindow => room_in_window,
    EmptiedBuffer => emptied_buffer,
    AfterIdle => after_idle,
    WindowFull => window_full,
};

/// Nothing is seen to have released it.
pub(super) const UNRELEASED: &[Row<Facts, Hold>] = rows! {
    ClosedWindow => opened_unseen,
    FillsWindow => fills_window,
    LostBefore => lost_before,
    Corked => corked,
    LostBefore => sent_late,
    LateOrLost => late_or_lost,
    Paced => paced,
    Written => written,
};

/// What is sent again had arrived, and the receive window had no room for more: so a timer probes it.
fn probes_window(facts: &Facts) -> Option<Hold> {
    facts.fills_in_vain.then(|| Hold::receive_window(Confidence::Medium))
}

/// An acknowledgement let it go, or it came before any timer ends; or it follows such a repair.
fn ack_repair(facts: &Facts) -> Option<Hold> {
    let released = facts.was_released();
    if facts.loss == Some(Loss::Repaired) {
        let follows = released || facts.follows_ack();
        return follows.then(|| Hold::new(Wait::Recovery, Confidence::Medium).or(facts.window()));
    }
    let soon = facts.since_ack.is_some_and(|late| late <= facts.reordering_window());
    let is_recovery = released
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

fn closed_window(facts: &Facts) -> Option<Hold> {
    facts.receive_window_had_no_room().then(|| Hold::receive_window(Confidence::High))
}

fn same_buffer(facts: &Facts) -> Option<Hold> {
    facts.is_held_by_same_buffer().then(|| Hold::send_buffer(facts))
}

/// Nobody is accused where the program's own pace explains it as well.
fn nagle_held(facts: &Facts) -> Option<Hold> {
    let hold = match facts.nagle {
        NagleHabit::WritesLate => Hold::new(Wait::Application, Confidence::Low).or(Cause::NagleRtt),
        _ => Hold::new(Wait::Nagle, Confidence::High),
    };
    facts.may_be_held_by_nagle().then_some(hold)
}

/// Without PSH, more was ready; with it, a window that had room held nothing.
fn has_written_no_more(facts: &Facts) -> bool {
    facts.pushed && facts.has_room()
}

/// What was outstanding before the acknowledgement may be all that a send buffer holds: none is smaller than a segment
/// (Linux `sk_stream_memory_free` asks whether any room is left).
const fn is_buffer(facts: &Facts) -> bool {
    facts.flight[0] >= facts.full && !facts.answers
}

fn first_window(facts: &Facts) -> Option<Hold> {
    let applies = has_written_no_more(facts) && !is_buffer(facts) && facts.may_fill_first_window();
    applies.then(|| Hold::new(Wait::SlowStart, Confidence::Medium).or(Cause::ApplicationLimited))
}

/// Nothing was outstanding, or less than any send buffer holds: a coincidence. So it is where all that was written had
/// left, and too little is acknowledged to wake a program that waits for room.
fn room_in_window(facts: &Facts) -> Option<Hold> {
    let written = Hold::new(Wait::Application, Confidence::Medium);
    if has_written_no_more(facts) {
        return Some(match is_buffer(facts) {
            true => Hold::send_buffer(facts),
            false => written.or(facts.window()),
        });
    }
    let stays = facts.stays == Plateau::Yes;
    if facts.flight[0] == 0 || (stays && facts.flight[0] < 2 * facts.full) {
        return Some(written);
    }
    let by_chance = has_emptied_buffer(facts) && !facts.blocked_writer_may_go_on();
    by_chance.then(|| written.or(Cause::SendBuffer))
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

fn window_full(facts: &Facts) -> Option<Hold> {
    Some(Hold::window(facts, facts.window_wait(), Confidence::High))
}

/// The capture lacks the acknowledgement that opened the receive window.
fn opened_unseen(facts: &Facts) -> Option<Hold> {
    let opened = facts.lacks.opening && facts.since_event() > facts.immediate;
    opened.then(|| Hold::receive_window(Confidence::Medium).or(Cause::ApplicationLimited))
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

/// It was ready, nothing held it, and by its timestamp it was sent late.
fn sent_late(facts: &Facts) -> Option<Hold> {
    let applies = facts.is_late_though_ready() && facts.left_late;
    (applies && !facts.is_too_soon_for_timeout()).then(Hold::sent_by_timer)
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

/// It was ready and nothing held it. Either a copy was lost before the vantage point or the path delayed it;
/// without a retransmission, the capture does not show which.
fn late_or_lost(facts: &Facts) -> Option<Hold> {
    let applies = facts.is_late_though_ready() && !facts.left_late;
    applies.then(|| Hold { unknown: true, ..Hold::new(Wait::Application, Confidence::Low) })
}

/// Far from the sender, much is not seen. After a long silence, a tail-loss probe sent it (RFC 8985, section 7.2): its
/// timer runs where the window lets nothing go, too.
fn paced(facts: &Facts) -> Option<Hold> {
    let was_ready = !facts.ended && !facts.is_small() && facts.flight[1] > 0;
    let hold = Hold::ready(facts.pushed && !facts.may_miss_losses);
    let probes = facts.since_event() > Stall::least(facts.round_trip);
    let (wait, confidence) = (facts.window_wait(), Confidence::Medium);
    let probe = Hold { wait, paced: false, confidence, ..hold };
    was_ready.then_some(if probes { probe } else { hold })
}

fn written(_: &Facts) -> Option<Hold> {
    Some(Hold::just_written())
}
