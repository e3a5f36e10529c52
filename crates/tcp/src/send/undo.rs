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

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_recovery_was_for_nothing_once_d_sacks_report_all_that_was_sent_again() {
        let mut undo = Undo::new(Some(1_001));
        assert!(!undo.is_all_reported(), "nothing was sent again");
        undo.on_sent_again(2_000, at(500));
        undo.on_d_sack(1, 1_001);
        assert!(!undo.is_all_reported(), "that was before");
        undo.on_d_sack(1_001, 2_001);
        assert!(!undo.is_all_reported(), "half of it");
        undo.on_d_sack(2_001, 3_001);
        assert!(undo.is_all_reported() && undo.may_undo(None));
        undo.end();
        assert!(!undo.may_undo(None), "it is taken back once");
    }

    #[test]
    fn an_echo_of_before_the_retransmission_is_that_of_the_original() {
        let mut undo = Undo::new(Some(1));
        undo.on_sent_again(1_000, at(500));
        for (echo, original) in [(Some(499), true), (Some(500), false), (None, false)] {
            assert_eq!(undo.is_late_original(echo), original, "{echo:?}");
        }
        let mut off = Undo::new(None);
        off.on_sent_again(1_000, at(500));
        assert!(!off.may_undo(Some(499)), "the policy has none of it");
    }
}
