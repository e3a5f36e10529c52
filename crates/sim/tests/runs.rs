//! Whole runs: every plan fetches every file, whatever the network does, and twice the same.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod scenarios;

use std::{
    num::{NonZeroU16, NonZeroU32},
    time::Duration,
};

use ackwise_cause::Cause;
use ackwise_http::{
    Behaviour,
    behaviour::{Gather, Tail},
    page::{Page, Transfer},
    workload::Span,
};
use ackwise_link::{Faults, Outage, Pick, Probability, Queue, Rate, Seed};
use ackwise_sim::{
    Measures, Nobody, Observer, RunError, Scenario,
    observe::{ConnectionId, Sighting},
    run,
    scenario::{
        ApplicationKind, Arrivals, Bulk, BulkSender, Closer, Connections, CostModel, Replay, Web,
    },
};
use ackwise_tcp::{
    ByteCount, Instant, Policies, TimeWaitHolder,
    policy::{AckPolicy, ClosePolicy},
};
use proptest::prelude::*;
use scenarios::ethernet;

const PAGE: u64 = 6_651 + 3_883 + 1_866;

fn plans() -> [Transfer; 6] {
    [
        Transfer::Serial,
        Transfer::Parallel { connections: NonZeroU16::new(4).unwrap() },
        Transfer::Persistent,
        Transfer::Pipelined,
        Transfer::SegmentFilled { segment: NonZeroU32::new(1_460).unwrap() },
        Transfer::GetWeb,
    ]
}

fn web(scenario: &mut Scenario) -> &mut Web {
    match &mut scenario.applications[0].kind {
        ApplicationKind::Web(web) => web,
        kind => panic!("{kind:?}"),
    }
}

fn tcp(scenario: &mut Scenario, policies: Policies) {
    for node in &mut scenario.nodes {
        node.tcp.as_mut().unwrap().policies = policies;
    }
}

fn measured(scenario: &Scenario) -> Measures {
    run(scenario, &mut Nobody).unwrap()
}

#[test]
fn every_plan_opens_the_connections_it_says_and_fetches_every_file() {
    for (transfer, connections, host) in
        plans().into_iter().zip([3, 3, 1, 1, 1, 1]).map(|(a, b)| (a, b, b))
    {
        let measures = measured(&ethernet(transfer, Behaviour::FIXED));
        let web = &measures.applications["web"];
        let rounded =
            if matches!(transfer, Transfer::SegmentFilled { .. }) { 6_651 % 1_460 } else { 0 };
        assert_eq!((web.documents, web.files), (100, 300), "{transfer:?}");
        assert_eq!(web.bytes, 100 * (PAGE - rounded), "{transfer:?}");
        assert_eq!(web.connections_opened, 100 * connections, "{transfer:?}");
        assert_eq!(measures.hosts["server"].connections_opened, 100 * host, "{transfer:?}");
        assert!(web.connections_failed == 0, "{transfer:?}");
    }
}

#[test]
fn a_kept_connection_serves_all_pages() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    web(&mut scenario).connections = Connections::Kept;
    let measures = measured(&scenario);
    let web = &measures.applications["web"];
    assert_eq!((web.documents, web.connections_opened), (100, 1));
}

#[test]
fn who_closes_first_holds_time_wait() {
    for (transfer, client, server) in [(Transfer::Persistent, 100, 0), (Transfer::Serial, 0, 300)] {
        let measures = measured(&ethernet(transfer, Behaviour::FIXED));
        let held = ["client", "server"].map(|host| measures.hosts[host].most_time_wait);
        assert_eq!(held, [client, server], "{transfer:?}");
    }
}

#[test]
fn nobody_waits_after_a_reset() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    web(&mut scenario).closer = Closer::ClientByReset;
    let measures = measured(&scenario);
    let web = &measures.applications["web"];
    assert_eq!((web.documents, web.connections_opened, web.connections_failed), (100, 100, 0));
    let held = ["client", "server"].map(|host| measures.hosts[host].most_time_wait);
    assert_eq!(held, [0, 0]);
}

