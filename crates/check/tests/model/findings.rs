//! What the checks find out about models, and that it is exact.

use std::{num::NonZeroUsize, time::Duration};

use ackwise_check::{
    Options,
    card::{Card, CheckId, Finding, Role, Verdict},
    run::check_with,
};
use ackwise_http::{
    Behaviour,
    behaviour::{HeadFlush, Nagle, Pipelining, RequestPieces, Tail},
};
use ackwise_net::Target;

use super::{
    sender::Sending,
    stack::{Model, ModelStack},
};

const APART: Behaviour = Behaviour { head_flush: HeadFlush::Apart, ..Behaviour::FIXED };
const JOINED_4096: Behaviour =
    Behaviour { write_size: NonZeroUsize::new(4096), nagle: Nagle::On, ..Behaviour::FIXED };

const LINUX: Sending =
    Sending { nagle: false, initial_window: 10, restart_after: None, buffer: 1 << 30 };

#[test]
fn the_1996_server_waits_exactly_as_long_as_our_ack() {
    for page in [200, 500, 1_300] {
        let found = finding(&model(Behaviour::PAPER_1996, page), CheckId::NagleDelayedAck);
        assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
        assert_eq!(value(&found, "released_by"), "ack");
        // The round trip is lost with a prompt ACK too.
        assert_eq!(value(&found, "cost_ms_40"), 40.0, "{found:?}");
        assert_eq!(value(&found, "cost_ms_120"), 120.0, "{found:?}");
    }
}

#[test]
fn a_fixed_server_passes_everything() {
    let card = card(&model(Behaviour::FIXED, 200_000), &[]);
    assert_eq!(card.findings.len(), asked());
    for found in &card.findings {
        assert_eq!(found.verdict, Verdict::Pass, "{found:?}");
    }
}

#[test]
fn waiting_for_our_ack_no_longer_than_for_the_application_is_a_warning() {
    let think_after_head = Duration::from_millis(37);
    let behaviour = Behaviour { nagle: Nagle::On, think_after_head, ..APART };
    let found = finding(&model(behaviour, 500), CheckId::NagleDelayedAck);
    assert_eq!(value(&found, "released_by"), "ack", "{found:?}");
    assert_eq!((found.verdict, found.cost_ms), (Verdict::Warn, Some(4.0)), "{found:?}");
    assert!(!found.summary.contains("every"), "{found:?}");
}

#[test]
fn nagle_is_told_from_thinking_whatever_the_round_trip() {
    for round_trip in [0, 1, 30, 100] {
        let round_trip = Duration::from_millis(round_trip);
        let verdict = |behaviour| {
            let model = Model { round_trip, ..model(behaviour, 500) };
            finding(&model, CheckId::NagleDelayedAck).verdict
        };
        assert_eq!(verdict(Behaviour::PAPER_1996), Verdict::Fail, "{round_trip:?}");
        for pause in [12, 40, 41, 80, 120, 121, 160, 220] {
            let think_after_head = Duration::from_millis(pause);
            let thinking = Behaviour { think_after_head, ..APART };
            assert_eq!(verdict(thinking), Verdict::Pass, "{pause} ms, {round_trip:?}");
        }
    }
}

#[test]
fn the_odd_last_segment_of_a_joined_response_is_found() {
    // Heidemann 1997, figure 4: 4,096 bytes at a time leave a short segment, then a shorter one.
    let found = finding(&model(JOINED_4096, 4_200), CheckId::NagleDelayedAck);
    assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
}

#[test]
fn only_receivers_that_exist_today_make_a_failure() {
    // Python's http.server with a page of 1,623 bytes: head, then more than a segment.
    let nagle = Behaviour { nagle: Nagle::On, ..APART };
    let python = |page| Model { ranges: false, ..model(nagle, page) };
    let found = finding(&python(1_623), CheckId::NagleDelayedAck);
    assert_eq!((found.verdict, found.cost_ms), (Verdict::Warn, None), "{found:?}");
    assert_eq!(value(&found, "receiver"), "two-full");
    assert!(found.summary.contains("as BSD did in 1996"), "{found:?}");
    let found = finding(&python(623), CheckId::NagleDelayedAck);
    assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
    assert_eq!(value(&found, "receiver"), "linux");
}

