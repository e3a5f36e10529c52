//! Packets that are no TCP segment: why, and how many of each.

use std::fmt;

/// Why there is no TCP segment in a frame. Mostly nobody's fault.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[non_exhaustive]
pub enum NotTcp {
    /// QUIC, which hides its acknowledgements from captures: see [`QuicConnections`](super::QuicConnections), which
    /// recognises it among what is [`Udp`](Self::Udp).
    Quic,
    /// Any other UDP.
    Udp,
    /// IP, but neither TCP nor UDP.
    OtherProtocol,
    /// Not IP: ARP, LLDP and so on.
    NotIp,
    /// A fragment behind the first one, which has no TCP header.
    LaterFragment,
    /// The capture ends before the TCP header does: the snap length was too small.
    Cut,
    /// Headers that contradict themselves.
    Malformed,
    /// More than [`MAX_TUNNELS`](super::MAX_TUNNELS) tunnels inside one another.
    TooDeep,
    /// A link type that is not read, see [`LinkType`](crate::read::LinkType).
    UnknownLink,
}

impl NotTcp {
    /// Every reason, the commonplace before the remarkable.
    pub const ALL: [Self; 9] = [
        Self::Quic,
        Self::Udp,
        Self::OtherProtocol,
        Self::NotIp,
        Self::LaterFragment,
        Self::Cut,
        Self::Malformed,
        Self::TooDeep,
        Self::UnknownLink,
    ];

    /// In a word, for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quic => "quic",
            Self::Udp => "udp",
            Self::OtherProtocol => "other-protocol",
            Self::NotIp => "not-ip",
            Self::LaterFragment => "later-fragment",
            Self::Cut => "cut",
            Self::Malformed => "malformed",
            Self::TooDeep => "too-deep",
            Self::UnknownLink => "unknown-link",
        }
    }

    /// What a report says of `count` packets, after the number: "12 packets *were not TCP*".
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Quic => "were QUIC, which is not analysed",
            Self::Udp => "were UDP",
            Self::OtherProtocol => "were neither TCP nor UDP",
            Self::NotIp => "were not IP",
            Self::LaterFragment => "were later fragments of IP packets",
            Self::Cut => "were cut before the end of the TCP header",
            Self::Malformed => "were malformed",
            Self::TooDeep => "were in too many tunnels",
            Self::UnknownLink => "had an unknown link type",
        }
    }
}

impl fmt::Display for NotTcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for NotTcp {}

/// How many packets were left out, by reason.
///
/// ```
/// use ackwise_capture::decode::{LeftOut, NotTcp};
///
/// let mut left_out = LeftOut::default();
/// left_out.count(NotTcp::Cut);
/// left_out.count(NotTcp::Cut);
/// let said: Vec<String> = left_out.iter().map(|(why, n)| format!("{n} packets {why}")).collect();
/// assert_eq!(said, ["2 packets were cut before the end of the TCP header"]);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LeftOut {
    counts: [u64; NotTcp::ALL.len()],
}

impl LeftOut {
    /// Counts one packet.
    pub const fn count(&mut self, why: NotTcp) {
        self.counts[why as usize] += 1;
    }

    /// How many packets were left out for this reason.
    #[must_use]
    pub const fn of(&self, why: NotTcp) -> u64 {
        self.counts[why as usize]
    }

    /// The reasons that occurred, with the number of packets.
    pub fn iter(&self) -> impl Iterator<Item = (NotTcp, u64)> + '_ {
        NotTcp::ALL.into_iter().map(|why| (why, self.of(why))).filter(|&(_, packets)| packets > 0)
    }

    /// How many packets were left out altogether.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_place() {
        let mut left_out = LeftOut::default();
        for (times, why) in NotTcp::ALL.into_iter().enumerate() {
            assert_eq!(why as usize, times, "{why:?} is out of order");
            (0..=times).for_each(|_| left_out.count(why));
        }
        assert!(left_out.iter().map(|(_, packets)| packets).eq(1..=9));
        assert_eq!(left_out.total(), 45);
    }
}
