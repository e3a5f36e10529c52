//! The same scenario on the kernel and in the simulator.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{borrow::Cow, collections::BTreeMap, num::NonZeroU32, time::Duration};

use ackwise_http::{
    Behaviour,
    behaviour::{Gather, HeadFlush, Nagle},
    page::{Page, Transfer},
    workload::{Pages, Span},
};
use ackwise_link::{LinkConfig, Queue, Rate, Seed};
use ackwise_linux::{Namespace, emulator::SegmentRecord};
use ackwise_live::{Limits, Played, World, play};
use ackwise_sim::{
    Measures, Nobody, Scenario,
    scenario::{Application, ApplicationKind, DuplexLink, Node, NodeId, Replay, Web},
};
use ackwise_tcp::{
    ByteCount, Config,
    policy::{BufferTuning, Policies},
};
use ackwise_testing::{inconclusive, skip};

#[test]
fn a_page_takes_as_long_as_in_the_simulator_and_as_many_full_segments() {
    let test = "a_page_takes_as_long_as_in_the_simulator_and_as_many_full_segments";
    for transfer in [Transfer::Serial, Transfer::Persistent, Transfer::Pipelined, Transfer::GetWeb]
    {
        let scenario = scenario(transfer);
        let simulated = ackwise_sim::run(&scenario, &mut Nobody).unwrap();
        let Some(Played { measures: played, .. }) = undisturbed(test, &scenario, World::Kernel)
        else {
            return;
        };
        expect_near(&simulated, &played, &format!("{transfer:?}"));
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
fn our_tcp_at_the_client_takes_as_long_as_in_the_simulator_also_with_another_stack() {
    let test = "our_tcp_at_the_client_takes_as_long_as_in_the_simulator_also_with_another_stack";
    let sun = Config::new(Policies::SUNOS_4_1);
    for (client, apart) in [(Config::new(Policies::LINUX_6), false), (sun, true)] {
        let mut scenario = scenario(Transfer::Persistent);
        scenario.nodes[0].tcp = Some(client);
        let web = web(&mut scenario);
        web.client_delay = Span::Fixed(CLIENT_DELAY);
        if apart {
            // The head's ACK waits for the tick of the client's clock, and the body for that ACK.
            let page = Page { primary: 500, inlines: vec![300, 200] };
            web.replay = Some(Replay { pages: vec![page], think: vec![Duration::from_millis(50)] });
            web.behaviour.head_flush = HeadFlush::Apart;
            web.behaviour.nagle = Nagle::On;
        }
        let simulated = ackwise_sim::run(&scenario, &mut Nobody).unwrap();
        let Some(Played { measures: played, .. }) = undisturbed(test, &scenario, World::Wire)
        else {
            return;
        };
        assert_eq!(time(&simulated) > Duration::from_millis(400), apart, "{:?}", time(&simulated));
        expect_near(&simulated, &played, if apart { "SunOS 4.1" } else { "Linux 6" });
        assert_eq!(played.segments, simulated.segments);
        assert_eq!(played.hosts["client"].most_time_wait, 2, "our TCP closes first");
        assert_eq!(played.hosts["server"].most_time_wait, 0);
    }
}

#[test]
fn filled_and_pipelined_streams_have_no_short_segment_but_the_last_and_the_simulators_packets() {
    let test = "filled_and_pipelined_streams_have_no_short_segment_but_the_last_and_the_simulators_packets";
    let segment = NonZeroU32::new(FULL_SEGMENT).unwrap();
    for transfer in [Transfer::SegmentFilled { segment }, Transfer::Pipelined] {
        let mut scenario = scenario(transfer);
        let web = web(&mut scenario);
        web.client_delay = Span::Fixed(CLIENT_DELAY);
        web.response_head = ByteCount(0);
        // Requests arrive within that time, and what answers them is written as one stream.
        web.behaviour.think = Duration::from_millis(3);
        web.behaviour.gather = Gather::Pending;
        let page =
            Page { primary: 5 * u64::from(FULL_SEGMENT), inlines: vec![20_000, 3_000, 5_000] };
        web.replay = Some(Replay { pages: vec![page], think: vec![Duration::from_millis(50)] });
        let simulated = ackwise_sim::run(&scenario, &mut Nobody).unwrap();
        let Some(played) = undisturbed(test, &scenario, World::Kernel) else { return };
        let Played { measures, recorded, .. } = played;
        let mut streams: BTreeMap<_, Vec<SegmentRecord>> = BTreeMap::new();
        assert!(recorded.iter().all(|it| it.delivered.is_some() && !it.dropped), "{recorded:?}");
        let is_response = |it: &SegmentRecord| it.from.port() == SERVERS_PORT && it.data > 0;
        for record in recorded.into_iter().filter(is_response) {
            streams.entry(record.to).or_default().push(record);
        }
        assert_eq!(streams.len(), 2, "a connection for each page");
        for stream in streams.values() {
            let bytes: u32 = stream.iter().map(|it| it.data).sum();
            assert_eq!(bytes, 5 * FULL_SEGMENT + 28_000, "nothing was sent twice");
            let (_, all_but_last) = stream.split_last().unwrap();
            let short: Vec<_> = all_but_last.iter().filter(|it| it.data != FULL_SEGMENT).collect();
            assert!(short.is_empty(), "{transfer:?}: {short:?}");
        }
        assert_eq!(measures.segments, simulated.segments, "{transfer:?}");
        let packets = |it: &Measures| it.links["wire"].each_ref().map(|link| link.offered);
        let [to_server, to_client] = packets(&simulated);
        // The kernel acknowledges the last data before the program closes, and a FIN with its own;
        // simulated programs close in no time, after TCP has acknowledged.
        let connections = 2;
        let expected = [to_server + connections, to_client - connections];
        assert_eq!(packets(&measures), expected, "{transfer:?}");
    }
}

#[test]
fn a_receive_window_limits_a_long_transfer_as_in_the_simulator() {
    let test = "a_receive_window_limits_a_long_transfer_as_in_the_simulator";
    let mut scenario = scenario(Transfer::Persistent);
    scenario.nodes[0].tcp =
        Some(Config { receive_buffer: 14 * 1_460, ..Config::new(no_tuning(Policies::LINUX_6)) });
    // What 14 segments cannot fill: 1.5 Mb/s for 140 ms are 26 kB.
    for direction in &mut scenario.links[0].directions {
        direction.rate = Rate::bits_per_second(1_500_000);
        direction.delay = Duration::from_millis(70);
    }
    let page = Page { primary: 300_000, inlines: vec![] };
    web(&mut scenario).replay =
        Some(Replay { pages: vec![page], think: vec![Duration::from_millis(50)] });
    let simulated = ackwise_sim::run(&scenario, &mut Nobody).unwrap();
    let Some(Played { measures: played, .. }) = undisturbed(test, &scenario, World::Kernel) else {
        return;
    };
    let [expected, took] = [&simulated, &played].map(time);
    // A window of 18 % more would take as much less of it.
    let near = took.abs_diff(expected) <= expected / 20;
    assert!(near, "{took:?} on the kernel, {expected:?} simulated");
}

const fn no_tuning(policies: Policies) -> Policies {
    Policies { receive_tuning: BufferTuning::Off, ..policies }
}

#[test]
fn nothing_starts_that_cannot_be_played() {
    let mut scenario = scenario(Transfer::Persistent);
    scenario.nodes[1].tcp = Some(Config::new(Policies::SUNOS_4_1));
    for (world, place) in [(World::Kernel, "kernel"), (World::Wire, "wire")] {
        let error = play(&scenario, world, &Limits::default()).unwrap_err().to_string();
        let expected = format!("cannot run on the {place}: ack of host \"server\": Linux has");
        assert!(error.starts_with(&expected), "{error}");
    }
    scenario.nodes.swap(0, 1);
    scenario.nodes[0].name = "client".to_owned();
    assert_eq!(ackwise_live::check(&scenario, World::Wire), Ok(()));
    let mut both = scenario.applications[0].clone();
    (both.client, both.server) = (both.server, both.client);
    scenario.applications.push(both);
    let error = ackwise_live::check(&scenario, World::Wire).unwrap_err().to_string();
    assert!(error.starts_with("cannot run on the wire: server of host \"client\""), "{error}");
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
fn undisturbed(test: &str, scenario: &Scenario, world: World) -> Option<Played> {
    if let Err(missing) = Namespace::create() {
        skip(test, missing);
        return None;
    }
    let mut why = String::new();
    for _ in 0..ATTEMPTS {
        let limits = Limits { record: true, ..Limits::default() };
        let played = play(scenario, world, &limits).unwrap();
        match played.disturbed {
            None => return Some(played),
            Some(disturbance) => why = disturbance,
        }
    }
    inconclusive(test, why);
    None
}

fn expect_near(simulated: &Measures, played: &Measures, what: &str) {
    let [expected, took] = [simulated, played].map(time);
    let near = took.abs_diff(expected) <= (expected / 10).max(Duration::from_millis(1));
    assert!(near, "{what}: {took:?} in real time, {expected:?} simulated");
}

fn web(scenario: &mut Scenario) -> &mut Web {
    match &mut scenario.applications[0].kind {
        ApplicationKind::Web(web) => web,
        other => panic!("the application is a web, not {other:?}"),
    }
}

fn time(measures: &Measures) -> Duration {
    measures.applications["web"].mean_time().unwrap()
}

/// Two pages of three files over 10 Mb/s and 20 ms, a new connection for each.
fn scenario(transfer: Transfer) -> Scenario {
    let node = |name: &str| Node::host(name, Config::new(Policies::LINUX_6));
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
    let workload = Pages::Fixed { primary: 1, inlines: Cow::Borrowed(&[]) };
    let web = Web {
        pages: NonZeroU32::new(2),
        replay: Some(Replay { pages: vec![page], think: vec![Duration::from_millis(50)] }),
        request: ByteCount(210),
        response_head: ByteCount(226),
        prompt_acks: true,
        ..Web::plain(workload, transfer, behaviour)
    };
    Scenario {
        nodes: vec![node("client"), node("server")],
        links: vec![DuplexLink::symmetric("wire", [NodeId(0), NodeId(1)], direction)],
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

/// What a segment of 1,460 bytes has beside the option with timestamps.
const FULL_SEGMENT: u32 = 1_448;
/// The kernel acknowledges a response before it wakes a program, which takes longer than nothing.
const CLIENT_DELAY: Duration = Duration::from_micros(200);
/// As `crates/live/src/play.rs`.
const SERVERS_PORT: u16 = 8080;
/// Of a run that is disturbed.
const ATTEMPTS: u32 = 3;