#[test]
fn a_stall_that_begins_when_the_window_is_large_enough_is_found() {
    // Each write goes before the next one, once the window holds it: then the last one waits.
    const SIZES: &[u64] = &[4_096, 201_460, 100];
    let gap = Duration::from_micros(1_200);
    let slow = Model {
        pattern: Some((SIZES, gap)),
        ranges: false,
        ..model(JOINED_4096, SIZES.iter().sum())
    };
    let found = finding(&slow, CheckId::NagleDelayedAck);
    assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
    let by_request = value(&found, "sizes")[0]["by_request"].clone();
    let held = |number: usize| by_request[number]["held"].as_u64().expect("a count");
    assert!(held(0) == 0 && held(1) > 0, "{by_request}");
    assert!(found.summary.contains("not before request"), "{found:?}");
}

#[test]
fn a_short_initial_segment_matters_to_receivers_of_1996_and_where_the_window_is_one_segment() {
    let id = CheckId::ShortInitialSegment;
    let found = finding(&model(APART, 20_000), id);
    assert_eq!(found.verdict, Verdict::Pass, "no window of today is so small: {found:?}");
    assert_eq!(value(&found, "stall_ms"), 121.0);
    let found = finding(&model(Behaviour::FIXED, 20_000), id);
    assert_eq!((found.verdict, value(&found, "stall_ms")), (Verdict::Pass, 0.0.into()));

    // An initial window of two segments, as in 1996: the second one is full, so that clients of today
    // acknowledge at once.
    let sending = Sending { initial_window: 2, ..LINUX };
    let found = finding(&Model { sending, ..model(APART, 20_000) }, id);
    assert_eq!((found.verdict, found.cost_ms), (Verdict::Warn, None), "{found:?}");
    assert!(found.summary.contains("1996"), "{found:?}");

    // An initial window of one segment is used up by the head.
    let sending = Sending { initial_window: 1, ..LINUX };
    let found = finding(&Model { sending, ..model(APART, 20_000) }, id);
    assert_eq!((found.verdict, found.cost_ms), (Verdict::Fail, Some(120.0)), "{found:?}");

    let found = finding(&model(APART, 500), id);
    assert_eq!(found.verdict, Verdict::NotApplicable, "one segment has no start: {found:?}");
}

#[test]
fn the_initial_window_is_counted() {
    for (initial_window, verdict) in
        [(1, Verdict::Warn), (4, Verdict::Pass), (10, Verdict::Pass), (32, Verdict::Pass)]
    {
        let sending = Sending { initial_window, ..LINUX };
        let model = Model { sending, ..model(Behaviour::FIXED, 100_000) };
        let found = finding(&model, CheckId::InitialWindow);
        assert_eq!(value(&found, "segments"), initial_window, "{found:?}");
        assert_eq!((found.verdict, &value(&found, "mss")), (verdict, &1460.into()));
    }
    let found = finding(&model(Behaviour::FIXED, 5_000), CheckId::InitialWindow);
    assert_eq!((found.verdict, &value(&found, "at_least")), (Verdict::NotApplicable, &4.into()));
}

#[test]
fn a_window_that_falls_while_idle_is_seen() {
    let id = CheckId::IdleRestart;
    let restart_after = Some(Duration::from_millis(300));
    let sending = Sending { restart_after, ..LINUX };
    let found = finding(&Model { sending, ..model(Behaviour::FIXED, 200_000) }, id);
    assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
    assert_eq!(value(&found, "after"), 10);
    assert!(value(&found, "before").as_u64() > Some(100), "{found:?}");
    // From 10 to more than 70 and at most 150 segments takes four round trips; paced, two.
    let saves = value(&found, "paced_saves_ms").as_f64().expect("the window fell");
    assert!(saves > 0.0, "{found:?}");
    assert_eq!(finding(&model(Behaviour::FIXED, 200_000), id).verdict, Verdict::Pass);
}

