//! Connections of QUIC: which UDP datagrams are theirs, and how many there are. Nothing more of them is read, since QUIC
//! encrypts even its acknowledgements.
//!
//! A connection is recognised by the datagram with which a client begins it, on any port: a long header (RFC 8999, section
//! 5.1) with a known version or a greased one, connection IDs and lengths that fit, and 1,200 bytes at least. What follows
//! between the same addresses and ports is counted with it. Short headers show nothing: their first byte may be anybody's.
//!
//! Not here: connections that began before the capture, and those that migrate, which count again if they begin again.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{IpAddr, SocketAddr},
};

use super::{NotTcp, address, ip, link, remaining::Remaining};
use crate::read::Frame;

/// The connections of a capture.
#[derive(Clone, Debug, Default)]
pub struct QuicConnections {
    /// By both ends, the smaller one first: the client.
    clients: BTreeMap<[SocketAddr; 2], SocketAddr>,
    is_full: bool,
}

impl QuicConnections {
    /// The most that are remembered: 500 kB. Beyond it, a connection is UDP. Our choice.
    pub const MOST: usize = 4_096;

    /// Takes a frame with UDP in it. Whether that is QUIC.
    pub fn handle(&mut self, frame: &Frame<'_>) -> bool {
        let Ok(Datagram { ends, payload }) = Datagram::find(frame) else { return false };
        let [source, destination] = ends;
        let key = [source.min(destination), source.max(destination)];
        if self.clients.contains_key(&key) {
            return true;
        }
        if !begins_connection(payload.captured(), payload.length()) {
            return false;
        }
        if self.clients.len() == Self::MOST {
            self.is_full = true;
            return false;
        }
        self.clients.insert(key, source);
        true
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.clients.len() as u64
    }

    /// Whether there may be more: see [`MOST`](Self::MOST).
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// How many addresses their clients have.
    #[must_use]
    pub fn clients(&self) -> u64 {
        self.clients.values().map(SocketAddr::ip).collect::<BTreeSet<IpAddr>>().len() as u64
    }

    /// How many addresses their servers have.
    #[must_use]
    pub fn servers(&self) -> u64 {
        let server = |(ends, client): (&[SocketAddr; 2], &SocketAddr)| {
            if ends[0] == *client { ends[1].ip() } else { ends[0].ip() }
        };
        self.clients.iter().map(server).collect::<BTreeSet<IpAddr>>().len() as u64
    }
}

/// A UDP datagram.
#[derive(Clone, Copy, Debug)]
struct Datagram<'a> {
    ends: [SocketAddr; 2],
    payload: Remaining<'a>,
}

impl<'a> Datagram<'a> {
    /// Finds one in a frame, but not in a tunnel.
    fn find(frame: &Frame<'a>) -> Result<Self, NotTcp> {
        let (packet, _) = link::packet(frame)?;
        let mut datagram = ip::datagram(packet)?;
        ip::pass_extensions(&mut datagram)?;
        if datagram.protocol != ip::protocol::UDP {
            return Err(NotTcp::OtherProtocol);
        }
        let (&[s0, s1, d0, d1, ..], payload) = datagram.payload.take::<8>()?;
        let [source, destination] = datagram.addresses.map(|it| address(it, datagram.is_v6));
        let ports = [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])];
        let ends = [SocketAddr::new(source, ports[0]), SocketAddr::new(destination, ports[1])];
        Ok(Self { ends, payload })
    }
}

/// Whether a datagram of `length` bytes, which begins with `seen`, is the first of a client.
fn begins_connection(seen: &[u8], length: usize) -> bool {
    let &[first, v0, v1, v2, v3, ref rest @ ..] = seen else { return false };
    // RFC 9000, section 17.2: the form of a long header, and the fixed bit.
    if first & 0xc0 != 0xc0 || length < SHORTEST_INITIAL {
        return false;
    }
    let Some(is_of_known_type) = Version::of([v0, v1, v2, v3]).map(|it| it.is_initial(first))
    else {
        return false;
    };
    let after_ids = connection_id(rest, 8..=20).and_then(|rest| connection_id(rest, 0..=20));
    let Some(rest) = after_ids.filter(|_| is_of_known_type != Some(false)) else { return false };
    // What comes behind the connection IDs of a version that nobody knows, nobody knows.
    let is_whole = length == seen.len();
    is_of_known_type.is_none() || lengths_fit(rest, is_whole)
}

