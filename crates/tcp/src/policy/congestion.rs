//! Which congestion control a connection uses.

use super::SlowStartPolicy;
use crate::congestion::{Controller, Cubic, NewReno, Window, Windows};

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
    /// RFC 9438, with RFC 6675 where SACK was negotiated.
    Cubic,
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
            Self::Cubic => Controller::Cubic(Cubic::new(windows, mss, slow_start)),
        }
    }
}
