//! Segments that wait for the next ACK, so that more leave together ([`DeferralPolicy`]).

use super::{Endpoint, flight::Flight, output::Piece, recovery::Phase};
use crate::{
    congestion::{Controller, Windows},
    pacing,
    policy::{Deferrable, DeferralPolicy},
    units::{Instant, Nanos},
    wait::Wait,
};

impl Endpoint {
    /// Lets `piece` pass, unless it waits for an ACK.
    #[inline]
    pub(super) fn unless_deferred(&self, piece: Piece, now: Instant) -> Result<Piece, Wait> {
        match self.flight.as_deref() {
            Some(flight) if self.may_defer() && self.is_deferred(flight, &piece, now) => {
                Err(self.wait_for_ack())
            }
            _ => Ok(piece),
        }
    }

    #[inline]
    fn may_defer(&self) -> bool {
        self.config.policies.deferral != DeferralPolicy::Off && self.recovery.phase == Phase::Open
    }

    #[inline(never)]
    fn is_deferred(&self, flight: &Flight, piece: &Piece, now: Instant) -> bool {
        let mss = self.sender.mss;
        // What was begun is sent whole, and so is what would not become more.
        let last = piece.end() >= self.sender.end() || piece.end() <= self.sender.max;
        if last || flight.probe.is_due() || (flight.burst > 0 && self.timers.last_send == now) {
            return false;
        }
        let (Some(head), Some(srtt)) = (flight.head_sent(), self.round_trip.smoothed()) else {
            return false;
        };
        let window = self.congestion.window();
        let room = u64::from(window).saturating_sub(flight.pipe(self.sender.una));
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        let sent = match &self.congestion {
            Controller::Bbr(control) => control.sent_at(),
            _ => self.timers.last_send,
        };
        let facts = Deferrable {
            room: room / mss,
            window: window / mss,
            since_sent: Nanos::between(sent, now),
            oldest: Nanos::between(head, now),
            srtt,
        };
        let left = self.sender.end() - piece.start;
        facts.waits() && room / mss < self.burst() && u64::from(room) <= left
    }

    /// Segments that the kernel would hand to a device at once (`tcp_tso_autosize`).
    fn burst(&self) -> u32 {
        let shortest = self.rack.min_rtt();
        if let Controller::Bbr(control) = &self.congestion {
            return control.burst(shortest);
        }
        let Windows { congestion, threshold } = self.windows();
        // `tcp_update_pacing_rate`: twice the window in a round trip, or 1.2 times if slow start has not
        // far to go.
        let percent = if congestion < threshold / 2 { 200 } else { 120 };
        let srtt = self.round_trip.smoothed().map_or(1, Nanos::micros).max(1);
        let rate = u64::from(congestion) * percent * 10_000 / srtt;
        pacing::burst(rate, shortest, self.sender.mss).max(LEAST_BURST)
    }

    /// A segment is about to leave: it begins a burst, or goes on with one.
    #[inline]
    pub(super) fn note_burst(&mut self, now: Instant) {
        if self.flight.is_some() && self.may_defer() {
            self.note_burst_in_detail(now);
        }
    }

    #[inline(never)]
    fn note_burst_in_detail(&mut self, now: Instant) {
        let goes_on = self.timers.last_send == now;
        let burst = self.burst();
        let Some(flight) = self.flight.as_deref_mut() else { return };
        flight.burst = match flight.burst {
            left @ 1.. if goes_on => left - 1,
            _ => u16::try_from(burst).unwrap_or(u16::MAX).saturating_sub(1),
        };
    }
}

/// `net.ipv4.tcp_min_tso_segs`.
const LEAST_BURST: u32 = 2;