/// RFC 9000, section 14.1: "A client MUST expand the payload of all UDP datagrams carrying Initial packets to at least the
/// smallest allowed maximum datagram size of 1200 bytes".
const SHORTEST_INITIAL: usize = 1_200;

#[derive(Clone, Copy, Debug)]
enum Version {
    /// RFC 9000, and the drafts before it from 27 on.
    One,
    /// RFC 9369.
    Two,
    /// RFC 9000, section 15: it asks for version negotiation.
    Greased,
}

impl Version {
    const fn of(version: [u8; 4]) -> Option<Self> {
        match version {
            [0, 0, 0, 1] | [0xff, 0, 0, 27..=34] => Some(Self::One),
            [0x6b, 0x33, 0x43, 0xcf] => Some(Self::Two),
            [a, b, c, d] if a & b & c & d & 15 == 10 && (a | b | c | d) & 15 == 10 => {
                Some(Self::Greased)
            }
            _ => None,
        }
    }

    /// Whether a packet that begins with this byte is an Initial packet; `None` if nobody knows.
    const fn is_initial(self, first: u8) -> Option<bool> {
        let kind = first >> 4 & 3;
        match self {
            Self::One => Some(kind == 0),
            Self::Two => Some(kind == 1),
            Self::Greased => None,
        }
    }
}

/// What comes behind a connection ID, if it has one of these lengths. RFC 9000, section 7.2: that which a client chooses for
/// the server "MUST be at least 8 bytes in length"; section 17.2: the longest has 20.
fn connection_id(bytes: &[u8], lengths: std::ops::RangeInclusive<u8>) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first()?;
    lengths.contains(length).then(|| rest.get(usize::from(*length)..)).flatten()
}

/// Whether token and packet are no longer than the datagram (RFC 9000, section 17.2.2). Of a datagram that was cut, the
/// beginning is all there is.
#[expect(clippy::fn_params_excessive_bools, reason = "a fact of the datagram")]
fn lengths_fit(bytes: &[u8], is_whole: bool) -> bool {
    /// A packet's number, and the sample for header protection (RFC 9001, section 5.4.2).
    const SHORTEST: u64 = 20;
    let Some((token, rest)) = number(bytes) else { return !is_whole };
    let rest = usize::try_from(token).ok().and_then(|token| rest.get(token..));
    let Some((packet, rest)) = rest.and_then(number) else { return !is_whole };
    packet >= SHORTEST && (!is_whole || packet <= rest.len() as u64)
}

