//! What packets that come after a gap show of it.
//!
//! A gap is decided by what is known when it closes. If later packets may show more, it waits: they change nothing but
//! these facts, and when the gap is settled, they decide together.

/// What happened to missing data, or to what was sent again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Resolution {
    /// It was retransmitted: the network lost it.
    SentAgain,
    /// It arrived too early to be a retransmission: it was reordered.
    Overtaken,
    /// It was acknowledged but never captured: the capture lost it.
    LostByCapture,
    /// The capture ends before anything shows it.
    Never,
    /// It was sent again although all of it was in transit.
    Spurious,
    /// It was sent again although it had arrived.
    AckLost,
    /// The same, and a packet of the receiver is missing before the data that shows it: that was the answer.
    AnswerLost,
    /// It was sent again although it had arrived, and the receive window had no room for more.
    WindowClosed,
    /// It was sent again, and acknowledged a round trip later.
    Confirmed,
    /// The same of the first data of a connection, of which the server's host had had a copy before; by timestamps
    /// (`sure`), that is not the one which it acknowledges.
    Refused { sure: bool },
    /// The same where nothing shows whether its host had one.
    OrRefused,
}

impl Resolution {
    /// Whether it is one of missing data.
    const fn is_of_missing(self) -> bool {
        matches!(self, Self::SentAgain | Self::Overtaken | Self::LostByCapture | Self::Never)
    }
}

/// Facts of later packets.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Later {
    /// What happened first to the missing data.
    pub missing: Option<Resolution>,
    /// What happened last to what was sent again.
    pub again: Option<Resolution>,
    /// More data followed so soon that no timer had sent what came late.
    pub followed: bool,
}

impl Later {
    pub(crate) const NOTHING: Self = Self { missing: None, again: None, followed: false };

    /// Takes note of what happened.
    pub(crate) const fn note(&mut self, resolution: Resolution) {
        if !resolution.is_of_missing() {
            self.again = Some(resolution);
        } else if self.missing.is_none() {
            self.missing = Some(resolution);
        }
    }

    /// More data followed what came late.
    pub(crate) const fn note_followed(&mut self) {
        self.followed = true;
    }
}