/// The server closes each of 300 connections first. With a swap it waits until the RST is there, so for
/// one at a time; with an agreement for none.
#[test]
fn time_wait_moves_to_the_client_by_swap_and_by_agreement() {
    let [mine, yours] = [TimeWaitHolder::Mine, TimeWaitHolder::Yours].map(ClosePolicy::Negotiated);
    for (close, server) in [([ClosePolicy::Swap; 2], 1), ([mine, yours], 0)] {
        let mut scenario = ethernet(Transfer::Serial, Behaviour::FIXED);
        for (node, close) in scenario.nodes.iter_mut().zip(close) {
            node.tcp.as_mut().unwrap().policies.close = close;
        }
        let measures = measured(&scenario);
        let held = ["client", "server"].map(|host| measures.hosts[host].most_time_wait);
        assert_eq!(held, [300, server], "{close:?}");
        assert_eq!(measures.applications["web"].connections_failed, 0, "{close:?}");
    }
}

#[test]
fn nothing_is_retrieved_faster_than_light_and_serialization_allow() {
    for transfer in plans() {
        let measures = measured(&ethernet(transfer, Behaviour::FIXED));
        let least = Duration::from_secs(PAGE * 8) / 10_000_000;
        let fastest = measures.applications["web"].percentile(0.0).unwrap();
        assert!(fastest > least, "{transfer:?}: {fastest:?}");
        let [_, back] = measures.links["ethernet"];
        assert!(
            back.utilization.unwrap() <= 1.0 && back.drop_rate == 0.0,
            "{transfer:?}: {back:?}"
        );
    }
}

#[test]
fn a_writer_who_gathers_and_a_cork_fill_segments_across_files() {
    let filled = |gather, tail| {
        let behaviour = Behaviour { gather, tail, ..Behaviour::FIXED };
        let mut scenario = ethernet(Transfer::Pipelined, behaviour);
        tcp(&mut scenario, Policies::LINUX_6);
        measured(&scenario).segments
    };
    let plain = filled(Gather::Each, Tail::Sent);
    let gathered = filled(Gather::Pending, Tail::Sent);
    let corked = filled(Gather::Each, Tail::Corked);
    assert_eq!(plain.all - plain.full, 100 * (1 + 3 + 1), "requests are short too");
    for (fuller, how) in [(gathered, "gathered"), (corked, "corked")] {
        let short = fuller.all - fuller.full;
        assert!(short < plain.all - plain.full, "{how}: {fuller:?} against {plain:?}");
    }
}

#[test]
fn what_is_cached_is_not_sent() {
    let mut scenario = ethernet(Transfer::GetWeb, Behaviour::FIXED);
    let all = measured(&scenario).applications["web"].bytes;
    web(&mut scenario).cached_per_million = 500_000;
    let half = measured(&scenario).applications["web"].bytes;
    assert!(half > all / 4 && half < all * 3 / 4, "{half} of {all}");
}

#[test]
fn listed_pages_and_pauses_come_in_their_order_and_again() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    let page = |primary, inlines: &[u64]| Page { primary, inlines: inlines.to_vec() };
    let second = Duration::from_secs(1);
    let user = web(&mut scenario);
    user.pages = NonZeroU32::new(5);
    user.replay = Some(Replay {
        pages: vec![page(1_000, &[]), page(20_000, &[300, 500])],
        think: vec![second, 2 * second, 4 * second],
    });
    // Before the pages 2 to 5 the user thinks 1, 2, 4 and 1 s.
    for (seconds, documents, bytes) in
        [(1, 1, 1_000), (2, 2, 21_800), (4, 3, 22_800), (8, 4, 43_600), (9, 5, 44_600)]
    {
        scenario.duration = Duration::from_secs(seconds);
        let web = &measured(&scenario).applications["web"];
        assert_eq!((web.documents, web.bytes), (documents, bytes), "{seconds} s");
    }
}

