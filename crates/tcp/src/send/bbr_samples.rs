//! What BBR learns of the path from what is out.

use super::{flight::Flight, in_flight::InFlight, phase::Phase, sent::Amount};
use crate::{
    congestion::{Delivery, Repairing},
    units::Nanos,
};

impl InFlight {
    /// The application writes while `left` bytes are left to send; the segments that are out, if it limits the rate: less
    /// than a segment was left, cwnd has room, and no loss is left to repair (Linux `tcp_rate_check_app_limited`).
    pub(crate) fn before_gap(&self, left: u64, window: u32, mss: u32) -> Option<u32> {
        let flight = self.list();
        let out = flight.map_or_else(Amount::default, Flight::on_the_way);
        let idle = left < mss.into()
            && out.bytes < window.into()
            && flight.is_none_or(|flight| !flight.has_unrepaired());
        idle.then_some(out.segments)
    }

    /// What the ACK that is being taken has told (Linux `tcp_rate_gen` and `tcp_cong_control`).
    pub(crate) fn delivery(&self, phase: Phase, srtt: Option<Nanos>) -> Option<Delivery> {
        let flight = self.list()?;
        let news = flight.news();
        Some(Delivery {
            delivered: news.delivered,
            lost: news.lost,
            rate: news.rate,
            round_trip: news.clear_round_trip(),
            delayed: news.on_the_way <= 1,
            in_flight_before: news.on_the_way,
            in_flight: flight.on_the_way().segments,
            repairing: match phase {
                Phase::Open => Repairing::Nothing,
                Phase::Fast(_) => Repairing::Losses,
                Phase::GoneBack | Phase::Forward => Repairing::Timeout,
            },
            srtt,
            shortest: self.min_rtt(),
        })
    }
}
