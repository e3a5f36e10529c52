//! What a connection is created with.

use core::time::Duration;

use crate::{
    alarm::Alarm,
    policy::{LossDetection, Policies, TimerPolicy},
    units::{Instant, Nanos},
};

/// What a connection is created with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Config {
    /// Every choice the standards leave open.
    pub policies: Policies,
    /// The MSS that we announce, and the largest segment that we send, in bytes, TCP options
    /// included as RFC 6691 counts them.
    pub mss: u16,
    /// Receive buffer in bytes: the largest window that we advertise, or the first one if the buffer grows
    /// ([`Policies::receive_tuning`]).
    pub receive_buffer: u32,
    /// Send buffer in bytes: what `write` takes before it is acknowledged, or the least of that
    /// ([`Policies::send_tuning`]).
    pub send_buffer: u32,
    /// 2 MSL, in TIME-WAIT.
    pub time_wait: Duration,
    /// How long a SYN, data, a FIN or a probe of a closed window is sent again without an answer before
    /// the connection is given up, counted from the first timeout (RFC 9293, section 3.8.3: R2, at
    /// least 100 seconds, SHLD-11, and 3 minutes for a SYN, MUST-23).
    pub user_timeout: Duration,
    /// At which phase of its gain cycle BBR begins to look for more bandwidth, 0 to 6, counted from one that
    /// follows from the initial sequence number: the kernel draws one for each connection, lest those
    /// that begin together do so together.
    pub bbr_phase: u8,
    /// How far the host's clock had gone since a tick of its coarsest timers when the run began, for timers that
    /// count ticks with a phase ([`TimerPolicy::Linux`]); `None` stands for none. All connections of a host have
    /// the same.
    ///
    /// [`TimerPolicy::Linux`]: crate::policy::TimerPolicy::Linux
    pub tick_phase: Option<Duration>,
}

impl Config {
    /// Ethernet's MSS, buffers of 65,535 bytes, 2 MSL of 60 s (BSD, Linux), 180 s user timeout.
    #[must_use]
    pub const fn new(policies: Policies) -> Self {
        Self {
            policies,
            mss: 1460,
            receive_buffer: 65_535,
            send_buffer: 65_535,
            time_wait: Duration::from_secs(60),
            user_timeout: Duration::from_secs(180),
            bbr_phase: 0,
            tick_phase: None,
        }
    }

    /// When a timer expires that is started now.
    #[inline]
    pub(crate) fn expiry(&self, span: Nanos, now: Instant) -> Alarm {
        let timers = self.policies.timers;
        let phase = if timers == TimerPolicy::Linux { self.phase() } else { Nanos::ZERO };
        Alarm::at(timers.expiry_after(span, phase, now))
    }

    /// Where the ticks of the host's clock stand.
    #[inline]
    pub(crate) fn phase(&self) -> Nanos {
        self.tick_phase.map_or(Nanos::ZERO, Nanos::of)
    }

    /// Whether cwnd counts packets, so that it holds a FIN back, too (Linux `tcp_cwnd_test`: 6.18 was seen to do so, where
    /// earlier ones were not "strict about the congestion window for the final FIN").
    #[inline]
    pub(crate) fn counts_packets(&self) -> bool {
        self.policies.loss_detection == LossDetection::Rack
    }
}
