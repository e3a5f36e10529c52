//! Scenarios that several tests use.

use std::{borrow::Cow, num::NonZeroU32, time::Duration};

use ackwise_http::{
    Behaviour,
    page::Transfer,
    workload::{Pages, Span},
};
use ackwise_link::{LinkConfig, Queue, Rate, Seed};
use ackwise_sim::{
    Scenario,
    scenario::{Application, ApplicationKind, DuplexLink, Node, NodeId, Web},
};
use ackwise_tcp::{ByteCount, Config, Policies};

pub(crate) const CLIENT: NodeId = NodeId(0);
pub(crate) const SERVER: NodeId = NodeId(1);

pub(crate) fn link(name: &str, ends: [NodeId; 2], rate: u64, delay: Duration) -> DuplexLink {
    let direction = LinkConfig {
        rate: Rate::bits_per_second(rate),
        delay,
        queue: Queue::packets(1_000).unwrap(),
        ..LinkConfig::IDEAL
    };
    DuplexLink::symmetric(name, ends, direction)
}

/// The page of Heidemann 1997 over its Ethernet (section 2; frames have 38 bytes beside IP).
pub(crate) fn ethernet(transfer: Transfer, behaviour: Behaviour) -> Scenario {
    let tcp =
        Config { receive_buffer: 16_384, send_buffer: 16_384, ..Config::new(Policies::SUNOS_4_1) };
    let mut ethernet = link("ethernet", [CLIENT, SERVER], 10_000_000, Duration::from_micros(50));
    ethernet.overhead = ByteCount(38);
    let workload = Pages::Fixed { primary: 6_651, inlines: Cow::Borrowed(&[3_883, 1_866]) };
    let web = Web {
        pages: NonZeroU32::new(100),
        request: ByteCount(52),
        response_head: ByteCount(226),
        client_delay: Span::Fixed(Duration::from_micros(650)),
        ..Web::plain(workload, transfer, behaviour)
    };
    Scenario {
        nodes: vec![Node::host("client", tcp), Node::host("server", tcp)],
        links: vec![ethernet],
        applications: vec![Application {
            name: "web".to_owned(),
            client: CLIENT,
            server: SERVER,
            start: Span::ZERO,
            kind: ApplicationKind::Web(web),
        }],
        duration: Duration::from_secs(1_000),
        warm_up: Duration::ZERO,
        watch_causes: false,
        seed: Seed(1),
        max_events: 10_000_000,
        max_connections: 1_000,
    }
}
