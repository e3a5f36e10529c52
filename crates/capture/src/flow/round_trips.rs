//! Round trips of a connection, from the capture point to each end and back, as a distribution.
//!
//! What a sender would measure there, one at a time: the time from new data to the first ACK that covers
//! it, which includes an ACK's delay. Data that is sent again gives none (Karn's algorithm, RFC 6298,
//! section 3). The attribution's own estimates of the path are elsewhere: they leave delayed ACKs out.

use ackwise_tcp::Instant;

use super::samples::Samples;
use crate::measures::RoundTripTimes;

/// The round trips in one direction: data that way, and its ACK.
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrips {
    /// Up to where the data goes that is timed, and when it was seen.
    timed: Option<(u64, Instant)>,
    /// When a SYN was seen that is not answered yet.
    syn: Option<Instant>,
    samples: Samples,
}

impl RoundTrips {
    /// A SYN goes that way; a second one makes it unclear which is answered.
    pub(super) fn handle_syn(&mut self, now: Instant, again: bool) {
        self.syn = (!again).then_some(now);
    }

    /// The SYN was answered.
    pub(super) fn answer_syn(&mut self, now: Instant) {
        if let Some(sent) = self.syn.take() {
            self.samples.add(now.saturating_since(sent));
        }
    }

    /// Data up to `end` goes that way.
    pub(super) fn handle_data(&mut self, end: u64, new: bool, now: Instant) {
        match new {
            false => self.timed = None,
            true => _ = self.timed.get_or_insert((end, now)),
        }
    }

    /// Everything up to `acked` is acknowledged.
    pub(super) fn handle_ack(&mut self, acked: u64, now: Instant) {
        if let Some((_, sent)) = self.timed.take_if(|(end, _)| *end <= acked) {
            self.samples.add(now.saturating_since(sent));
        }
    }

    pub(super) fn times(&self) -> Option<RoundTripTimes> {
        let (samples, least, [median, p95]) = self.samples.percentiles([50, 95])?;
        Some(RoundTripTimes::new(samples, [least, median, p95]))
    }
}

#[cfg(test)]
mod tests {
    use std::{num::NonZeroU32, time::Duration};

    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::EPOCH + Duration::from_micros(micros)
    }

    #[test]
    fn new_data_is_timed_until_it_is_acknowledged() {
        let mut round_trips = RoundTrips::default();
        round_trips.handle_syn(at(0), false);
        round_trips.answer_syn(at(100));
        round_trips.answer_syn(at(900));
        round_trips.handle_data(1_000, true, at(1_000));
        round_trips.handle_data(2_000, true, at(1_200));
        round_trips.handle_ack(999, at(1_300));
        round_trips.handle_ack(2_000, at(1_340));
        round_trips.handle_data(3_000, true, at(2_000));
        round_trips.handle_data(3_000, false, at(9_000));
        round_trips.handle_ack(3_000, at(9_100));
        let times = round_trips.times().unwrap();
        let samples = NonZeroU32::new(2).unwrap();
        assert_eq!(times, RoundTripTimes::new(samples, [100, 340, 340]));
    }

    #[test]
    fn a_repeated_syn_is_not_timed() {
        let mut round_trips = RoundTrips::default();
        round_trips.handle_syn(at(0), false);
        round_trips.handle_syn(at(1_000), true);
        round_trips.answer_syn(at(1_100));
        assert_eq!(round_trips.times(), None);
    }
}
