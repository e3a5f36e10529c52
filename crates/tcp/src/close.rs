//! How a connection ends, and which end of it waits in TIME-WAIT.
//!
//! | `ClosePolicy` | active close | passive close |
//! | --- | --- | --- |
//! | `Ordinary` | TIME-WAIT | CLOSED |
//! | `Swap` | TIME-WAIT, until the peer's RST if it swaps | LAST-ACK-SWAP, an RST, TIME-WAIT |
//! | `Negotiated`, and agreed | the holder: TIME-WAIT, the other: CLOSED | the same |

use crate::{
    policy::{ClosePolicy, ResetInTimeWait},
    segment::{Segment, TimeWaitHolder},
    state::{Input, State},
    wait::TimeWaitReason,
};

/// What a connection knows about its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closing {
    /// What the SYNs agreed on.
    agreed: Option<TimeWaitHolder>,
    /// The peer's FIN has repeated that the peer holds TIME-WAIT.
    confirmed: bool,
    /// Why we are in TIME-WAIT.
    reason: Option<TimeWaitReason>,
}

impl Closing {
    pub(crate) const NONE: Self = Self { agreed: None, confirmed: false, reason: None };

    /// The peer's SYN, or SYN-ACK, has arrived.
    pub(crate) fn agree(&mut self, policy: ClosePolicy, segment: &Segment) {
        self.agreed = policy.agree(segment.time_wait_holder);
    }

    /// The peer's FIN has arrived, perhaps not for the first time.
    ///
    /// A peer whose SYN-ACK, or ours, lost the option on its way does not know that it is the holder.
    /// So no promise is relied on that its FIN does not repeat.
    pub(crate) fn note_fin(&mut self, segment: &Segment) {
        self.confirmed |= segment.time_wait_holder == Some(TimeWaitHolder::Mine);
    }

    /// What our SYN-ACK says.
    pub(crate) const fn agreed(&self) -> Option<TimeWaitHolder> {
        self.agreed
    }

    /// What our FIN says: that we hold TIME-WAIT, if so.
    pub(crate) fn promise(&self) -> Option<TimeWaitHolder> {
        self.agreed.filter(|hold| *hold == TimeWaitHolder::Mine)
    }

    /// What an application's close is for the state machine. What both ends have agreed on outlasts a policy that was
    /// chosen later.
    pub(crate) const fn input(&self, policy: ClosePolicy) -> Input {
        match policy {
            ClosePolicy::Swap if self.agreed.is_none() => Input::CloseSwap,
            ClosePolicy::Swap | ClosePolicy::Ordinary | ClosePolicy::Negotiated(_) => Input::Close,
        }
    }

    /// The state after `input`, or `None` where there is no arrow.
    pub(crate) fn next_state(&self, state: State, input: Input) -> Option<State> {
        match self.settled() {
            Some(hold) => state.after_agreed(input, hold),
            None => state.after(input),
        }
    }

    /// TIME-WAIT begins, which was entered from this state.
    pub(crate) fn enter_time_wait(&mut self, from: State) {
        self.reason = Some(self.reason_from(from));
    }

    /// Why this end is in TIME-WAIT, if it is in `state`.
    pub(crate) fn reason(&self, state: State) -> Option<TimeWaitReason> {
        self.reason.filter(|_| state == State::TimeWait)
    }

    /// Whether an RST ends TIME-WAIT. If the peer relies on us, it does not: whoever has forgotten a
    /// connection answers each of its late segments by an RST.
    pub(crate) fn ignores_reset(&self, state: State, policy: ResetInTimeWait) -> bool {
        self.reason(state)
            .is_some_and(|reason| policy == ResetInTimeWait::Ignored || reason.is_relied_on())
    }

    /// What can be relied on.
    fn settled(&self) -> Option<TimeWaitHolder> {
        self.agreed.filter(|hold| *hold == TimeWaitHolder::Mine || self.confirmed)
    }

    fn reason_from(&self, from: State) -> TimeWaitReason {
        match from {
            State::LastAckSwap => TimeWaitReason::Swapped,
            _ if self.settled() == Some(TimeWaitHolder::Mine) => TimeWaitReason::Agreed,
            State::Closing => TimeWaitReason::BothClosed,
            _ => TimeWaitReason::ClosedFirst,
        }
    }
}
