//! Why the awaited bytes of a message do not get closer to their receiver at some moment.
//!
//! The rule is the one of `crates/cause/src/moment.rs`: a busy link first, then a loss, then what holds the data at
//! its sender, then distance. It is written down here a second time on purpose, over facts that no
//! capture shows.

use super::plan::Congestion;
use super::view::{Copy, View};
use crate::witness::clock::Nanos;
use crate::witness::trace::State;
use ackwise_cause::Cause::{self, *};

/// What is admitted, and which witness says so.
pub(super) type Verdict = (Vec<Cause>, &'static str);

/// Why `message` of `view` (first byte, end) waits at `at`. `None` if the records do not tell.
pub(super) fn wait(view: &View, message: (u64, u64), at: Nanos) -> Option<Verdict> {
    let (mut reasons, witness) = wait_on_path_without_holds(view, message, at)?;
    if view.timer_ends(at) && reasons.iter().all(|it| ends_with_an_ack(*it)) {
        reasons.insert(0, RetransmissionTimeout);
    }
    // What waits for an ACK waits for the path that holds it.
    if view.path_holds_acks.at(at) > 0 && reasons.iter().all(|it| ends_with_an_ack(*it)) {
        reasons.insert(0, PathStall);
    }
    let late = view.each_hold_counts && view.path_delays_acks.at(at) > 0
        || view.acks_behind_others.at(at) > 0;
    if late && reasons.iter().all(|it| *it == PathStall || ends_with_an_ack(*it)) {
        reasons.extend([PathStall, Queueing]);
        reasons.dedup();
    }
    Some((reasons, witness))
}

fn wait_on_path_without_holds(view: &View, message: (u64, u64), at: Nanos) -> Option<Verdict> {
    let arrived = view.arrived.at(at);
    let busy = view.on_link.at(at) > 0;
    if view.path_holds_data.at(at) > 0 {
        let mut reasons = vec![PathStall];
        reasons.extend(busy.then_some(Transmission));
        reasons.extend(view.each_hold_counts.then_some(Queueing));
        return Some((reasons, LINKS));
    }
    if busy {
        let waits = view.behind_others.at(at) > 0;
        return Some((vec![if waits { Queueing } else { Transmission }], LINKS));
    }
    if view.each_hold_counts && view.path_delays_data.at(at) > 0 {
        return Some((vec![Queueing, PathStall], LINKS));
    }
    let repair = if view.sent.at(at) > arrived { repair(view, arrived, at) } else { None };
    let detected = matches!(view.state.at(at), State::Recovery | State::Loss);
    match repair {
        // Until its sender learns of a loss, it waits for what it would wait for without.
        Some(Some((reasons, witness))) if !detected => {
            let others = at_sender(view, message, at).map(|it| it.0).unwrap_or_default();
            let window = others.into_iter().filter(|it| ends_with_an_ack(*it));
            return Some((reasons.into_iter().chain(window).collect(), witness));
        }
        Some(verdict) => return verdict,
        None => {}
    }
    if view.sent.at(at) < message.1 {
        return at_sender(view, message, at);
    }
    let under_way = arrived < message.1 && view.in_transit.at(at) > 0;
    under_way.then(|| ([vec![Propagation], doomed(view, arrived, at)].concat(), LINKS))
}

/// Why the first missing byte has to be sent again, if the copy on its way will be dropped: without the
/// loss, this time would not be spent either.
fn doomed(view: &View, missing: u64, at: Nanos) -> Vec<Cause> {
    let copies = || view.copies_of(missing);
    let will_arrive = copies().any(|it| it.arrived && it.sent <= at);
    let next = copies().filter(|it| it.sent > at && !will_arrive).min_by_key(|it| it.sent);
    next.map_or_else(Vec::new, |copy| repaired_by(view, copy.sent, at))
}

/// Why the sender has not sent all. `None` if it has, or it is not known.
fn at_sender(view: &View, message: (u64, u64), at: Nanos) -> Option<Verdict> {
    let (written, sent) = (view.written.at(at).min(message.1), view.sent.at(at));
    if sent < written {
        return held(view, message, (sent, written), at);
    }
    if written < message.1 {
        return Some(unwritten(view, at));
    }
    None
}

/// The first missing byte was lost, or is on its way again. `None` if neither; `Some(None)` if it is
/// not known how it was repaired.
fn repair(view: &View, missing: u64, at: Nanos) -> Option<Option<Verdict>> {
    let copies: Vec<_> = view.copies_of(missing).collect();
    let on_its_way = copies.iter().find(|it| it.sent <= at && at < it.gone);
    if let Some(copy) = on_its_way {
        let again = copy.again.then(|| repaired_by(view, copy.sent, at));
        return again.map(|mut reasons| {
            reasons.push(Propagation);
            Some((reasons, LINKS_AND_TRACE))
        });
    }
    let next = copies.iter().filter(|it| it.sent > at).min_by_key(|it| it.sent);
    Some(next.map(|copy| (repaired_by(view, copy.sent, at), LINKS_AND_TRACE)))
}

/// What made the sender send again at `sent`: a timer, which may be that of a tail loss probe (RFC 8985,
/// section 7), or fast recovery, which such a probe may have started.
fn repaired_by(view: &View, sent: Nanos, at: Nanos) -> Vec<Cause> {
    // It sends the last segment again, or a new one even if the window is full.
    let is_probe = |copy: &&Copy| {
        is_before_recovery(view.state.at(copy.sent)) && (copy.again || view.is_full(copy.sent - 1))
    };
    let mut between = view.copies.iter().filter(|it| at < it.sent && it.sent < sent);
    match view.state.at(sent) {
        // After the timeout, ACKs release what else was lost.
        State::Loss if view.state.at(at) == State::Loss && view.heard_just_before(sent) => {
            vec![LossRecovery, RetransmissionTimeout]
        }
        State::Loss => vec![RetransmissionTimeout],
        state if is_before_recovery(state) => vec![RetransmissionTimeout],
        _ if between.any(|it| is_probe(&it)) => vec![RetransmissionTimeout, LossRecovery],
        _ => vec![LossRecovery],
    }
}

const fn is_before_recovery(state: State) -> bool {
    matches!(state, State::Open | State::Disorder | State::Reduced)
}

/// All that was written is sent, and it is not the whole message.
fn unwritten(view: &View, at: Nanos) -> Verdict {
    let reason = if view.flow_controlled.at(at) > 0 {
        H2FlowControl
    } else if view.blocked.at(at) > 0 {
        SendBuffer
    } else {
        ApplicationLimited
    };
    (vec![reason], PROGRAM)
}

/// The socket has `unsent` bytes of the message and does not send them.
fn held(
    view: &View,
    message: (u64, u64),
    (sent, written): (u64, u64),
    at: Nanos,
) -> Option<Verdict> {
    let (unsent, complete) = (written - sent, written == message.1);
    let small = unsent < view.mss;
    let flight = view.in_flight(at);
    let room = view.edge.at(at).saturating_sub(sent);
    let window = view.window.at(at);
    let state = view.state.at(at);
    if room < unsent.min(view.mss) {
        // RFC 9293, section 3.8.6.2.1: there is room, and nothing that a further ACK would add to it.
        let silly = flight == 0 && room > 0;
        return Some((vec![if silly { SillyWindow } else { ReceiveWindow }], LINKS));
    }
    let segments = usize::try_from(window.segments).unwrap_or(usize::MAX);
    if view.is_full(at) {
        return Some((congested(view, message, at), TRACE));
    }
    if matches!(state, State::Recovery | State::Loss) {
        return Some((congested(view, message, at), TRACE));
    }
    // The program writes on as soon as it may, so a small segment is not the end.
    if small && !complete && view.flow_controlled.at(at) > 0 {
        return Some((vec![H2FlowControl], PROGRAM));
    }
    if small && !complete && view.blocked.at(at) > 0 {
        let nagle = (!view.diary.no_delay).then_some(NagleRtt);
        return Some(([SendBuffer].into_iter().chain(nagle).collect(), PROGRAM));
    }
    if small && view.corked.at(at) {
        return Some((corked(view, at), PROGRAM));
    }
    if small && !view.diary.no_delay && view.small_in_flight(at) {
        let reason = if view.small_is_withheld(at) { NagleDelayedAck } else { NagleRtt };
        return Some((vec![reason], LINKS));
    }
    if view.congestion == Congestion::Bbr {
        return Some((vec![Pacing, CongestionWindow, SlowStart], TRACE));
    }
    deferred(view, message, room, segments - flight, at)
}

/// The congestion window is full.
fn congested(view: &View, message: (u64, u64), at: Nanos) -> Vec<Cause> {
    let window = view.window.at(at);
    // An ACK that is on its way may open the window: only after it, a delayed one is waited for.
    let delayed = view.ack_is_delayed(at) && view.ack_sent.at(at) == view.acked.at(at);
    let phase = if window.segments < window.threshold { SlowStart } else { CongestionWindow };
    match view.state.at(at) {
        State::Recovery => vec![LossRecovery, CongestionWindow],
        State::Loss => vec![SlowStart, LossRecovery, RetransmissionTimeout],
        _ if view.congestion == Congestion::Bbr => vec![SlowStart, CongestionWindow, Pacing],
        // Linux's ACK waits until the receiving program reads, or for its timer
        // (`__tcp_ack_snd_check`).
        _ if delayed && view.away.at(at) > 0 => {
            vec![view.receiver_is_busy, ShortInitialSegment, phase]
        }
        _ if delayed && view.begins_short(message) => vec![ShortInitialSegment],
        _ if delayed => vec![ShortInitialSegment, phase],
        _ if window.cut_by_idle => vec![IdleRestart],
        _ => vec![phase],
    }
}

/// Who releases it: the timer, or the program.
fn corked(view: &View, at: Nanos) -> Vec<Cause> {
    /// Between a call of the program and its packet.
    const PROMPT: Nanos = 2_000_000;
    let released = view.sent.next(at).map_or(Nanos::MAX, |(released, _)| released);
    let near = |called: Nanos| called <= released && released - called < PROMPT;
    let written = view.written.times().any(|called| called > at && near(called));
    let uncorked = view.diary.cork.iter().any(|(called, on)| !on && *called > at && near(*called));
    if written || uncorked { vec![ApplicationLimited, CorkTimer] } else { vec![CorkTimer] }
}

/// Linux sends no small burst if a third of the window will be free soon (`tcp_tso_should_defer`).
fn deferred(
    view: &View,
    message: (u64, u64),
    room: u64,
    segments: usize,
    at: Nanos,
) -> Option<Verdict> {
    const DIVISOR: u64 = 3;
    let window = u64::from(view.window.at(at).segments) * view.mss;
    let free = segments as u64 * view.mss;
    let offered = view.edge.at(at).saturating_sub(view.acked.at(at));
    if free.min(room) * DIVISOR > window.min(offered) + DIVISOR * view.mss {
        return None;
    }
    let reasons = if room < free { vec![ReceiveWindow] } else { congested(view, message, at) };
    Some((reasons, TRACE))
}

const LINKS: &str = "emulator";
const TRACE: &str = "tcp_probe";
const LINKS_AND_TRACE: &str = "emulator, tcp_cong_state_set";
const PROGRAM: &str = "program";

/// Whether only an acknowledgement ends the wait.
const fn ends_with_an_ack(cause: Cause) -> bool {
    matches!(
        cause,
        ShortInitialSegment
            | NagleDelayedAck
            | NagleRtt
            | SlowStart
            | CongestionWindow
            | IdleRestart
            | ReceiveWindow
            | SendBuffer
            | H2FlowControl
    )
}
