//! Persistent connections: what a server's policy does to them, and what clients make of it.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod scenarios;

use std::{
    borrow::Cow,
    num::{NonZeroU16, NonZeroU32},
    time::Duration,
};

use ackwise_http::{
    Behaviour,
    behaviour::{Gather, KeepAlivePolicy},
    page::Transfer,
    workload::{Pages, Span},
};
use ackwise_link::Rate;
use ackwise_sim::{
    Observer, Scenario,
    measure::ApplicationMeasures,
    observe::Sighting,
    run,
    scenario::{ApplicationKind, Bulk, BulkSender, Connections, Web},
};
use ackwise_tcp::{ByteCount, Instant, Policies};
use scenarios::ethernet;

/// Counts resets: what is read and not answered must not be reset.
#[derive(Default)]
struct Resets(u64);

impl Observer for Resets {
    fn on_sent(&mut self, sighting: &Sighting<'_>, _: Instant) {
        self.0 += u64::from(sighting.transmit.segment.flags.rst);
    }
}

const fn silent(idle: Duration, max_requests: Option<NonZeroU32>) -> KeepAlivePolicy {
    KeepAlivePolicy::Silent { idle, max_requests }
}

const QUARTER_HOUR: Duration = Duration::from_secs(900);

/// Ten pages of three files over a long path, one user, connections kept.
fn pages(transfer: Transfer, keep_alive: KeepAlivePolicy) -> Scenario {
    let mut scenario = ethernet(transfer, Behaviour { keep_alive, ..Behaviour::FIXED });
    for node in &mut scenario.nodes {
        node.tcp.as_mut().unwrap().policies = Policies::LINUX_6;
    }
    for direction in &mut scenario.links[0].directions {
        direction.delay = Duration::from_millis(50);
    }
    let web = web(&mut scenario);
    web.pages = NonZeroU32::new(10);
    web.connections = Connections::Kept;
    scenario
}

fn web(scenario: &mut Scenario) -> &mut Web {
    match &mut scenario.applications[0].kind {
        ApplicationKind::Web(web) => web,
        kind => panic!("{kind:?}"),
    }
}

/// Everything arrives, nothing fails, and nobody sends an RST.
fn measured(scenario: &Scenario) -> ApplicationMeasures {
    let mut resets = Resets::default();
    let measures = run(scenario, &mut resets).unwrap().applications["web"].clone();
    assert_eq!((measures.connections_failed, resets.0), (0, 0), "{measures:?}");
    measures
}

/// Connections, and requests that were sent again, of ten pages.
fn of_ten_pages(scenario: &Scenario) -> (u64, u64) {
    let measures = measured(scenario);
    assert_eq!((measures.documents, measures.files), (10, 30), "{measures:?}");
    (measures.connections_opened, measures.requests_repeated)
}

#[test]
fn a_server_that_never_persists_takes_a_connection_for_each_request() {
    for transfer in [Transfer::Persistent, Transfer::Serial] {
        let scenario = pages(transfer, KeepAlivePolicy::Never);
        assert_eq!(of_ten_pages(&scenario), (30, 0), "{transfer:?}");
    }
    let mut kept = pages(Transfer::Persistent, silent(QUARTER_HOUR, None));
    assert_eq!(of_ten_pages(&kept), (1, 0));
    web(&mut kept).connections = Connections::PerDocument;
    assert_eq!(of_ten_pages(&kept), (10, 0));
}

#[test]
fn a_server_closes_after_its_last_request_and_a_client_that_waits_loses_nothing() {
    for (most, connections) in [(1, 30), (3, 10), (4, 8), (29, 2), (30, 1)] {
        let policy = silent(QUARTER_HOUR, NonZeroU32::new(most));
        let scenario = pages(Transfer::Persistent, policy);
        assert_eq!(of_ten_pages(&scenario), (connections, 0), "{most} requests");
    }
}

/// The primary and the first inline on one connection; the second inline, which was asked for behind it,
/// again on another.
#[test]
fn what_is_pipelined_behind_the_last_request_is_sent_again() {
    for gather in [Gather::Each, Gather::Pending] {
        let mut scenario = pages(Transfer::Pipelined, silent(QUARTER_HOUR, NonZeroU32::new(2)));
        web(&mut scenario).behaviour.gather = gather;
        web(&mut scenario).connections = Connections::PerDocument;
        assert_eq!(of_ten_pages(&scenario), (20, 10), "{gather:?}");
    }
}

#[test]
fn an_idle_connection_is_closed_and_the_next_page_takes_another() {
    for (think_ms, connections) in [(800, 1), (1_500, 10), (5_000, 10)] {
        let mut scenario = pages(Transfer::Persistent, silent(Duration::from_secs(1), None));
        web(&mut scenario).think = Span::Fixed(Duration::from_millis(think_ms));
        assert_eq!(of_ten_pages(&scenario), (connections, 0), "thinks for {think_ms} ms");
    }
}

