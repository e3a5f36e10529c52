//! Numbers that must not be predictable: initial sequence numbers and ephemeral ports.

use std::{
    hash::{BuildHasher, Hash, Hasher, RandomState},
    io,
    net::{IpAddr, SocketAddr},
    ops::RangeInclusive,
};

use ackwise_tcp::{Instant, SeqNumber, driver::CookieSecret};
use rustix::rand::{GetRandomFlags, getrandom};
use siphasher::sip::SipHasher13;

use super::Tuple;

/// Streams from one seed: the same seed and calls give the same numbers.
#[derive(Clone, Debug)]
pub(super) struct Secrets {
    sequence: SipHasher13,
    port: SipHasher13,
    cookies: CookieSecret,
    ports_given: u64,
}

impl Secrets {
    /// From `seed`, or from the system's randomness.
    ///
    /// # Errors
    ///
    /// If the system has no randomness.
    pub(super) fn new(seed: Option<u64>) -> io::Result<Self> {
        let cookies = match seed {
            Some(seed) => seeded_bytes(seed),
            None => system_bytes()?,
        };
        let seed = seed.unwrap_or_else(|| RandomState::new().hash_one("seed"));
        Ok(Self {
            sequence: SipHasher13::new_with_keys(seed, u64::from_be_bytes(*b"sequence")),
            port: SipHasher13::new_with_keys(seed, u64::from_be_bytes(*b"the port")),
            cookies: CookieSecret::new(cookies),
            ports_given: 0,
        })
    }

    /// The secret of the listeners' SYN cookies.
    pub(super) const fn cookies(&self) -> CookieSecret {
        self.cookies
    }

    /// RFC 6528, section 3: "ISN = M + F(localip, localport, remoteip, remoteport, secretkey)",
    /// where M is a timer of 4 microseconds.
    pub(super) fn initial_sequence(&self, tuple: &Tuple, now: Instant) -> SeqNumber {
        let timer = now.as_nanos() / 4_000;
        let mut hasher = self.sequence;
        tuple.hash(&mut hasher);
        SeqNumber(low_bits(timer.wrapping_add(hasher.finish())))
    }

    /// Each ephemeral port once, starting at a counter plus a secret offset of these addresses (RFC
    /// 6056, section 3.3.3: algorithm 3). A random port might be repeated while the peer still
    /// holds it in TIME-WAIT.
    pub(super) fn ports(
        &mut self,
        ours: IpAddr,
        peer: SocketAddr,
    ) -> impl Iterator<Item = u16> + use<> {
        let mut hasher = self.port;
        (ours, peer).hash(&mut hasher);
        let turn = hasher.finish().wrapping_add(self.ports_given);
        self.ports_given = self.ports_given.wrapping_add(1);
        let skip = usize::try_from(turn % EPHEMERAL_COUNT).unwrap_or(0);
        EPHEMERAL.skip(skip).chain(EPHEMERAL.take(skip))
    }
}

/// The stream of `seed` for cookies.
fn seeded_bytes(seed: u64) -> [u8; 16] {
    let hasher = SipHasher13::new_with_keys(seed, u64::from_be_bytes(*b"  cookie"));
    let mut bytes = [0; 16];
    for (number, half) in (0_u8..).zip(bytes.as_chunks_mut::<8>().0) {
        let mut hasher = hasher;
        hasher.write_u8(number);
        *half = hasher.finish().to_be_bytes();
    }
    bytes
}

/// All 128 bits from the kernel: whoever guesses them forges connections.
fn system_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let filled = getrandom(&mut bytes, GetRandomFlags::empty())?;
    match filled == bytes.len() {
        true => Ok(bytes),
        false => Err(io::Error::other("the kernel returned too few random bytes")),
    }
}

/// The upper half, which contains the dynamic ports of RFC 6335 and Linux's range.
const EPHEMERAL: RangeInclusive<u16> = 32_768..=65_535;
const EPHEMERAL_COUNT: u64 = 32_768;

/// The hash truncated to the size of a sequence number.
fn low_bits(hash: u64) -> u32 {
    u32::try_from(hash & u64::from(u32::MAX)).expect("32 bits are left")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(port: u16) -> Tuple {
        Tuple { ours: ([198, 18, 0, 2], port).into(), peer: ([198, 18, 0, 1], 80).into() }
    }

    #[test]
    fn a_seed_repeats_itself_and_another_does_not() {
        let number = |seed, port| {
            Secrets::new(Some(seed)).unwrap().initial_sequence(&tuple(port), Instant::EPOCH)
        };
        assert_eq!(number(1, 40_000), number(1, 40_000));
        assert_ne!(number(1, 40_000), number(2, 40_000));
        assert_ne!(number(1, 40_000), number(1, 40_001));
        let cookies = |seed| Secrets::new(seed).unwrap().cookies();
        assert_eq!(cookies(Some(1)), cookies(Some(1)));
        assert_ne!(cookies(Some(1)), cookies(Some(2)));
        assert_ne!(cookies(None), cookies(None), "the system's randomness");
    }

    #[test]
    fn a_later_incarnation_starts_after_an_earlier_one() {
        let secrets = Secrets::new(Some(1)).unwrap();
        let early = secrets.initial_sequence(&tuple(40_000), Instant::from_nanos(1_000_000));
        let late = secrets.initial_sequence(&tuple(40_000), Instant::from_nanos(2_000_000));
        assert_eq!(late.distance_from(early), 250, "4 microseconds each");
    }

    #[test]
    fn every_ephemeral_port_comes_once_and_they_take_turns() {
        let mut secrets = Secrets::new(Some(1)).unwrap();
        let [ours, peer] = [tuple(0).ours.ip(), tuple(0).peer.ip()];
        let mut first = |port| secrets.ports(ours, (peer, port).into()).next().unwrap();
        let [one, two] = [first(80), first(80)];
        assert_eq!(two, if one == *EPHEMERAL.end() { *EPHEMERAL.start() } else { one + 1 });
        assert_ne!(first(81), two + 1, "another peer, another offset");
        let mut ports: Vec<_> = secrets.ports(ours, (peer, 80).into()).collect();
        ports.sort_unstable();
        assert!(ports.iter().copied().eq(EPHEMERAL));
        assert_eq!(ports.len() as u64, EPHEMERAL_COUNT);
    }
}
