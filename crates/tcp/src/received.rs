//! What became of a segment that has arrived.

/// What became of a segment that has arrived.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Received {
    /// It was taken. Where its data belongs, if any is new and kept; without, it was taken for its
    /// header: its ACK, or a FIN behind data that is not taken.
    Taken(Option<Placement>),
    /// Nothing of it was taken, or of one with data at most its ACK: neither data nor a FIN.
    Dropped(DropReason),
}

impl Received {
    /// A segment of which only the header was wanted.
    pub(crate) const TAKEN: Self = Self::Taken(None);

    /// Where its data belongs, if any of it is wanted.
    #[must_use]
    pub const fn placement(self) -> Option<Placement> {
        match self {
            Self::Taken(placement) => placement,
            Self::Dropped(_) => None,
        }
    }

    /// Why it was dropped, if it was.
    #[must_use]
    pub const fn dropped(self) -> Option<DropReason> {
        match self {
            Self::Taken(_) => None,
            Self::Dropped(reason) => Some(reason),
        }
    }
}

/// Where the data of a received segment belongs in the peer's stream: the driver copies `len` bytes
/// of the payload, from `skip` on, to `offset`. A range may arrive again: then it changes nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Placement {
    /// Bytes of the payload to leave out: they are old.
    pub skip: u32,
    /// Offset in the peer's stream.
    pub offset: u64,
    /// Bytes to keep.
    pub len: u32,
}

/// Why a segment was dropped.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum DropReason {
    /// There is no connection: [`refuse`](crate::endpoint::refuse) has the answer.
    NoConnection,
    /// Neither SYN nor RST where a connection is being opened (RFC 9293, sections 3.10.7.2 and
    /// 3.10.7.3).
    NotASyn,
    /// It acknowledges what was never sent, or was sent too long ago (RFC 9293, section 3.10.7; RFC
    /// 5961, section 5.2).
    UnacceptableAck,
    /// An RST that does not end the connection: to a listener, with another number than the next one
    /// (RFC 5961, section 3.2), or in a TIME-WAIT that no RST ends (RFC 1337).
    UnacceptableReset,
    /// A SYN on an open connection (RFC 5961, section 4.2).
    UnexpectedSyn,
    /// The peer's SYN once more: our SYN-ACK was lost, and is sent again.
    RepeatedSyn,
    /// Nothing of it lies in the window: a repetition, a probe, or beyond what we take (RFC 9293,
    /// section 3.4).
    OutsideWindow,
    /// Its timestamp is older than the last one (RFC 7323, section 5: PAWS).
    OldTimestamp,
    /// No timestamp, though both ends have agreed to send it (RFC 7323, section 3.2).
    NoTimestamp,
    /// No ACK on an open connection (RFC 9293, section 3.10.7.4).
    NoAck,
    /// Data behind the peer's FIN.
    BehindFin,
    /// Out of order, and there are too many gaps already to remember another one.
    TooManyGaps,
    /// A SYN that a [`Listener`](crate::driver::Listener) has no room for.
    BacklogFull,
}

impl DropReason {
    /// Every reason.
    pub const ALL: [Self; 13] = [
        Self::NoConnection,
        Self::NotASyn,
        Self::UnacceptableAck,
        Self::UnacceptableReset,
        Self::UnexpectedSyn,
        Self::RepeatedSyn,
        Self::OutsideWindow,
        Self::OldTimestamp,
        Self::NoTimestamp,
        Self::NoAck,
        Self::BehindFin,
        Self::TooManyGaps,
        Self::BacklogFull,
    ];
}
