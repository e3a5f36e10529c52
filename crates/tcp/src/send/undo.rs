//! Whether a recovery was for nothing: all that was sent again has arrived twice (D-SACK, RFC 3708), or an ACK was
//! caused by the original of it (Eifel, RFC 3522).

use crate::{seq::SeqNumber, timestamp::timestamp, units::Instant};

/// What tells whether a recovery may be taken back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    /// SND.UNA when it began (Linux `undo_marker`), until it is taken back.
    from: Option<u64>,
    /// When the first retransmission left, on the timestamp clock (`retrans_stamp`).
    sent_again_at: Option<u32>,
    /// Bytes sent again that no D-SACK has reported (`undo_retrans`).
    unreported: u64,
}

impl Undo {
    /// A recovery begins; `from` where, if the policy would take it back.
    pub(crate) const fn new(from: Option<u64>) -> Self {
        Self { from, sent_again_at: None, unreported: 0 }
    }

    /// The recovery is taken back.
    pub(crate) const fn end(&mut self) {
        self.from = None;
    }

    /// These `bytes` have left again.
    pub(crate) fn on_sent_again(&mut self, bytes: u64, now: Instant) {
        self.sent_again_at.get_or_insert_with(|| timestamp(now));
        self.unreported += bytes;
    }

    /// A D-SACK (RFC 2883) reports `[left, right)`.
    pub(crate) fn on_d_sack(&mut self, left: u64, right: u64) {
        if self.from.is_some_and(|from| from <= left) {
            self.unreported = self.unreported.saturating_sub(right - left);
        }
    }

    /// Whether all that was sent again arrived twice.
    pub(crate) const fn is_all_reported(&self) -> bool {
        self.from.is_some() && self.sent_again_at.is_some() && self.unreported == 0
    }

    /// Whether the ACK that echoes this timestamp was caused by the original of what was sent again
    /// (Linux `tcp_packet_delayed`).
    fn is_delayed(&self, echo: Option<u32>) -> bool {
        let Some(first) = self.sent_again_at else { return true };
        echo.is_some_and(|echo| SeqNumber(echo).precedes(SeqNumber(first)))
    }

    /// The same, while the recovery may be taken back.
    pub(crate) fn is_late_original(&self, echo: Option<u32>) -> bool {
        self.from.is_some() && self.is_delayed(echo)
    }

    /// Linux `tcp_may_undo`.
    pub(crate) fn may_undo(&self, echo: Option<u32>) -> bool {
        self.from.is_some() && (self.is_all_reported() || self.is_delayed(echo))
    }
}
