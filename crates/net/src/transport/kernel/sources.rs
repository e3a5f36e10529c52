//! Local addresses and ports of connections.
//!
//! The kernel would choose ports at random. After some thousand connections it would return to a
//! port that the server still holds in TIME-WAIT, and a new connection ends that TIME-WAIT. Here
//! each port of an address is used once before the next address.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    ops::RangeInclusive,
};

/// The local addresses of a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Sources {
    /// The kernel chooses address and port.
    #[default]
    Any,
    /// 127.0.0.1, and further addresses of 127.0.0.0/8 as ports run out: the whole net is local.
    Loopback,
    /// These, one after the other as ports run out. An empty list is like `Any`.
    These(Vec<IpAddr>),
}

/// The ephemeral port range of this host.
#[must_use]
pub fn local_ports() -> RangeInclusive<u16> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    range.ok().and_then(|text| parse_range(&text)).unwrap_or(DEFAULT_PORTS)
}

fn parse_range(text: &str) -> Option<RangeInclusive<u16>> {
    let mut ends = text.split_whitespace().map(str::parse);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (first <= last).then_some(first..=last)
}

/// Iterates over the ports of each source.
#[derive(Clone, Debug)]
pub(super) struct SourcePorts {
    sources: Sources,
    ports: RangeInclusive<u16>,
    taken: usize,
}

impl SourcePorts {
    /// Starts at port number `skip`, so that two consecutive runs start at different ports.
    pub(super) const fn new(sources: Sources, ports: RangeInclusive<u16>, skip: usize) -> Self {
        Self { sources, taken: skip, ports }
    }

    /// Number of ports before the first is repeated; 1 if the kernel chooses.
    pub(super) fn count(&self) -> usize {
        match self.addresses() {
            0 => 1,
            addresses => addresses * self.ports.len(),
        }
    }

    /// The next address and port. `None`: the kernel chooses.
    pub(super) fn next(&mut self) -> Option<SocketAddr> {
        let turn = self.taken / self.ports.len();
        let port = self.taken % self.ports.len();
        let address = self.address(turn.checked_rem(self.addresses())?)?;
        self.taken = self.taken.wrapping_add(1);
        Some(SocketAddr::new(address, self.ports.start() + u16::try_from(port).ok()?))
    }

    fn addresses(&self) -> usize {
        match &self.sources {
            Sources::Any => 0,
            Sources::Loopback => LOOPBACK_SOURCES,
            Sources::These(addresses) => addresses.len(),
        }
    }

    fn address(&self, index: usize) -> Option<IpAddr> {
        match &self.sources {
            Sources::Any => None,
            Sources::Loopback => {
                let index = u32::try_from(index).ok()?;
                Some(Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + index).into())
            }
            Sources::These(addresses) => addresses.get(index).copied(),
        }
    }
}

/// Number of addresses from 127.0.0.1 on (our choice): seven million connections.
const LOOPBACK_SOURCES: usize = 250;
/// Linux's default.
const DEFAULT_PORTS: RangeInclusive<u16> = 32_768..=60_999;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_port_of_each_address_comes_once() {
        let (one, two) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let mut starts = SourcePorts::new(Sources::These(vec![one, two]), 7..=9, 1);
        assert_eq!(starts.count(), 6);
        let seven: Vec<_> = std::iter::from_fn(|| starts.next()).take(7).collect();
        let expected = [(one, 8), (one, 9), (two, 7), (two, 8), (two, 9), (one, 7), (one, 8)];
        assert_eq!(seven, expected.map(SocketAddr::from));
    }

    #[test]
    fn the_kernel_picks_where_nothing_is_given() {
        for sources in [Sources::Any, Sources::These(Vec::new())] {
            let mut starts = SourcePorts::new(sources, DEFAULT_PORTS, 5);
            assert_eq!((starts.next(), starts.count()), (None, 1));
        }
    }

    #[test]
    fn loopback_has_many_addresses() {
        let mut starts = SourcePorts::new(Sources::Loopback, 7..=7, 0);
        assert_eq!(starts.next(), Some(([127, 0, 0, 1], 7).into()));
        assert_eq!(starts.next(), Some(([127, 0, 0, 2], 7).into()));
    }

    #[test]
    fn a_range_is_two_numbers() {
        assert_eq!(parse_range("32768\t60999\n"), Some(32_768..=60_999));
        for text in ["", "1", "2 1", "a b", "1 70000"] {
            assert_eq!(parse_range(text), None, "{text}");
        }
    }
}
