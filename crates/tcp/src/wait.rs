//! Why nothing happens: the vocabulary that trace, report and capture analyser share.

use crate::units::Instant;

/// Why this end does not send (more) data now.
///
/// A new variant is meant to stop the build where a cause is made of it, so this is not
/// `non_exhaustive`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Wait {
    /// The application has given nothing (more) to send.
    Application,
    /// The handshake is not over.
    Handshake,
    /// The congestion window is full and cwnd is below ssthresh.
    SlowStart,
    /// The congestion window is full, past slow start.
    CongestionWindow,
    /// The peer's receive window is full; with `probing`, it is zero and probes go out.
    ReceiveWindow {
        /// Nothing is outstanding, so only a window update or a probe's answer goes on from here.
        probing: bool,
    },
    /// A small segment is held because earlier data is not yet acknowledged (RFC 896, or BSD's way).
    Nagle,
    /// A small segment is held because an earlier *small* one is not yet acknowledged (Minshall).
    Minshall,
    /// A small segment is held because the application has corked the connection.
    Cork,
    /// The window allows only a silly little segment (RFC 9293, section 3.8.6.2.1).
    SillyWindow,
    /// The pacer lets the next segment leave later ([`crate::pacing`]).
    Pacing,
    /// Lost segments are being repaired, and the recovery allows nothing new.
    Recovery,
    /// A retransmission timeout is being waited for or has just emptied the window.
    RetransmissionTimeout,
    /// The connection can no longer send: FIN sent, reset or closed.
    Closed,
}

impl Wait {
    /// Every wait.
    pub const ALL: [Self; 14] = [
        Self::Application,
        Self::Handshake,
        Self::SlowStart,
        Self::CongestionWindow,
        Self::ReceiveWindow { probing: false },
        Self::ReceiveWindow { probing: true },
        Self::Nagle,
        Self::Minshall,
        Self::Cork,
        Self::SillyWindow,
        Self::Pacing,
        Self::Recovery,
        Self::RetransmissionTimeout,
        Self::Closed,
    ];
}

/// Why this end has not acknowledged what it has received. Like [`Wait`], not `non_exhaustive`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum AckWait {
    /// A per-connection delayed-ACK timer runs; it was started by a segment that arrived at `since`.
    Delayed {
        /// When the first unacknowledged segment arrived.
        since: Instant,
        /// When the timer fires.
        until: Instant,
    },
    /// The host's tick will send it (BSD's fast timer).
    HostTick {
        /// When the first unacknowledged segment arrived.
        since: Instant,
        /// The next tick.
        until: Instant,
    },
    /// Slightly more than the interarrival time is waited for another segment (Heidemann 1997).
    Interarrival {
        /// When the first unacknowledged segment arrived.
        since: Instant,
        /// When the wait ends.
        until: Instant,
    },
    /// A prober withholds it on purpose.
    Withheld {
        /// When the first unacknowledged segment arrived.
        since: Instant,
        /// When the wait ends.
        until: Instant,
    },
}

/// Why this end is in TIME-WAIT. Like [`Wait`], not `non_exhaustive`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum TimeWaitReason {
    /// It closed first.
    ClosedFirst,
    /// Both closed at once, so both are.
    BothClosed,
    /// The peer closed first, and this end took it over (`ClosePolicy::Swap`).
    Swapped,
    /// Both have agreed that it is this end (`ClosePolicy::Negotiated`).
    Agreed,
}

impl TimeWaitReason {
    /// Whether the peer may have forgotten the connection because it relies on us: then this end waits
    /// in any case, and the RST of a peer that has forgotten does not end it.
    #[must_use]
    pub const fn is_relied_on(self) -> bool {
        matches!(self, Self::Swapped | Self::Agreed)
    }
}

/// Which timer a deadline belongs to.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Timer {
    /// RFC 6298.
    Retransmission,
    /// Zero-window probes (RFC 9293, section 3.8.6.1).
    Persist,
    /// The sender's silly-window override (RFC 9293, section 3.8.6.2.1).
    SillyWindowOverride,
    /// The delayed acknowledgement, whatever [`AckWait`] it serves.
    DelayedAck,
    /// The release of a corked small segment.
    Cork,
    /// The next segment of a sender that is paced.
    Pacing,
    /// Segments that were sent before one that has arrived count as lost (RFC 8985, section 6).
    Reordering,
    /// A probe for the tail of a flight (RFC 8985, section 7).
    TailLossProbe,
    /// 2 MSL.
    TimeWait,
    /// The user timeout: the connection is given up (RFC 9293, section 3.8.3).
    UserTimeout,
}

/// When to come back, and which timer asks.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Deadline {
    /// Not earlier than this.
    pub at: Instant,
    /// Who asks.
    pub timer: Timer,
}
