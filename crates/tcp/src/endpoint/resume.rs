//! A connection that goes on after a SYN-ACK which another endpoint has sent: one whose sequence number was a cookie
//! ([`driver::SynCookies`](crate::driver::SynCookies)).

use super::Endpoint;
use crate::{alarm::Alarm, segment::Segment, units::Instant};

impl Endpoint {
    /// Brings an endpoint from LISTEN to where it was when it had answered `syn`.
    ///
    /// When that was, nobody knows, so the SYN-ACK's round trip is not measured (Linux `cookie_v4_check`:
    /// `snt_synack` is 0).
    pub(crate) fn resume(&mut self, syn: &Segment, now: Instant) {
        let _ = self.handle_segment(syn, now);
        let _ = self.poll_transmit(now);
        self.sender.timed_since = Alarm::OFF;
    }
}
