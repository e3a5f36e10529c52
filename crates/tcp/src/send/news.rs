//! What one ACK tells of the segments that were out.

use super::sent::Sent;
use crate::{
    congestion::Snapshot,
    units::{Instant, Nanos},
};

/// What one ACK tells of the segments that were out. Only their list writes it: all others see it by reference.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct News {
    /// Segments that were on their way before it.
    pub(crate) on_the_way: u32,
    /// RACK.fack before it.
    pub(crate) highest: u64,
    /// Segments that it has delivered.
    pub(crate) delivered: u32,
    /// Segments that are believed lost because of it.
    pub(crate) lost: u32,
    /// Some of them had been sent again.
    pub(crate) lost_again: bool,
    /// The longest round trip of a segment that was sent once: of the one sent first. Of those that the ACK
    /// acknowledges by its number, once they are taken.
    pub(crate) first_round_trip: Option<Nanos>,
    /// The same of those that it SACKs.
    pub(crate) sacked_round_trip: Option<Nanos>,
    /// The round trip of the one sent last.
    pub(crate) last_round_trip: Option<Nanos>,
    /// A segment was acknowledged that was sent more than once.
    pub(crate) repeated: bool,
    /// Of the delivered segment that was sent when most had been delivered.
    pub(crate) rate: Option<(Snapshot, Instant)>,
}

impl News {
    /// An ACK is taken while these segments are `on_the_way`, and the highest that was delivered ends at `highest`.
    pub(crate) fn new(on_the_way: u32, highest: u64) -> Self {
        Self { on_the_way, highest, ..Self::default() }
    }

    /// The round trip of the one sent last, unless the ACK acknowledges what was sent more than once.
    pub(crate) fn clear_round_trip(&self) -> Option<Nanos> {
        self.last_round_trip.filter(|_| !self.repeated)
    }

    /// What was SACKed is known; what the ACK acknowledges by its number follows.
    pub(crate) const fn begin_acknowledged(&mut self) {
        self.sacked_round_trip = self.first_round_trip.take();
    }

    /// A segment has arrived.
    pub(crate) fn on_delivered(&mut self, sent: &Sent, now: Instant) {
        self.delivered += 1;
        if !sent.is_repeated() {
            let round_trip = Nanos::between(sent.at(), now);
            self.first_round_trip = self.first_round_trip.max(Some(round_trip));
            self.last_round_trip =
                Some(self.last_round_trip.map_or(round_trip, |known| known.min(round_trip)));
        }
        if self.rate.is_none_or(|(known, _)| known.is_before(sent.snapshot())) {
            self.rate = Some((sent.snapshot(), sent.at()));
        }
    }

    /// A segment is acknowledged by number.
    pub(crate) const fn on_acknowledged(&mut self, sent: &Sent) {
        self.repeated |= sent.is_repeated();
    }

    /// These `segments` have arrived, and had arrived before.
    pub(crate) const fn on_duplicates(&mut self, segments: u32) {
        self.delivered += segments;
    }

    /// A segment is believed lost.
    pub(crate) const fn on_lost(&mut self, sent: &Sent) {
        self.lost += 1;
        self.lost_again |= sent.is_out_again();
    }
}
