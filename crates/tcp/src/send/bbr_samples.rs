//! What BBR learns of the path from an ACK.

use super::{Sender, flight::Flight, phase::Phase, sent::Amount};
use crate::{
    congestion::{Delivery, Repairing},
    units::Instant,
};

impl Sender {
    /// The application writes. If less than a segment was left to send, cwnd has room, and no loss is left to
    /// repair, the application limits the rate (Linux `tcp_rate_check_app_limited`).
    #[inline]
    pub(crate) fn note_gap(&mut self) {
        if !self.control.has_model() {
            return;
        }
        let window = self.control.window();
        let flight = self.in_flight.list();
        let in_flight = flight.map_or_else(Amount::default, Flight::on_the_way);
        let left = self.sequence.written_end().saturating_sub(self.sequence.next());
        let idle = left < self.sequence.mss().into()
            && in_flight.bytes < window.into()
            && flight.is_none_or(|flight| !flight.has_unrepaired());
        if idle {
            self.control.on_write_after_gap(in_flight.segments);
        }
    }

    /// Linux `tcp_rate_gen` and `tcp_cong_control`.
    pub(super) fn feed_model(&mut self, now: Instant) {
        let Some(flight) = self.in_flight.list().filter(|_| self.control.has_model()) else {
            return;
        };
        let news = flight.news();
        let delivery = Delivery {
            delivered: news.delivered,
            lost: news.lost,
            rate: news.rate,
            round_trip: news.clear_round_trip(),
            delayed: news.on_the_way <= 1,
            in_flight_before: news.on_the_way,
            in_flight: flight.on_the_way().segments,
            repairing: match self.recovery.phase() {
                Phase::Open => Repairing::Nothing,
                Phase::Fast(_) => Repairing::Losses,
                Phase::GoneBack | Phase::Forward => Repairing::Timeout,
            },
            srtt: self.round_trips.smoothed(),
            shortest: self.in_flight.min_rtt(),
        };
        self.control.on_delivery(&delivery, now);
    }
}
