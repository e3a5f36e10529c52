//! What a router says about the size of packets on the path (RFC 1191, RFC 8201), and what of it is
//! believed (RFC 5927).
//!
//! Not here: looking for a larger MTU later (RFC 1191, section 6.3). A driver that remembers MTUs of
//! hosts forgets them in time, and later connections try again.

use crate::{seq::SeqNumber, units::IpVersion};

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

/// The MSS of a path whose packets have `mtu` bytes at most, TCP options included.
pub(crate) fn mss(mtu: u32, ip: IpVersion) -> Result<u32, PathMtuIgnored> {
    if ip == IpVersion::V6 && mtu < SMALLEST_V6 {
        return Err(PathMtuIgnored::TooSmall);
    }
    Ok(mtu.max(SMALLEST_V4) - (ip.header_bytes() + TCP_HEADER))
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
