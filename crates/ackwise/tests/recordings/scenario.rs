//! A network that does everything to packets that a capture has to survive.

use std::{borrow::Cow, num::NonZeroU32, time::Duration};

use ackwise_http::{
    Behaviour,
    page::Transfer,
    workload::{Pages, Span},
};
use ackwise_link::{Faults, LinkConfig, Pick, Probability, Queue, Rate, Seed};
use ackwise_sim::{
    Scenario,
    scenario::{Application, ApplicationKind, DuplexLink, Node, NodeId, Web},
};
use ackwise_tcp::{ByteCount, Config, Policies};

pub(crate) const CLIENT: NodeId = NodeId(0);
pub(crate) const SERVER: NodeId = NodeId(1);

/// Two users fetch three pages each; both ends see loss, copies and packets that overtake others.
pub(crate) fn rough(transfer: Transfer, policies: Policies) -> Scenario {
    let random = |per_million| Pick::Random(Probability::per_million(per_million).unwrap());
    scenario(
        transfer,
        policies,
        Faults {
            loss: random(30_000),
            duplication: random(20_000),
            reordering: random(30_000),
            lateness: Duration::from_millis(2),
            outage: None,
            mtu: None,
        },
    )
}

/// The same without faults, so that nothing is sent twice.
pub(crate) fn smooth(transfer: Transfer, policies: Policies) -> Scenario {
    scenario(transfer, policies, Faults::NONE)
}

fn scenario(transfer: Transfer, policies: Policies, faults: Faults) -> Scenario {
    let direction = LinkConfig {
        rate: Rate::bits_per_second(10_000_000),
        delay: Duration::from_millis(5),
        queue: Queue::packets(100).unwrap(),
        faults,
        ..LinkConfig::IDEAL
    };
    let ends = [CLIENT, SERVER];
    let link =
        DuplexLink { overhead: ByteCount(38), ..DuplexLink::symmetric("link", ends, direction) };
    Scenario {
        nodes: ["client", "server"].map(|name| Node::host(name, Config::new(policies))).into(),
        links: vec![link],
        applications: vec![Application {
            name: "web".to_owned(),
            client: CLIENT,
            server: SERVER,
            start: Span::ZERO,
            kind: ApplicationKind::Web(web(transfer)),
        }],
        duration: Duration::from_secs(1_000),
        warm_up: Duration::ZERO,
        watch_causes: false,
        seed: Seed(7),
        max_events: 10_000_000,
        max_connections: 1_000,
    }
}

fn web(transfer: Transfer) -> Web {
    let inlines = Cow::Borrowed(&[3_883, 1_866, 400, 20_000][..]);
    let workload = Pages::Fixed { primary: 6_651, inlines };
    Web {
        users: NonZeroU32::new(2).unwrap(),
        pages: NonZeroU32::new(3),
        request: ByteCount(210),
        response_head: ByteCount(226),
        ..Web::plain(workload, transfer, Behaviour::FIXED)
    }
}
