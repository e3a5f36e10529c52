//! Every choice that the standards leave open: one enum each, with a pure decision function.
//!
//! A preset is named for its source and says what it copies; an experiment is a one-line difference:
//!
//! ```
//! use ackwise_tcp::policy::{HoldPolicy, Policies};
//! let treatment = Policies { hold: HoldPolicy::Off, ..Policies::RFC };
//! assert_ne!(treatment, Policies::RFC);
//! ```

mod ack;
mod buffer_tuning;
mod close;
mod congestion;
mod d_sack;
mod deferral;
mod hold;
mod idle;
mod idle_restart;
mod initial_window;
mod loss_detection;
mod open;
mod preset;
mod rate_based;
mod reduction;
mod sharing;
mod slow_start;
mod start;
mod timers;
mod undo;
mod unused_window;

pub use ack::{AckDecision, AckDelay, AckDelayTooLong, AckPolicy, AckReason, Arrival, Reading};
pub use buffer_tuning::BufferTuning;
pub(crate) use buffer_tuning::Taken;
pub use close::{ClosePolicy, ResetInTimeWait};
pub use congestion::CongestionPolicy;
pub use d_sack::DSackPolicy;
pub(crate) use deferral::Deferrable;
pub use deferral::DeferralPolicy;
pub use hold::{HoldDecision, HoldPolicy, Pending};
pub use idle::{Counted, Idle};
pub(crate) use idle_restart::Measures;
pub use idle_restart::{
    DecayRule, IdleRestart, IdleSince, IdleThreshold, IdleTime, Restart, RestartWindow,
};
pub use initial_window::InitialWindow;
pub use loss_detection::LossDetection;
pub use open::OpenPolicy;
pub use preset::Preset;
pub use rate_based::{
    PacedUntil, Pacing, RateBased, RateVersion, Scale, WindowAfterPacing, round_trips_saved,
};
pub use reduction::{Reducing, ReductionPolicy};
pub use sharing::{ControlBlocks, Sharing};
pub use slow_start::SlowStartPolicy;
pub use start::StartPolicy;
pub use timers::TimerPolicy;
pub use undo::{FrtoPolicy, UndoPolicy};
pub use unused_window::{Unused, UnusedWindow};

use crate::congestion::{Controller, Windows};

/// Every choice the standards leave open, one field each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Policies {
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// When the sender holds a small segment back.
    pub hold: HoldPolicy,
    /// Whether it waits until more segments may leave together.
    pub deferral: DeferralPolicy,
    /// cwnd at the start.
    pub initial_window: InitialWindow,
    /// How the first window leaves.
    pub start: StartPolicy,
    /// Where slow start ends.
    pub slow_start: SlowStartPolicy,
    /// cwnd afterwards.
    pub congestion: CongestionPolicy,
    /// Which segments count as lost.
    pub loss_detection: LossDetection,
    /// How it comes down when duplicate ACKs announce a loss.
    pub reduction: ReductionPolicy,
    /// Whether that is taken back if nothing was lost.
    pub undo: UndoPolicy,
    /// Whether timeouts are put to the test.
    pub frto: FrtoPolicy,
    /// cwnd while it is not used.
    pub unused_window: UnusedWindow,
    /// cwnd after an idle time.
    pub idle_restart: IdleRestart,
    /// How long the timers run.
    pub timers: TimerPolicy,
    /// How large the receive buffer becomes.
    pub receive_tuning: BufferTuning,
    /// How large the send buffer becomes.
    pub send_tuning: BufferTuning,
    /// What a new connection takes over from earlier or concurrent ones.
    pub sharing: Sharing,
    /// Which options a SYN offers and a SYN-ACK accepts.
    pub offer: Offer,
    /// Whether the receiver reports what has arrived twice.
    pub d_sack: DSackPolicy,
    /// Whether data may travel with the SYN.
    pub open: OpenPolicy,
    /// Which end holds TIME-WAIT.
    pub close: ClosePolicy,
    /// What an RST does to it.
    pub reset_in_time_wait: ResetInTimeWait,
}

/// The options that this end offers in its SYN and accepts in its peer's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Offer {
    /// SACK-permitted (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323, section 3).
    pub timestamps: bool,
    /// Window scale (RFC 7323, section 2). The shift follows from the receive buffer.
    pub window_scale: bool,
}

impl Offer {
    /// None: a TCP before RFC 1323.
    pub const NONE: Self = Self { sack: false, timestamps: false, window_scale: false };
    /// All of them.
    pub const ALL: Self = Self { sack: true, timestamps: true, window_scale: true };
}

impl Policies {
    /// A congestion control that starts with `windows`, for segments of `mss` bytes.
    pub(crate) fn control(&self, windows: Windows, mss: u32) -> Controller {
        self.congestion.build(windows, mss, self.slow_start)
    }

