//! Forward RTO-recovery (F-RTO, RFC 5682): a timeout that may have been spurious is put to the test.

/// A timeout that is put to the test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frto {
    /// What was sent again since ends here.
    again_to: u64,
    /// What was sent before ends here.
    sent_to: u64,
    /// Data in between was SACKed, though it was sent only once.
    original_sacked: bool,
}

/// What an ACK has done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// SND.UNA before it.
    pub(crate) from: u64,
    /// SND.UNA after it.
    pub(crate) una: u64,
    /// Bytes in between that were not SACKed before.
    pub(crate) fresh: u64,
}

impl Frto {
    /// The timer has expired while `[una, max)` was outstanding.
    pub(crate) const fn new(una: u64, max: u64) -> Self {
        Self { again_to: una, sent_to: max, original_sacked: false }
    }

    /// What ends at `end` has left again.
    pub(crate) fn on_sent_again(&mut self, end: u64) {
        self.again_to = self.again_to.max(end);
    }

    /// A SACK block that begins at `left` has told something new.
    pub(crate) const fn on_sacked(&mut self, left: u64) {
        self.original_sacked |= self.again_to <= left && left < self.sent_to;
    }

    /// Whether data was SACKed that was sent once only.
    pub(crate) const fn is_original_sacked(self) -> bool {
        self.original_sacked
    }

    /// RFC 5682, section 3.1, step 3b: data is acknowledged that was sent once only.
    pub(crate) fn acknowledges_original(self, progress: Progress) -> bool {
        let Progress { from, una, fresh } = progress;
        fresh > una.min(self.again_to).saturating_sub(from)
    }

    /// The same without SACK: what was sent once may have arrived before the timeout, so nothing that was sent again
    /// may be acknowledged with it (Linux `tcp_clean_rtx_queue`: "non-SACK case cannot confirm").
    pub(crate) fn acknowledges_original_only(self, progress: Progress) -> bool {
        progress.from >= self.again_to && self.acknowledges_original(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `[1, 10_001)` was out, and its first 1,000 bytes have left again.
    fn tested() -> Frto {
        let mut frto = Frto::new(1, 10_001);
        frto.on_sent_again(1_001);
        frto
    }

    #[test]
    fn an_ack_beyond_what_was_sent_again_is_that_of_an_original() {
        for (from, una, fresh, by_sack, without) in [
            (1, 1_001, 1_000, false, false),
            (1, 2_001, 2_000, true, false),
            (1_001, 2_001, 1_000, true, true),
            (1_001, 2_001, 0, false, false),
        ] {
            let progress = Progress { from, una, fresh };
            assert_eq!(tested().acknowledges_original(progress), by_sack, "{progress:?}");
            assert_eq!(tested().acknowledges_original_only(progress), without, "{progress:?}");
        }
    }

    #[test]
    fn a_sack_of_what_was_sent_once_before_the_timeout_is_that_of_an_original() {
        for (left, original) in [(501, false), (1_001, true), (9_001, true), (10_001, false)] {
            let mut frto = tested();
            frto.on_sacked(left);
            assert_eq!(frto.is_original_sacked(), original, "{left}");
        }
    }
}
