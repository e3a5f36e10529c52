//! What one ACK tells of the segments that were out.

use super::sent::Sent;
use crate::{
    congestion::Snapshot,
    units::{Instant, Nanos},
};

/// What one ACK tells of the segments that were out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct News {
    on_the_way: u32,
    highest: u64,
    delivered: u32,
    lost: u32,
    lost_again: bool,
    first_round_trip: Option<Nanos>,
    sacked_round_trip: Option<Nanos>,
    last_round_trip: Option<Nanos>,
    repeated: bool,
    rate: Option<(Snapshot, Instant)>,
}

impl News {
    /// An ACK is taken while these segments are `on_the_way`, and the highest that was delivered ends at `highest`.
    pub(crate) fn new(on_the_way: u32, highest: u64) -> Self {
        Self { on_the_way, highest, ..Self::default() }
    }

    /// Segments that were on their way before it.
    pub(crate) const fn on_the_way(&self) -> u32 {
        self.on_the_way
    }

    /// RACK.fack before it.
    #[inline]
    pub(crate) const fn highest(&self) -> u64 {
        self.highest
    }

    /// Segments that it has delivered.
    #[inline]
    pub(crate) const fn delivered(&self) -> u32 {
        self.delivered
    }

    /// Segments that are believed lost because of it.
    pub(crate) const fn lost(&self) -> u32 {
        self.lost
    }

    /// Some of them had been sent again.
    pub(crate) const fn has_lost_again(&self) -> bool {
        self.lost_again
    }

    /// The longest round trip of a segment that was sent once: of the one sent first. Of those that the ACK
    /// acknowledges by its number, once they are taken.
    pub(crate) const fn first_round_trip(&self) -> Option<Nanos> {
        self.first_round_trip
    }

    /// The same of those that it SACKs.
    pub(crate) const fn sacked_round_trip(&self) -> Option<Nanos> {
        self.sacked_round_trip
    }

    /// The round trip of the one sent last.
    pub(crate) const fn last_round_trip(&self) -> Option<Nanos> {
        self.last_round_trip
    }

    /// The round trip of the one sent last, unless the ACK acknowledges what was sent more than once.
    pub(crate) fn clear_round_trip(&self) -> Option<Nanos> {
        self.last_round_trip.filter(|_| !self.repeated)
    }

    /// A segment was acknowledged that was sent more than once.
    pub(crate) const fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// Of the delivered segment that was sent when most had been delivered.
    pub(crate) const fn rate(&self) -> Option<(Snapshot, Instant)> {
        self.rate
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

    /// A segment is acknowledged by number, which was `repeated` or not.
    pub(crate) const fn on_acknowledged(&mut self, repeated: bool) {
        self.repeated |= repeated;
    }

    /// These `segments` have arrived, and had arrived before.
    pub(crate) const fn on_duplicates(&mut self, segments: u32) {
        self.delivered += segments;
    }

    /// A segment is believed lost, which had been sent `again` or not.
    pub(crate) const fn on_lost(&mut self, again: bool) {
        self.lost += 1;
        self.lost_again |= again;
    }
}