    /// What the current standards recommend: RFC 9293, 5681 with 6582 and 6675, 6298, 6928, 7323.
    pub const RFC: Self = Self {
        ack: AckPolicy::RFC,
        hold: HoldPolicy::Nagle,
        deferral: DeferralPolicy::Off,
        initial_window: InitialWindow::Rfc6928,
        start: StartPolicy::AtOnce,
        slow_start: SlowStartPolicy::UntilLoss,
        congestion: CongestionPolicy::Sack,
        loss_detection: LossDetection::Rfc6675,
        reduction: ReductionPolicy::AtOnce,
        undo: UndoPolicy::Off,
        frto: FrtoPolicy::Off,
        unused_window: UnusedWindow::Kept,
        idle_restart: IdleRestart::RFC_5681,
        timers: TimerPolicy::Rfc6298,
        receive_tuning: BufferTuning::Off,
        send_tuning: BufferTuning::Off,
        sharing: Sharing::Off,
        offer: Offer::ALL,
        d_sack: DSackPolicy::Off,
        open: OpenPolicy::Handshake,
        close: ClosePolicy::Ordinary,
        reset_in_time_wait: ResetInTimeWait::Ends,
    };

    /// Linux 6: quick-ACK and ping-pong, Minshall's hold, CUBIC with HyStart, PRR, undo and F-RTO, RACK-TLP, IW 10,
    /// a window that decays while it is idle or not used, buffers that grow, 200 ms minimum RTO (`net/ipv4/tcp_input.c`,
    /// `tcp_output.c`, `tcp_cubic.c`, `tcp_recovery.c`, `include/net/tcp.h`).
    pub const LINUX_6: Self = Self {
        ack: AckPolicy::LinuxQuickAck,
        hold: HoldPolicy::Minshall,
        deferral: DeferralPolicy::Linux,
        initial_window: InitialWindow::Rfc6928,
        start: StartPolicy::AtOnce,
        slow_start: SlowStartPolicy::HyStart,
        congestion: CongestionPolicy::Cubic,
        loss_detection: LossDetection::Rack,
        reduction: ReductionPolicy::Proportional,
        undo: UndoPolicy::Linux,
        frto: FrtoPolicy::Linux,
        unused_window: UnusedWindow::Linux,
        idle_restart: IdleRestart::LINUX,
        timers: TimerPolicy::Linux,
        receive_tuning: BufferTuning::Linux,
        send_tuning: BufferTuning::Linux,
        sharing: Sharing::Off,
        offer: Offer::ALL,
        d_sack: DSackPolicy::Rfc2883,
        open: OpenPolicy::Handshake,
        close: ClosePolicy::Ordinary,
        reset_in_time_wait: ResetInTimeWait::Ends,
    };

    /// Linux 6 with BBR version 1 (`net.ipv4.tcp_congestion_control = bbr`), which paces, and keeps its window
    /// over an idle time and in a recovery. For the rest as [`Policies::LINUX_6`].
    pub const LINUX_6_BBR: Self = Self {
        congestion: CongestionPolicy::Bbr,
        reduction: ReductionPolicy::AtOnce,
        slow_start: SlowStartPolicy::UntilLoss,
        unused_window: UnusedWindow::Kept,
        idle_restart: IdleRestart::Keep,
        ..Self::LINUX_6
    };

    /// 4.4BSD-Lite: host-wide 200 ms tick, once-per-call Nagle, Reno, restart after *receive* is idle
    /// (`netinet/tcp_output.c`, `tcp_input.c`, `tcp_timer.c`). Not copied: its probes of a closed
    /// window wait 5 s at least, it gives a SYN up after 75 s, and acknowledges at once what arrives
    /// after its own FIN.
    pub const BSD_4_4: Self = Self {
        ack: AckPolicy::BSD_TICK,
        hold: HoldPolicy::BsdNagle,
        deferral: DeferralPolicy::Off,
        initial_window: InitialWindow::BsdPassiveTwo,
        start: StartPolicy::AtOnce,
        slow_start: SlowStartPolicy::UntilLoss,
        congestion: CongestionPolicy::Reno,
        loss_detection: LossDetection::Rfc6675,
        reduction: ReductionPolicy::AtOnce,
        undo: UndoPolicy::Off,
        frto: FrtoPolicy::Off,
        unused_window: UnusedWindow::Kept,
        idle_restart: IdleRestart::BSD_4_4,
        timers: TimerPolicy::Bsd,
        receive_tuning: BufferTuning::Off,
        send_tuning: BufferTuning::Off,
        sharing: Sharing::Off,
        offer: Offer::NONE,
        d_sack: DSackPolicy::Off,
        open: OpenPolicy::Handshake,
        close: ClosePolicy::Ordinary,
        reset_in_time_wait: ResetInTimeWait::Ends,
    };

    /// SunOS 4.1.3 (the 4.3BSD-Tahoe line, as in Heidemann 1996 and 1997): as 4.4BSD with Tahoe, and
    /// cwnd is never reduced except on loss. Not copied: 4.3BSD-Tahoe tells of the window after 35 % of
    /// the buffer instead of half.
    pub const SUNOS_4_1: Self = Self {
        congestion: CongestionPolicy::Tahoe,
        idle_restart: IdleRestart::Keep,
        ..Self::BSD_4_4
    };
}
