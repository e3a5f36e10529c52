//! The state machine of RFC 9293, section 3.3.2, as a table: states, inputs, arrows; and where the
//! arrows of Faber, Touch and Yue (1997) differ, because the other end waits in TIME-WAIT.

use crate::segment::TimeWaitHolder;

/// The states of RFC 9293, section 3.3.2, and one of Faber, Touch and Yue.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// SYN sent.
    SynSent,
    /// SYN received, ours sent.
    SynReceived,
    /// Open.
    Established,
    /// We have closed; our FIN is not acknowledged.
    FinWait1,
    /// We have closed; our FIN is acknowledged.
    FinWait2,
    /// The peer has closed.
    CloseWait,
    /// Both have closed at once.
    Closing,
    /// The peer has closed, then we.
    LastAck,
    /// The same, and this end takes TIME-WAIT over (Faber, Touch, Yue 1997).
    LastAckSwap,
    /// Waiting for old duplicates to die.
    TimeWait,
}

/// What moves a connection from one state to another.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Input {
    /// The application waits for a connection.
    PassiveOpen,
    /// The application opens a connection.
    ActiveOpen,
    /// A SYN without acknowledgement of ours.
    Syn,
    /// A SYN that acknowledges ours.
    SynAck,
    /// Our SYN is acknowledged.
    AckOfSyn,
    /// The application closes.
    Close,
    /// The application closes; if the peer has closed already, this end takes TIME-WAIT over.
    CloseSwap,
    /// The peer's FIN, everything before it having arrived.
    Fin,
    /// Our FIN is acknowledged.
    AckOfFin,
    /// An acceptable RST.
    Reset,
    /// An acceptable RST for a connection that came from LISTEN and is not established.
    ResetOfPassiveOpen,
    /// 2 MSL have passed, or the connection is given up.
    Expired,
    /// The application aborts.
    Abort,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 12] = [
        Self::Closed,
        Self::Listen,
        Self::SynSent,
        Self::SynReceived,
        Self::Established,
        Self::FinWait1,
        Self::FinWait2,
        Self::CloseWait,
        Self::Closing,
        Self::LastAck,
        Self::LastAckSwap,
        Self::TimeWait,
    ];

    /// The next state, or `None` where there is no arrow.
    #[must_use]
    pub const fn after(self, input: Input) -> Option<Self> {
        Some(match (self, input) {
            (Self::Closed, Input::PassiveOpen) | (Self::SynReceived, Input::ResetOfPassiveOpen) => {
                Self::Listen
            }
            (Self::Closed | Self::Listen, Input::ActiveOpen) => Self::SynSent,
            (Self::Listen | Self::SynSent, Input::Syn) => Self::SynReceived,
            (Self::SynSent, Input::SynAck) | (Self::SynReceived, Input::AckOfSyn) => {
                Self::Established
            }
            (Self::SynReceived | Self::Established, Input::Close | Input::CloseSwap) => {
                Self::FinWait1
            }
            (Self::Established, Input::Fin) => Self::CloseWait,
            (Self::FinWait1, Input::AckOfFin) => Self::FinWait2,
            (Self::FinWait1, Input::Fin) => Self::Closing,
            (Self::CloseWait, Input::Close) => Self::LastAck,
            (Self::CloseWait, Input::CloseSwap) => Self::LastAckSwap,
            (Self::FinWait2, Input::Fin)
            | (Self::Closing, Input::AckOfFin)
            | (Self::LastAckSwap, Input::AckOfFin | Input::Reset) => Self::TimeWait,
            (Self::Listen | Self::SynSent, Input::Close | Input::CloseSwap)
            | (Self::LastAck, Input::AckOfFin) => Self::Closed,
            (Self::Closed, Input::Abort)
            | (Self::Closed | Self::Listen, Input::Reset | Input::Expired) => return None,
            (_, Input::Reset | Input::Expired | Input::Abort) => Self::Closed,
            _ => return None,
        })
    }

    /// The next state if both ends have agreed when they opened who holds TIME-WAIT: the end that does
    /// not never enters it, and the one that does enters it also from LAST-ACK.
    ///
    /// An RST is how a peer that has closed answers our FIN, should its last ACK be lost. It says
    /// nothing about who waits, so the holder still does, and no RST ends that. Nobody takes TIME-WAIT over
    /// either: LAST-ACK-SWAP is not reached.
    #[must_use]
    pub const fn after_agreed(self, input: Input, hold: TimeWaitHolder) -> Option<Self> {
        match (hold, self, input) {
            (TimeWaitHolder::Yours, Self::FinWait2, Input::Fin)
            | (TimeWaitHolder::Yours, Self::Closing, Input::AckOfFin) => Some(Self::Closed),
            (TimeWaitHolder::Mine, Self::LastAck, Input::AckOfFin)
            | (TimeWaitHolder::Mine, Self::LastAck | Self::Closing, Input::Reset) => {
                Some(Self::TimeWait)
            }
            (TimeWaitHolder::Mine, Self::TimeWait, Input::Reset)
            | (_, Self::CloseWait, Input::CloseSwap)
            | (_, Self::LastAckSwap, _) => None,
            _ => self.after(input),
        }
    }

    /// Both SYNs are acknowledged or at least received: "synchronized" in RFC 9293.
    #[must_use]
    pub const fn is_synchronized(self) -> bool {
        !matches!(self, Self::Closed | Self::Listen | Self::SynSent | Self::SynReceived)
    }

    /// The peer may still send data: we have not seen its FIN.
    #[must_use]
    pub const fn receives(self) -> bool {
        matches!(self, Self::SynReceived | Self::Established | Self::FinWait1 | Self::FinWait2)
    }

    /// The name in RFC 9293, or in the draft.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Listen => "LISTEN",
            Self::SynSent => "SYN-SENT",
            Self::SynReceived => "SYN-RECEIVED",
            Self::Established => "ESTABLISHED",
            Self::FinWait1 => "FIN-WAIT-1",
            Self::FinWait2 => "FIN-WAIT-2",
            Self::CloseWait => "CLOSE-WAIT",
            Self::Closing => "CLOSING",
            Self::LastAck => "LAST-ACK",
            Self::LastAckSwap => "LAST-ACK-SWAP",
            Self::TimeWait => "TIME-WAIT",
        }
    }
}

