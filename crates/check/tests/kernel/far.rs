//! Distance without a network: an emulated path between our TCP and a server in a network of its own.

use std::time::Duration;

use ackwise_check::{
    CheckError, Distance, Options, Probability, Rate, StackChoice, Target,
    builtin::Network,
    card::{Card, CheckId, Finding, Verdict},
    check,
};
use ackwise_http::{
    Behaviour,
    behaviour::{HeadFlush, Nagle},
};
use ackwise_serve::{Config, Server};
use ackwise_testing::skip;

const RTT: Duration = Duration::from_millis(80);

#[test]
fn a_server_is_checked_as_users_far_away_see_it() {
    let far = Distance {
        rtt: RTT,
        rate: Rate::bits_per_second(20_000_000),
        queue: None,
        loss: Probability::per_million(1_000),
    };
    let only = [CheckId::FirstByte, CheckId::InitialWindow];
    let Some(card) =
        card("a_server_is_checked_as_users_far_away_see_it", Behaviour::FIXED, far, &only)
    else {
        return;
    };
    let first_byte = value(&card.findings[0], "median_ms").as_f64().expect("asked");
    assert!((80.0..120.0).contains(&first_byte), "{first_byte} ms");
    assert_eq!(value(&card.findings[1], "segments"), 10, "{card:?}");
    let emulated = card.emulated.as_ref().expect("a path was emulated");
    assert_eq!((emulated.rtt_ms, emulated.queue_bytes), (80.0, Some(200_000)));
    let page = &emulated.pages[0];
    let (new, kept) = (page.new_connection_ms.unwrap(), page.kept_connection_ms.unwrap());
    // Handshake, then 10, 20, 40, 80 segments at most in as many round trips; 100,000 bytes at 20 Mb/s take 40 ms.
    assert!((80.0 * 4.0..1_500.0).contains(&new), "{new} ms");
    assert!(kept >= 80.0 && kept < new, "{kept} ms after {new} ms");
    assert!(card.notes.iter().any(|note| note.contains("emulated a path of 80 ms, 20 Mb/s")));
}

/// Its flights overflow the queue: without SACK, each packet lost would take a round trip of its own.
#[test]
fn a_large_page_is_timed_as_users_load_it_and_leaves_time_for_the_questions() {
    let rate = Rate::bits_per_second(20_000_000);
    let far = Distance { rtt: RTT, rate, queue: Some(60_000), loss: None };
    let name = "a_large_page_is_timed_as_users_load_it_and_leaves_time_for_the_questions";
    let only = [CheckId::InitialWindow];
    let Some(card) = card_of(name, 1_000_000, Behaviour::FIXED, far, &only) else { return };
    assert_eq!(value(&card.findings[0], "segments"), 10, "{card:?}");
    let page = &card.emulated.as_ref().expect("a path was emulated").pages[0];
    let (new, kept) = (page.new_connection_ms.unwrap(), page.kept_connection_ms.unwrap());
    // The bytes alone take 400 ms.
    assert!(page.loads >= 1 && (480.0..6_000.0).contains(&new), "{card:?}");
    assert!((480.0..6_000.0).contains(&kept), "{card:?}");
}

#[test]
fn a_stall_costs_the_same_at_any_distance() {
    let far = Distance { rtt: RTT, rate: None, queue: None, loss: None };
    let behaviour =
        Behaviour { head_flush: HeadFlush::Apart, nagle: Nagle::On, ..Behaviour::FIXED };
    let only = [CheckId::NagleDelayedAck];
    let name = "a_stall_costs_the_same_at_any_distance";
    let Some(card) = card(name, Behaviour { ..behaviour }, far, &only) else { return };
    // The page is longer than a segment: its ranges stall.
    let found = &card.findings[0];
    assert_eq!(found.verdict, Verdict::Fail, "{found:?}");
    let cost = value(found, "cost_ms_40").as_f64().expect("measured");
    assert!((30.0..60.0).contains(&cost), "{cost} ms");
}

#[test]
fn the_kernels_tcp_cannot_be_put_far_away() {
    let target: Target = "http://127.0.0.1:9/".parse().unwrap();
    let distance = Some(Distance { rtt: RTT, rate: None, queue: None, loss: None });
    let options = Options { stack: StackChoice::Kernel, distance, ..Options::default() };
    let refused = check(&target, &options, &mut |_| {}).unwrap_err().to_string();
    assert!(refused.contains("--rtt"), "{refused}");
}

fn card(test: &str, behaviour: Behaviour, far: Distance, only: &[CheckId]) -> Option<Card> {
    card_of(test, 100_000, behaviour, far, only)
}

/// The card of a server whose page has `bytes` bytes.
fn card_of(
    test: &str,
    bytes: u32,
    behaviour: Behaviour,
    far: Distance,
    only: &[CheckId],
) -> Option<Card> {
    if Network::private() != Network::Private {
        skip(test, "a network namespace; run as root");
        return None;
    }
    let config = Config { bind: Network::Private.bind(), ..Config::loopback(behaviour) };
    let server = Server::start(config).expect("a free port");
    let url = format!("http://127.0.0.1:{}/{bytes}", server.local_addr().port());
    let options = Options {
        stack: StackChoice::Ackwise,
        only: Some(only.iter().copied().collect()),
        // Twice the usual time: what is asked here is not how long it takes, and a busy machine takes longer.
        time: 2 * (Duration::from_secs(15) + far.extra_time()),
        distance: Some(far),
        ..Options::default()
    };
    match check(&url.parse().expect("a URL"), &options, &mut |_| {}) {
        Err(CheckError::Stack(missing)) => {
            skip(test, missing);
            None
        }
        card => Some(card.expect("a card")),
    }
}

fn value(found: &Finding, key: &str) -> serde_json::Value {
    serde_json::to_value(&found.values).expect("values are JSON")[key].clone()
}