#[test]
fn the_server_parses_before_it_answers_getweb() {
    let mut scenario = ethernet(Transfer::GetWeb, Behaviour::FIXED);
    let before = measured(&scenario).applications["web"].mean_time().unwrap();
    web(&mut scenario).parse = Span::Fixed(Duration::from_millis(30));
    let after = measured(&scenario).applications["web"].mean_time().unwrap();
    // Not to the nanosecond: later, a tick of the client falls at another place.
    assert!(after.abs_diff(before + Duration::from_millis(30)) < Duration::from_micros(500));
}

#[test]
fn a_busy_processor_makes_its_segments_wait() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    let before = measured(&scenario).applications["web"].mean_time().unwrap();
    scenario.nodes[1].cost = CostModel {
        per_segment: Duration::from_micros(200),
        per_lookup: Duration::from_micros(100),
        per_request: Duration::from_millis(5),
        ..CostModel::default()
    };
    let after = measured(&scenario).applications["web"].mean_time().unwrap();
    assert!(after >= before + Duration::from_micros(3 * 5_300), "{before:?}, {after:?}");
}

/// A segment that costs nothing itself waits too.
#[test]
fn nothing_overtakes_a_busy_processor() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    web(&mut scenario).users = NonZeroU32::new(4).unwrap();
    web(&mut scenario).closer = Closer::ClientByReset;
    let before = measured(&scenario).applications["web"].mean_time().unwrap();
    scenario.nodes[1].cost.per_reset = Duration::from_millis(20);
    let after = measured(&scenario).applications["web"].mean_time().unwrap();
    assert!(after > before + Duration::from_millis(20), "{before:?}, {after:?}");
}

#[test]
fn an_uploader_starts_with_one_segment_and_a_downloader_with_two() {
    // Heidemann 1997, section 3: FTP's sender opens the connection, so its first window is one segment.
    let time = |sender| {
        let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
        scenario.applications[0].kind = ApplicationKind::Bulk(Bulk {
            clients: NonZeroU32::MIN,
            request: ByteCount(50),
            file: Some(ByteCount(12_400)),
            files: NonZeroU32::new(10),
            pause: Span::Fixed(Duration::from_millis(3)),
            behaviour: Behaviour::FIXED,
            sender,
        });
        scenario.watch_causes = true;
        let measures = measured(&scenario);
        let ftp = &measures.applications["web"];
        assert_eq!((ftp.documents, ftp.bytes), (10, 124_000));
        (ftp.mean_time().unwrap(), measures.causes.contains_key(&Cause::ShortInitialSegment))
    };
    let (download, stalls) = time(BulkSender::Server);
    assert!(download < Duration::from_millis(20) && !stalls, "{download:?}");
    let (upload, stalls) = time(BulkSender::Client);
    assert!(upload > Duration::from_millis(100) && stalls, "{upload:?}");
}

#[test]
fn what_waits_behind_other_connections_is_told_from_what_waits_behind_its_own() {
    for (transfer, shared) in [(plans()[2], false), (plans()[1], true)] {
        let mut scenario = ethernet(transfer, Behaviour::FIXED);
        scenario.watch_causes = true;
        web(&mut scenario).pages = NonZeroU32::new(3);
        let causes = measured(&scenario).causes;
        assert!(causes[&Cause::Transmission] > Duration::ZERO, "{causes:?}");
        assert_eq!(causes.contains_key(&Cause::Queueing), shared, "{causes:?}");
    }
}

#[test]
fn a_link_that_sends_nothing_for_a_while_stalls_the_path() {
    // In the middle of the run.
    let outage =
        Outage { from: Instant::from_nanos(1_006_000_000), lasts: Duration::from_millis(90) };
    for held in [[None, Some(outage)], [Some(outage), None], [None, None]] {
        let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
        scenario.watch_causes = true;
        for (direction, outage) in scenario.links[0].directions.iter_mut().zip(held) {
            direction.faults.outage = outage;
        }
        let causes = measured(&scenario).causes;
        let stalled = causes.get(&Cause::PathStall).copied().unwrap_or_default();
        // What was sent before the outage began was still arriving.
        let expected = if held == [None, None] { 0..1 } else { 80..91 };
        assert!(expected.contains(&stalled.as_millis()), "{held:?}: {causes:?}");
        assert!(!causes.contains_key(&Cause::Queueing), "{held:?}: {causes:?}");
    }
}

