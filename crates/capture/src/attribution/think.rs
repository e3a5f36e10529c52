//! What the time before the first byte of a response was: rules in order, then doubts.

use ackwise_cause::Cause;

use super::{
    Confidence, CorkTimer, Nanos, Rule, Stall,
    decide::{Doubt, Limit, Row, first_of, limit_of},
    gap::Released,
    sender::{Left, Sender},
};

/// All that the decision may depend on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThinkFacts {
    /// From the arrival of the request to the departure of the first byte.
    pub since: Nanos,
    /// The shortest round trip between the ends, where a silence may be that of the path.
    pub round_trip: Option<Nanos>,
    /// What timestamps show of when the first byte left.
    pub left: Left,
    /// By its timestamp, it waited in a queue: that is another part of the time.
    pub queued: bool,
    /// An acknowledgement of its own, behind the request, released it.
    pub released: Option<Released>,
    /// An interim response came before.
    pub after_interim: bool,
    /// It takes all of a silly window.
    pub takes_silly_window: bool,
    /// A packet of the server is missing before it, or seems to be.
    pub lost_before: bool,
    pub seems_lost_before: bool,
    /// It has less data than a full segment.
    pub small: bool,
    /// Whether the server had the request.
    pub asked: Asked,
    /// Something has shown how far the server is.
    pub knows_way: bool,
    /// What its requests and responses have shown of the server and the path.
    pub habits: ServerHabits,
    /// A rule that is switched off.
    pub without: Option<Rule>,
}

/// Whether the server had the request, by what was seen before its response.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Asked {
    /// An acknowledgement came at once.
    Known,
    /// An acknowledgement came so much later, or the capture lacks those without data: by so much the request may
    /// have been late.
    Late(Nanos),
    /// Nothing did.
    Unheard,
    /// Nothing did, and the capture seems to be the server's.
    Here,
}

/// What earlier exchanges of the connection have shown, as far as it bears on the next one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerHabits {
    /// The server has acknowledged a request at once, without data. So does Linux first of all (its quick-ACK
    /// mode), and no other stack in use.
    pub acks_at_once: bool,
    /// The end of a response was corked.
    pub corks: bool,
    /// For how long the path held responses, by their timestamps: the longest, and the second longest.
    varies: [Nanos; 2],
}

impl ServerHabits {
    /// By its timestamp, the path held the beginning of a response for so long.
    pub(crate) fn note_held(&mut self, held: Nanos) {
        let [longest, second] = self.varies;
        self.varies = [longest.max(held), second.max(longest.min(held))];
    }

    /// By how much the path varies. Once may be an accident.
    const fn varies(&self) -> Nanos {
        self.varies[1]
    }
}

/// What it was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Thought {
    pub cause: Cause,
    pub rival: Option<Cause>,
    pub confidence: Confidence,
    pub rule: Rule,
    pub doubt: Option<Rule>,
}

/// Each names the cause and its rival.
const ROWS: &[Row<ThinkFacts, [Cause; 2]>] = &[
    Row { rule: Rule::HeldAnswer, detect: held_answer },
    Row { rule: Rule::SillyWindow, detect: forced_answer },
    Row { rule: Rule::LostBefore, detect: lost_answer },
    Row { rule: Rule::Corked, detect: corked_answer },
    Row { rule: Rule::HeldByPath, detect: held_on_way },
    Row { rule: Rule::UnheardRequest, detect: unheard_request },
    Row { rule: Rule::VaryingPath, detect: varying_path },
];

/// Each names what else it may have been than the server's time.
const DOUBTS: &[Doubt<ThinkFacts, ()>] = &[
    Doubt { rule: Rule::MayBeNagle, applies: may_be_held },
    Doubt { rule: Rule::MayBeCorked, applies: may_be_corked },
    Doubt { rule: Rule::QuietPath, applies: quiet_path },
    Doubt { rule: Rule::WayUnsure, applies: unknown_way },
];

impl ThinkFacts {
    /// Decides.
    pub(crate) fn decide(&self) -> Thought {
        if let Some((rule, [cause, rival])) = first_of(ROWS, self, self.without) {
            let (rival, confidence) = (Some(rival), Confidence::Medium);
            return Thought { cause, rival, confidence, rule, doubt: None };
        }
        let (cause, rule) = (Cause::ServerThink, Rule::Thinks);
        match limit_of(DOUBTS, self, &(), self.without) {
            Some((doubt, Limit { most, rival })) => {
                Thought { cause, rival, confidence: most, rule, doubt: Some(doubt) }
            }
            None => Thought { cause, rival: None, confidence: Confidence::High, rule, doubt: None },
        }
    }

    /// A path that is silent for no longer does not stall.
    fn is_short(&self) -> bool {
        self.round_trip.is_none_or(|it| self.since <= Stall::least(it))
    }

    /// Longer than any server keeps its acknowledgement: the request was not there. Or the capture lacks the
    /// acknowledgement, if the client did not send again.
    fn is_unheard(&self) -> bool {
        // Linux keeps it for 40 ms, or for a round trip as it has measured that, which contains such a delay of
        // the client (`tcp_send_delayed_ack`).
        let linux = SHORT_ACK_DELAY + self.round_trip.unwrap_or_default();
        let least = if self.habits.acks_at_once { linux } else { USUAL_ACK_DELAY + BRIEF };
        let is_unheard = matches!(self.asked, Asked::Unheard | Asked::Here);
        is_unheard && (least..=LEAST_TIMEOUT).contains(&self.since)
    }

