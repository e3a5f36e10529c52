//! Congestion controls: how large the window is. *What* is retransmitted is the endpoint's business,
//! by the [`Repair`] that the control asks for.

mod bsd;
mod cubic;
mod cubic_curve;
mod new_reno;
mod reno;
mod sack;
mod tahoe;
mod window;

#[cfg(test)]
mod tests;

pub use cubic::Cubic;
pub use new_reno::NewReno;
pub use reno::Reno;
pub use sack::SackReno;
pub use tahoe::Tahoe;

use core::time::Duration;

use crate::units::Instant;

/// Duplicate ACKs that announce a loss (RFC 5681, section 3.2; DupThresh of RFC 6675).
pub const DUPLICATE_THRESHOLD: u16 = 3;

/// How the endpoint repairs a loss that duplicate ACKs announced.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Repair {
    /// Go back to the segment and start again from there, as after a time-out: Tahoe as ns-2 has it.
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

/// An ACK for new data, as a congestion control sees it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Acked {
    /// Bytes newly acknowledged.
    pub bytes: u32,
    /// Bytes outstanding before this ACK.
    pub flight: u32,
    /// Whether the congestion window, not the application or the peer, limited the flight: a window
    /// that was not used must not grow (RFC 9438, section 5.8; RFC 2861 as the policy says).
    pub window_limited: bool,
    /// The smoothed round-trip time, once there is a sample.
    pub srtt: Option<Duration>,
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

/// A congestion control. All windows are in bytes.
pub trait CongestionControl {
    /// cwnd: bytes that may be outstanding.
    fn window(&self) -> u32;

    /// ssthresh.
    fn threshold(&self) -> u32;

    /// How a loss that duplicate ACKs announce is to be repaired.
    fn repair(&self) -> Repair;

    /// New data was acknowledged outside of a recovery.
    fn on_ack(&mut self, acked: Acked, now: Instant);

    /// The third duplicate ACK, or the scoreboard, says that something is lost: a recovery begins.
    /// `scoreboard` tells whether it is repaired by RFC 6675, so that cwnd must not be inflated.
    fn on_loss(&mut self, flight: u32, scoreboard: bool, now: Instant);

    /// One more duplicate ACK during a recovery without scoreboard.
    fn on_duplicate_ack(&mut self);

    /// A partial ACK for `bytes` during a recovery without scoreboard (RFC 6582, section 3.2).
    fn on_partial_ack(&mut self, bytes: u32);

    /// The recovery is over, `flight` bytes are outstanding.
    fn on_recovered(&mut self, flight: u32, now: Instant);

    /// The retransmission timer expired. `first` unless the same segment expired before.
    fn on_timeout(&mut self, flight: u32, first: bool, now: Instant);

    /// The window is set because the connection was idle ([`crate::policy::IdleRestart`]).
    fn on_restart(&mut self, windows: Windows, now: Instant);
}

/// The controls, held by value so that an endpoint stays `Clone`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Controller {
    /// 4.3BSD-Tahoe.
    Tahoe(Tahoe),
    /// 4.3BSD-Reno, RFC 5681 without 6582.
    Reno(Reno),
    /// RFC 6582.
    NewReno(NewReno),
    /// RFC 5681's windows with RFC 6675's repair.
    Sack(SackReno),
    /// RFC 9438.
    Cubic(Cubic),
}

macro_rules! each {
    ($self:expr, $control:ident => $call:expr) => {
        match $self {
            Self::Tahoe($control) => $call,
            Self::Reno($control) => $call,
            Self::NewReno($control) => $call,
            Self::Sack($control) => $call,
            Self::Cubic($control) => $call,
        }
    };
}

impl CongestionControl for Controller {
    fn window(&self) -> u32 {
        each!(self, control => control.window())
    }

    fn threshold(&self) -> u32 {
        each!(self, control => control.threshold())
    }

    fn repair(&self) -> Repair {
        each!(self, control => control.repair())
    }

    fn on_ack(&mut self, acked: Acked, now: Instant) {
        each!(self, control => control.on_ack(acked, now));
    }

    fn on_loss(&mut self, flight: u32, scoreboard: bool, now: Instant) {
        each!(self, control => control.on_loss(flight, scoreboard, now));
    }

    fn on_duplicate_ack(&mut self) {
        each!(self, control => control.on_duplicate_ack());
    }

    fn on_partial_ack(&mut self, bytes: u32) {
        each!(self, control => control.on_partial_ack(bytes));
    }

    fn on_recovered(&mut self, flight: u32, now: Instant) {
        each!(self, control => control.on_recovered(flight, now));
    }

    fn on_timeout(&mut self, flight: u32, first: bool, now: Instant) {
        each!(self, control => control.on_timeout(flight, first, now));
    }

    fn on_restart(&mut self, windows: Windows, now: Instant) {
        each!(self, control => control.on_restart(windows, now));
    }
}