#[test]
fn what_bounds_a_flight_is_named() {
    let bound = |sending, page| {
        let model = Model { sending, ..model(Behaviour::FIXED, page) };
        serde_json::to_value(finding(&model, CheckId::SendBuffer).values).unwrap()
    };
    let values = bound(Sending { buffer: 87_600, ..LINUX }, 300_000);
    assert_eq!(
        (&values["bound"], &values["flight_bytes"]),
        (&"send-buffer".into(), &87_600.into())
    );
    assert_eq!(bound(LINUX, 300_000)["bound"], "response");
}

#[test]
fn a_forgotten_cork_is_a_warning_that_says_what_it_costs() {
    for page in [500, 3_000, 20_000] {
        let corked = Behaviour { tail: Tail::Corked, ..Behaviour::FIXED };
        let found = finding(&model(corked, page), CheckId::CorkTimer);
        assert_eq!(found.verdict, Verdict::Warn, "{page}: {found:?}");
        assert!((204.0..206.0).contains(&found.cost_ms.unwrap()), "{page}: {found:?}");
        let found = finding(&model(corked, page), CheckId::NagleDelayedAck);
        assert_eq!(found.verdict, Verdict::Pass, "{page}: {found:?}");
    }
}

#[test]
fn a_request_that_is_looked_at_later_costs_what_it_costs() {
    let request_pieces = RequestPieces::LookedAtAfter(Duration::from_millis(40));
    let behaviour = Behaviour { request_pieces, ..Behaviour::FIXED };
    let found = finding(&model(behaviour, 500), CheckId::RequestSegments);
    assert_eq!((found.verdict, found.cost_ms), (Verdict::Warn, Some(40.0)), "{found:?}");
}

#[test]
fn a_pause_inside_every_response_is_warned_of_unless_an_ack_explains_it() {
    let after_head = |ms| Behaviour { think_after_head: Duration::from_millis(ms), ..APART };
    let before = Behaviour { think: Duration::from_millis(44), ..Behaviour::FIXED };
    for (behaviour, round_trip, pause) in [
        (after_head(43), 0, Some(43.0)),
        (after_head(12), 0, Some(12.0)),
        (after_head(150), 80, Some(150.0)),
        // As long as an ACK takes on this path: nobody can tell.
        (after_head(43), 30, None),
        (after_head(4), 0, None),
        (before, 0, None),
        // Nagle's algorithm waits for the ACK, which comes at once.
        (Behaviour::PAPER_1996, 0, None),
        (Behaviour::PAPER_1996, 30, None),
        (Behaviour::FIXED, 80, None),
    ] {
        let model =
            Model { round_trip: Duration::from_millis(round_trip), ..model(behaviour, 500) };
        let found = finding(&model, CheckId::ResponsePause);
        let verdict = if pause.is_some() { Verdict::Warn } else { Verdict::Pass };
        assert_eq!((found.verdict, found.cost_ms), (verdict, pause), "{round_trip} ms: {found:?}");
        let hinted = found.summary.contains("behind the proxy");
        assert_eq!(hinted, pause == Some(43.0), "{found:?}");
    }
}

#[test]
fn a_program_that_begins_late_is_measured_and_not_accused() {
    let behaviour = Behaviour { think: Duration::from_millis(44), ..Behaviour::FIXED };
    for round_trip in [1, 80].map(Duration::from_millis) {
        let model = Model { round_trip, ..model(behaviour, 500) };
        let found = finding(&model, CheckId::FirstByte);
        assert_eq!(found.verdict, Verdict::Pass, "{found:?}");
        let took = round_trip.as_secs_f64() * 1e3 + 44.0;
        assert_eq!(value(&found, "median_ms"), took, "{found:?}");
        assert_eq!(value(&found, "wait_ms"), 44.0, "{found:?}");
        assert_eq!(
            value(&found, "by_request_ms"),
            serde_json::Value::from(vec![took; 8]),
            "{found:?}"
        );
    }
}

