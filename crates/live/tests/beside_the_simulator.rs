//! The same scenario on the kernel and in the simulator.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{borrow::Cow, num::NonZeroU32, time::Duration};

use ackwise_http::{
    Behaviour,
    behaviour::{HeadFlush, Nagle},
    page::{Page, Transfer},
    workload::{Pages, Span},
};
use ackwise_link::{LinkConfig, Queue, Rate, Seed};
use ackwise_linux::{
    Namespace,
    testing::{inconclusive, skip},
};
use ackwise_live::{Limits, Played, World, play};
use ackwise_sim::{
    Measures, Nobody, Scenario,
    scenario::{
        Application, ApplicationKind, Closer, Connections, CostModel, DuplexLink, Node, NodeId,
        Replay, ThinkScope, Web,
    },
};
use ackwise_tcp::{ByteCount, Config, policy::Policies};

#[test]
fn a_page_takes_as_long_as_in_the_simulator_and_as_many_full_segments() {
    let test = "a_page_takes_as_long_as_in_the_simulator_and_as_many_full_segments";
    for transfer in [Transfer::Serial, Transfer::Persistent, Transfer::Pipelined, Transfer::GetWeb]
    {
        let scenario = scenario(transfer);
        let simulated = ackwise_sim::run(&scenario, &mut Nobody).unwrap();
        let Some(played) = undisturbed(test, &scenario) else { return };
        let [ours, theirs] = [&simulated, &played].map(time);
        let near = theirs.abs_diff(ours) <= (ours / 10).max(Duration::from_millis(1));
        assert!(near, "{transfer:?}: {theirs:?} on the kernel, {ours:?} simulated");
        assert_eq!(played.segments, simulated.segments, "{transfer:?}");
        let [web, expected] = [&played, &simulated].map(|it| &it.applications["web"]);
        assert_eq!(web.documents, 2);
        assert_eq!((web.bytes, web.files), (expected.bytes, expected.files));
        assert_eq!(web.connections_opened, expected.connections_opened);
        // The first end to close is the client's, but where it asks the server to close.
        let at_server = played.hosts["server"].most_time_wait;
        let at_client = played.hosts["client"].most_time_wait;
        let expected = web.connections_opened;
        match transfer {
            Transfer::Serial => assert_eq!([at_client, at_server], [0, expected]),
            _ => assert_eq!([at_client, at_server], [expected, 0]),
        }
    }
}

#[test]
fn nothing_starts_that_the_kernel_cannot_play() {
    let mut scenario = scenario(Transfer::Persistent);
    scenario.nodes[1].tcp = Some(Config::new(Policies::SUNOS_4_1));
    let error = play(&scenario, World::Kernel, &Limits::default()).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot run on the kernel: ack of host \"server\": Linux has"),
        "{error}"
    );
}

#[test]
fn a_run_that_is_stopped_ends_immediately() {
    if let Err(missing) = Namespace::create() {
        return skip("a_run_that_is_stopped_ends_immediately", missing);
    }
    let limits = Limits::default();
    limits.stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let began = std::time::Instant::now();
    let error = play(&scenario(Transfer::Persistent), World::Kernel, &limits).unwrap_err();
    assert_eq!(error.to_string(), "stopped");
    assert!(began.elapsed() < Duration::from_secs(5));
}

/// A run that nothing disturbed; `None` if there is none, which is reported.
fn undisturbed(test: &str, scenario: &Scenario) -> Option<Measures> {
    if let Err(missing) = Namespace::create() {
        skip(test, missing);
        return None;
    }
    let mut why = String::new();
    for _ in 0..ATTEMPTS {
        let Played { measures, disturbed, .. } =
            play(scenario, World::Kernel, &Limits::default()).unwrap();
        match disturbed {
            None => return Some(measures),
            Some(disturbance) => why = disturbance,
        }
    }
    inconclusive(test, why);
    None
}

fn time(measures: &Measures) -> Duration {
    measures.applications["web"].mean_time().unwrap()
}

/// Two pages of three files over 10 Mb/s and 20 ms, a new connection for each.
fn scenario(transfer: Transfer) -> Scenario {
    let node = |name: &str| Node {
        name: name.to_owned(),
        tcp: Some(Config::new(Policies::LINUX_6)),
        cost: CostModel::default(),
        table: None,
    };
    let direction = LinkConfig {
        rate: Rate::bits_per_second(10_000_000),
        delay: Duration::from_millis(20),
        queue: Queue::packets(100).unwrap(),
        ..LinkConfig::IDEAL
    };
    let page = Page { primary: 5_000, inlines: vec![20_000, 3_000] };
    let behaviour = Behaviour {
        head_flush: HeadFlush::Joined,
        nagle: Nagle::Off,
        // What the kernel takes to wake a program: it acknowledges the first request before.
        think: Duration::from_micros(80),
        ..Behaviour::FIXED
    };
    let web = Web {
        users: NonZeroU32::MIN,
        pages: NonZeroU32::new(2),
        workload: Pages::Fixed { primary: 1, inlines: Cow::Borrowed(&[]) },
        replay: Some(Replay { pages: vec![page], think: vec![Duration::from_millis(50)] }),
        transfer,
        connections: Connections::PerDocument,
        request: ByteCount(210),
        response_head: ByteCount(226),
        think: Span::ZERO,
        think_scope: ThinkScope::Document,
        client_delay: Span::ZERO,
        open_gap: Span::ZERO,
        behaviour,
        parse: Span::ZERO,
        cached_per_million: 0,
        not_modified: None,
        closer: Closer::Client,
        client_close: ByteCount(0),
        prompt_acks: true,
    };
    Scenario {
        nodes: vec![node("client"), node("server")],
        links: vec![DuplexLink {
            name: "wire".to_owned(),
            ends: [NodeId(0), NodeId(1)],
            directions: [direction.clone(), direction],
            overhead: ByteCount(0),
            drawn_delay: None,
        }],
        applications: vec![Application {
            name: "web".to_owned(),
            client: NodeId(0),
            server: NodeId(1),
            start: Span::ZERO,
            kind: ApplicationKind::Web(web),
        }],
        duration: Duration::from_secs(20),
        warm_up: Duration::ZERO,
        watch_causes: false,
        seed: Seed(1),
        max_events: 1_000_000,
        max_connections: 1_000,
    }
}

/// Of a run that is disturbed.
const ATTEMPTS: u32 = 3;
