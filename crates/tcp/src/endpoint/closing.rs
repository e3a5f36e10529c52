//! How a connection ends, and which end of it waits in TIME-WAIT.
//!
//! | `ClosePolicy` | active close | passive close |
//! | --- | --- | --- |
//! | `Ordinary` | TIME-WAIT | CLOSED |
//! | `Swap` | TIME-WAIT, until the peer's RST if it swaps | LAST-ACK-SWAP, an RST, TIME-WAIT |
//! | `Negotiated`, and agreed | the holder: TIME-WAIT, the other: CLOSED | the same |

use super::{Endpoint, Event, Input, State};
use crate::{
    alarm::Alarm,
    policy::{ClosePolicy, ResetInTimeWait},
    segment::{Segment, TimeWaitHolder},
    units::Instant,
    wait::{TimeWaitReason, Timer},
};

/// What a connection knows about its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing {
    /// What the SYNs agreed on.
    agreed: Option<TimeWaitHolder>,
    /// The peer's FIN has repeated that the peer holds TIME-WAIT.
    confirmed: bool,
    /// Why we are in TIME-WAIT.
    reason: Option<TimeWaitReason>,
}

impl Closing {
    pub(super) const NONE: Self = Self { agreed: None, confirmed: false, reason: None };

    /// The peer's SYN, or SYN-ACK, has arrived.
    ///
    /// When both open at once, neither knows whether the other one has seen its offer: then nothing
    /// is agreed.
    pub(super) fn agree(&mut self, policy: ClosePolicy, segment: &Segment, both_open: bool) {
        self.agreed = policy.agree(segment.time_wait_holder).filter(|_| !both_open);
    }

    /// The peer's FIN has arrived, perhaps not for the first time.
    ///
    /// A peer whose SYN-ACK, or ours, lost the option on its way does not know that it is the holder.
    /// So no promise is relied on that its FIN does not repeat.
    pub(super) fn note_fin(&mut self, segment: &Segment) {
        self.confirmed |= segment.time_wait_holder == Some(TimeWaitHolder::Mine);
    }

    /// What our SYN-ACK says.
    pub(super) const fn agreed(&self) -> Option<TimeWaitHolder> {
        self.agreed
    }

    /// What our FIN says: that we hold TIME-WAIT, if so.
    pub(super) fn promise(&self) -> Option<TimeWaitHolder> {
        self.agreed.filter(|hold| *hold == TimeWaitHolder::Mine)
    }

    /// What can be relied on.
    fn settled(&self) -> Option<TimeWaitHolder> {
        self.agreed.filter(|hold| *hold == TimeWaitHolder::Mine || self.confirmed)
    }

    fn reason(&self, from: State) -> TimeWaitReason {
        match from {
            State::LastAckSwap => TimeWaitReason::Swapped,
            _ if self.settled() == Some(TimeWaitHolder::Mine) => TimeWaitReason::Agreed,
            State::Closing => TimeWaitReason::BothClosed,
            _ => TimeWaitReason::ClosedFirst,
        }
    }
}

impl Endpoint {
    /// Closes the sending direction: a FIN after all that is written. Receiving goes on.
    pub fn close(&mut self) {
        self.begin_call();
        // What both ends have agreed on outlasts a policy that was chosen later.
        let agreed = self.closing.agreed().is_some();
        let input = match self.config.policies.close {
            ClosePolicy::Swap if !agreed => Input::CloseSwap,
            ClosePolicy::Swap | ClosePolicy::Ordinary | ClosePolicy::Negotiated(_) => Input::Close,
        };
        if self.state.after(input).is_none() {
            return;
        }
        self.step(input);
        if self.state == State::Closed {
            self.finish(Event::Closed);
        } else {
            self.sender.fin = true;
        }
    }

    /// Why this end is in TIME-WAIT, if it is.
    #[must_use]
    pub fn time_wait_reason(&self) -> Option<TimeWaitReason> {
        self.closing.reason.filter(|_| self.state == State::TimeWait)
    }

