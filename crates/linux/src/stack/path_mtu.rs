//! What routers have said about paths, for connections that begin later (RFC 1191, section 5.2).

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use ackwise_tcp::Instant;

/// The path MTUs to hosts that a router has reported, for [`REMEMBERED`].
#[derive(Debug, Default)]
pub(super) struct PathMtus {
    hosts: BTreeMap<IpAddr, Known>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    mtu: u32,
    since: Instant,
}

impl PathMtus {
    /// A router has reported the MTU of the path to `host`.
    pub(super) fn learn(&mut self, host: IpAddr, mtu: u32, now: Instant) {
        if self.hosts.len() >= MOST_HOSTS && !self.hosts.contains_key(&host) {
            let oldest = self.hosts.iter().min_by_key(|(_, known)| known.since);
            if let Some(oldest) = oldest.map(|(host, _)| *host) {
                self.hosts.remove(&oldest);
            }
        }
        self.hosts.insert(host, Known { mtu, since: now });
    }

    /// The MTU of the path to `host`, if a router has reported one lately.
    pub(super) fn known(&mut self, host: IpAddr, now: Instant) -> Option<u32> {
        let Known { mtu, since } = *self.hosts.get(&host)?;
        if now.since(since) < REMEMBERED {
            return Some(mtu);
        }
        self.hosts.remove(&host);
        None
    }
}

/// RFC 1191, section 3: "An attempt to detect an increase [...] MUST NOT be done less than 5 minutes after
/// a Datagram Too Big message"; "twice their minimum values" are recommended.
const REMEMBERED: Duration = Duration::from_secs(600);
/// Hosts whose path is remembered; the oldest gives way (our choice: 64 KB).
const MOST_HOSTS: usize = 1024;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn host(number: u32) -> IpAddr {
        Ipv4Addr::from(number).into()
    }

    fn at(seconds: u64) -> Instant {
        Instant::EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn what_is_remembered_is_forgotten_after_ten_minutes() {
        let mut paths = PathMtus::default();
        paths.learn(host(1), 1_400, at(0));
        paths.learn(host(1), 1_280, at(10));
        assert_eq!(paths.known(host(2), at(10)), None);
        assert_eq!(paths.known(host(1), at(609)), Some(1_280));
        assert_eq!(paths.known(host(1), at(610)), None);
    }

    #[test]
    fn the_oldest_of_too_many_gives_way() {
        let mut paths = PathMtus::default();
        let most = u32::try_from(MOST_HOSTS).unwrap();
        for number in 0..=most {
            paths.learn(host(number), 1_280, at(number.into()));
        }
        assert_eq!(paths.hosts.len(), MOST_HOSTS);
        assert_eq!(paths.known(host(0), at(0)), None);
        assert_eq!(paths.known(host(1), at(1)), Some(1_280));
    }
}
