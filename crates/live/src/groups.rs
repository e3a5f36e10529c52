//! Which hosts share a namespace: those with the same TCP that never talk to each other.

use std::{collections::BTreeMap, net::Ipv4Addr};

use ackwise_linux::emulator::Way;
use ackwise_sim::{Scenario, scenario::NodeId};
use ackwise_tcp::Config;

use crate::{
    playable::{self, World},
    settings,
};

/// Hosts of one namespace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Group {
    pub(crate) tcp: Config,
    /// Whether its hosts open connections.
    opens: bool,
    /// Whether they have our TCP instead of the kernel's.
    pub(crate) ours: bool,
    pub(crate) hosts: Vec<NodeId>,
}

/// The groups of a scenario, and the group of each node by its place; routers have none.
pub(crate) fn groups(scenario: &Scenario, world: World) -> (Vec<Group>, Vec<Option<usize>>) {
    let mut groups: Vec<Group> = Vec::new();
    let mut of = vec![None; scenario.nodes.len()];
    for (place, (node, group)) in (0..).zip(scenario.nodes.iter().zip(&mut of)) {
        let Some(tcp) = node.tcp else { continue };
        let host = NodeId(place);
        let opens = playable::is_client(scenario, host);
        let talks = |other: &NodeId| {
            scenario.applications.iter().any(|it| {
                let both = (it.client, it.server);
                both == (host, *other) || both == (*other, host)
            })
        };
        let fits = |it: &Group| it.tcp == tcp && it.opens == opens && !it.hosts.iter().any(talks);
        let found = groups.iter().position(fits);
        let found = found.unwrap_or_else(|| {
            let ours = opens && world == World::Wire;
            groups.push(Group { tcp, opens, ours, hosts: Vec::new() });
            groups.len() - 1
        });
        groups[found].hosts.push(host);
        *group = Some(found);
    }
    (groups, of)
}

/// Address of a host: the first half of RFC 2544's range, from the second address on.
pub(crate) fn address(host: NodeId) -> Ipv4Addr {
    (u32::from(Ipv4Addr::new(198, 18, 0, 1)) + host.0).into()
}

/// The ways of all packets of the applications. The error is an application without one.
pub(crate) fn ways(scenario: &Scenario) -> Result<BTreeMap<[Ipv4Addr; 2], Way>, String> {
    let mut pairs = Vec::new();
    for it in &scenario.applications {
        pairs.extend([[it.client, it.server], [it.server, it.client]]);
    }
    let name = |pair: usize| scenario.applications[pair / 2].name.clone();
    let ways = (0..).zip(scenario.ways(&pairs)).zip(&pairs);
    ways.map(|((number, wires), pair)| {
        let wires = wires.ok_or_else(|| name(number))?;
        let mtu = |node: NodeId| {
            scenario.nodes[node.0 as usize].tcp.map_or(u16::MAX, |tcp| settings::mtu(&tcp))
        };
        let full = mtu(pair[0]).min(mtu(pair[1]));
        Ok((pair.map(address), Way { wires, full }))
    })
    .collect()
}