    /// By how much the request may have been late, at most; `None` if nothing bounds it.
    const fn lateness(&self) -> Option<Nanos> {
        match self.asked {
            Asked::Known | Asked::Here => Some(Nanos::ZERO),
            Asked::Late(by) => Some(by),
            Asked::Unheard => None,
        }
    }

    /// The time is short beside the round trip, or at all.
    fn is_brief(&self) -> bool {
        self.round_trip.is_none_or(|it| self.since <= (it / 8).max(BRIEF))
    }
}

/// A server takes as long for an answer without anybody's fault. Our choice.
const BRIEF: Nanos = Nanos::from_millis(1);
/// A server acknowledges a request within this time, whatever it does: of the stacks in use, Windows and
/// BSD wait longest. RFC 1122, section 4.2.3.2, allows 0.5 s.
const USUAL_ACK_DELAY: Nanos = Nanos::from_millis(200);
/// Linux does within 40 ms (`TCP_ATO_MIN`), and its timer is late by a tick or two of 4 ms.
pub(crate) const SHORT_ACK_DELAY: Nanos = Nanos::from_millis(50);
/// A request that is not acknowledged is sent again after this time, whatever sends it: RFC 6298, section 2.
pub(crate) const LEAST_TIMEOUT: Nanos = Nanos::from_millis(1_000);

fn held_answer(facts: &ThinkFacts) -> Option<[Cause; 2]> {
    let Released { cause, is_sure, .. } = facts.released?;
    (is_sure || facts.after_interim).then_some([cause, Cause::ServerThink])
}

/// Whether the server had it ready so long, nothing shows.
fn forced_answer(facts: &ThinkFacts) -> Option<[Cause; 2]> {
    let by_timer = facts.takes_silly_window && Sender::OVERRIDE.contains(&facts.since);
    by_timer.then_some([Cause::SillyWindow, Cause::ServerThink])
}

/// Behind the data before, and nothing of the answer came: that is what was lost.
fn lost_answer(facts: &ThinkFacts) -> Option<[Cause; 2]> {
    let seems_lost = facts.seems_lost_before && facts.left == Left::AsSeen;
    let is_lost = facts.lost_before || seems_lost;
    (is_lost && !facts.is_short()).then_some([Cause::RetransmissionTimeout, Cause::ServerThink])
}

/// Only where the end of another response shows a cork: a program that waits for as long looks the same.
fn corked_answer(facts: &ThinkFacts) -> Option<[Cause; 2]> {
    let fits = facts.round_trip.is_some_and(|it| CorkTimer::fits(facts.since, it));
    let corked = facts.habits.corks && facts.small && fits && facts.left != Left::Earlier;
    corked.then_some([Cause::CorkTimer, Cause::ServerThink])
}

fn held_on_way(facts: &ThinkFacts) -> Option<[Cause; 2]> {
    let held = facts.left == Left::Earlier && !facts.is_short();
    held.then_some([Cause::PathStall, Cause::ServerThink])
}

fn unheard_request(facts: &ThinkFacts) -> Option<[Cause; 2]> {
    (facts.is_unheard() && facts.asked != Asked::Here && !facts.is_short())
        .then_some([Cause::PathStall, Cause::ServerThink])
}

/// Responses are seen to be held on this path for as long, by their timestamps: so requests are.
fn varying_path(facts: &ThinkFacts) -> Option<[Cause; 2]> {
    let late = facts.lateness().is_none_or(|late| late >= facts.since);
    let varies = late && facts.since <= facts.habits.varies();
    (varies && !facts.is_brief()).then_some([Cause::Queueing, Cause::ServerThink])
}

/// An acknowledgement, or the timer of a silly window, may have let it go.
fn may_be_held(facts: &ThinkFacts, _: &()) -> Option<Limit> {
    let late = facts.takes_silly_window && facts.since > *Sender::OVERRIDE.end();
    let cause = facts.released.map(|it| it.cause).or_else(|| late.then_some(Cause::SillyWindow));
    cause.map(Limit::or)
}

/// What is written under a cork and what is written late look the same, if either lasts as long as its timer.
fn may_be_corked(facts: &ThinkFacts, _: &()) -> Option<Limit> {
    let round_trip = facts.round_trip?;
    let may_be = CorkTimer::may_have_run(facts.since, round_trip)
        || CorkTimer::may_have_run_far_away(facts.since, round_trip);
    let is_shown = facts.left == Left::AsSeen;
    (may_be && facts.small && is_shown).then_some(Limit::or(Cause::CorkTimer))
}

/// Nothing shows when the request arrived, or that the answer left so late: the path may have held either. An eighth
/// of the time is not worth a doubt. Our choice. A server that acknowledges nothing may be beyond what seems to be its
/// host.
fn quiet_path(facts: &ThinkFacts, _: &()) -> Option<Limit> {
    facts.round_trip?;
    if facts.asked == Asked::Here && facts.habits.acks_at_once && facts.is_unheard() {
        return Some(Limit::or(Cause::PathStall));
    }
    let has_left = facts.left == Left::AsSeen || facts.queued;
    let is_shown = has_left && facts.lateness().is_some_and(|late| late * 8 <= facts.since);
    let rival = if facts.is_short() { Cause::Queueing } else { Cause::PathStall };
    (!is_shown && !facts.is_brief()).then_some(Limit::or(rival))
}

/// How far the server is, nothing has shown: part of the time may be distance.
fn unknown_way(facts: &ThinkFacts, _: &()) -> Option<Limit> {
    (!facts.knows_way).then_some(Limit::or(Cause::Propagation))
}

#[cfg(test)]
mod tests;