#[test]
fn arrivals_come_whatever_becomes_of_the_earlier_ones() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    tcp(&mut scenario, Policies::LINUX_6);
    scenario.applications[0].kind = ApplicationKind::Arrivals(Arrivals {
        interarrival: Span::Fixed(Duration::from_millis(5)),
        request: ByteCount(100),
        response: ByteCount(5_000),
        hold: Span::Fixed(Duration::from_secs(1)),
        prompt_acks: false,
        limit: NonZeroU32::new(500),
    });
    let measures = measured(&scenario);
    assert_eq!(measures.applications["web"].documents, 500);
    let most = measures.hosts["server"].most_open;
    assert!((200..=203).contains(&most), "a second of arrivals is open at once, not {most}");
    scenario.max_connections = 100;
    let error = run(&scenario, &mut Nobody).unwrap_err();
    assert!(matches!(error, RunError::TooManyConnections { limit: 100, .. }), "{error}");
}

/// 5,000 bytes in four segments: SYN, SYN-ACK, request, response, an ACK for each of its segments,
/// FIN, FIN and ACK. The last of these ACKs is the FIN of a client that does not wait.
#[test]
fn programs_that_are_woken_late_let_tcp_acknowledge_alone() {
    for (hold, prompt_acks, packets) in [(0, false, 13), (1, false, 14), (1, true, 16)] {
        let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
        tcp(&mut scenario, Policies { ack: AckPolicy::EverySegment, ..Policies::LINUX_6 });
        scenario.applications[0].kind = ApplicationKind::Arrivals(Arrivals {
            interarrival: Span::Fixed(Duration::from_secs(1)),
            request: ByteCount(100),
            response: ByteCount(5_000),
            hold: Span::Fixed(Duration::from_micros(hold)),
            prompt_acks,
            limit: NonZeroU32::new(1),
        });
        let hops = measured(&scenario).work.packet_hops;
        assert_eq!(hops, packets, "held for {hold} us, prompt ACKs: {prompt_acks}");
    }
}

#[test]
fn what_happens_before_the_warm_up_is_over_is_not_measured() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    web(&mut scenario).pages = None;
    scenario.duration = Duration::from_secs(10);
    let all = measured(&scenario);
    scenario.warm_up = Duration::from_secs(5);
    let half = measured(&scenario);
    assert_eq!(half.measured, Duration::from_secs(5));
    assert_eq!(half.work.trace_hash, all.work.trace_hash, "measuring changes nothing");
    let [all, half] = [all, half].map(|it| it.applications["web"].documents);
    assert!(half.abs_diff(all / 2) <= 1, "{half} of {all}");
}

#[test]
fn a_scenario_that_makes_no_sense_is_refused() {
    let good = ethernet(Transfer::Persistent, Behaviour::FIXED);
    let refusal = |break_it: fn(&mut Scenario)| {
        let mut scenario = good.clone();
        break_it(&mut scenario);
        run(&scenario, &mut Nobody).unwrap_err().to_string()
    };
    assert_eq!(
        refusal(|it| it.nodes[1].tcp = None),
        "application \"web\": \"server\" is a router: a host has a TCP"
    );
    assert_eq!(
        refusal(|it| it.applications[0].server = it.applications[0].client),
        "application \"web\": client and server are the same host"
    );
    assert_eq!(
        refusal(|it| it.links.clear()),
        "no links lead from the client of \"web\" to its server and back"
    );
    assert_eq!(
        refusal(|it| web(it).replay = Some(Replay::default())),
        "application \"web\": an empty replay"
    );
    assert_eq!(refusal(|it| it.warm_up = it.duration), "the run: over before it is warm");
    assert!(refusal(|it| it.links[0].ends[1].0 = 7).contains("node 7 of 2"));
    assert!(refusal(|it| it.duration = Duration::MAX).contains("longer than a year"));
}

