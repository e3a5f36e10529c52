//! Congestion controls: how large the window is. *What* is retransmitted is the endpoint's business,
//! by the `Repair` that the control asks for.

mod bbr;
mod bsd;
mod cubic;
mod cubic_curve;
mod delivery_rate;
mod external;
mod hystart;
mod maximum;
mod new_reno;
mod ns2;
mod window;

#[cfg(test)]
mod tests;

pub(crate) use bbr::{Bbr, Delivery, Repairing};
pub(crate) use cubic::{Cubic, Search};
pub(crate) use delivery_rate::Snapshot;
pub(crate) use external::External;
pub use external::{CongestionEvent, CongestionEventKind};
pub(crate) use new_reno::NewReno;
pub(crate) use window::Window;

use alloc::boxed::Box;
use core::time::Duration;

use crate::units::{Instant, Nanos};

/// Duplicate ACKs that announce a loss (RFC 5681, section 3.2; DupThresh of RFC 6675).
pub const DUPLICATE_THRESHOLD: u16 = 3;

/// How the endpoint repairs a loss that duplicate ACKs announced.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Repair {
    /// Go back to the segment and start again from there, as after a timeout: Tahoe as ns-2 has it.
    /// (4.3BSD-Tahoe retransmits that segment and goes on where it was.)
    GoBack,
    /// Retransmit one segment; the first ACK for new data ends the recovery (4.3BSD-Reno).
    OneSegment,
    /// Retransmit one segment per partial ACK until all that was outstanding is acknowledged
    /// (RFC 6582).
    PartialAcks,
    /// By the scoreboard (RFC 6675) where SACK was negotiated, else as [`Repair::PartialAcks`].
    Scoreboard,
}

/// A retransmission timeout, as a congestion control sees it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Expiry {
    /// The segment at SND.UNA had not timed out before.
    First,
    /// It had.
    Again,
}

/// An ACK for new data, as a congestion control sees it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Acked {
    /// Bytes newly acknowledged by the ACK number.
    pub bytes: u32,
    /// Bytes newly acknowledged by the ACK number or by SACK blocks: what had been SACKed before is not
    /// counted again (Linux `tcp_newly_delivered`).
    pub delivered: u32,
    /// The most bytes that were outstanding in the round trip.
    pub flight: u32,
    /// Whether the congestion window, not the application or the peer, limited that flight: a window
    /// that was not used must not grow (RFC 7661; RFC 9438, section 5.8).
    pub window_limited: bool,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Nanos>,
}

/// A round trip that an ACK has ended, as HyStart sees it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Passed {
    /// That of the last segment that the ACK covers.
    pub round_trip: Nanos,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Nanos>,
    /// SND.UNA after the ACK, and the highest SND.NXT.
    pub una: u64,
    pub next: u64,
}

/// What a congestion control may reduce its window from, when a loss shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct AtLoss {
    /// Bytes outstanding.
    pub flight: u32,
    /// SND.WND: bytes that the peer allows.
    pub peer: u32,
    /// The highest SND.NXT.
    pub next: u64,
}

/// The state of a congestion control that can be shared between connections (RFC 9040).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Windows {
    /// cwnd in bytes.
    pub congestion: u32,
    /// ssthresh in bytes.
    pub threshold: u32,
}

/// The state that a connection starts with instead of its policies' defaults.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Inherited {
    /// cwnd and ssthresh, in place of the initial window.
    pub windows: Option<Windows>,
    /// SRTT.
    pub srtt: Option<Duration>,
    /// RTTVAR.
    pub rttvar: Option<Duration>,
}

impl Inherited {
    /// A connection that starts from its policies alone.
    pub const NOTHING: Self = Self { windows: None, srtt: None, rttvar: None };
}

/// A congestion control with its state, held by value so that an endpoint stays `Clone`.
///
/// The window is read several times for each segment. All but the first and the last have it in the same place, so that
/// it takes two comparisons and no table of jumps.
#[derive(Clone, Debug)]
pub(crate) enum Controller {
    /// ns-2's Tahoe.
    Ns2Tahoe(Window),
    /// 4.3BSD-Tahoe: every loss, however it shows, goes back to one segment and slow start.
    Tahoe(Window),
    /// 4.3BSD-Reno: fast recovery, ended by the first ACK for new data.
    Reno(Window),
    /// RFC 6582.
    NewReno(NewReno),
    /// RFC 5681's windows with RFC 6675's repair; where SACK was not negotiated, RFC 6582's.
    Sack(NewReno),
    /// RFC 9438.
    Cubic(Cubic),
    /// Set from outside.
    External(External),
    /// BBR version 1. Boxed, because it is as large as all the others together.
    Bbr(Box<Bbr>),
}

impl Controller {
    /// cwnd: bytes that may be outstanding.
    #[inline]
    pub(crate) const fn window(&self) -> u32 {
        match self {
            Self::Ns2Tahoe(window) => ns2::whole_segments(window),
            _ => self.windows().congestion,
        }
    }

