//! The most recently sent segment that was delivered, with which RACK compares the others (RFC 8985).

use super::sent::Sent;
use crate::units::{Instant, Nanos};

/// The most recently sent segment that was delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest {
    /// RACK.xmit_ts and RACK.end_seq.
    at: Instant,
    end: u64,
    /// RACK.rtt.
    round_trip: Nanos,
    /// RACK.fack: the end of the highest segment that has been delivered.
    highest: u64,
    /// RACK.dsack_round: until this is acknowledged, a further D-SACK does not count. 0: not set.
    dsack_until: u64,
    /// A segment was delivered since losses were looked for.
    advanced: bool,
    /// How far below a higher one one was delivered that was sent once only, in bytes; 0 if none was.
    overtaken: u32,
    /// Of a retransmission that was delivered: too short a round trip means the first copy was.
    shortest: Nanos,
}

impl Latest {
    /// RACK.fack: the end of the highest segment that has been delivered.
    #[inline]
    pub(crate) const fn highest(&self) -> u64 {
        self.highest
    }

    /// How far below a higher one one was delivered that was sent once only, in bytes; 0 if none was.
    pub(crate) const fn overtaken(&self) -> u32 {
        self.overtaken
    }

    /// No round trip is shorter than this one.
    pub(crate) const fn set_shortest(&mut self, round_trip: Nanos) {
        self.shortest = round_trip;
    }

    /// Whether a segment was delivered since losses were looked for.
    pub(crate) const fn has_advanced(&self) -> bool {
        self.advanced
    }

    /// Losses are looked for.
    pub(crate) const fn note_search(&mut self) {
        self.advanced = false;
    }

    /// Losses are to be looked for again.
    pub(crate) const fn search_again(&mut self) {
        self.advanced = true;
    }

    /// A D-SACK arrives while `una` is acknowledged and everything before `max` was sent; whether it counts: once in a
    /// round trip.
    pub(crate) const fn counts_dsack(&mut self, una: u64, max: u64) -> bool {
        let counts = self.dsack_until <= una;
        if counts {
            self.dsack_until = max;
        }
        counts
    }

    /// RFC 8985, section 6.2, steps 2 and 3. As in Linux `tcp_rack_advance`, the round trip is that of the
    /// last delivered segment, also if one that was sent later had been delivered before.
    ///
    /// What an ACK acknowledges has not been overtaken by what it SACKs, only by what was SACKed before (`prior_fack` in
    /// `tcp_clean_rtx_queue`).
    pub(crate) fn on_delivered(&mut self, sent: &Sent, highest: u64, now: Instant) {
        self.highest = self.highest.max(sent.end());
        if sent.end() < highest && !sent.is_repeated() {
            let by = u32::try_from(highest - sent.end()).unwrap_or(u32::MAX);
            self.overtaken = self.overtaken.max(by);
        }
        let round_trip = Nanos::between(sent.at(), now);
        // "If the segment was retransmitted and the RTT is less than RACK.min_rtt": its first copy arrived.
        if sent.is_repeated() && round_trip < self.shortest {
            return;
        }
        self.advanced = true;
        self.round_trip = round_trip;
        if self.is_after(sent) {
            return;
        }
        (self.at, self.end) = (sent.at(), sent.end());
    }

    /// RACK_sent_after(): whether it was sent after `sent`.
    pub(crate) fn is_after(&self, sent: &Sent) -> bool {
        (self.at, self.end) > (sent.at(), sent.end())
    }

    /// How long `sent` may still take before it counts as lost.
    pub(crate) fn remaining(&self, sent: &Sent, window: Nanos, now: Instant) -> Nanos {
        (self.round_trip + window) - Nanos::between(sent.at(), now)
    }
}