impl Input {
    /// Every input.
    pub const ALL: [Self; 13] = [
        Self::PassiveOpen,
        Self::ActiveOpen,
        Self::Syn,
        Self::SynAck,
        Self::AckOfSyn,
        Self::Close,
        Self::CloseSwap,
        Self::Fin,
        Self::AckOfFin,
        Self::Reset,
        Self::ResetOfPassiveOpen,
        Self::Expired,
        Self::Abort,
    ];
}

#[cfg(test)]
mod tests {
    use super::{Input::*, State::*, TimeWaitHolder::*, *};

    /// RFC 9293, section 3.3.2, figure 5, with the resets and timeouts of section 3.10, and what the
    /// draft adds. What is not here must not happen.
    #[rustfmt::skip]
    const ARROWS: &[(State, Input, State)] = &[
        (Closed,      PassiveOpen,        Listen),
        (Closed,      ActiveOpen,         SynSent),
        (Listen,      ActiveOpen,         SynSent),
        (Listen,      Syn,                SynReceived),
        (Listen,      Close,              Closed),
        (SynSent,     Syn,                SynReceived),
        (SynSent,     SynAck,             Established),
        (SynSent,     Close,              Closed),
        (SynReceived, AckOfSyn,           Established),
        (SynReceived, Close,              FinWait1),
        (SynReceived, ResetOfPassiveOpen, Listen),
        (Established, Close,              FinWait1),
        (Established, Fin,                CloseWait),
        (FinWait1,    AckOfFin,           FinWait2),
        (FinWait1,    Fin,                Closing),
        (FinWait2,    Fin,                TimeWait),
        (CloseWait,   Close,              LastAck),
        (Closing,     AckOfFin,           TimeWait),
        (LastAck,     AckOfFin,           Closed),
        (SynSent,     Reset,              Closed),
        (SynReceived, Reset,              Closed),
        (Established, Reset,              Closed),
        (FinWait1,    Reset,              Closed),
        (FinWait2,    Reset,              Closed),
        (CloseWait,   Reset,              Closed),
        (Closing,     Reset,              Closed),
        (LastAck,     Reset,              Closed),
        (TimeWait,    Reset,              Closed),
        (SynSent,     Expired,            Closed),
        (SynReceived, Expired,            Closed),
        (Established, Expired,            Closed),
        (FinWait1,    Expired,            Closed),
        (FinWait2,    Expired,            Closed),
        (CloseWait,   Expired,            Closed),
        (Closing,     Expired,            Closed),
        (LastAck,     Expired,            Closed),
        (TimeWait,    Expired,            Closed),
        (Listen,      Abort,              Closed),
        (SynSent,     Abort,              Closed),
        (SynReceived, Abort,              Closed),
        (Established, Abort,              Closed),
        (FinWait1,    Abort,              Closed),
        (FinWait2,    Abort,              Closed),
        (CloseWait,   Abort,              Closed),
        (Closing,     Abort,              Closed),
        (LastAck,     Abort,              Closed),
        (TimeWait,    Abort,              Closed),
        // Faber, Touch, Yue 1997: from CLOSE-WAIT alone the two ways of closing differ.
        (Listen,      CloseSwap,          Closed),
        (SynSent,     CloseSwap,          Closed),
        (SynReceived, CloseSwap,          FinWait1),
        (Established, CloseSwap,          FinWait1),
        (CloseWait,   CloseSwap,          LastAckSwap),
        (LastAckSwap, AckOfFin,           TimeWait),
        (LastAckSwap, Reset,              TimeWait),
        (LastAckSwap, Expired,            Closed),
        (LastAckSwap, Abort,              Closed),
    ];

