//! Linux's estimates of when to acknowledge: quick-ACK, "ping-pong" and the adaptive timeout
//! (`icsk_ack` in `include/net/inet_connection_sock.h`, as of Linux 6).
//!
//! Not here: compressed ACKs of out-of-order data (`tcp_comp_sack_*`), and a `rcv_mss` that shrinks.

use core::time::Duration;

use crate::units::Nanos;

/// The estimates of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickAck {
    /// `ato`, in microseconds; zero before the first data.
    time_out_us: u32,
    /// `quick`: ACKs that may still leave at once.
    credit: u8,
    /// `pingpong`: this end answers what it receives, so an answer will carry the ACK.
    interactive: bool,
    /// `ICSK_ACK_PUSHED` and `ICSK_ACK_PUSHED2`: small segments since the last ACK, two at most.
    small_segments: u8,
}

/// `TCP_ATO_MIN` and `TCP_DELACK_MIN`.
const MIN_US: u32 = 40_000;
/// `TCP_DELACK_MAX`.
const MAX_US: u32 = 200_000;
/// `TCP_MAX_QUICKACKS`.
const MAX_CREDIT: u8 = 16;

impl QuickAck {
    pub(crate) const NEW: Self =
        Self { time_out_us: 0, credit: 0, interactive: false, small_segments: 0 };

    /// Data has arrived, `gap` after other data (`tcp_event_data_recv`). Few gaps are as long as to
    /// ask for the RTO.
    pub(crate) fn data_arrived(
        &mut self,
        gap: Option<Nanos>,
        credit: Credit,
        rto: impl FnOnce() -> Nanos,
    ) {
        let Some(gap) = gap else {
            self.raise(credit);
            self.time_out_us = MIN_US;
            return;
        };
        let gap_us = microseconds(gap);
        if gap_us <= MIN_US / 2 {
            self.time_out_us = self.time_out_us / 2 + MIN_US / 2;
        } else if gap_us < self.time_out_us {
            self.time_out_us = (self.time_out_us / 2 + gap_us).min(microseconds(rto()));
        } else if gap > rto() {
            self.raise(credit); // "Too long gap. Apparently sender failed to restart window."
        }
    }

    /// It was less than a full segment (`tcp_measure_rcv_mss`).
    pub(crate) fn small_segment_arrived(&mut self) {
        self.small_segments = (self.small_segments + 1).min(2);
    }

    /// The window that Linux would offer grows (`tcp_grow_window`): "quick |= 1".
    pub(crate) const fn window_grows(&mut self) {
        self.credit |= 1;
    }

    /// What arrived was here before, so an ACK was lost (`tcp_enter_quickack_mode`).
    pub(crate) fn repetition_arrived(&mut self, credit: Credit) {
        self.raise(credit);
        self.interactive = false;
        self.time_out_us = MIN_US;
    }

    /// Data leaves so long after data arrived: if soon, it is an answer (`tcp_event_data_sent`).
    pub(crate) fn data_sent(&mut self, since_arrival: Option<Nanos>) {
        let soon = Nanos::from_micros(self.time_out_us.into());
        let answers = since_arrival.is_some_and(|since| since < soon);
        self.interactive |= answers;
    }

    /// An ACK has left that was not needed.
    pub(crate) const fn ack_sent(&mut self) {
        self.small_segments = 0;
    }

    /// One that was needed has left (`tcp_event_ack_sent`).
    pub(crate) const fn pending_ack_sent(&mut self) {
        self.ack_sent();
        if self.credit > 0 {
            self.credit -= 1;
            if self.credit == 0 {
                self.time_out_us = MIN_US;
            }
        }
    }

    /// The timeout was over before an answer left (`tcp_delack_timer_handler`).
    pub(crate) fn timed_out(&mut self, rto: Nanos) {
        if self.interactive {
            self.interactive = false;
            self.time_out_us = MIN_US;
        } else {
            self.time_out_us = self.time_out_us.saturating_mul(2).min(microseconds(rto));
        }
    }

    /// Whether ACKs leave at once (`tcp_in_quickack_mode`).
    pub(crate) const fn is_quick(&self) -> bool {
        self.credit > 0 && !self.interactive
    }

