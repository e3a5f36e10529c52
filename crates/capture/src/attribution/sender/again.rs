//! Data that was sent again, and what an acknowledgement shows of the copies.

use std::ops::Range;

use ackwise_cause::RepairedBy;
use ackwise_tcp::Instant;

use super::Sender;
use crate::attribution::{Acknowledgement, gap::Resolution, path::PathDelays};

/// Data that was sent again.
#[derive(Clone, Debug)]
pub(super) struct Again {
    pub packet: u64,
    pub seen: Instant,
    pub bytes: Range<u64>,
    pub by: RepairedBy,
    pub timestamp: Option<u32>,
    /// An acknowledgement came that does not show of which copy.
    pub acked: bool,
    /// Before that, one came of earlier data: that was still on its way when this was sent again.
    pub came_before: bool,
}

impl Again {
    /// A timer sent it, and the acknowledgement of it tells of a hole before it: that was lost.
    pub(super) fn probes_hole(&self, ack: &Acknowledgement) -> bool {
        self.by == RepairedBy::Timeout && ack.sacks && ack.acked < self.bytes.start
    }

    /// Takes note of an acknowledgement of earlier data, which tells of no hole.
    pub(super) const fn note_earlier(&mut self, ack: &Acknowledgement, acked_before: u64) {
        self.came_before |= ack.acked > acked_before && ack.acked < self.bytes.start && !ack.sacks;
    }

    /// RFC 3522 (Eifel): whether what is acknowledged is an earlier copy, by the timestamp that is echoed.
    /// Data before it could have been acknowledged instead if that was not yet (RFC 7323, section 4.3).
    pub(super) fn is_of_earlier_copy(
        &self,
        ack: &Acknowledgement,
        acked_before: u64,
    ) -> Option<bool> {
        let (sent, echo) = self.timestamp.zip(ack.echo)?;
        (acked_before >= self.bytes.start).then(|| sent.wrapping_sub(echo).cast_signed() > 0)
    }
}

impl Sender {
    /// What was sent again is acknowledged. If it then is reported to have arrived twice, that was the
    /// acknowledgement of the first copy: nothing had been lost.
    pub(crate) fn hear_after_acknowledgement(
        &mut self,
        duplicate: bool,
        delays: &PathDelays,
    ) -> Option<Resolution> {
        let again = self.again.take_if(|again| again.acked)?;
        let is_far = delays.is_far_from_receiver();
        if !duplicate || !is_far || again.by != RepairedBy::Timeout {
            return None;
        }
        (self.in_vain, self.recover) = (Some(again.packet), None);
        Some(Resolution::Spurious)
    }

    /// Nothing is outstanding, and the receiver reports that something arrived twice: if it is what was sent again, the
    /// acknowledgement of the first copy was lost, which the capture has.
    pub(crate) fn hear_duplicate(&mut self, delays: &PathDelays) -> Option<Resolution> {
        let late = self.hear_after_acknowledgement(true, delays);
        late.or_else(|| self.again.take().map(|_| Resolution::AckLost))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::Nanos;

    #[test]
    fn the_echoed_timestamp_tells_which_copy_was_acknowledged() {
        // The first copy left at 100, the second at 300.
        for (sent, echo, acked_before, earlier) in [
            (Some(300), Some(100), 1_000, Some(true)),
            (Some(300), Some(300), 1_000, Some(false)),
            (Some(300), Some(310), 1_000, Some(false)),
            (Some(5), Some(u32::MAX), 1_000, Some(true)),
            // Data before it was not acknowledged yet: its timestamp may be the one echoed.
            (Some(300), Some(100), 999, None),
            (None, Some(100), 1_000, None),
            (Some(300), None, 1_000, None),
        ] {
            let (packet, seen, bytes, by) = (1, Instant::EPOCH, 1_000..2_000, RepairedBy::Timeout);
            let (timestamp, acked, came_before) = (sent, false, false);
            let again = Again { packet, seen, bytes, by, timestamp, acked, came_before };
            let (acked, edge, sacks) = (2_000, None, false);
            let ack = Acknowledgement {
                packet: 2,
                seen,
                acked,
                edge,
                stamp: None,
                echo,
                sacks,
                is_pure: true,
                held: Nanos::ZERO,
                lost_before: false,
                unread: false,
            };
            let found = again.is_of_earlier_copy(&ack, acked_before);
            assert_eq!(found, earlier, "{sent:?} {echo:?} {acked_before}");
        }
    }
}