    /// Follows the arrow of the state machine: the only place where the state changes.
    ///
    /// An input that has no arrow from here is our mistake; without debug assertions the state stays.
    pub(super) fn step(&mut self, input: Input) {
        let next = match self.closing.settled() {
            Some(hold) => self.state.after_agreed(input, hold),
            None => self.state.after(input),
        };
        debug_assert!(next.is_some(), "no arrow from {} on {input:?}", self.state.name());
        self.state = next.unwrap_or(self.state);
    }

    /// The peer has acknowledged our FIN.
    pub(super) fn fin_acknowledged(&mut self, now: Instant) {
        let from = self.state;
        if from == State::TimeWait {
            return; // An RST brought us here before the ACK came.
        }
        self.step(Input::AckOfFin);
        if from == State::LastAckSwap {
            // Exactly SND.NXT: another number would be challenged (RFC 5961), or ignored (Linux).
            self.pending_reset = Some(self.reset_in_sequence());
        }
        self.closed_both_ways(from, now);
    }

    /// The peer's FIN is next in sequence.
    pub(super) fn take_fin(&mut self, now: Instant) {
        self.receiver.take_fin();
        self.events.push(Event::PeerClosed);
        let from = self.state;
        self.step(Input::Fin);
        self.closed_both_ways(from, now);
    }

    /// If nothing more can arrive or leave, 2 MSL begin here, or it is over.
    fn closed_both_ways(&mut self, from: State, now: Instant) {
        match self.state {
            State::TimeWait => self.enter_time_wait(from, Event::Closed, now),
            State::Closed => {
                // The FIN of a peer that waits in our place wants its ACK: it is our last segment.
                let acknowledge = self.receiver.asks_for_ack().filter(|_| from != State::LastAck);
                self.finish(Event::Closed);
                if let Some(reason) = acknowledge {
                    self.receiver.ask_for_ack(reason);
                }
            }
            _ => {}
        }
    }

    /// 2 MSL begin; nothing else remains to be done.
    fn enter_time_wait(&mut self, from: State, event: Event, now: Instant) {
        self.closing.reason = Some(self.closing.reason(from));
        self.timers.retransmit(Alarm::OFF);
        self.restart_time_wait(now);
        self.events.push(event);
    }

    pub(super) fn restart_time_wait(&mut self, now: Instant) {
        self.timers.wait_for(Timer::TimeWait, Alarm::at(now + self.time_wait_span(now)));
    }

    /// Whether an RST ends TIME-WAIT. If the peer relies on us, it does not: whoever has forgotten a
    /// connection answers each of its late segments by an RST.
    pub(super) fn ignores_reset(&self) -> bool {
        let policy = self.config.policies.reset_in_time_wait;
        self.time_wait_reason()
            .is_some_and(|reason| policy == ResetInTimeWait::Ignored || reason.is_relied_on())
    }

    /// An acceptable RST.
    pub(super) fn reset_by_peer(&mut self, now: Instant) {
        let from = self.state;
        if from == State::SynReceived && self.passive {
            self.step(Input::ResetOfPassiveOpen);
            self.forget_peer();
            return;
        }
        self.step(Input::Reset);
        if self.state == State::TimeWait {
            // It may be the answer to our FIN of a peer that had seen it: then nothing is lost. Data
            // that is not acknowledged may be.
            let lost = self.sender.una < self.sender.written_end;
            let event = if lost { Event::Reset } else { Event::Closed };
            self.enter_time_wait(from, event, now);
        } else {
            let orderly = from == State::TimeWait;
            self.finish(if orderly { Event::Closed } else { Event::Reset });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Policies, SeqNumber};

    #[test]
    #[cfg_attr(debug_assertions, should_panic(expected = "no arrow from LISTEN on Fin"))]
    fn an_input_without_an_arrow_is_our_mistake_and_changes_nothing() {
        let mut endpoint = Endpoint::listen(Config::new(Policies::RFC), SeqNumber(1));
        endpoint.step(Input::Fin);
        assert_eq!(endpoint.state(), State::Listen);
    }
}
