//! What the edge of the receive window shows besides room.

use std::ops::RangeInclusive;

use std::ops::Range;

use ackwise_tcp::{Instant, Wait};

use super::{Acknowledgement, Hold, Nanos, PathDelays, Rule, SeenData, Sender};

impl Sender {
    /// RFC 9293, section 3.8.6.2.1: a sender that has less room than a segment sends it all the same when "the
    /// override timeout occurs", for which it recommends a range of 0.1 to 1.0 seconds.
    pub(crate) const OVERRIDE: RangeInclusive<Nanos> =
        Nanos::from_millis(100)..=Nanos::from_millis(1_000);

    /// Whether the receiver's program may have delayed an acknowledgement: Linux waits for it while the window
    /// shrinks, and acknowledges when it has read enough to double one that is used up (`__tcp_cleanup_rbuf`). And
    /// whether it may have without that, because the window is used up.
    pub(super) fn may_wait_for_reader(&mut self, ack: &Acknowledgement) -> [bool; 2] {
        let window = ack.edge.map(|edge| edge.saturating_sub(ack.acked));
        let offered = std::mem::replace(&mut self.offered, window);
        self.most_offered = self.most_offered.max(window.unwrap_or(0));
        let edge = self.acks_in_flight.back().map_or(self.edge, |it| it.edge);
        let was_used_up = edge.is_some_and(|edge| edge < self.highest + self.full);
        let doubles =
            window.zip(offered).is_some_and(|(now, before)| now > before && now >= before * 2);
        [window < offered || (was_used_up && doubles), was_used_up]
    }

    /// An acknowledgement of all that filled the window (`is_used_up`) came `late`. RFC 5681, section 4.2: two full
    /// segments are acknowledged at once, so that a link which brings more of them one by one delays no acknowledgement
    /// of all. Linux waits with it until its program has read (`__tcp_ack_snd_check`).
    pub(super) fn note_reader(&mut self, ack: &Acknowledgement, newly: u64, late: Nanos) {
        let is_of_all = self.full > 0 && newly > 2 * self.full && ack.acked >= self.highest;
        self.waits_for_reader |= is_of_all && late >= Self::READS;
    }

    /// No program that reads at once is so late. Our choice.
    const READS: Nanos = Nanos::from_millis(5);

    /// An acknowledgement has arrived. RFC 9293, section 3.8.6.2.1: a sender with more to send waits for room for a
    /// full segment, or for half of the largest window.
    pub(super) fn note_silly_window(&mut self, at: Instant) {
        let room = self.edge.map_or(0, |edge| edge.saturating_sub(self.highest));
        let enough = self.full.min(self.most_offered / 2);
        if self.flight() == 0 && (1..enough).contains(&room) {
            self.silly_since.get_or_insert(at);
        }
    }

    /// Whether data takes all that such a window has room for. No sender does that at once unless its message ends
    /// there: a timer sent it (the override timeout of section 3.8.6.2.1; in Linux the persist timer).
    pub(super) fn takes_silly_window(&self, data: &SeenData) -> bool {
        self.silly_since.is_some() && self.edge == Some(data.bytes.end) && data.loss.is_none()
    }

    /// What waited for the receive window waited for a silly one, since nothing was outstanding any more and it had
    /// some room; and for what it waited before, until when.
    pub(super) fn with_silly_window(
        &self,
        hold: Hold,
        data: &SeenData,
        sent: Instant,
    ) -> (Hold, Option<(Instant, Hold)>) {
        let is_closed = hold.waits_for_receiver() && hold.lost.is_none();
        let Some(since) = self.silly_since.filter(|_| is_closed) else { return (hold, None) };
        let silly = Hold { wait: Wait::SillyWindow, rule: Rule::SillyWindow, ..hold };
        // That a program writes what the window has room for, to the byte, just when a timer may send it, would be
        // a coincidence.
        let by_timer =
            self.takes_silly_window(data) && Nanos::between(since, sent) >= *Self::OVERRIDE.start();
        let silly = if by_timer && !self.lacks_ack { silly.for_sure() } else { silly };
        (silly, Some((since, hold)))
    }

    /// Whether the latest acknowledgement opened a window that had no room for data, and that left at once.
    pub(super) fn was_opened_for(
        &self,
        data: &SeenData,
        sent: Instant,
        delays: &PathDelays,
    ) -> bool {
        self.latest.as_ref().is_some_and(|it| {
            let had_no_room = it.usable_window.is_some_and(|room| room < data.len().min(data.full));
            had_no_room && it.at + delays.immediate >= sent
        })
    }

    /// It had an acknowledgement that the capture lacks.
    pub(crate) const fn miss_ack(&mut self) {
        self.lacks_ack = true;
    }

    /// Whether data is beyond the window that any captured acknowledgement shows: the one that opened it is
    /// missing. A probe of a closed window is one byte beyond it.
    pub(super) fn is_beyond_window(&self, data: &SeenData) -> bool {
        let in_flight = self.acks_in_flight.iter().filter_map(|it| it.edge).max();
        let edge = self.edge.max(in_flight);
        data.loss.is_none() && edge.is_some_and(|edge| data.bytes.end > edge + 1)
    }

    /// Whether an acknowledgement lets no more data go.
    pub(super) fn leaves_no_room(&self, ack: &Acknowledgement) -> bool {
        ack.edge.is_some_and(|edge| edge < self.highest + self.full)
    }

    /// Whether the capture has the acknowledgement of what is sent again, which let nothing more go.
    pub(super) fn is_known_to_fill_window(&self, data: &SeenData) -> bool {
        let newest = self.acks_in_flight.back().map(|it| (it.acked, it.edge));
        let (acked, edge) = newest.unwrap_or((self.acked, self.edge));
        let enough = self.highest + self.full;
        // It was sent before the window had opened, if that had not yet reached its sender.
        let has_room = |edge: Option<u64>| edge.is_none_or(|edge| edge >= enough);
        data.bytes.end <= acked && !(has_room(edge) && has_room(self.edge))
    }

    /// The longest that a round trip to this sender takes: data beyond the window that it knew was sent after
    /// an acknowledgement that moved the edge. If that is missing, a later one takes its place, so it takes two.
    pub(crate) fn round_trip_at_most(
        &mut self,
        bytes: &Range<u64>,
        seen: Instant,
    ) -> Option<Nanos> {
        let edge = self.edge?;
        // A probe of a closed window is one byte beyond it.
        if bytes.end <= edge || bytes.end <= bytes.start + 1 {
            return None;
        }
        let older = self.acks_in_flight.partition_point(|it| it.edge < Some(bytes.end));
        let ack = self.acks_in_flight.get(older)?;
        let at_most = Nanos::between(ack.seen, seen);
        match self.opening {
            Some((packet, known)) if packet == ack.packet => {
                self.opening = Some((packet, known.min(at_most)));
                None
            }
            before => {
                self.opening = Some((ack.packet, at_most));
                before.map(|(_, known)| known.max(at_most))
            }
        }
    }
}
