//! A proxy between clients and servers, each on a link of its own.

use std::{num::NonZeroU64, time::Duration};

use ackwise_http::workload::{Size, Span};
use ackwise_link::{Faults, LinkConfig, Pick, Probability, Queue, Rate, Seed};
use ackwise_sim::{
    Measures, Nobody, Scenario,
    measure::ProxyMeasures,
    run,
    scenario::{
        Application, ApplicationKind, Counted, Divides, DuplexLink, IdleMemory, Node, NodeId,
        Persistence, Proxy, Refused, Route, Upward,
    },
};
use ackwise_tcp::{ByteCount, Config, Policies, policy::HoldPolicy};
use ackwise_tuning::{Scheme, Spare};

/// The proxy's host.
const PROXY: NodeId = NodeId(0);

/// A star: links of 100 Mb/s and 10 ms.
pub(crate) fn star(clients: u32, servers: u32) -> Scenario {
    let policies = Policies { hold: HoldPolicy::Off, ..Policies::RFC };
    let tcp = Config { receive_buffer: 1 << 20, send_buffer: 1 << 20, ..Config::new(policies) };
    let mut nodes = vec![Node::host("proxy", tcp)];
    nodes.extend((0..clients).map(|number| Node::host(&format!("client{number}"), tcp)));
    nodes.extend((0..servers).map(|number| Node::host(&format!("server{number}"), tcp)));
    let direction = LinkConfig {
        rate: Rate::bits_per_second(100_000_000),
        delay: Duration::from_millis(10),
        queue: Queue::packets(1_000).unwrap(),
        ..LinkConfig::IDEAL
    };
    let links = (1..=clients + servers).map(|number| {
        let (name, ends) = (format!("link{number}"), [PROXY, NodeId(number)]);
        DuplexLink::symmetric(&name, ends, direction.clone())
    });
    let proxy = Proxy {
        clients: (1..=clients).map(NodeId).collect(),
        servers: (clients + 1..=clients + servers).map(NodeId).collect(),
        route: Route::Proxy,
        think: Span::Fixed(Duration::from_secs(1)),
        size: Size::Fixed(ByteCount(10_000)),
        request: ByteCount(200),
        hits_per_million: 500_000,
        scheme: Scheme::OKAMOTO_1,
        pool: ByteCount(3_200 * 1_024),
        n_max: NonZeroU64::new(200).unwrap(),
        counted: Counted::Both,
        reserved: 0,
        refused: Refused::Retry,
        upward: Upward::PerServer,
        persistence: Persistence::Timeouts {
            client: Duration::from_secs(15),
            server: Duration::from_secs(60),
        },
        interval: Duration::from_secs(1),
        divides: Divides::Reuse,
        spare: Spare::Keep,
        idle_memory: IdleMemory::Reserved,
    };
    Scenario {
        nodes,
        links: links.collect(),
        applications: vec![Application {
            name: "web".to_owned(),
            client: NodeId(1),
            server: PROXY,
            start: Span::ZERO,
            kind: ApplicationKind::Proxy(Box::new(proxy)),
        }],
        duration: Duration::from_secs(60),
        warm_up: Duration::ZERO,
        watch_causes: false,
        seed: Seed(1),
        max_events: 100_000_000,
        max_connections: 10_000,
    }
}

/// Links lose one packet in a hundred, and delays are drawn.
pub(crate) fn lossy(mut scenario: Scenario) -> Scenario {
    for link in &mut scenario.links {
        let (from, to) = (Duration::from_millis(10), Duration::from_millis(100));
        link.drawn_delay = Some(Span::Uniform { from, to });
        for direction in &mut link.directions {
            let loss = Pick::Random(Probability::per_million(10_000).unwrap());
            direction.faults = Faults { loss, ..Faults::NONE };
        }
    }
    scenario
}

pub(crate) fn proxy(scenario: &mut Scenario) -> &mut Proxy {
    match &mut scenario.applications[0].kind {
        ApplicationKind::Proxy(proxy) => proxy,
        kind => panic!("{kind:?}"),
    }
}

pub(crate) fn settings(scenario: &Scenario) -> &Proxy {
    match &scenario.applications[0].kind {
        ApplicationKind::Proxy(proxy) => proxy,
        kind => panic!("{kind:?}"),
    }
}

/// The scenario with other settings of the proxy.
pub(crate) fn with(mut scenario: Scenario, change: impl FnOnce(&mut Proxy)) -> Scenario {
    change(proxy(&mut scenario));
    scenario
}

pub(crate) fn measure(scenario: &Scenario) -> Measures {
    run(scenario, &mut Nobody).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn proxied(measures: &Measures) -> &ProxyMeasures {
    measures.applications["web"].proxy.as_deref().unwrap()
}