    /// Where it makes a difference that the ends have agreed. `None`: there is no arrow then.
    #[rustfmt::skip]
    const AGREED: &[(TimeWaitHolder, State, Input, Option<State>)] = &[
        (Yours, FinWait2,    Fin,       Some(Closed)),
        (Yours, Closing,     AckOfFin,  Some(Closed)),
        (Mine,  LastAck,     AckOfFin,  Some(TimeWait)),
        (Mine,  LastAck,     Reset,     Some(TimeWait)),
        (Mine,  Closing,     Reset,     Some(TimeWait)),
        (Mine,  TimeWait,    Reset,     None),
        (Mine,  CloseWait,   CloseSwap, None),
        (Yours, CloseWait,   CloseSwap, None),
        (Mine,  LastAckSwap, AckOfFin,  None),
        (Yours, LastAckSwap, AckOfFin,  None),
        (Mine,  LastAckSwap, Reset,     None),
        (Yours, LastAckSwap, Reset,     None),
        (Mine,  LastAckSwap, Expired,   None),
        (Yours, LastAckSwap, Expired,   None),
        (Mine,  LastAckSwap, Abort,     None),
        (Yours, LastAckSwap, Abort,     None),
    ];

    fn product() -> impl Iterator<Item = (State, Input)> {
        State::ALL.into_iter().flat_map(|from| Input::ALL.map(|input| (from, input)))
    }

    #[test]
    fn states_follow_the_rfc_and_the_draft_and_nothing_else() {
        for (from, input) in product() {
            let arrow = ARROWS.iter().find(|(state, on, _)| (*state, *on) == (from, input));
            assert_eq!(from.after(input), arrow.map(|(_, _, to)| *to), "{from:?} on {input:?}");
        }
    }

    #[test]
    fn an_agreement_moves_these_arrows_and_no_others() {
        for hold in [Mine, Yours] {
            for (from, input) in product() {
                let moved = AGREED
                    .iter()
                    .find(|(who, state, on, _)| (*who, *state, *on) == (hold, from, input));
                let expected = moved.map_or_else(|| from.after(input), |(_, _, _, to)| *to);
                let found = from.after_agreed(input, hold);
                assert_eq!(found, expected, "{hold:?}: {from:?} on {input:?}");
            }
        }
    }

    #[test]
    fn who_does_not_hold_time_wait_never_enters_it() {
        for (from, input) in product() {
            assert_ne!(from.after_agreed(input, Yours), Some(TimeWait), "{from:?} on {input:?}");
        }
    }
}