    /// ssthresh, in bytes.
    #[inline]
    pub(crate) const fn threshold(&self) -> u32 {
        self.windows().threshold
    }

    /// Whether cwnd is still below ssthresh. In PROBE_RTT, BBR's is small for another reason.
    pub(crate) fn is_in_slow_start(&self) -> bool {
        let probes_round_trip = matches!(self, Self::Bbr(control) if control.probes_round_trip());
        self.window() < self.threshold() && !probes_round_trip
    }

    /// The reduction for a loss is taken back; cwnd and ssthresh were these. They may be more by now
    /// (Linux `tcp_undo_cwnd_reduction`, `tcp_reno_undo_cwnd`).
    pub(crate) fn undo(&mut self, before: Windows) {
        match self {
            Self::Bbr(control) => return control.undo(),
            Self::External(control) => return control.note(CongestionEventKind::Spurious),
            _ => {}
        }
        let window = self.windows_mut();
        window.set(Windows {
            congestion: before.congestion.max(window.congestion),
            threshold: before.threshold.max(window.threshold),
        });
    }

    /// cwnd during a recovery whose window comes down in proportion.
    pub(crate) fn set_recovery_window(&mut self, congestion: u32) {
        if !matches!(self, Self::Bbr(_) | Self::External(_)) {
            self.windows_mut().set_congestion(congestion);
        }
    }

    /// After a timeout, `flight` bytes are not believed lost, so that cwnd is one segment more (Linux
    /// `tcp_enter_loss`).
    pub(crate) fn collapse_beside(&mut self, flight: u64) {
        if let Self::External(_) = self {
            return;
        }
        let window = self.windows_mut();
        let flight = u32::try_from(flight).unwrap_or(u32::MAX);
        window.set_congestion(flight.saturating_add(window.mss));
    }

    const fn windows_mut(&mut self) -> &mut Window {
        match self {
            Self::Tahoe(window) | Self::Ns2Tahoe(window) | Self::Reno(window) => window,
            Self::NewReno(control) | Self::Sack(control) => &mut control.window,
            Self::Cubic(control) => &mut control.window,
            Self::External(control) => control.window_mut(),
            Self::Bbr(control) => &mut control.window,
        }
    }

    #[inline]
    const fn windows(&self) -> &Window {
        match self {
            Self::Tahoe(window) | Self::Ns2Tahoe(window) | Self::Reno(window) => window,
            Self::NewReno(control) | Self::Sack(control) => &control.window,
            Self::Cubic(control) => &control.window,
            Self::External(control) => control.window(),
            Self::Bbr(control) => &control.window,
        }
    }

    /// How a loss that duplicate ACKs announce is to be repaired.
    pub(crate) const fn repair(&self) -> Repair {
        match self {
            Self::Tahoe(_) | Self::Ns2Tahoe(_) => Repair::GoBack,
            Self::Reno(_) => Repair::OneSegment,
            Self::NewReno(_) => Repair::PartialAcks,
            Self::Sack(_) | Self::Cubic(_) | Self::External(_) | Self::Bbr(_) => Repair::Scoreboard,
        }
    }

    /// Whether [`on_round_trip`](Self::on_round_trip) wants to know of each ACK.
    #[inline]
    pub(crate) fn uses_round_trips(&self) -> bool {
        match self {
            Self::Cubic(control) => control.uses_hystart(),
            Self::External(_) => true,
            _ => false,
        }
    }

    /// An ACK has come, whatever it acknowledges or SACKs, and whether a loss is being repaired or not.
    pub(crate) fn on_round_trip(&mut self, passed: &Passed, now: Instant) {
        match self {
            Self::Cubic(control) => control.look_for_the_end(passed, now),
            Self::External(control) => control.note_round_trip(passed.round_trip),
            _ => {}
        }
    }

    /// New data was acknowledged outside of a recovery.
    pub(crate) fn on_ack(&mut self, acked: Acked, now: Instant) {
        match self {
            Self::Tahoe(window) | Self::Reno(window) => bsd::open(window),
            Self::Ns2Tahoe(window) => ns2::open(window),
            Self::NewReno(control) | Self::Sack(control) => control.on_ack(acked),
            Self::Cubic(control) => control.on_ack(acked, now),
            Self::External(control) => control.note_ack(CongestionEventKind::Ack, Some(acked), 0),
            Self::Bbr(_) => {} // It takes a `Delivery` of each ACK.
        }
    }

