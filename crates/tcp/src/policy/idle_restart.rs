//! cwnd when the first data is sent after an idle time.

use core::time::Duration;

use crate::congestion::Windows;

/// What a connection that was idle does with its congestion window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum IdleRestart {
    /// Keep it (NSSR; SunOS 4.x, the 4.3BSD-Tahoe line).
    Keep,
    /// After one RTO, slow-start again from the restart window (SSR; RFC 5681, section 4.1).
    SlowStart {
        /// What ends the idle time's count.
        since: IdleSince,
    },
    /// Halve it for each RTO that passed (RFC 2861; Linux).
    Decay,
}

/// From when a connection counts as idle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IdleSince {
    /// The last data sent (RFC 5681).
    Send,
    /// The last segment received: BSD's `t_idle`. A request that arrives ends the idle time, so a
    /// server never restarts (draft-ietf-tcpimpl-restart).
    Receive,
}

/// All that the decision may depend on. Nothing is outstanding when it is asked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Idle {
    /// Time since data was last sent.
    pub since_send: Duration,
    /// Time since a segment last arrived.
    pub since_receive: Duration,
    /// The current RTO.
    pub rto: Duration,
    /// The windows before.
    pub windows: Windows,
    /// The initial window of this connection, in octets.
    pub initial_window: u32,
    /// The size of a full segment.
    pub mss: u32,
}

impl IdleRestart {
    /// The windows to go on with, or `None` if nothing changes.
    #[must_use]
    pub fn decide(self, idle: Idle) -> Option<Windows> {
        let _ = idle;
        None
    }
}
