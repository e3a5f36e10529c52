//! What the edge of the receive window shows besides room.

use std::ops::Range;

use ackwise_tcp::Instant;

use super::{Acknowledgement, Nanos, SeenData, Sender};

impl Sender {
    /// Whether the receiver's program may have delayed an acknowledgement: Linux waits for it while the window
    /// shrinks, and acknowledges when it has read enough to double one that is used up (`__tcp_cleanup_rbuf`).
    pub(super) fn may_wait_for_reader(&mut self, ack: &Acknowledgement) -> bool {
        let window = ack.edge.map(|edge| edge.saturating_sub(ack.acked));
        let offered = std::mem::replace(&mut self.offered, window);
        self.most_offered = self.most_offered.max(window.unwrap_or(0));
        let edge = self.acks_in_flight.back().map_or(self.edge, |it| it.edge);
        let was_used_up = edge.is_some_and(|edge| edge < self.highest + self.full);
        let doubles =
            window.zip(offered).is_some_and(|(now, before)| now > before && now >= before * 2);
        window < offered || (was_used_up && doubles)
    }

    /// Whether an acknowledgement lets no more data go.
    pub(super) fn leaves_no_room(&self, ack: &Acknowledgement) -> bool {
        ack.edge.is_some_and(|edge| edge < self.highest + self.full)
    }

    /// Whether the capture has the acknowledgement of what is sent again, which let nothing more go.
    pub(super) fn is_known_to_fill_window(&self, data: &SeenData) -> bool {
        let newest = self.acks_in_flight.back().map(|it| (it.acked, it.edge));
        let (acked, edge) = newest.unwrap_or((self.acked, self.edge));
        let has_room = edge.is_none_or(|edge| edge >= self.highest + self.full);
        data.bytes.end <= acked && !has_room
    }

    /// The longest that a round trip to this sender takes: data beyond the window that it knew was sent after
    /// an acknowledgement that moved the edge.
    pub(crate) fn round_trip_at_most(&self, bytes: &Range<u64>, seen: Instant) -> Option<Nanos> {
        let edge = self.edge?;
        // A probe of a closed window is one byte beyond it.
        if bytes.end <= edge || bytes.end <= bytes.start + 1 {
            return None;
        }
        let older = self.acks_in_flight.partition_point(|it| it.edge < Some(bytes.end));
        self.acks_in_flight.get(older).map(|ack| Nanos::between(ack.seen, seen))
    }
}
