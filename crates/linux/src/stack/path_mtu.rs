//! Path MTUs reported by routers, for later connections (RFC 1191, section 5.2).

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use ackwise_tcp::Instant;

/// Reported path MTUs by host, kept for [`REMEMBERED`].
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
    /// Records a router's report of the path MTU to `host`.
    ///
    /// RFC 1191, section 3: "A host MUST NOT increase its estimate of the Path MTU in response to
    /// the contents of a Datagram Too Big message": while a smaller one is known, a larger one is
    /// ignored and does not extend its lifetime.
    pub(super) fn learn(&mut self, host: IpAddr, mtu: u32, now: Instant) {
        let mtu = mtu.max(SMALLEST);
        if self.known(host, now).is_some_and(|known| known < mtu) {
            return;
        }
        if self.hosts.len() >= MOST_HOSTS && !self.hosts.contains_key(&host) {
            let oldest = self.hosts.iter().min_by_key(|(_, known)| known.since);
            if let Some(oldest) = oldest.map(|(host, _)| *host) {
                self.hosts.remove(&oldest);
            }
        }
        self.hosts.insert(host, Known { mtu, since: now });
    }

    /// The path MTU to `host`, if reported within [`REMEMBERED`].
    pub(super) fn known(&mut self, host: IpAddr, now: Instant) -> Option<u32> {
        let Known { mtu, since } = *self.hosts.get(&host)?;
        if now.since(since) < REMEMBERED {
            return Some(mtu);
        }
        self.hosts.remove(&host);
        None
    }
}

/// RFC 1191, section 3: "An attempt to detect an increase [...] MUST NOT be done less than 5
/// minutes after a Datagram Too Big message"; "twice their minimum values" are recommended.
const REMEMBERED: Duration = Duration::from_secs(600);
/// Minimum remembered MTU: one peer could otherwise shrink the packets of all connections to its
/// address, including those of other hosts behind the same NAT (Linux `ip_rt_min_pmtu`, 512 + 40).
/// The reported connection itself may use less. IPv6 endpoints reject less than 1,280.
const SMALLEST: u32 = 552;
/// Maximum number of hosts (our choice: 64 KB); the oldest is evicted.
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
    fn a_later_report_does_not_raise_what_is_remembered() {
        let mut paths = PathMtus::default();
        paths.learn(host(1), 1_280, at(0));
        paths.learn(host(1), 1_400, at(300));
        assert_eq!(paths.known(host(1), at(599)), Some(1_280));
        assert_eq!(paths.known(host(1), at(600)), None, "nor keep it for longer");
        paths.learn(host(1), 1_280, at(700));
        paths.learn(host(1), 1_400, at(1_300));
        assert_eq!(paths.known(host(1), at(1_300)), Some(1_400), "the smaller one is forgotten");
    }

    #[test]
    fn no_less_than_552_bytes_are_remembered() {
        let mut paths = PathMtus::default();
        for (number, mtu, remembered) in [(1, 0, 552), (2, 551, 552), (3, 553, 553)] {
            paths.learn(host(number), mtu, at(0));
            assert_eq!(paths.known(host(number), at(0)), Some(remembered));
        }
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
