//! The state machine of RFC 9293, section 3.3.2, as a table: states, inputs, arrows.

/// The states of RFC 9293, section 3.3.2.
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
    /// The peer's FIN, everything before it having arrived.
    Fin,
    /// Our FIN is acknowledged.
    AckOfFin,
    /// An acceptable RST, or the application aborts.
    Reset,
    /// An acceptable RST for a connection that came from LISTEN and is not established.
    ResetOfPassiveOpen,
    /// 2 MSL have passed, or the connection is given up.
    Expired,
}

impl State {
    /// Every state.
    pub const ALL: [Self; 11] = [
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
            (Self::SynReceived | Self::Established, Input::Close) => Self::FinWait1,
            (Self::Established, Input::Fin) => Self::CloseWait,
            (Self::FinWait1, Input::AckOfFin) => Self::FinWait2,
            (Self::FinWait1, Input::Fin) => Self::Closing,
            (Self::CloseWait, Input::Close) => Self::LastAck,
            (Self::FinWait2, Input::Fin) | (Self::Closing, Input::AckOfFin) => Self::TimeWait,
            (Self::Listen | Self::SynSent, Input::Close) | (Self::LastAck, Input::AckOfFin) => {
                Self::Closed
            }
            (Self::Closed | Self::Listen, Input::Reset | Input::Expired) => return None,
            (_, Input::Reset | Input::Expired) => Self::Closed,
            _ => return None,
        })
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

    /// The name in RFC 9293.
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
            Self::TimeWait => "TIME-WAIT",
        }
    }
}

impl Input {
    /// Every input.
    pub const ALL: [Self; 11] = [
        Self::PassiveOpen,
        Self::ActiveOpen,
        Self::Syn,
        Self::SynAck,
        Self::AckOfSyn,
        Self::Close,
        Self::Fin,
        Self::AckOfFin,
        Self::Reset,
        Self::ResetOfPassiveOpen,
        Self::Expired,
    ];
}

#[cfg(test)]
mod tests {
    use super::{Input::*, State::*, *};

    /// RFC 9293, section 3.3.2, figure 5, with the resets and time-outs of section 3.10.
    /// What is not here must not happen.
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
    ];

    #[test]
    fn states_follow_the_rfc_and_nothing_else() {
        for from in State::ALL {
            for input in Input::ALL {
                let arrow = ARROWS.iter().find(|(state, on, _)| (*state, *on) == (from, input));
                assert_eq!(from.after(input), arrow.map(|(_, _, to)| *to), "{from:?} on {input:?}");
            }
        }
    }
}
