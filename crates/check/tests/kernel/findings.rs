//! One behaviour of the server after the other: bad ones fail, good ones and slow ones do not.

use std::time::{Duration, Instant};

use ackwise_check::card::{CheckId, Finding, Role, Verdict};
use ackwise_http::{
    Behaviour,
    behaviour::{HeadFlush, KeepAlivePolicy, Pipelining, RequestPieces},
};

use super::server::{card, finding};

const APART: Behaviour = Behaviour { head_flush: HeadFlush::Apart, ..Behaviour::FIXED };

#[test]
fn the_server_of_1996_fails_for_nagle_and_says_what_it_costs() {
    let found = finding(Behaviour::PAPER_1996, "/500", CheckId::NagleDelayedAck);
    assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
    assert_eq!(value(&found, "released_by"), "ack");
    assert!(value(&found, "cost_ms_120").is_null(), "the kernel cannot withhold so long");
    let cost = found.cost_ms.expect("it was measured");
    assert!((30.0..120.0).contains(&cost), "{cost} ms");
    assert!(found.evidence.iter().any(|line| line.contains("client > server: ack")), "{found:?}");
    assert!(found.remedy.is_some_and(|remedy| remedy.contains("TCP_NODELAY")));
}

#[test]
fn a_fixed_server_fails_nothing_and_uses_no_more_than_it_may() {
    let begun = Instant::now();
    let card = card(Behaviour::FIXED, "/6651", &[]).unwrap();
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let ids: Vec<_> = card.findings.iter().map(|finding| finding.id).collect();
    assert_eq!(ids[..], CheckId::ALL[..ids.len()]);
    assert_eq!(
        ids.len(),
        CheckId::of(Role::Server).count() - 3,
        "all but what needs content or HTTP/2"
    );
    for finding in &card.findings {
        assert!(finding.verdict < Verdict::Warn, "{finding:?}");
        assert!(finding.remedy.is_none(), "{finding:?}");
    }
}

#[test]
fn thinking_is_not_a_stall_however_long_it_takes() {
    // Two of the pauses end just after one of the delays of our ACK.
    for pause in [13, 27, 40, 60] {
        let pause = Duration::from_millis(pause);
        for behaviour in [
            Behaviour { think: pause, ..Behaviour::FIXED },
            Behaviour { think_after_head: pause, ..APART },
        ] {
            let found = finding(behaviour, "/500", CheckId::NagleDelayedAck);
            assert_eq!(found.verdict, Verdict::Pass, "{pause:?}: {found:?}");
        }
    }
}

#[test]
fn a_split_head_without_a_stall_is_a_warning() {
    let found = finding(APART, "/6651", CheckId::SplitHead);
    assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
    assert_eq!((found.cost_ms, &value(&found, "split")), (None, &true.into()));
    let found = finding(APART, "/6651", CheckId::NagleDelayedAck);
    assert_eq!(found.verdict, Verdict::Pass, "{found:?}");
}

#[test]
fn thinking_as_long_as_a_cork_waits_is_not_a_cork() {
    let pause = Duration::from_millis(204);
    for behaviour in [
        Behaviour { think: pause, ..Behaviour::FIXED },
        Behaviour { think_after_head: pause, ..APART },
    ] {
        let found = finding(behaviour, "/3000", CheckId::CorkTimer);
        assert_eq!(found.verdict, Verdict::Pass, "{found:?}");
    }
}

#[test]
fn the_keep_alive_field_is_believed_and_a_limit_is_counted() {
    let found = finding(Behaviour::PAPER_1996, "/500", CheckId::KeepAlive);
    assert_eq!(value(&found, "timeout_s"), 15.0, "{found:?}");
    assert_eq!(value(&found, "max_requests"), 100, "{found:?}");

    let limited = KeepAlivePolicy::Silent {
        idle: Duration::from_secs(1),
        max_requests: std::num::NonZeroU32::new(7),
    };
    let behaviour = Behaviour { keep_alive: limited, ..Behaviour::FIXED };
    let card = card(behaviour, "/500", &[CheckId::KeepAlive, CheckId::Close]).unwrap();
    let values = |id| {
        let found = card.findings.iter().find(|found| found.id == id).unwrap();
        serde_json::to_value(&found.values).unwrap()
    };
    let seen = values(CheckId::KeepAlive);
    assert_eq!((&seen["persistent"], &seen["max_requests"]), (&true.into(), &7.into()), "{seen}");
    let timeout = seen["timeout_s"].as_f64().expect("it was seen");
    assert!((0.9..1.6).contains(&timeout), "{timeout} s");
    assert_eq!(values(CheckId::Close)["first_on_idle"], "server");
}

#[test]
fn the_server_closes_first_when_asked_to_and_reads_on() {
    let found = finding(Behaviour::FIXED, "/500", CheckId::Close);
    assert_eq!(found.verdict, Verdict::Pass);
    assert_eq!(value(&found, "first_on_close"), "server", "{found:?}");
    assert_eq!(value(&found, "half_close"), true, "{found:?}");
    assert_eq!(value(&found, "time_wait"), "server", "{found:?}");
    assert!(value(&found, "rst_ends_time_wait").is_null(), "the kernel makes no RST to order");
    assert!(
        value(&found, "swap").is_null() && found.summary.contains("--stack ackwise"),
        "{found:?}"
    );
}

#[test]
fn pipelined_requests_must_be_answered_all_and_in_order() {
    for (pipelining, ok) in
        [(Pipelining::InOrder, true), (Pipelining::FirstOnly, false), (Pipelining::Reversed, false)]
    {
        let behaviour = Behaviour { pipelining, ..Behaviour::FIXED };
        let found = finding(behaviour, "/500", CheckId::Pipelining);
        assert_eq!(value(&found, "ok"), ok, "{pipelining:?}: {found:?}");
        assert_eq!(found.verdict == Verdict::Fail, !ok, "{pipelining:?}");
    }
}

#[test]
fn a_request_in_two_segments_is_stalled_by_who_looks_again_only_later() {
    let request_pieces = RequestPieces::LookedAtAfter(Duration::from_millis(40));
    let behaviour = Behaviour { request_pieces, ..Behaviour::FIXED };
    let found = finding(behaviour, "/500", CheckId::RequestSegments);
    assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
    let stall = value(&found, "stall_ms").as_f64().unwrap();
    assert!((20.0..80.0).contains(&stall), "{stall} ms");
}

#[test]
fn what_the_kernel_cannot_show_is_unknown_and_says_so() {
    for id in [CheckId::InitialWindow, CheckId::IdleRestart, CheckId::SendBuffer] {
        let found = finding(Behaviour::FIXED, "/100000", id);
        assert_eq!(found.verdict, Verdict::Unknown, "{found:?}");
        assert!(found.summary.contains("--stack ackwise"), "{found:?}");
    }
}

fn value(found: &Finding, key: &str) -> serde_json::Value {
    serde_json::to_value(&found.values).expect("values are JSON")[key].clone()
}
