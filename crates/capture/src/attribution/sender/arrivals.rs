//! Acknowledgements that arrive at the sender.

use ackwise_tcp::Instant;

use super::{Acknowledgement, Arrived, Nanos, PathDelays, Sender, Stall};
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
        let mut is_first = true;
        let is_later = |(stamp, echo)| is_later(stamp, echo);
        let has_arrived = |ack: &mut Acknowledgement| {
            ack.seen + delays.sender <= now + tolerance
                && !ack.stamp.zip(echo).is_some_and(is_later)
        };
        while let Some(ack) = self.acks_in_flight.pop_front_if(has_arrived) {
            let at = ack.seen + delays.sender;
            let held = Some(ack.held).filter(|held| *held > Stall::least(delays.round_trip));
            let left = ack.seen - (delays.receiver + held.unwrap_or_default());
            let arrived = self.take(&ack, left, at);
            let together = |first: &&Arrived| !is_first && first.at + tolerance >= now;
            self.latest = Some(match self.latest.as_ref().filter(together) {
                Some(first) => arrived.merged_with(first),
                None => arrived,
            });
            is_first = false;
        }
    }

    /// A third of what was outstanding is acknowledged, or of what still was when acknowledgements came again after most
    /// of the time: for what the sender sent meanwhile, or by its size in memory, the first may not have been enough.
    fn note_room(&mut self, before: u64, at: Instant) {
        if let Some(last) = &self.last {
            let since = self.heard_at.replace(at).unwrap_or(last.sent).max(last.sent);
            if Nanos::between(since, at) * 2 > Nanos::between(last.sent, at) {
                (self.room_of, self.room_at) = (before, None);
            }
        }
        if self.flight() * 3 <= self.room_of * 2 {
            self.room_at.get_or_insert(at);
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
            self.progress_at = Some(at);
            self.repeated_acks = 0;
        } else {
            self.repeated_acks = self.repeated_acks.saturating_add(1);
        }
        self.note_room(before, at);
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
            held: ack.held,
            unread: ack.unread,
        }
    }
}
