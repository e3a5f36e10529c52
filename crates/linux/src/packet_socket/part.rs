//! A part of all TCP connections, chosen by their addresses and ports.
//!
//! Each connection has a rank that is the same in both directions. A part holds the ranks below a bound, so
//! that a smaller part is a subset of a larger one: a connection that stays is captured without a gap.
//! The kernel computes the rank of each packet (`program`), and [`Part::holds`] does the same here for
//! packets that were queued before the kernel knew of the part.
//!
//! Not here: tunnels, extension headers and fragments. A rank is computed from the outer headers of
//! packets that are plain TCP; others belong to no part but to [`Part::everything`].

use std::net::{IpAddr, SocketAddr};

/// Which connections are captured: one in `2^halvings`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Part {
    pub(super) halvings: u32,
    pub(super) seed: u32,
}

impl Part {
    /// The most halvings: one connection in 65,536 (our choice: of a million packets per second, each on
    /// its own connection, 15 are left).
    pub const MOST_HALVINGS: u32 = 16;

    /// All packets. `seed` decides which connections are in smaller parts: senders must not know it.
    #[must_use]
    pub const fn everything(seed: u32) -> Self {
        Self { halvings: 0, seed }
    }

    /// One TCP connection in `2^halvings`, at most [`Self::MOST_HALVINGS`], and nothing else; all packets
    /// for 0.
    #[must_use]
    pub fn halved(self, halvings: u32) -> Self {
        Self { halvings: halvings.min(Self::MOST_HALVINGS), ..self }
    }

    /// It holds one connection in `2^halvings`.
    #[must_use]
    pub const fn halvings(self) -> u32 {
        self.halvings
    }

    /// Whether it holds all packets.
    #[must_use]
    pub const fn is_everything(self) -> bool {
        self.halvings == 0
    }

    /// Whether it is smaller than `other`, of the same seed.
    #[must_use]
    pub const fn is_within(self, other: Self) -> bool {
        self.halvings > other.halvings
    }

    /// Whether it holds a packet, by its bytes from the IP header on.
    #[must_use]
    pub fn holds(self, packet: &[u8]) -> bool {
        self.halvings == 0 || ends(packet).is_some_and(|ends| self.is_below_bound(ends))
    }

    /// Whether it holds plain packets of a connection between these.
    #[must_use]
    pub fn holds_connection(self, ends: [SocketAddr; 2]) -> bool {
        self.halvings == 0 || self.is_below_bound(ends.map(|end| (folded(end.ip()), end.port())))
    }

    /// Ranks below this are in it.
    pub(super) const fn bound(self) -> u32 {
        u32::MAX >> self.halvings
    }

    fn is_below_bound(self, ends: [(u32, u16); 2]) -> bool {
        let [one, other] = ends.map(|(address, port)| self.mixed(address, port));
        one.wrapping_add(other).wrapping_mul(ADDRESS) < self.bound()
    }

    /// One end. The sum of two does not tell which was first.
    fn mixed(self, address: u32, port: u16) -> u32 {
        let port = u32::from(port).wrapping_mul(PORT);
        let sum = address.wrapping_mul(ADDRESS).wrapping_add(port).wrapping_add(self.seed);
        let mixed = (sum ^ sum >> FIRST_SHIFT).wrapping_mul(MIXED);
        mixed ^ mixed >> SECOND_SHIFT
    }
}

/// Whether a packet, from its IP header on, has a rank: it is plain TCP and no fragment.
#[must_use]
pub fn is_plain(packet: &[u8]) -> bool {
    ends(packet).is_some()
}

/// Address and port of source and destination.
fn ends(packet: &[u8]) -> Option<[(u32, u16); 2]> {
    let half = |at: usize| packet.get(at..at + 2)?.try_into().ok().map(u16::from_be_bytes);
    let word = |at: usize| packet.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    match packet.first()? >> 4 {
        4 => {
            let is_plain = packet.get(9) == Some(&TCP) && half(6)? & FRAGMENT == 0;
            let header = usize::from(packet[0] & 0x0f) * 4;
            is_plain.then_some([(word(12)?, half(header)?), (word(16)?, half(header + 2)?)])
        }
        6 if packet.get(6) == Some(&TCP) => {
            let address =
                |at: usize| Some(fold([word(at)?, word(at + 4)?, word(at + 8)?, word(at + 12)?]));
            Some([(address(8)?, half(40)?), (address(24)?, half(42)?)])
        }
        _ => None,
    }
}

fn folded(address: IpAddr) -> u32 {
    match address {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            #[expect(clippy::cast_possible_truncation, reason = "each word has 32 bits")]
            fold([96, 64, 32, 0].map(|shift| (bits >> shift) as u32))
        }
    }
}

/// An address of IPv6 as one word.
fn fold(words: [u32; 4]) -> u32 {
    words.into_iter().fold(0, |sum, word| sum.wrapping_mul(PORT).wrapping_add(word))
}

const TCP: u8 = 6;

/// RFC 791, section 3.1: more fragments, or the offset of this one.
pub(super) const FRAGMENT: u16 = 0x3fff;

/// Odd numbers without a pattern, from MurmurHash3 and the golden ratio (our choice).
pub(super) const ADDRESS: u32 = 0x9e37_79b1;
pub(super) const PORT: u32 = 0x85eb_ca6b;
pub(super) const MIXED: u32 = 0xc2b2_ae35;
pub(super) const FIRST_SHIFT: u32 = 16;
pub(super) const SECOND_SHIFT: u32 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    fn connections() -> impl Iterator<Item = [SocketAddr; 2]> {
        (0..20_000_u32).map(|number| {
            let (host, port) = (number / 500, 40_000 + number % 500);
            let client = [format!("10.0.0.{host}:{port}"), format!("[fd00::{host:x}]:{port}")];
            let server = ["10.1.0.1:80", "[fd00:1::1]:80"];
            let version = number as usize % 2;
            [client[version].parse().unwrap(), server[version].parse().unwrap()]
        })
    }

    #[test]
    fn a_part_holds_its_share_of_connections_in_both_directions_and_halves_nest() {
        for seed in [0, 1, 0xdead_beef] {
            let all = Part::everything(seed);
            for halvings in [1, 2, 4, 6] {
                let (part, twice) = (all.halved(halvings), all.halved(halvings - 1));
                let mut held = 0_u32;
                for [client, server] in connections() {
                    let holds = part.holds_connection([client, server]);
                    assert_eq!(holds, part.holds_connection([server, client]), "{client}");
                    assert!(!holds || twice.holds_connection([client, server]), "{client}");
                    held += u32::from(holds);
                }
                let expected = 20_000.0 / f64::from(1 << halvings);
                let error = (f64::from(held) - expected).abs();
                assert!(error < 5.0 * expected.sqrt(), "seed {seed}, 1/2^{halvings}: {held}");
            }
        }
    }

    #[test]
    fn another_seed_chooses_other_connections() {
        let [one, other] = [3, 4].map(|seed| Part::everything(seed).halved(1));
        let both = connections()
            .filter(|&ends| one.holds_connection(ends) && other.holds_connection(ends))
            .count();
        assert!((4_500..5_500).contains(&both), "{both} of 20,000 in both halves");
    }

    #[test]
    fn everything_holds_what_has_no_rank() {
        let all = Part::everything(7);
        for packet in [&[][..], &[0x45], &[0x60; 50], &[0xff; 60]] {
            assert!(all.holds(packet) && !all.halved(1).holds(packet), "{packet:?}");
        }
    }
}
