//! Acknowledgements that arrive at the sender.

use ackwise_tcp::Instant;

use super::{Acknowledgement, Arrived, Nanos, PathDelays, Sender};
use crate::attribution::clock::is_later;

impl Sender {
    /// Acknowledgements that have arrived by `now`, or within the `tolerance`. All of those together may be the
    /// reason for what is sent then, unless that echoes an earlier timestamp (RFC 7323, section 4.3): it left before
    /// they arrived.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        tolerance: Nanos,
        delays: &PathDelays,
        echo: Option<u32>,
    ) {
        let mut together: Option<Arrived> = None;
        while let Some(ack) = self.acks_in_flight.front().copied() {
            let at = ack.seen + delays.sender;
            let is_later = |(stamp, echo)| is_later(stamp, echo);
            if at > now + tolerance || ack.stamp.zip(echo).is_some_and(is_later) {
                break;
            }
            self.acks_in_flight.pop_front();
            let left = ack.seen - delays.receiver;
            let arrived = self.take(&ack, left, at);
            let first = together.take().filter(|first| first.at + tolerance >= now);
            together = Some(first.map_or(arrived, |first| arrived.merged_with(&first)));
        }
        if together.is_some() {
            self.latest = together;
        }
    }

    /// An acknowledgement has arrived.
    fn take(&mut self, ack: &Acknowledgement, left: Instant, at: Instant) -> Arrived {
        let before = self.flight();
        let usable_window = self.edge.map(|edge| edge.saturating_sub(self.highest));
        let newly = ack.acked.saturating_sub(self.acked);
        let (least_window, sure_window) = (self.window.least, self.window.sure(self.full));
        self.window.acknowledged(newly, self.full, [ack.acked, self.highest]);
        let small_acknowledged = self.small_end > self.acked && self.small_end <= ack.acked;
        self.acked += newly;
        if newly > 0 {
            self.first_ack.get_or_insert(at);
        }
        if self.flight() * 3 <= self.left_with[0] * 2 {
            self.room_at.get_or_insert(at);
        }
        self.first_flight.acknowledged |= newly > 0;
        if let Some(room) = usable_window
            && room < self.full
            && ack.edge > self.edge
            && self.opened.is_none_or(|(least, _)| room <= least)
        {
            self.opened = Some((room, at));
        }
        self.edge = ack.edge;
        self.note_silly_window(at);
        self.recovered |= self.recover.take_if(|recover| self.acked >= *recover).is_some();
        let (packet, flight) = (ack.packet, [before, self.flight()]);
        Arrived {
            packet,
            left,
            at,
            flight,
            usable_window,
            least_window,
            sure_window,
            small_acknowledged,
            sacks: ack.sacks,
            in_bunch: false,
        }
    }
}
