//! What makes less sure why a segment left when it did.

use ackwise_cause::{Cause, RepairedBy};
use ackwise_tcp::Wait;

use super::{
    super::{
        Confidence, LossKind, Nanos, Rule,
        decide::{Doubt, Limit},
        nagle::NagleHabit,
        stall::Stall,
        window::Plateau,
    },
    Facts, Hold,
};

/// Doubts of a table, written as `Rule => function`.
macro_rules! doubts {
    ($($rule:ident => $applies:path,)*) => {
        &[$(Doubt { rule: Rule::$rule, applies: $applies },)*]
    };
}

/// All of them.
pub(super) const DOUBTS: &[Doubt<Facts, Hold>] = doubts! {
    MayBeWindow => may_be_window,
    MayBeProgram => may_be_program,
    MayBeBuffer => may_be_buffer,
    MayBeNagle => may_be_nagle,
    MayBeCorked => may_be_corked,
    MayBeTimer => may_be_timer,
    CaptureLacks => capture_lacks,
    QuietPath => quiet_path,
    WayUnsure => way_unsure,
    LinkUnsure => link_unsure,
};

/// Until an earlier acknowledgement came, the congestion window may have held a small segment, or it counts
/// segments and was full.
fn may_be_window(facts: &Facts, hold: &Hold) -> Option<Limit> {
    if hold.wait != Wait::Nagle {
        return None;
    }
    match facts.window_may_have_held_it_first() {
        true => Some(facts.window()),
        false => facts.window_that_may_be_full(),
    }
    .map(Limit::or)
}

/// Of Nagle's algorithm: its sender does without it now and then; or the segment came late after the acknowledgement;
/// or the algorithm held the one before: what is written while it waits goes with that (RFC 896), so this was written
/// later. Of a send buffer: a blocked writer goes on when a third of it is free (Linux `sk_stream_is_writeable`), so who
/// goes on when all is acknowledged may as well write once a round trip.
fn may_be_program(facts: &Facts, hold: &Hold) -> Option<Limit> {
    let is_usual = facts.is_released() && facts.nagle != NagleHabit::Mixed;
    match hold.wait {
        Wait::Nagle if facts.follows_held => {
            return Some(Limit::as_well(Cause::ApplicationLimited));
        }
        Wait::Nagle if !is_usual => return Some(Limit::or(Cause::ApplicationLimited)),
        _ => {}
    }
    (hold.waits_for_memory() && facts.flight[1] == 0)
        .then(|| Limit::as_well(Cause::ApplicationLimited))
}

fn may_be_buffer(facts: &Facts, hold: &Hold) -> Option<Limit> {
    let may_be = match hold.rule {
        Rule::WindowFull => {
            facts.stays != Plateau::No || facts.has_room() || facts.may_have_filled_buffer()
        }
        Rule::Written => facts.may_have_waited_for_memory(),
        _ => false,
    };
    may_be.then_some(Limit::or(Cause::SendBuffer))
}

/// A window that counts segments was full, or the algorithm: it held small writes until they filled a segment, if its
/// sender uses it (RFC 896), and nobody sees when each was written.
fn may_be_nagle(facts: &Facts, hold: &Hold) -> Option<Limit> {
    let collects = facts.nagle == NagleHabit::Holds && facts.behind_small && !facts.is_small();
    let may_be = match hold.rule {
        Rule::WindowFull => facts.nagle_may_hold_it_too(),
        Rule::Written => collects,
        _ => false,
    };
    may_be.then_some(Limit::or(Cause::NagleRtt))
}

/// The write before it went on: its program, or what else holds the end of a write.
fn may_be_corked(facts: &Facts, hold: &Hold) -> Option<Limit> {
    let may_be = hold.rule == Rule::Written && facts.may_be_corked();
    may_be.then_some(Limit::or(Cause::CorkTimer))
}