/// A number of variable length (RFC 9000, section 16), and what comes behind it.
fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let first = *bytes.first()?;
    let (number, rest) = bytes.split_at_checked(1 << (first >> 6))?;
    let value = number.iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
    let bits = number.len() * 8 - 2;
    Some((value & ((1 << bits) - 1), rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first datagram of a client: DCID of 8 bytes, no SCID, no token.
    fn initial(version: [u8; 4], first: u8) -> Vec<u8> {
        let mut bytes = [&[first][..], &version, &[8], &[7; 8], &[0, 0, 0x44, 0x9e]].concat();
        bytes.resize(18 + 0x49e, 0x55);
        bytes
    }

    fn begins(bytes: &[u8]) -> bool {
        begins_connection(bytes, bytes.len())
    }

    #[test]
    fn the_first_datagram_of_a_client_begins_a_connection() {
        for (version, first) in [
            ([0, 0, 0, 1], 0xc3),
            ([0xff, 0, 0, 29], 0xcf),
            ([0x6b, 0x33, 0x43, 0xcf], 0xd0),
            ([0x1a, 0x2a, 0x3a, 0x4a], 0xf0),
        ] {
            let bytes = initial(version, first);
            assert!(begins(&bytes), "{version:x?}");
            for snap in [18, 64, 96] {
                assert!(begins_connection(&bytes[..snap], bytes.len()), "{version:x?}, {snap}");
            }
            let short = begins_connection(&bytes[..1_199], 1_199);
            assert!(!short, "{version:x?}: RFC 9000, section 14.1");
        }
    }

    #[test]
    fn what_does_not_fit_begins_none() {
        let valid = initial([0, 0, 0, 1], 0xc3);
        let changed = |at: usize, byte: u8| {
            let mut bytes = valid.clone();
            bytes[at] = byte;
            bytes
        };
        for (what, bytes) in [
            ("short header", changed(0, 0x43)),
            ("no fixed bit", changed(0, 0x83)),
            ("0-RTT", changed(0, 0xd3)),
            ("Handshake", changed(0, 0xe3)),
            ("Retry", changed(0, 0xf3)),
            ("version negotiation", initial([0; 4], 0xc3)),
            ("unknown version", initial([0, 0, 0, 2], 0xc3)),
            ("DCID of 7 bytes", changed(5, 7)),
            ("DCID of 21 bytes", changed(5, 21)),
            ("SCID of 21 bytes", changed(14, 21)),
            ("token beyond the end", changed(15, 0xbf)),
            ("packet beyond the end", changed(16, 0x7f)),
            ("packet without a number", changed(16, 0)),
        ] {
            assert!(!begins(&bytes), "{what}");
        }
    }

    /// Their first bytes, as real programs send them, in datagrams as long as QUIC's.
    #[test]
    fn other_protocols_over_udp_are_none() {
        let long = |first: &[u8]| {
            let mut bytes = first.to_vec();
            bytes.resize(1_250, 0);
            bytes
        };
        for (what, first) in [
            // RFC 1035: any identification, flags, one question.
            ("DNS query", &[0xc3, 0x01, 0x01, 0x00, 0x00, 0x01, 0, 0, 0, 0, 0, 0][..]),
            ("DNS response", &[0xc0, 0x00, 0x81, 0x80, 0x00, 0x01, 0, 0x10, 0, 0, 0, 1]),
            ("DTLS 1.2 ClientHello", &[0x16, 0xfe, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xc4, 1]),
            ("DTLS 1.3 record", &[0x2f, 0x4a, 0x00, 0x01, 0x05, 0x00]),
            ("STUN binding request", &[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42]),
            ("RTP", &[0x80, 0x60, 0x12, 0x34, 0, 0, 0, 1]),
            ("RTP with a marker and CSRCs", &[0x8f, 0xe0, 0, 1, 0, 0, 0, 1]),
            ("RTCP", &[0x81, 0xc8, 0, 6]),
            ("WireGuard initiation", &[1, 0, 0, 0, 0xc0, 0, 0, 1]),
            ("WireGuard data", &[4, 0, 0, 0, 0xc0, 0, 0, 1]),
            ("TURN ChannelData", &[0x40, 0, 4, 0xb0, 0xc0, 0, 0, 1]),
            ("NTP", &[0xe3, 0, 3, 0xfa, 0, 1, 0, 0]),
            ("OpenVPN", &[0x38, 1, 2, 3, 4, 5, 6, 7, 8, 0]),
            ("IKE over UDP 4500", &[0, 0, 0, 0, 0xc0, 0, 0, 1]),
            ("Teredo, IPv6 inside", &[0x60, 0, 0, 0, 4, 0xd0, 0x3a, 0x40]),
        ] {
            assert!(!begins(&long(first)), "{what}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_looked_at(bytes in prop::collection::vec(any::<u8>(), 0..80), length in 0..3_000_usize) {
            begins_connection(&bytes, length.max(bytes.len()));
        }

        /// Of random bytes, a version has 32 bits that must fit, in 65,548 of 2^32 cases.
        #[test]
        fn random_bytes_without_a_version_of_quic_begin_nothing(
            bytes in prop::collection::vec(any::<u8>(), 1_200..1_300),
        ) {
            let version = <[u8; 4]>::try_from(&bytes[1..5]).unwrap();
            prop_assume!(Version::of(version).is_none());
            prop_assert!(!begins(&bytes));
        }
    }
}