    /// Whether a reader who has drained the buffer makes an ACK leave (`__tcp_cleanup_rbuf`).
    pub(crate) const fn acknowledges_drained(&self) -> bool {
        self.small_segments >= if self.interactive { 2 } else { 1 }
    }

    /// How long an ACK is delayed (`tcp_send_delayed_ack`): the timeout, at most the round-trip time.
    pub(crate) fn time_out(&self, srtt: Option<Nanos>) -> Duration {
        let longest = srtt.map_or(MAX_US, |srtt| microseconds(srtt).clamp(MIN_US, MAX_US));
        Duration::from_micros(self.time_out_us.min(longest).into())
    }

    fn raise(&mut self, credit: Credit) {
        self.credit = self.credit.max(credit.segments());
    }
}

/// What decides how many ACKs may leave at once. Few segments want to know, so it is a question and
/// not a number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    pub(crate) window: u64,
    pub(crate) full_segment: u32,
}

impl Credit {
    /// Enough to let the peer's window grow to half of `window` (`tcp_incr_quickack`).
    fn segments(self) -> u8 {
        match self.window / 2 / u64::from(self.full_segment.max(1)) {
            0 => 2,
            segments => u8::try_from(segments).unwrap_or(u8::MAX).min(MAX_CREDIT),
        }
    }
}

/// What is longer than an hour counts as the longest that fits.
fn microseconds(span: Nanos) -> u32 {
    u32::try_from(span.micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDIT: Credit = Credit { window: 65_535, full_segment: 1_460 };

    const fn ms(ms: u64) -> Nanos {
        Nanos::from_millis(ms)
    }

    #[test]
    fn the_credit_is_what_opens_half_of_the_window() {
        for (window, credit) in [(65_535, 16), (29_200, 10), (4_000, 1), (1_000, 2), (0, 2)] {
            let segments = Credit { window, full_segment: 1_460 }.segments();
            assert_eq!(segments, credit, "a window of {window} bytes");
        }
    }

    #[test]
    fn the_time_out_follows_the_gaps_between_arrivals() {
        let mut estimates = QuickAck::NEW;
        let mut after = |gap: Option<u64>| {
            estimates.data_arrived(gap.map(ms), CREDIT, || ms(240));
            estimates.time_out(None).as_millis()
        };
        assert_eq!(after(None), 40);
        assert_eq!(after(Some(30)), 50, "half of it and the gap");
        assert_eq!(after(Some(45)), 70);
        assert_eq!(after(Some(5)), 55, "half of it and 20 ms");
        assert_eq!(after(Some(500)), 55, "a pause tells nothing");
    }

    #[test]
    fn a_time_out_doubles_the_delay_or_ends_ping_pong() {
        let mut estimates = QuickAck::NEW;
        estimates.data_arrived(None, CREDIT, || ms(240));
        for expected in [80, 160, 200, 200] {
            estimates.timed_out(ms(240));
            assert_eq!(estimates.time_out(None), ms(expected).into(), "200 ms at most");
        }
        assert_eq!(
            estimates.time_out(Some(ms(10))),
            ms(40).into(),
            "no longer than a round trip, or 40 ms"
        );
        estimates.data_sent(Some(ms(1)));
        assert!(!estimates.is_quick());
        estimates.timed_out(ms(240));
        assert!(estimates.is_quick());
        assert_eq!(estimates.time_out(None), ms(40).into());
    }

    #[test]
    fn a_gap_longer_than_the_rto_renews_the_credit() {
        let credit = Credit { window: 64_000, full_segment: 1_000 };
        let rto = ms(2_000);
        let mut quick_ack = QuickAck::NEW;
        quick_ack.data_arrived(None, credit, || rto);
        for _ in 0..MAX_CREDIT {
            assert!(quick_ack.is_quick());
            quick_ack.pending_ack_sent();
        }
        for (gap, quick) in [(1_000, false), (2_000, false), (2_001, true)] {
            quick_ack.data_arrived(Some(ms(gap)), credit, || rto);
            assert_eq!(quick_ack.is_quick(), quick, "{gap} ms");
        }
    }
}
