//! What BBR learns of the path from an ACK.

use super::{Sender, flight::Flight, phase::Phase, sent::Amount};
use crate::{
    config::Config,
    congestion::{Bbr, Controller, Delivery, Repairing},
    units::Instant,
};

impl Sender {
    /// The connection is established: the handshake's round trip is the first.
    pub(super) fn begin_model(&mut self, config: &Config, now: Instant) {
        let round_trip = self.round_trip.smoothed();
        if let Some(round_trip) = round_trip {
            self.in_flight.on_round_trip(round_trip, now);
        }
        if let Controller::Bbr(bbr) = &mut self.congestion {
            // The driver draws the ISS, so connections of one host begin with different phases.
            let drawn = self.sequence.iss().0 % u32::from(Bbr::PHASES);
            let phase = u32::from(config.bbr_phase) + drawn;
            bbr.begin(round_trip, u8::try_from(phase).unwrap_or(0), now);
        }
    }

    /// The application writes. If less than a segment was left to send, cwnd has room, and no loss is left to
    /// repair, the application limits the rate (Linux `tcp_rate_check_app_limited`).
    #[inline]
    pub(crate) fn note_gap(&mut self) {
        if !matches!(self.congestion, Controller::Bbr(_)) {
            return;
        }
        let window = self.congestion.window();
        let Controller::Bbr(bbr) = &mut self.congestion else { return };
        let flight = self.in_flight.list();
        let in_flight = flight.map_or_else(Amount::default, Flight::on_the_way);
        let left = self.sequence.written_end().saturating_sub(self.sequence.next());
        let idle = left < self.sequence.mss().into()
            && in_flight.bytes < window.into()
            && flight.is_none_or(|flight| !flight.has_unrepaired());
        if idle {
            bbr.on_write_after_gap(in_flight.segments);
        }
    }

    /// Linux `tcp_rate_gen` and `tcp_cong_control`.
    pub(super) fn feed_model(&mut self, now: Instant) {
        let Controller::Bbr(bbr) = &mut self.congestion else { return };
        let Some(flight) = self.in_flight.list() else { return };
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
            srtt: self.round_trip.smoothed(),
            shortest: self.in_flight.min_rtt(),
        };
        bbr.on_ack(&delivery, now);
    }
}
