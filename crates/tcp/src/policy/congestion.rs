//! Which congestion control a connection uses.

use alloc::boxed::Box;

use super::SlowStartPolicy;
use crate::congestion::{Bbr, Controller, Cubic, External, NewReno, Search, Window, Windows};

/// Which congestion control a connection uses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum CongestionPolicy {
    /// 4.3BSD-Tahoe: every loss goes back to one segment.
    Tahoe,
    /// ns-2's `Agent/TCP/FullTcp/Tahoe`: slow start only below ssthresh, cwnd in whole segments, and
    /// ssthresh from cwnd even if less is outstanding.
    Ns2Tahoe,
    /// 4.3BSD-Reno: fast recovery, ended by the first ACK for new data.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 5681 with RFC 6675.
    Sack,
    /// Linux's `reno`: as [`Sack`](Self::Sack), but cwnd grows by all that was delivered, as with CUBIC, and
    /// is halved even if less was outstanding (`net/ipv4/tcp_cong.c`).
    LinuxReno,
    /// RFC 9438, with RFC 6675 where SACK was negotiated.
    Cubic,
    /// Set by the driver: [`Endpoint::set_windows`](crate::Endpoint::set_windows). Nothing else changes the window, also
    /// no idle time, no reduction in a recovery and no undo; what is retransmitted follows RFC 6675 or RFC 6582.
    External,
    /// BBR version 1, as Linux 6 has it (Cardwell et al. 2016). It paces what it sends.
    Bbr,
}

impl CongestionPolicy {
    /// A control that starts with `windows`, for segments of `mss` bytes.
    pub(crate) fn build(
        self,
        windows: Windows,
        mss: u32,
        slow_start: SlowStartPolicy,
    ) -> Controller {
        match self {
            Self::Tahoe => Controller::Tahoe(Window::new(windows, mss)),
            Self::Ns2Tahoe => Controller::Ns2Tahoe(Window::new(windows, mss)),
            Self::Reno => Controller::Reno(Window::new(windows, mss)),
            Self::NewReno => Controller::NewReno(NewReno::new(windows, mss)),
            Self::Sack => Controller::Sack(NewReno::new(windows, mss)),
            Self::LinuxReno => Controller::Sack(NewReno::linux(windows, mss)),
            Self::Cubic => Controller::Cubic(Cubic::new(windows, mss, slow_start.search())),
            Self::External => Controller::External(External::new(windows, mss)),
            Self::Bbr => Controller::Bbr(Box::new(Bbr::new(windows, mss))),
        }
    }
}

impl SlowStartPolicy {
    const fn search(self) -> Search {
        match self {
            Self::UntilLoss | Self::Hoe => Search::Off,
            Self::HyStart => Search::On,
        }
    }
}
