//! What an ACK tells beyond its number: losses by time, and what BBR learns of the path.

use super::{
    Endpoint,
    flight::{Amount, Flight, News},
    recovery::Phase,
};
use crate::{
    congestion::{Controller, Delivery, Repairing},
    units::Instant,
};

impl Endpoint {
    /// The connection is established: the handshake's round trip is the first.
    pub(super) fn begin_model(&mut self, now: Instant) {
        let round_trip = self.round_trip.smoothed();
        if let Some(round_trip) = round_trip {
            self.rack.on_round_trip(round_trip, now);
        }
        if let Controller::Bbr(bbr) = &mut self.congestion {
            bbr.begin(round_trip, self.config.bbr_phase, now);
        }
    }

    /// The application writes. If less than a segment was left to send, cwnd has room, and no loss is left to
    /// repair, the application limits the rate (Linux `tcp_rate_check_app_limited`).
    #[inline]
    pub(super) fn note_gap(&mut self) {
        if !matches!(self.congestion, Controller::Bbr(_)) {
            return;
        }
        let window = self.congestion.window();
        let Controller::Bbr(bbr) = &mut self.congestion else { return };
        let flight = self.flight.as_deref();
        let in_flight = flight.map_or_else(Amount::default, Flight::on_the_way);
        let left = self.sender.written_end.saturating_sub(self.sender.next);
        let idle = left < self.sender.mss.into()
            && in_flight.bytes < window.into()
            && flight.is_none_or(|flight| !flight.has_unrepaired());
        if idle {
            bbr.on_write_after_gap(in_flight.segments);
        }
    }

    /// The ACK has been taken. It `advances` SND.UNA, or `repeats` what was known.
    pub(super) fn take_news_of_flight(
        &mut self,
        ack: u64,
        advances: bool,
        repeats: bool,
        now: Instant,
    ) {
        if self.flight.is_none() {
            return;
        }
        self.rack_measure(now);
        if self.detects_by_time() {
            self.take_ack_of_probe(ack, repeats, now);
            self.detect_by_time(advances, now);
        }
    }

    /// cwnd has followed where it does by number; BBR's does now.
    pub(super) fn end_news(&mut self, now: Instant) {
        self.feed_model(now);
        self.drop_empty_flight();
    }

    /// Linux `tcp_rate_gen` and `tcp_cong_control`.
    fn feed_model(&mut self, now: Instant) {
        let Controller::Bbr(bbr) = &mut self.congestion else { return };
        let Some(flight) = self.flight.as_deref() else { return };
        let News { on_the_way, delivered, lost, last_round_trip, repeated, rate, .. } = flight.news;
        let delivery = Delivery {
            delivered,
            lost,
            rate,
            round_trip: last_round_trip.filter(|_| !repeated),
            delayed: on_the_way <= 1,
            in_flight_before: on_the_way,
            in_flight: flight.on_the_way().segments,
            repairing: match self.recovery.phase {
                Phase::Open => Repairing::Nothing,
                Phase::Fast(_) => Repairing::Losses,
                Phase::GoneBack | Phase::Forward => Repairing::Timeout,
            },
            srtt: self.round_trip.smoothed(),
            shortest: self.rack.min_rtt(),
        };
        bbr.on_ack(&delivery, now);
    }
}