#[test]
fn pipelining_and_close_are_facts() {
    for (pipelining, ok) in
        [(Pipelining::InOrder, true), (Pipelining::FirstOnly, false), (Pipelining::Reversed, false)]
    {
        let behaviour = Behaviour { pipelining, ..Behaviour::FIXED };
        let found = finding(&model(behaviour, 500), CheckId::Pipelining);
        assert_eq!(value(&found, "ok"), ok, "{pipelining:?}: {found:?}");
        assert_eq!(found.verdict == Verdict::Fail, !ok, "{pipelining:?}: {found:?}");
    }
    for (half_closes, reset_ends_time_wait, swap) in
        [(true, true, "accepted"), (false, false, "refused")]
    {
        let model = Model { half_closes, reset_ends_time_wait, ..model(Behaviour::FIXED, 500) };
        let found = finding(&model, CheckId::Close);
        assert_eq!(found.verdict, Verdict::Pass);
        assert_eq!(value(&found, "first_on_close"), "server");
        assert_eq!(value(&found, "half_close"), half_closes, "{found:?}");
        assert_eq!(value(&found, "rst_ends_time_wait"), reset_ends_time_wait, "{found:?}");
        assert_eq!(
            (&value(&found, "time_wait"), &value(&found, "swap")),
            (&"server".into(), &swap.into())
        );
    }
}

#[test]
fn a_page_that_is_never_the_same_twice_is_not_compared() {
    for (pipelining, verdict) in
        [(Pipelining::InOrder, Verdict::Pass), (Pipelining::FirstOnly, Verdict::Fail)]
    {
        let behaviour = Behaviour { pipelining, ..Behaviour::FIXED };
        let model = Model { varies: true, ..model(behaviour, 500) };
        let found = finding(&model, CheckId::Pipelining);
        assert_eq!(found.verdict, verdict, "{found:?}");
    }
}

#[test]
fn a_pause_of_the_application_is_not_taken_for_the_initial_window() {
    let think_after_head = Duration::from_millis(300);
    let behaviour = Behaviour { think_after_head, ..APART };
    let found = finding(&model(behaviour, 100_000), CheckId::InitialWindow);
    assert_eq!((found.verdict, &value(&found, "at_least")), (Verdict::NotApplicable, &1.into()));
    assert_eq!(value(&found, "segments"), serde_json::Value::Null, "{found:?}");
    assert_eq!(value(&found, "mss"), 1460, "seen later: {found:?}");
}

#[test]
fn a_slow_server_uses_the_time_there_is_and_the_rest_is_unknown() {
    let slow = Behaviour { think: Duration::from_secs(2), ..Behaviour::FIXED };
    let card = card(&model(slow, 500), &[]);
    assert!(card.findings.iter().any(|found| found.verdict == Verdict::Unknown), "{card:?}");
    for found in &card.findings {
        assert!(found.verdict <= Verdict::Unknown, "{found:?}");
    }
}

#[test]
fn no_check_sends_more_requests_than_it_may() {
    for max_requests in 1..=20 {
        let options = Options { max_requests, ..Options::default() };
        let card = check_model(&model(Behaviour::PAPER_1996, 500), &options);
        assert_eq!(card.findings.len(), asked(), "{max_requests}");
    }
}

/// Not asked about are the accept queue of another host, large requests where none has content, and what only HTTP/2
/// has.
fn asked() -> usize {
    CheckId::of(Role::Server).count() - 4
}

fn model(behaviour: Behaviour, page: u64) -> Model {
    Model {
        behaviour,
        sending: Sending { nagle: behaviour.nagle == Nagle::On, ..LINUX },
        page,
        round_trip: Duration::from_millis(1),
        reset_ends_time_wait: true,
        half_closes: true,
        ranges: true,
        pattern: None,
        varies: false,
    }
}

fn finding(model: &Model, id: CheckId) -> Finding {
    let mut card = card(model, &[id]);
    assert_eq!(card.findings.len(), 1, "{card:?}");
    card.findings.remove(0)
}

fn card(model: &Model, only: &[CheckId]) -> Card {
    let only = (!only.is_empty()).then(|| only.iter().copied().collect());
    check_model(model, &Options { only, ..Options::default() })
}

fn check_model(model: &Model, options: &Options) -> Card {
    let target: Target = "http://192.0.2.1/".parse().expect("a URL");
    let stack =
        || -> Box<dyn ackwise_check::stack::Stack> { Box::new(ModelStack::new(model.clone())) };
    check_with(stack, &target, options, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn value(found: &Finding, key: &str) -> serde_json::Value {
    serde_json::to_value(&found.values).expect("values are JSON")[key].clone()
}
