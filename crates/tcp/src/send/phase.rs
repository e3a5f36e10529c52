//! The phases of loss recovery.

use crate::congestion::Repair;

/// Where the repair stands.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Phase {
    /// Nothing is believed lost.
    #[default]
    Open,
    /// Duplicate ACKs announced a loss, which is being repaired.
    Fast(Repair),
    /// Everything from SND.UNA on is sent again: a timeout, or Tahoe.
    GoneBack,
    /// F-RTO: after the timeout new data leaves before anything more is sent again (RFC 5682).
    Forward,
}
