//! Which address a connection starts from: one has ports for some ten thousand connections only.

use std::net::{IpAddr, Ipv4Addr};

/// The local addresses of a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum Sources {
    /// Whichever the kernel picks.
    #[default]
    Any,
    /// What the kernel picks, and further ones of 127.0.0.0/8 as ports run out: the whole net is ours.
    Loopback,
    /// These, one after the other as ports run out. None: as `Any`.
    These(Vec<IpAddr>),
}

impl Sources {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Any => 1,
            Self::Loopback => LOOPBACK_SOURCES,
            Self::These(addresses) => addresses.len().max(1),
        }
    }

    /// The address number `index`, below [`len`](Self::len). `None`: the kernel picks.
    pub(super) fn at(&self, index: usize) -> Option<IpAddr> {
        match self {
            Self::Any => None,
            Self::Loopback if index == 0 => None,
            Self::Loopback => {
                let index = u32::try_from(index).unwrap_or(0);
                Some(Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + index).into())
            }
            Self::These(addresses) => addresses.get(index).copied(),
        }
    }
}

/// From 127.0.0.1 on: half a million connections before one of them has its next turn.
const LOOPBACK_SOURCES: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_addresses() {
        let (one, two) = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        for (sources, expected) in [
            (Sources::Any, vec![None]),
            (Sources::These(vec![]), vec![None]),
            (Sources::These(vec![one, two]), vec![Some(one), Some(two)]),
        ] {
            let all: Vec<_> = (0..sources.len()).map(|index| sources.at(index)).collect();
            assert_eq!(all, expected);
        }
        assert_eq!(Sources::Loopback.at(0), None);
        assert_eq!(Sources::Loopback.at(1), Some([127, 0, 0, 2].into()));
    }
}
