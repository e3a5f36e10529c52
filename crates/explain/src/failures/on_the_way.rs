//! RSTs that no end sent: a firewall or a balancer on the way did, which is fewer hops away.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use ackwise_capture::{
    analysis::{Analysis, ConnectionResult},
    attribution::Confidence,
};
use ackwise_cause::Party;

use super::Failure;

/// The hop limits of an RST, and of what the end sends in whose name it came.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OnTheWay {
    /// That of the RST.
    pub rst: u8,
    /// That of the end's SYN.
    pub end: u8,
}

/// Of the SYN-ACKs of each host.
pub(super) struct Hosts(BTreeMap<IpAddr, BTreeSet<u8>>);

impl Hosts {
    pub(super) fn of(analysis: &Analysis) -> Self {
        let mut hosts: BTreeMap<IpAddr, BTreeSet<u8>> = BTreeMap::new();
        for it in &analysis.connections {
            hosts.entry(it.server.ip()).or_default().extend(it.hop_limits[1].syn);
        }
        Self(hosts)
    }

    /// Says so of a failure that ended with such an RST.
    pub(super) fn tell(&self, connection: &ConnectionResult, failure: &mut Failure) {
        let Some(end) = failure.ended_by.filter(|it| *it != Party::Path) else { return };
        let limits = connection.hop_limits[usize::from(end == Party::Server)];
        let Some(rst) = limits.rst else { return };
        let (own, is_sure) = match limits.syn {
            Some(own) => (own, true),
            // Other connections may take another route, but not all of them.
            None => match self.0.get(&connection.server.ip()).and_then(only) {
                Some(own) if end == Party::Server => (own, false),
                _ => return,
            },
        };
        if hops(rst) >= hops(own) {
            return;
        }
        failure.on_the_way = Some(OnTheWay { rst, end: own });
        failure.party = Some(Party::Path);
        if !is_sure && failure.confidence == Confidence::High {
            (failure.confidence, failure.rival) = (Confidence::Medium, Some("another-route"));
        }
    }
}

/// How many hops a packet with that limit has passed, if its sender began with a usual one. An end may begin RSTs with
/// another one than SYNs.
fn hops(limit: u8) -> u8 {
    const USUAL: [u8; 3] = [64, 128, 255];
    USUAL.into_iter().find(|it| *it >= limit).map_or(0, |it| it - limit)
}

fn only(all: &BTreeSet<u8>) -> Option<u8> {
    all.first().copied().filter(|_| all.len() == 1)
}
