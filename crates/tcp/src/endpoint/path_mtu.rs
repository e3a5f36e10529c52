//! What a router says about the size of packets on the path (RFC 1191, RFC 8201), and what of it is
//! believed (RFC 5927).
//!
//! Not here: looking for a larger MTU later (RFC 1191, section 6.3). A driver that remembers MTUs of
//! hosts forgets them in time, and later connections try again.

use super::{Endpoint, recovery::Phase};
use crate::{
    alarm::Alarm,
    congestion::Windows,
    segment::Timestamps,
    seq::SeqNumber,
    units::{Instant, IpVersion},
};

/// "Fragmentation needed" (RFC 792) or "packet too big" (RFC 4443): a router has dropped a packet of
/// ours.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PathMtuReport {
    /// The largest packet that the next link takes, IP header included.
    pub mtu: u32,
    /// The sequence number in the TCP header that the router quotes.
    pub sequence: SeqNumber,
}

/// Why a report changed nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum PathMtuIgnored {
    /// It quotes what is not in flight: it is old, or made up (RFC 5927, section 4.1).
    NotInFlight,
    /// Our packets are no larger than that.
    NotSmaller,
    /// Less than the smallest MTU of IPv6 (RFC 8201, section 4).
    TooSmall,
}

impl Endpoint {
    /// Takes a router's report. If it is believed, segments become smaller, and what is in flight is
    /// sent again, one segment first: RFC 1191, section 6.4: such a retransmission "should not change
    /// the congestion window" but "should, however, trigger the slow-start mechanism".
    ///
    /// # Errors
    ///
    /// Says why nothing has changed.
    pub fn handle_path_mtu(&mut self, report: PathMtuReport) -> Result<(), PathMtuIgnored> {
        self.begin_call();
        let position = self.sender.position(report.sequence);
        let in_flight = u64::try_from(position)
            .is_ok_and(|position| (self.sender.una..self.sender.max).contains(&position));
        if !in_flight {
            return Err(PathMtuIgnored::NotInFlight);
        }
        self.limit_path_mtu(report.mtu)
    }

    /// Limits segments to packets of `mtu` bytes, IP header included: what a driver remembers of the
    /// path. On an open connection, what is in flight is sent again, as after a report. A limit never
    /// grows.
    ///
    /// # Errors
    ///
    /// Says why nothing has changed.
    pub fn limit_path_mtu(&mut self, mtu: u32) -> Result<(), PathMtuIgnored> {
        self.begin_call();
        if self.ip == IpVersion::V6 && mtu < SMALLEST_V6 {
            return Err(PathMtuIgnored::TooSmall);
        }
        let headers = self.ip.header_bytes() + TCP_HEADER;
        let mss = mtu.max(SMALLEST_V4) - headers;
        let overhead = if self.receiver.sequence().uses_timestamps() {
            Timestamps::WIRE_BYTES.into()
        } else {
            0
        };
        if mss >= self.sender.mss + overhead {
            return Err(PathMtuIgnored::NotSmaller);
        }
        self.sender.path_mss = u16::try_from(mss).unwrap_or(u16::MAX);
        self.sender.mss = mss - overhead;
        if self.sender.una > 0 {
            self.congestion.set_segment_size(self.sender.mss);
            if self.sender.is_outstanding() {
                self.send_smaller();
            }
        }
        Ok(())
    }

    /// Goes back to SND.UNA with smaller segments, in slow start up to the window that there was. During
    /// a recovery, that is the ssthresh of the loss: cwnd may be inflated.
    fn send_smaller(&mut self) {
        let Windows { congestion, threshold } = self.windows();
        let threshold = match self.recovery.phase {
            Phase::Fast(_) => threshold,
            Phase::Open | Phase::GoneBack | Phase::Forward => threshold.max(congestion),
        };
        let mss = self.sender.mss;
        self.congestion.on_restart(Windows { congestion: mss, threshold });
        self.lose_flight(true, Instant::EPOCH);
        self.recovery.episode = None;
        self.send_again();
        self.timers.retransmit(Alarm::OFF);
    }
}

impl IpVersion {
    /// The segment size that holds if the peer announces none (RFC 9293, section 3.7.1, MUST-15).
    pub(crate) const fn default_mss(self) -> u16 {
        match self {
            Self::V4 => 536,
            Self::V6 => 1220,
        }
    }

    /// The IP header without options.
    const fn header_bytes(self) -> u32 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }
}

/// The TCP header without options.
const TCP_HEADER: u32 = 20;
/// RFC 8200, section 5.
const SMALLEST_V6: u32 = 1280;
/// An IPv4 report below this counts as this: the smallest MTU of a real link in RFC 1191, table 7-1 (the
/// official minimum of 68 leaves no room for data). Our choice.
const SMALLEST_V4: u32 = 296;
