//! What has arrived twice, which the next ACK reports once (D-SACK, RFC 2883).

use super::sequence::ReceiveSequence;
use crate::{segment::Segment, seq::SeqNumber};

/// What the next ACK reports to have arrived twice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DSack {
    start: SeqNumber,
    end: SeqNumber,
}

impl DSack {
    /// What of the segment was here before (Linux `tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_send_dupack`). Behind
    /// a gap, a segment counts that is here whole.
    pub(crate) fn of(segment: &Segment, sequence: &ReceiveSequence) -> Option<Self> {
        let (from, to) = (segment.data_start(), segment.end());
        let [start, end] = [from, to].map(|it| u64::try_from(sequence.position(it)).unwrap_or(0));
        if start < sequence.next() {
            Some(Self { start: from, end: sequence.number(end.min(sequence.next())) })
        } else if start < end && sequence.out_of_order().covers(start, end) {
            Some(Self { start: from, end: to })
        } else {
            None
        }
    }

    /// Linux `tcp_dsack_extend`: what overlaps is reported together; of two others, the first is.
    pub(crate) fn extended(self, other: Self) -> Self {
        if self.end.precedes(other.start) || other.end.precedes(self.start) {
            return self;
        }
        let start = if other.start.precedes(self.start) { other.start } else { self.start };
        Self { start, end: self.end.later(other.end) }
    }

    pub(crate) const fn block(self) -> (SeqNumber, SeqNumber) {
        (self.start, self.end)
    }
}
