//! Both ends of a connection, whichever sends.

use std::net::{IpAddr, SocketAddr};

use crate::decode::Seen;

/// Both ends, the lesser one first, so that both directions find the same. As numbers: each segment
/// is looked up.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct EndpointPair {
    // What is hashed first is mixed best, and neighbouring ports are most of what differs.
    ports: u64,
    one: u128,
    other: u128,
}

impl EndpointPair {
    pub(crate) fn of(one: SocketAddr, other: SocketAddr) -> Self {
        let addresses = [number(one.ip()), number(other.ip())];
        Self::in_order(addresses, [one.port(), other.port()], one.is_ipv6()).0
    }

    /// Whether `one` is the lesser of both ends.
    pub(crate) fn is_first(one: SocketAddr, other: SocketAddr) -> bool {
        let addresses = [number(one.ip()), number(other.ip())];
        Self::in_order(addresses, [one.port(), other.port()], one.is_ipv6()).1
    }

    /// The pair, and whether the first end is the lesser one.
    #[inline(always)]
    pub(crate) fn in_order([a, b]: [u128; 2], ports: [u16; 2], is_v6: bool) -> (Self, bool) {
        let [c, d] = ports.map(u64::from);
        let in_order = (a, c) <= (b, d);
        // Neither port takes more than 16 bits.
        let ([one, other], ports) =
            if in_order { ([a, b], c << 16 | d) } else { ([b, a], d << 16 | c) };
        (Self { one, other, ports: ports | u64::from(is_v6) << 32 }, in_order)
    }

    /// The addresses and ports, the lesser end first or last, and whether they are of IPv6.
    #[inline(always)]
    pub(crate) const fn ends(&self, in_order: bool) -> ([u128; 2], [u16; 2], bool) {
        #[expect(clippy::cast_possible_truncation, reason = "each half has a port")]
        let [c, d] = [(self.ports >> 16) as u16, self.ports as u16];
        let is_v6 = self.ports >> 32 != 0;
        match in_order {
            true => ([self.one, self.other], [c, d], is_v6),
            false => ([self.other, self.one], [d, c], is_v6),
        }
    }

    /// One of `parts`: the same for the same pair.
    #[inline(always)]
    pub(crate) fn part(&self, parts: usize) -> usize {
        /// 2^64 divided by the golden ratio: multiplied by it, neighbouring ports lie far apart (Knuth,
        /// The Art of Computer Programming 3, section 6.4).
        const FAR_APART: u64 = 0x9e37_79b9_7f4a_7c15;
        let addresses = self.one ^ self.other.rotate_left(32);
        let folded = ((addresses << 64) ^ addresses) >> 64;
        // What is left has 64 bits.
        let mixed = u64::try_from(folded).unwrap_or_default() ^ self.ports;
        ((mixed.wrapping_mul(FAR_APART) >> 32) as usize * parts) >> 32
    }
}

const fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_bits() as u128,
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// Who is client and who is server: a SYN says it, or what is sent, or the ports.
pub(crate) fn roles(seen: &Seen<'_>) -> (SocketAddr, SocketAddr) {
    let (source, destination) = (seen.source, seen.destination);
    let from_client = match (seen.segment.flags.syn, seen.segment.ack) {
        (true, None) => true,
        (true, Some(_)) => false,
        _ if seen.payload.starts_with(b"HTTP/1.") => false,
        // Services have the lesser port nearly always.
        _ => source.port() >= destination.port(),
    };
    if from_client { (source, destination) } else { (destination, source) }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, Instant, Segment, SeqNumber};

    use super::*;

    fn seen(ports: [u16; 2], syn: bool, ack: bool, payload: &[u8]) -> Seen<'_> {
        let [source, destination] = ports.map(|port| SocketAddr::from(([10, 0, 0, 1], port)));
        let segment = Segment {
            ack: ack.then_some(SeqNumber(1)),
            flags: Flags { syn, ..Flags::NONE },
            ..Segment::default()
        };
        Seen {
            number: 1,
            at: Instant::EPOCH,
            interface: 0,
            source,
            destination,
            segment,
            payload,
            hop_limit: 64,
            identification: 0,
            fragment: false,
            options_cut: false,
            station: None,
        }
    }

    #[test]
    fn a_syn_tells_who_is_the_client_or_what_is_sent_or_the_lesser_port() {
        for (ports, syn, ack, payload, from_client) in [
            ([80, 5_000], true, false, &b""[..], true),
            ([5_000, 80], true, true, b"", false),
            ([5_000, 80], false, true, b"HTTP/1.1 200 OK", false),
            ([5_000, 80], false, true, b"HTTP/2", true),
            ([5_000, 80], false, true, b"", true),
            ([80, 5_000], false, true, b"", false),
            ([80, 80], false, true, b"", true),
        ] {
            let seen = seen(ports, syn, ack, payload);
            let ends = (seen.source, seen.destination);
            let expected = if from_client { ends } else { (ends.1, ends.0) };
            assert_eq!(roles(&seen), expected, "{ports:?} {syn} {ack}");
        }
    }

    #[test]
    fn both_directions_have_the_same_pair_and_the_lesser_address_or_port_comes_first() {
        let end = |host, port| SocketAddr::from(([10, 0, 0, host], port));
        for (one, other, first) in [
            (end(1, 9), end(2, 1), true),
            (end(2, 1), end(1, 9), false),
            (end(1, 1), end(1, 9), true),
            (end(1, 9), end(1, 1), false),
            (end(1, 9), end(1, 9), true),
        ] {
            assert_eq!(EndpointPair::is_first(one, other), first, "{one} {other}");
            assert_eq!(EndpointPair::of(one, other), EndpointPair::of(other, one));
        }
    }
}