#[test]
fn a_run_that_gets_nowhere_ends() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    web(&mut scenario).pages = None;
    scenario.max_events = 100_000;
    let error = run(&scenario, &mut Nobody).unwrap_err();
    assert!(matches!(error, RunError::TooManyEvents { limit: 100_000, .. }), "{error}");
}

/// Counts, and checks that time never goes back.
#[derive(Default)]
struct Counts {
    sent: u64,
    received: u64,
    dropped: u64,
    over: Vec<ConnectionId>,
    last: Option<Instant>,
}

impl Counts {
    fn tick(&mut self, now: Instant) {
        assert!(self.last <= Some(now), "time went back");
        self.last = Some(now);
    }
}

impl Observer for Counts {
    fn on_sent(&mut self, _: &Sighting<'_>, now: Instant) {
        self.tick(now);
        self.sent += 1;
    }

    fn on_received(&mut self, _: &Sighting<'_>, now: Instant) {
        self.tick(now);
        self.received += 1;
    }

    fn on_dropped(&mut self, _: &Sighting<'_>, now: Instant) {
        self.tick(now);
        self.dropped += 1;
    }

    fn on_over(&mut self, connection: ConnectionId, _: Instant) {
        self.over.push(connection);
    }
}

fn bad_links() -> impl Strategy<Value = (u64, u64, u32, u32, u32, u64)> {
    // Rate, delay in ms, queue, loss and reordering per million, seed.
    (50_000_u64..100_000_000, 0_u64..150, 3_u32..60, 0_u32..80_000, 0_u32..50_000, any::<u64>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn every_page_arrives_over_bad_links_and_twice_the_same(
        plan in 0_usize..6, preset in 0_usize..4, apart: bool, kept: bool, bad in bad_links(),
    ) {
        let behaviour = if apart { Behaviour::PAPER_1996 } else { Behaviour::FIXED };
        let mut scenario = ethernet(plans()[plan], behaviour);
        let presets = [Policies::RFC, Policies::LINUX_6, Policies::BSD_4_4, Policies::SUNOS_4_1];
        tcp(&mut scenario, presets[preset]);
        scenario.watch_causes = true;
        scenario.duration = Duration::from_secs(100_000);
        let (rate, delay, queue, loss, reordering, seed) = bad;
        scenario.seed = Seed(seed);
        for direction in &mut scenario.links[0].directions {
            direction.rate = Rate::bits_per_second(rate);
            direction.delay = Duration::from_millis(delay);
            direction.queue = Queue::packets(queue).unwrap();
            let chance = |it| Pick::Random(Probability::per_million(it).unwrap());
            direction.faults = Faults {
                loss: chance(loss),
                reordering: chance(reordering),
                duplication: chance(reordering / 2),
                lateness: Duration::from_millis(5),
                outage: None,
                mtu: None,
            };
        }
        let web = web(&mut scenario);
        web.pages = NonZeroU32::new(5);
        web.connections = if kept { Connections::Kept } else { Connections::PerDocument };
        let mut counts = Counts::default();
        let measures = run(&scenario, &mut counts).unwrap();
        let web = &measures.applications["web"];
        if web.connections_failed == 0 {
            prop_assert_eq!((web.documents, web.files), (5, 15));
            let all: Duration = measures.causes.values().sum();
            prop_assert!(all >= web.times.iter().sum(), "{:?}", measures.causes);
        }
        prop_assert!(counts.received + counts.dropped >= counts.sent);
        counts.over.sort_unstable();
        counts.over.dedup();
        prop_assert!(counts.over.len() as u64 <= web.connections_opened);
        prop_assert_eq!(measured(&scenario), measures);
    }
}
