//! The SACK blocks of a segment: what has arrived behind a gap (RFC 2018), and what has arrived twice, which the
//! next ACK reports once (D-SACK, RFC 2883).
//!
//! D-SACK takes nothing of an endpoint to which nothing arrived twice.

use super::{Endpoint, output::Transmit, receiver::Receiver};
use crate::{
    policy::DSackPolicy,
    segment::{SackBlocks, Segment},
    seq::SeqNumber,
};

/// What the next ACK reports to have arrived twice.
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicate {
    start: SeqNumber,
    end: SeqNumber,
}

impl Duplicate {
    /// Linux `tcp_dsack_extend`: what overlaps is reported together; of two others, the first is.
    fn extended(self, other: Self) -> Self {
        if self.end.precedes(other.start) || other.end.precedes(self.start) {
            return self;
        }
        let start = if other.start.precedes(self.start) { other.start } else { self.start };
        Self { start, end: self.end.later(other.end) }
    }
}

impl Endpoint {
    /// Notes what of the segment was here before, if that is reported (Linux `tcp_data_queue`,
    /// `tcp_data_queue_ofo`, `tcp_send_dupack`). Behind a gap, a segment counts that is here whole.
    pub(super) fn report_duplicate(&mut self, segment: &Segment) {
        if self.config.policies.d_sack == DSackPolicy::Off || !self.receiver.sack {
            return;
        }
        let receiver = &self.receiver;
        let (from, to) = (segment.data_start(), segment.end());
        let [start, end] = [from, to].map(|it| u64::try_from(receiver.position(it)).unwrap_or(0));
        let duplicate = if start < receiver.next {
            Duplicate { start: from, end: receiver.number(end.min(receiver.next)) }
        } else if start < end && receiver.out_of_order.covers(start, end) {
            Duplicate { start: from, end: to }
        } else {
            return;
        };
        let noted = &mut self.measured.get_or_insert_default().duplicate;
        *noted = Some(noted.map_or(duplicate, |known| known.extended(duplicate)));
    }

    /// Whether the next ACK reports something.
    #[inline]
    pub(super) fn has_duplicate(&self) -> bool {
        self.measured.as_deref().is_some_and(|measured| measured.duplicate.is_some())
    }

    /// The block that reports it, which counts as sent.
    pub(super) fn take_duplicate(&mut self) -> Option<(SeqNumber, SeqNumber)> {
        let Duplicate { start, end } = self.measured.as_deref_mut()?.duplicate.take()?;
        Some((start, end))
    }

    /// RFC 2018, section 4: the first block holds the segment that arrived last, the others are "the
    /// most recently reported". Few segments have any, so that they are added where those are.
    #[cold]
    pub(super) fn add_sack_blocks(&mut self, transmit: Option<&mut Transmit>) {
        let Some(Transmit { segment, .. }) = transmit else { return };
        if segment.flags.syn || segment.flags.rst {
            return;
        }
        let mut room = self.sack_block_count();
        if room > 0
            && let Some((start, end)) = self.take_duplicate()
        {
            // RFC 2883, section 4: once, and before all others.
            segment.options.sack.push(start, end);
            room -= 1;
        }
        let receiver = &self.receiver;
        for (start, end) in receiver.out_of_order.latest().take(room) {
            segment.options.sack.push(receiver.number(start), receiver.number(end));
        }
    }

    /// Whether ACKs carry SACK blocks.
    #[inline]
    pub(super) fn has_sack_blocks(&self) -> bool {
        self.receiver.sack && (!self.receiver.out_of_order.is_empty() || self.has_duplicate())
    }

    pub(super) fn sack_block_count(&self) -> usize {
        let Receiver { sack, timestamps, out_of_order, .. } = &self.receiver;
        let room = if *timestamps { SackBlocks::MAX - 1 } else { SackBlocks::MAX };
        let blocks = out_of_order.len() + usize::from(self.has_duplicate());
        if *sack { blocks.min(room) } else { 0 }
    }
}
