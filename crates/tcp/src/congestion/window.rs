//! cwnd and ssthresh, with the steps that several controls share.

use super::{Acked, Repair, Windows};

/// No window is larger: 65,535 bytes shifted by 14 (RFC 7323, section 2.3).
pub(super) const LARGEST: u32 = 65_535 << 14;

/// cwnd and ssthresh in bytes. cwnd stays between one segment and [`LARGEST`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Window {
    pub(super) congestion: u32,
    pub(super) threshold: u32,
    pub(super) mss: u32,
    recovery: Recovery,
}

/// Whether a loss is being repaired, for which ssthresh has been reduced.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Recovery {
    No,
    /// Duplicate ACKs inflate cwnd.
    Inflating,
    /// By the scoreboard, so cwnd stays.
    Scoreboard,
}

impl Window {
    pub(crate) fn new(windows: Windows, mss: u32) -> Self {
        let mut window = Self { congestion: 0, threshold: 0, mss: 1, recovery: Recovery::No };
        window.set_segment_size(mss);
        window.set(windows);
        window
    }

    /// An MSS of zero counts as one: it comes from a peer, and everything divides by it.
    pub(super) fn set_segment_size(&mut self, mss: u32) {
        self.mss = mss.clamp(1, LARGEST / 4);
    }

    /// Goes on with other windows: after an idle time, or inherited. Less than a segment counts as one.
    pub(super) fn set(&mut self, windows: Windows) {
        self.set_congestion(windows.congestion);
        self.threshold = windows.threshold.max(self.mss);
        self.end_recovery();
    }

    pub(super) fn set_congestion(&mut self, congestion: u32) {
        self.congestion = congestion.clamp(self.mss, LARGEST);
    }

    pub(super) const fn in_slow_start(&self) -> bool {
        self.congestion < self.threshold
    }

    pub(super) fn in_recovery(&self) -> bool {
        self.recovery != Recovery::No
    }

    pub(super) const fn end_recovery(&mut self) {
        self.recovery = Recovery::No;
    }

    /// Whether the window was used, so that it may grow.
    ///
    /// In slow start half is enough: cwnd doubles in a round trip, so the flight of the last one is
    /// half of it (Linux `tcp_is_cwnd_limited`; RFC 7661, section 4.3).
    pub(super) fn was_used(&self, acked: Acked) -> bool {
        acked.window_limited
            || (self.in_slow_start() && self.congestion < acked.flight.saturating_mul(2))
    }

    pub(super) fn grow(&mut self, bytes: u32) {
        self.congestion = self.congestion.saturating_add(bytes).min(LARGEST);
    }

    /// Back to one segment: RFC 5681's loss window.
    pub(super) const fn collapse(&mut self) {
        self.congestion = self.mss;
        self.end_recovery();
    }

    /// RFC 5681, equation 4: "ssthresh = max (FlightSize / 2, 2*SMSS)".
    pub(super) fn half_of(&self, flight: u32) -> u32 {
        (flight / 2).max(2 * self.mss)
    }

    /// What is outstanding when duplicate ACKs announce a loss. RFC 5681, section 3.2: data sent by
    /// limited transmit (RFC 3042) "MUST NOT be included"; it is what goes beyond cwnd.
    pub(super) fn flight_at_loss(&self, flight: u32) -> u32 {
        flight.min(self.congestion)
    }

    /// RFC 6675, section 5, step 4.2, or RFC 5681, section 3.2, step 3: three segments have left the
    /// network, which only the scoreboard counts by itself.
    pub(super) fn enter_recovery(&mut self, threshold: u32, repair: Repair) {
        self.threshold = threshold;
        self.congestion = threshold.clamp(self.mss, LARGEST);
        self.recovery = Recovery::Scoreboard;
        if repair != Repair::Scoreboard {
            self.recovery = Recovery::Inflating;
            self.grow(3 * self.mss);
        }
    }

    /// RFC 5681, section 3.2, step 4: one more segment has left the network.
    pub(super) fn inflate(&mut self) {
        if self.recovery != Recovery::Scoreboard {
            self.grow(self.mss);
        }
    }

    /// RFC 6582, section 3.2, step 3: "Deflate the congestion window by the amount of new data
    /// acknowledged [...] If the partial ACK acknowledges at least one SMSS of new data, then add
    /// back SMSS bytes".
    pub(super) fn deflate_partially(&mut self, bytes: u32) {
        if self.recovery == Recovery::Scoreboard {
            return;
        }
        self.congestion = self.congestion.saturating_sub(bytes).max(self.mss);
        if bytes >= self.mss {
            self.grow(self.mss);
        }
    }

    /// RFC 6582, section 3.2, step 3, option 1: "Set cwnd to min (ssthresh, max(FlightSize, SMSS) +
    /// SMSS)", which avoids a burst. RFC 6675 leaves cwnd at ssthresh, where it is.
    pub(super) fn leave_recovery(&mut self, flight: u32) {
        if self.recovery != Recovery::Scoreboard {
            let without_burst = flight.max(self.mss).saturating_add(self.mss);
            self.congestion = self.threshold.min(without_burst).clamp(self.mss, LARGEST);
        }
        self.end_recovery();
    }
}