    /// The third duplicate ACK, or the scoreboard, says that something is lost: a recovery begins.
    /// Where RFC 6675 repairs it, cwnd must not be inflated; the controls of BSD are older than SACK and ignore that.
    pub(crate) fn on_loss(&mut self, at_loss: AtLoss, repair: Repair) {
        let AtLoss { flight, peer, next: _ } = at_loss;
        match self {
            Self::Tahoe(window) => bsd::collapse(window, flight),
            Self::Ns2Tahoe(window) => ns2::collapse(window, peer),
            Self::Reno(window) => {
                window.enter_recovery(bsd::threshold(window, flight), Repair::OneSegment)
            }
            Self::NewReno(control) | Self::Sack(control) => control.on_loss(flight, repair),
            Self::Cubic(control) => control.on_loss(repair),
            Self::External(control) => control.note(CongestionEventKind::Loss),
            Self::Bbr(control) => control.on_loss(),
        }
    }

    /// What only a control that is set from outside hears: an ACK of new data in a fast recovery, or one that is a
    /// duplicate and tells of `delivered` bytes.
    pub(crate) fn note_ack(
        &mut self,
        kind: CongestionEventKind,
        acked: Option<Acked>,
        delivered: u32,
    ) {
        if let Self::External(control) = self {
            control.note_ack(kind, acked, delivered);
        }
    }

    /// Whether there is something to hear.
    #[inline]
    pub(crate) fn has_notes(&self) -> bool {
        matches!(self, Self::External(control) if control.has_notes())
    }

    /// One more duplicate ACK during a recovery without scoreboard. Tahoe has no fast recovery whose
    /// window could be inflated.
    pub(crate) fn on_duplicate_ack(&mut self) {
        match self {
            Self::Tahoe(_) | Self::Ns2Tahoe(_) | Self::External(_) | Self::Bbr(_) => {}
            Self::Reno(window) => window.inflate(),
            Self::NewReno(control) | Self::Sack(control) => control.window.inflate(),
            Self::Cubic(control) => control.window.inflate(),
        }
    }

    /// A partial ACK for `bytes` during a recovery without scoreboard (RFC 6582, section 3.2). With the
    /// controls of BSD any ACK for new data ends the recovery.
    pub(crate) fn on_partial_ack(&mut self, bytes: u32) {
        match self {
            Self::Tahoe(_)
            | Self::Ns2Tahoe(_)
            | Self::Reno(_)
            | Self::External(_)
            | Self::Bbr(_) => {}
            Self::NewReno(control) | Self::Sack(control) => {
                control.window.deflate_partially(bytes);
            }
            Self::Cubic(control) => control.window.deflate_partially(bytes),
        }
    }

    /// The recovery is over, `flight` bytes are outstanding.
    pub(crate) fn on_recovered(&mut self, flight: u32) {
        match self {
            Self::Tahoe(_) | Self::Ns2Tahoe(_) | Self::External(_) | Self::Bbr(_) => {}
            Self::Reno(window) => bsd::leave_recovery(window),
            Self::NewReno(control) | Self::Sack(control) => control.window.leave_recovery(flight),
            Self::Cubic(control) => control.window.leave_recovery(flight),
        }
    }

    /// The retransmission timer expired. BSD halves ssthresh each time, RFC 5681 at the first expiry.
    pub(crate) fn on_timeout(&mut self, at_loss: AtLoss, expiry: Expiry, now: Instant) {
        let AtLoss { flight, peer, next } = at_loss;
        match self {
            Self::Tahoe(window) | Self::Reno(window) => bsd::collapse(window, flight),
            Self::Ns2Tahoe(window) => ns2::collapse(window, peer),
            Self::NewReno(control) | Self::Sack(control) => control.on_timeout(flight, expiry),
            Self::Cubic(control) => control.on_timeout(expiry, next, now),
            Self::External(control) => control.note(match expiry {
                Expiry::First => CongestionEventKind::Timeout,
                Expiry::Again => CongestionEventKind::TimeoutAgain,
            }),
            Self::Bbr(control) => control.on_timeout(),
        }
    }

    /// A segment is about to leave, and nothing is outstanding.
    pub(crate) fn on_first_sent(&mut self, now: Instant) {
        if let Self::Bbr(control) = self {
            control.on_first_sent(now);
        }
    }

    /// What a sample of the delivery rate needs of a segment that leaves.
    pub(crate) fn snapshot(&self) -> Snapshot {
        match self {
            Self::Bbr(control) => control.snapshot(),
            _ => Snapshot::default(),
        }
    }

    /// Segments have `mss` bytes from now on.
    pub(crate) fn set_segment_size(&mut self, mss: u32) {
        self.windows_mut().set_segment_size(mss);
    }

    /// The window is set because the connection was idle ([`crate::policy::IdleRestart`]), or segments
    /// have become smaller.
    pub(crate) fn on_restart(&mut self, windows: Windows) {
        match self {
            Self::Tahoe(window) | Self::Ns2Tahoe(window) | Self::Reno(window) => {
                window.set(windows);
            }
            Self::NewReno(control) | Self::Sack(control) => control.on_restart(windows),
            Self::Cubic(control) => control.on_restart(windows),
            Self::External(_) => {} // Only from outside.
            Self::Bbr(control) => control.window.set(windows),
        }
    }
}