/// Its timer may have sent it: after a loss before the vantage point, or because the acknowledgement that Nagle's
/// algorithm waits for was lost. And if an acknowledgement was lost, what would have come next, nobody sees.
fn may_be_timer(facts: &Facts, hold: &Hold) -> Option<Limit> {
    if facts.kind == Some(LossKind::AckLost) {
        return Some(Limit { most: Confidence::Medium, rival: None });
    }
    let late = facts.is_late_though_ready() && facts.left_late;
    let may_be = hold.rule == Rule::Written && (late || facts.may_be_a_probe());
    may_be.then_some(Limit::or(Cause::RetransmissionTimeout))
}

/// An acknowledgement that reached the sender meanwhile may have released it; or the receive window, if nothing shows how
/// large that is, may have held it.
fn capture_lacks(facts: &Facts, hold: &Hold) -> Option<Limit> {
    if facts.lacks.ack {
        let known = facts.is_released() || facts.loss.is_some();
        return Some(match () {
            () if known => Limit { most: Confidence::Medium, rival: None },
            () if facts.is_small() => Limit::as_well(Cause::NagleRtt),
            () => Limit::as_well(facts.window()),
        });
    }
    if !facts.lacks.window || hold.lost.is_some() {
        return None;
    }
    let may_be_window = hold.waits_for_window().then_some(Limit::or(Cause::ReceiveWindow));
    let as_well = || Limit::as_well(Cause::ReceiveWindow);
    hold.waits_for_memory().then(as_well).or(may_be_window)
}

/// The path may have held the segment, or what its sender waited for; or a part of a timeout was a queue, if what was
/// sent with a lost segment was late itself, and that was not lost where the queue ends. So was a part of a recovery.
fn quiet_path(facts: &Facts, hold: &Hold) -> Option<Limit> {
    let (late, is_written) = (&facts.late, hold.rule == Rule::Written);
    let overdue = late.silent.is_some();
    let by_timer = hold.lost == Some(RepairedBy::Timeout);
    if by_timer && overdue && facts.flight[1] < facts.flight[0] {
        return Some(Limit::or(Cause::Queueing));
    }
    if hold.wait == Wait::Recovery && late.slow {
        return Some(Limit::or(Cause::Queueing));
    }
    let odd = hold.waits_for_ack() && overdue && !late.usual;
    let undecided = facts.stall == Stall::None && hold.lost != Some(RepairedBy::Recovery);
    if undecided && (odd || late.may_have_arrived) || is_written && late.due_ack {
        return Some(Limit::or(Cause::PathStall));
    }
    facts.behind_vantage().filter(|_| is_written).map(Limit::or)
}

/// A program's time may be in the shortest round trip: then what seems to be released by an acknowledgement may have
/// come later, and an acknowledgement that seems to be on its way may have released it.
fn way_unsure(facts: &Facts, hold: &Hold) -> Option<Limit> {
    let rival = match hold.rule {
        Rule::NagleHeld if hold.wait == Wait::Nagle => Cause::ApplicationLimited,
        Rule::Written if facts.late.more_acks && facts.is_small() => Cause::NagleRtt,
        _ => return None,
    };
    facts.late.sender_nearer.then_some(Limit::or(rival))
}

/// How fast a link is that drops packets, shows less well. Where no rate is known, a link may have been busy with what
/// was written before; an eighth of the time is worth a doubt (our choice).
fn link_unsure(facts: &Facts, hold: &Hold) -> Option<Limit> {
    let is_lossy = hold.rule == Rule::WindowFull && facts.lossy && !facts.slow_start;
    let counts = |late: &Nanos| !late.is_zero() && *late * 8 >= facts.since_data;
    let is_late = hold.rule == Rule::Written && hold.lost.is_none();
    let may_be_busy = is_late && facts.late.unexplained.iter().any(counts);
    let by_link = facts.late.by_link && hold.waits_for_open_window();
    (is_lossy || may_be_busy || by_link).then_some(Limit::or(Cause::Transmission))
}

#[cfg(test)]
mod tests;
