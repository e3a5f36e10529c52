//! Segments that wait for the next ACK, so that more leave together ([`DeferralPolicy`]; Linux
//! `tcp_tso_should_defer`).

use super::{Sender, flight::Flight, phase::Phase, piece::Piece};
use crate::{
    config::Config,
    congestion::{Controller, Windows},
    pacing,
    policy::{Deferrable, DeferralPolicy},
    units::{Instant, Nanos},
    wait::Wait,
};

impl Sender {
    /// Lets `piece` pass, unless it waits for an ACK.
    #[inline]
    pub(crate) fn unless_deferred(
        &mut self,
        piece: Piece,
        config: &Config,
        now: Instant,
    ) -> Result<Piece, Wait> {
        // What was begun is sent whole.
        let goes_on = |flight: &Flight| flight.is_in_burst() && self.timers.last_send() == now;
        let begins = self.in_flight.list().is_some_and(|flight| !goes_on(flight));
        if begins && self.may_defer(config) && self.is_deferred(&piece, now) {
            return Err(self.wait_for_ack());
        }
        Ok(piece)
    }

    #[inline]
    fn may_defer(&self, config: &Config) -> bool {
        config.policies.deferral != DeferralPolicy::Off && self.recovery.phase() == Phase::Open
    }

    #[inline(never)]
    fn is_deferred(&mut self, piece: &Piece, now: Instant) -> bool {
        let Some(flight) = self.in_flight.list() else { return false };
        // What would not become more is sent at once, and so is what the FIN ends: Linux puts it on the last buffer
        // of what is left.
        let (end, to_send) = (piece.end(), self.sequence.end());
        let ends = self.sequence.has_fin() && to_send - piece.start() <= LARGEST_BUFFER;
        if ends || end >= to_send || end <= self.sequence.max() || flight.probe().is_due() {
            return false;
        }
        let (Some(head), Some(srtt)) = (flight.head(), self.round_trips.smoothed()) else {
            return false;
        };
        let sent = match self.control.controller() {
            Controller::Bbr(control) => control.sent_at(),
            _ => self.timers.last_send(),
        };
        let (window, mss) = (self.control.window(), self.sequence.mss());
        let room =
            u64::from(window).saturating_sub(flight.pipe(self.sequence.una(), self.sequence.mss()));
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let facts = Deferrable {
            room: room / mss,
            window: window / mss,
            since_sent: Nanos::between(sent, now),
            oldest: Nanos::between(head.at(), now),
            srtt,
        };
        if !facts.waits() || u64::from(room) > to_send - piece.start() {
            return false;
        }
        if facts.room < LEAST_BURST && !self.control.has_model() {
            return true;
        }
        let burst = self.burst(srtt);
        if facts.room < burst {
            return true;
        }
        if let Some(flight) = self.in_flight.list_mut() {
            flight.plan_burst(burst); // It begins now.
        }
        false
    }

    /// Segments that the kernel would hand to a device at once (`tcp_tso_autosize`).
    #[inline]
    fn burst(&self, srtt: Nanos) -> u32 {
        let shortest = self.in_flight.min_rtt();
        if let Controller::Bbr(control) = self.control.controller() {
            return control.burst(shortest);
        }
        let Windows { congestion, threshold } = self.windows();
        // `tcp_update_pacing_rate`: twice the window in a round trip, or 1.2 times if slow start has not
        // far to go.
        let percent = if congestion < threshold / 2 { 200 } else { 120 };
        let rate = u64::from(congestion) * percent * 10_000 / srtt.micros().max(1);
        pacing::burst(rate, shortest, self.sequence.mss()).max(LEAST_BURST)
    }

    /// A segment is about to leave: it begins a burst, or goes on with one.
    #[inline]
    pub(super) fn note_burst(&mut self, config: &Config, now: Instant) {
        if self.in_flight.has_list() && self.may_defer(config) {
            self.note_burst_in_detail(now);
        }
    }

    #[inline(never)]
    fn note_burst_in_detail(&mut self, now: Instant) {
        let goes_on = self.timers.last_send() == now;
        let Some(flight) = self.in_flight.list_mut() else { return };
        let known = flight.take_planned_burst();
        if goes_on && flight.is_in_burst() {
            flight.go_on_with_burst();
            return;
        }
        let srtt = || self.round_trips.smoothed().unwrap_or_default();
        let burst = known.unwrap_or_else(|| self.burst(srtt()));
        if let Some(flight) = self.in_flight.list_mut() {
            flight.begin_burst(burst);
        }
    }
}

/// `GSO_LEGACY_MAX_SIZE`: what one buffer of the kernel's queue holds, if it was written at once.
const LARGEST_BUFFER: u64 = 65_536;
/// `net.ipv4.tcp_min_tso_segs`.
const LEAST_BURST: u32 = 2;
