//! What becomes of a congestion window that is not used while the connection sends.

use core::time::Duration;

use crate::congestion::Windows;

/// What becomes of a congestion window that is not used while the connection sends. It does not grow in
/// any case (RFC 9438, section 5.8).
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum UnusedWindow {
    /// It stays as it is.
    Kept,
    /// Each RTO takes it half of the way down to what was used, or to the initial window where that is
    /// more (RFC 2861, section 3.2; Linux `tcp_cwnd_application_limited`).
    Linux,
}

/// What is known of a window when something has left and has not filled it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unused {
    /// Time since the window was full, or since it was reduced for this reason or after an idle time.
    pub since: Duration,
    /// The most bytes that were outstanding in that time.
    pub used: u32,
    /// The current RTO.
    pub rto: Duration,
    /// The windows before.
    pub windows: Windows,
    /// The initial window of this connection, in bytes.
    pub initial_window: u32,
}

impl UnusedWindow {
    /// The windows from now on, or `None` if it is too early.
    ///
    /// Linux counts from then on anew even where the window is as small already.
    #[must_use]
    pub fn decide(self, unused: Unused) -> Option<Windows> {
        let Unused { since, used, rto, windows, initial_window } = unused;
        if self == Self::Kept || since < rto {
            return None;
        }
        let used = used.max(initial_window);
        if windows.congestion <= used {
            return Some(windows);
        }
        let congestion = used.midpoint(windows.congestion);
        // `tcp_current_ssthresh`.
        let threshold = windows.threshold.max(windows.congestion / 4 * 3);
        Some(Windows { congestion, threshold })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linux_takes_an_unused_window_half_of_the_way_down_in_each_timeout() {
        let ms = Duration::from_millis;
        let windows = |congestion, threshold| Windows { congestion, threshold };
        let after = |policy: UnusedWindow, since, used, windows| {
            policy.decide(Unused {
                since: ms(since),
                used,
                rto: ms(280),
                windows,
                initial_window: 10_000,
            })
        };
        let (before, high) = (windows(80_000, 20_000), windows(80_000, u32::MAX));
        #[rustfmt::skip]
        let table = [
            (UnusedWindow::Kept,  9_999, 0,      before, None),
            (UnusedWindow::Linux, 279,   20_000, before, None),
            (UnusedWindow::Linux, 280,   20_000, before, Some(windows(50_000, 60_000))),
            (UnusedWindow::Linux, 280,   2_000,  before, Some(windows(45_000, 60_000))),
            (UnusedWindow::Linux, 9_999, 2_000,  high,   Some(windows(45_000, u32::MAX))),
            (UnusedWindow::Linux, 280,   80_000, before, Some(before)),
            (UnusedWindow::Linux, 280,   0, windows(9_000, 9_000), Some(windows(9_000, 9_000))),
        ];
        for (policy, since, used, windows, expected) in table {
            let found = after(policy, since, used, windows);
            assert_eq!(found, expected, "{policy:?}, {since} ms, {used} bytes");
        }
    }
}
