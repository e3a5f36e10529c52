//! What makes less sure why a segment left when it did: each doubt limits confidence and names a rival.
//!
//! A doubt sees the facts and what a row has decided, never what another doubt says. So their order decides only
//! which rival is named.

use ackwise_cause::Cause;

use super::{
    super::{Confidence, Rule, nagle::NagleHabit, window::Plateau},
    Facts, Hold,
};

/// A doubt, and the rival that it names where it applies.
pub(super) struct Doubt {
    pub(super) rule: Rule,
    pub(super) applies: fn(&Facts, &Hold) -> Option<Cause>,
}

/// All of them; the rival of the first that applies is named.
pub(super) const DOUBTS: &[Doubt] = &[
    Doubt { rule: Rule::MayBeWindow, applies: may_be_window },
    Doubt { rule: Rule::MayBeProgram, applies: may_be_program },
    Doubt { rule: Rule::MayBeBuffer, applies: may_be_buffer },
    Doubt { rule: Rule::LossyLink, applies: lossy_link },
    Doubt { rule: Rule::MayBeNagle, applies: may_be_nagle },
    Doubt { rule: Rule::BehindVantage, applies: behind_vantage },
    Doubt { rule: Rule::MayBeCorked, applies: may_be_corked },
    Doubt { rule: Rule::MayBeTimer, applies: may_be_timer },
];

/// Until an earlier acknowledgement came, the congestion window may have held a small segment, or it counts
/// segments and was full.
fn may_be_window(facts: &Facts, hold: &Hold) -> Option<Cause> {
    if hold.rule != Rule::NagleHeld {
        return None;
    }
    match facts.window_may_have_held_it_first() {
        true => Some(facts.window()),
        false => facts.window_that_may_be_full(),
    }
}

/// Its sender does without Nagle's algorithm now and then, or the segment came late after the acknowledgement.
fn may_be_program(facts: &Facts, hold: &Hold) -> Option<Cause> {
    let is_usual = facts.is_released() && facts.nagle != NagleHabit::Mixed;
    (hold.rule == Rule::NagleHeld && !is_usual).then_some(Cause::ApplicationLimited)
}

fn may_be_buffer(facts: &Facts, hold: &Hold) -> Option<Cause> {
    let may_be = match hold.rule {
        Rule::WindowFull => {
            facts.stays != Plateau::No || facts.has_room() || facts.may_have_filled_buffer()
        }
        Rule::Written => facts.may_have_waited_for_memory(),
        _ => false,
    };
    may_be.then_some(Cause::SendBuffer)
}

/// How fast a link is that drops packets, shows less well.
fn lossy_link(facts: &Facts, hold: &Hold) -> Option<Cause> {
    let may_be = hold.rule == Rule::WindowFull && facts.lossy && !facts.slow_start;
    may_be.then_some(Cause::Transmission)
}

fn may_be_nagle(facts: &Facts, hold: &Hold) -> Option<Cause> {
    let may_be = hold.rule == Rule::WindowFull && facts.nagle_may_hold_it_too();
    may_be.then_some(Cause::NagleRtt)
}

fn behind_vantage(facts: &Facts, hold: &Hold) -> Option<Cause> {
    facts.behind_vantage().filter(|_| hold.rule == Rule::Written)
}

/// The write before it went on: its program, or what else holds the end of a write.
fn may_be_corked(facts: &Facts, hold: &Hold) -> Option<Cause> {
    (hold.rule == Rule::Written && facts.may_be_corked()).then_some(Cause::CorkTimer)
}

/// Its timer may have sent it: after a loss before the vantage point, if it runs so soon, or because the
/// acknowledgement that Nagle's algorithm waits for was lost.
fn may_be_timer(facts: &Facts, hold: &Hold) -> Option<Cause> {
    let soon = facts.is_late_though_ready() && facts.left_late && facts.is_too_soon_for_timeout();
    let may_be = hold.rule == Rule::Written && (soon || facts.may_be_a_probe());
    may_be.then_some(Cause::RetransmissionTimeout)
}

impl Hold {
    /// The same, as far as nothing makes it less sure.
    pub(super) fn with_doubts(self, facts: &Facts) -> Self {
        let of = |doubt: &Doubt| Some((doubt.rule, (doubt.applies)(facts, &self)?));
        let is_on = |doubt: &&Doubt| facts.without != Some(doubt.rule);
        match DOUBTS.iter().filter(is_on).find_map(of) {
            Some((rule, rival)) => self.doubted(rule, Confidence::Medium, rival),
            None => self,
        }
    }

    /// The same, at most so sure, because of a doubt. The rival that is known already stays.
    pub(in super::super) fn doubted(self, doubt: Rule, most: Confidence, rival: Cause) -> Self {
        let confidence = self.confidence.min(most);
        let (rival, doubt) = (self.rival.or(Some(rival)), self.doubt.or(Some(doubt)));
        Self { confidence, rival, doubt, ..self }
    }
}
