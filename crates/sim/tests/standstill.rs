//! Worlds in which nothing takes time end with an error, not with the machine's memory.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing there")]

mod scenarios;

use std::{
    num::{NonZeroU32, NonZeroUsize},
    time::Duration,
};

use ackwise_http::{Behaviour, page::Transfer, workload::Span};
use ackwise_sim::{
    Nobody, RunError, Scenario, run,
    scenario::{ApplicationKind, Arrivals, Bulk, BulkSender, Web},
};
use ackwise_tcp::{ByteCount, Policies};
use scenarios::ethernet;

fn web(scenario: &mut Scenario) -> &mut Web {
    match &mut scenario.applications[0].kind {
        ApplicationKind::Web(web) => web,
        kind => panic!("{kind:?}"),
    }
}

/// A link that takes no time, and hosts that acknowledge at once.
fn ideal(scenario: &mut Scenario) {
    for direction in &mut scenario.links[0].directions {
        (direction.rate, direction.delay) = (None, Duration::ZERO);
    }
    for node in &mut scenario.nodes {
        node.tcp.as_mut().unwrap().policies = Policies::RFC;
    }
}

#[track_caller]
fn assert_stands_still(scenario: &Scenario) {
    // Measures are too long to print.
    let error = run(scenario, &mut Nobody).map(|_| "it has run").unwrap_err();
    assert!(matches!(error, RunError::TimeStandsStill { .. }), "{error}");
    assert!(error.to_string().starts_with("virtual time stands still after "), "{error}");
}

#[test]
fn pages_that_need_no_request_end_the_run() {
    for pages in [None, NonZeroU32::new(4_000_000_000)] {
        let mut scenario = ethernet(Transfer::GetWeb, Behaviour::FIXED);
        web(&mut scenario).cached_per_million = 1_000_000;
        web(&mut scenario).pages = pages;
        assert_stands_still(&scenario);
    }
}

#[test]
fn a_user_thinks_before_a_page_that_needs_no_request() {
    let mut scenario = ethernet(Transfer::GetWeb, Behaviour::FIXED);
    scenario.duration = Duration::from_secs(100);
    web(&mut scenario).cached_per_million = 1_000_000;
    web(&mut scenario).pages = None;
    web(&mut scenario).think = Span::Fixed(Duration::from_secs(3));
    let measures = run(&scenario, &mut Nobody).unwrap();
    assert_eq!(measures.applications["web"].documents, 34, "at 0 s, 3 s and so on to 99 s");
}

#[test]
fn transfers_over_a_link_that_takes_no_time_end_the_run() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    ideal(&mut scenario);
    web(&mut scenario).client_delay = Span::ZERO;
    web(&mut scenario).pages = None;
    assert_stands_still(&scenario);
    scenario.applications[0].kind = ApplicationKind::Bulk(Bulk {
        clients: NonZeroU32::MIN,
        request: ByteCount(50),
        file: None,
        files: None,
        pause: Span::ZERO,
        behaviour: Behaviour::FIXED,
        sender: BulkSender::Server,
    });
    assert_stands_still(&scenario);
}

#[test]
fn arrivals_at_one_moment_end_the_run() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    ideal(&mut scenario);
    scenario.applications[0].kind = ApplicationKind::Arrivals(Arrivals {
        interarrival: Span::ZERO,
        request: ByteCount(100),
        response: ByteCount(100),
        hold: Span::ZERO,
        prompt_acks: false,
        limit: None,
    });
    assert_stands_still(&scenario);
}

#[test]
fn a_writer_of_single_bytes_into_an_endless_buffer_ends_the_run() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    let web = web(&mut scenario);
    web.workload = ackwise_http::workload::Pages::Fixed {
        primary: 1 << 30,
        inlines: std::borrow::Cow::Borrowed(&[]),
    };
    web.behaviour.write_size = NonZeroUsize::new(1);
    web.behaviour.send_buffer = NonZeroUsize::new(1 << 30);
    assert_stands_still(&scenario);
}

#[test]
fn a_file_is_shorter_than_what_offsets_can_count() {
    let mut scenario = ethernet(Transfer::Persistent, Behaviour::FIXED);
    scenario.applications[0].kind = ApplicationKind::Bulk(Bulk {
        clients: NonZeroU32::MIN,
        request: ByteCount(50),
        file: Some(ByteCount(u64::MAX)),
        files: None,
        pause: Span::ZERO,
        behaviour: Behaviour::FIXED,
        sender: BulkSender::Server,
    });
    let error = run(&scenario, &mut Nobody).map(|_| "it has run").unwrap_err().to_string();
    let expected = format!("a file of {} B (expected at most {})", u64::MAX, 1_u64 << 50);
    assert!(error.contains(&expected), "{error}");
}
