//! When the sender holds a small segment back, hoping for more data to go with it.

use core::time::Duration;

/// When a segment smaller than the MSS waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum HoldPolicy {
    /// Never (`TCP_NODELAY`).
    Off,
    /// RFC 896 as RFC 9293, section 3.7.4, words it: while *any* data is unacknowledged.
    Nagle,
    /// As BSD computes it: "idle" is found out once per call of `tcp_output`, so the small tail of one
    /// write leaves with its full segments (`netinet/tcp_output.c`).
    BsdNagle,
    /// Only while an earlier *small* segment is unacknowledged (draft-minshall-nagle; Linux).
    Minshall,
    /// Until the application uncorks, a full segment is there, or `release` has passed (`TCP_CORK`,
    /// `MSG_MORE`: 200 ms on Linux).
    Cork {
        /// How long a small segment is held at most.
        release: Duration,
    },
}

/// All that the decision may depend on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Pending {
    /// Bytes that the segment would carry; at least one.
    pub size: u32,
    /// The size of a full segment.
    pub mss: u32,
    /// The segment would take all that the application has written.
    pub empties_buffer: bool,
    /// The segment would carry the FIN.
    pub carries_fin: bool,
    /// Half of the largest window that the peer has ever offered.
    pub half_max_window: u32,
    /// Data is unacknowledged now.
    pub outstanding: bool,
    /// Data was unacknowledged when this call began (BSD's `idle`, negated).
    pub outstanding_at_call: bool,
    /// A small segment is unacknowledged (Linux: `snd_sml` after `snd_una`).
    pub small_outstanding: bool,
}

/// Whether a segment may leave.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HoldDecision {
    /// It may.
    Send,
    /// Held until data is acknowledged.
    Nagle,
    /// Held until a small segment is acknowledged.
    Minshall,
    /// Held until uncorked or for [`HoldPolicy::release`].
    Cork,
    /// More is written than the window allows, and what it allows is silly.
    SillyWindow,
}

impl HoldPolicy {
    /// How long Linux holds a small segment under `TCP_CORK` or `MSG_MORE`: its shortest
    /// retransmission timeout (`net/ipv4/tcp_output.c`, `TCP_RTO_MIN`).
    pub const LINUX_CORK_RELEASE: Duration = Duration::from_millis(200);
    /// `TCP_CORK` as Linux has it.
    pub const LINUX_CORK: Self = Self::Cork { release: Self::LINUX_CORK_RELEASE };

    /// How long a small segment is held at most, if time alone releases it.
    #[must_use]
    pub const fn release(self) -> Option<Duration> {
        match self {
            Self::Cork { release } => Some(release),
            Self::Off | Self::Nagle | Self::BsdNagle | Self::Minshall => None,
        }
    }

    /// Whether a segment may leave now.
    ///
    /// RFC 9293, section 3.8.6.2.1, sends a full segment, all that is queued, or half of the largest
    /// window; section 3.7.4 says of what is queued: "If there is unacknowledged data [...], then the
    /// sending TCP endpoint buffers all user data (regardless of the PSH bit)". `Off` is the
    /// per-connection switch that MUST-17 requires.
    #[must_use]
    pub fn decide(self, pending: Pending) -> HoldDecision {
        // Section 3.8.6.2.1, condition 3: "[SND.NXT = SND.UNA and] min(D,U) >= Fs * Max(SND.WND)". The
        // bracket is "imposed by the Nagle algorithm"; BSD and Linux leave it out.
        let bracketed = self == Self::Nagle && pending.outstanding;
        let large = pending.size >= pending.half_max_window.max(1) && !bracketed;
        if pending.size >= pending.mss || large {
            return HoldDecision::Send;
        }
        if !pending.empties_buffer {
            return HoldDecision::SillyWindow;
        }
        // Closing flushes: the FIN is by itself a reason to send (BSD, Linux `tcp_nagle_test`).
        if pending.carries_fin {
            return HoldDecision::Send;
        }
        match self {
            Self::Nagle if pending.outstanding => HoldDecision::Nagle,
            Self::BsdNagle if pending.outstanding_at_call => HoldDecision::Nagle,
            Self::Minshall if pending.small_outstanding => HoldDecision::Minshall,
            Self::Cork { .. } => HoldDecision::Cork,
            Self::Off | Self::Nagle | Self::BsdNagle | Self::Minshall => HoldDecision::Send,
        }
    }
}
