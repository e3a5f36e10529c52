//! Converts sequence numbers to offsets in the two streams.

use ackwise_tcp::{Endpoint, Segment, SeqNumber};

/// The state of a connection's two streams, enough to interpret segments after the endpoint is
/// gone.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbers {
    iss: Option<SeqNumber>,
    irs: Option<SeqNumber>,
    /// Acknowledged bytes of the local stream.
    acknowledged: u64,
    /// Bytes of the peer's stream that arrived in order.
    received: u64,
    /// The first position (FIN included) of the peer's stream not covered by any segment.
    peer_end: u64,
}

impl Numbers {
    /// Updates the streams from the endpoint.
    pub(super) fn update(&mut self, endpoint: &Endpoint) {
        self.iss = Some(endpoint.initial_sequence());
        self.acknowledged = endpoint.acknowledged();
        self.received = endpoint.received();
    }

    /// Updates the streams from a received segment. Returns whether its start had been received
    /// before.
    pub(super) fn arrived(&mut self, segment: &Segment) -> bool {
        if segment.flags.syn {
            return self.irs.replace(segment.seq).is_some();
        }
        let Some(start) = self.theirs(segment.seq) else { return false };
        let before = self.peer_end;
        self.peer_end = before.max(start + u64::from(segment.sequence_length()));
        segment.sequence_length() > 0 && start < before
    }

    /// Offset of `number` in the local stream.
    pub(super) fn ours(&self, number: SeqNumber) -> Option<u64> {
        nearest(self.iss? + 1, self.acknowledged, number)
    }

    /// Offset of `number` in the peer's stream.
    pub(super) fn theirs(&self, number: SeqNumber) -> Option<u64> {
        nearest(self.irs? + 1, self.received, number)
    }
}

/// The possible offset of `number` nearest to `reference`, unless it is before the first byte,
/// `start`.
fn nearest(start: SeqNumber, reference: u64, number: SeqNumber) -> Option<u64> {
    u64::try_from(number.position(start, reference)).ok()
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::Flags;

    use super::*;

    #[test]
    fn offsets_go_on_where_numbers_wrap() {
        let start = SeqNumber(u32::MAX - 10);
        assert_eq!(nearest(start, 0, start), Some(0));
        assert_eq!(nearest(start, 0, start + 100), Some(100));
        assert_eq!(nearest(start, 0, start - 1), None, "the SYN is before the stream");
        let far = (1 << 40) + 5;
        assert_eq!(nearest(start, far, start + 5), Some(far));
        assert_eq!(nearest(start, far, start + 4), Some(far - 1));
    }

    #[test]
    fn what_repeats_is_told_from_what_is_new() {
        let mut numbers = Numbers::default();
        let data = |seq, len| Segment { seq: SeqNumber(seq), len, ..Segment::default() };
        let syn = Segment { seq: SeqNumber(99), flags: Flags::SYN, ..Segment::default() };
        let fin = Segment { flags: Flags::FIN, ..data(120, 0) };
        for (segment, repeats) in [
            (syn, false),
            (syn, true),
            (data(100, 10), false),
            (data(110, 10), false),
            (data(120, 0), false), // a pure ACK
            (data(110, 10), true),
            (data(115, 5), true),
            (fin, false),
            (fin, true),
        ] {
            assert_eq!(numbers.arrived(&segment), repeats, "{segment:?}");
        }
    }
}