/// A response is on its way for 50 ms, a request too: one that leaves 0.93 s after the response came
/// crosses the FIN of a server that waits for 1 s.
#[test]
fn a_request_that_crosses_the_servers_close_is_sent_again_on_another_connection() {
    let mut scenario = pages(Transfer::Persistent, silent(Duration::from_secs(1), None));
    web(&mut scenario).think = Span::Fixed(Duration::from_millis(930));
    assert_eq!(of_ten_pages(&scenario), (10, 9));
    let crossed = measured(&scenario).mean_time().unwrap();
    web(&mut scenario).think = Span::Fixed(Duration::from_millis(1_500));
    let closed = measured(&scenario).mean_time().unwrap();
    assert!(crossed > closed, "the race takes time: {crossed:?} against {closed:?}");
}

#[test]
fn a_client_that_knows_the_idle_time_does_not_run_the_race() {
    let idle = Duration::from_secs(2);
    let mut scenario = pages(Transfer::Persistent, silent(idle, None));
    web(&mut scenario).think = Span::Fixed(Duration::from_millis(1_930));
    assert_eq!(of_ten_pages(&scenario), (10, 9));
    web(&mut scenario).behaviour.keep_alive =
        KeepAlivePolicy::Announced { idle, max_requests: None };
    assert_eq!(of_ten_pages(&scenario), (10, 0));
    web(&mut scenario).think = Span::Fixed(Duration::from_millis(800));
    assert_eq!(of_ten_pages(&scenario), (1, 0));
}

/// 7,300 bytes take 0.6 s at 100 kb/s, and the first segment of them is there before the server has
/// waited for 0.5 s.
#[test]
fn a_request_that_arrives_in_pieces_keeps_its_connection() {
    let mut scenario = pages(Transfer::Persistent, silent(Duration::from_millis(500), None));
    scenario.links[0].directions[0].rate = Rate::bits_per_second(100_000);
    web(&mut scenario).request = ByteCount(7_300);
    assert_eq!(of_ten_pages(&scenario), (1, 0));
}

#[test]
fn serial_transfers_keep_their_connection() {
    assert_eq!(of_ten_pages(&pages(Transfer::Serial, silent(QUARTER_HOUR, None))), (1, 0));
}

/// A browser: the primary takes the connection that was used last, eight inlines take all six.
#[test]
fn a_browser_keeps_six_connections() {
    let connections = NonZeroU16::new(6).unwrap();
    let mut scenario = pages(Transfer::Parallel { connections }, silent(QUARTER_HOUR, None));
    web(&mut scenario).workload =
        Pages::Fixed { primary: 6_651, inlines: Cow::Borrowed(&[3_883; 8]) };
    let kept = measured(&scenario);
    assert_eq!((kept.documents, kept.files, kept.connections_opened), (10, 90, 6));
    web(&mut scenario).connections = Connections::PerDocument;
    let per_document = measured(&scenario);
    assert_eq!((per_document.documents, per_document.connections_opened), (10, 90));
    assert!(kept.mean_time() < per_document.mean_time());
    // All six are closed while the user thinks.
    web(&mut scenario).connections = Connections::Kept;
    web(&mut scenario).think = Span::Fixed(Duration::from_secs(5));
    web(&mut scenario).behaviour.keep_alive = silent(Duration::from_secs(1), None);
    let closed = measured(&scenario);
    assert_eq!((closed.documents, closed.connections_opened), (10, 60));
}

#[test]
fn files_of_a_bulk_client_take_another_connection_when_the_server_closes() {
    let second = Duration::from_secs(1);
    for (keep_alive, pause_ms, connections, repeated) in [
        (silent(QUARTER_HOUR, None), 0, 1, 0),
        (KeepAlivePolicy::Never, 0, 10, 0),
        (silent(QUARTER_HOUR, NonZeroU32::new(5)), 0, 2, 0),
        (silent(second, None), 2_000, 10, 0),
        (silent(second, None), 930, 10, 9),
        (KeepAlivePolicy::Announced { idle: second, max_requests: None }, 930, 10, 0),
    ] {
        let mut scenario = pages(Transfer::Persistent, keep_alive);
        scenario.applications[0].kind = ApplicationKind::Bulk(Bulk {
            clients: NonZeroU32::MIN,
            request: ByteCount(50),
            file: Some(ByteCount(5_000)),
            files: NonZeroU32::new(10),
            pause: Span::Fixed(Duration::from_millis(pause_ms)),
            behaviour: Behaviour { keep_alive, ..Behaviour::FIXED },
            sender: BulkSender::Server,
        });
        let ApplicationMeasures { documents, connections_opened, requests_repeated, .. } =
            measured(&scenario);
        assert_eq!(
            (documents, connections_opened, requests_repeated),
            (10, connections, repeated),
            "{keep_alive:?}, pauses of {pause_ms} ms"
        );
    }
}
