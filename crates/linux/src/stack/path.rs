//! An emulated path between this host and its peers: distance without a network.
//!
//! Packets wait in a link of crate `ackwise-link` on their way from and to the device, in real time. A path that is
//! replaced keeps nothing: what was under way is lost, so no connection should be.

use std::time;

use ackwise_link::{Link, LinkConfig};
use ackwise_tcp::{ByteCount, Instant};

use crate::clock::Clock;

/// Both directions.
pub(super) struct Path {
    to_peer: Link<Vec<u8>>,
    from_peer: Link<Vec<u8>>,
    clock: Clock,
}

impl Path {
    pub(super) fn new([to_peer, from_peer]: [LinkConfig; 2], clock: Clock) -> Self {
        Self { to_peer: Link::new(to_peer), from_peer: Link::new(from_peer), clock }
    }

    /// A packet of this host enters the path.
    pub(super) fn depart(&mut self, packet: &[u8]) {
        let now = self.clock.now();
        let _ = self.to_peer.push(packet.to_vec(), size(packet), now); // Counted by the link.
    }

    /// A packet of a peer enters the path.
    pub(super) fn approach(&mut self, packet: &[u8]) {
        let now = self.clock.now();
        let _ = self.from_peer.push(packet.to_vec(), size(packet), now); // Counted by the link.
    }

    /// The next packet that has reached the peers' end.
    pub(super) fn poll_to_peer(&mut self) -> Option<Vec<u8>> {
        self.to_peer.poll(self.clock.now())
    }

    /// The next packet that has reached this host.
    pub(super) fn poll_from_peer(&mut self) -> Option<Vec<u8>> {
        self.from_peer.poll(self.clock.now())
    }

    /// When the next packet arrives at either end.
    pub(super) fn due(&self) -> Option<time::Instant> {
        let earliest: Option<Instant> =
            [self.to_peer.poll_timeout(), self.from_peer.poll_timeout()]
                .into_iter()
                .flatten()
                .min();
        earliest.and_then(|at| self.clock.outside(at))
    }
}

fn size(packet: &[u8]) -> ByteCount {
    ByteCount(packet.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_packet_takes_the_delay_of_its_direction() {
        let link = |ms| LinkConfig { delay: Duration::from_millis(ms), ..LinkConfig::IDEAL };
        let mut path = Path::new([link(30), link(0)], Clock::new());
        let began = time::Instant::now();
        path.depart(b"request");
        assert_eq!(path.poll_to_peer(), None);
        let due = path.due().expect("a packet is under way");
        let delay = due.saturating_duration_since(began);
        assert!((Duration::from_millis(30)..Duration::from_secs(2)).contains(&delay), "{delay:?}");
        path.approach(b"response");
        assert_eq!(path.poll_from_peer().as_deref(), Some(&b"response"[..]));
        std::thread::sleep(due.saturating_duration_since(time::Instant::now()));
        assert_eq!(path.poll_to_peer().as_deref(), Some(&b"request"[..]));
        assert_eq!(path.due(), None);
    }
}
