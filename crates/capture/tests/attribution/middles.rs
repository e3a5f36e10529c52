//! Captures that begin in the middle of a connection: no handshake tells how far the ends are.

use ackwise_capture::{
    analysis::Analysis,
    attribution::{Confidence, Share},
};
use ackwise_cause::Cause;

use crate::wire::Streams;

const POSTS: usize = 5;

/// Uploads of a head and a body that are sent apart, each answered by a head.
fn uploads() -> Streams {
    let upload = Streams::of_upload(200);
    let [client, server] = upload.both().map(|it| it.repeat(POSTS));
    Streams::of(&client, &server)
}

/// What the packets of an upload show that begins at `at` with the bytes of both streams that were sent before.
fn capture(upload: impl Fn(f64, [usize; 2]) -> String) -> Analysis {
    let scripts = (0..POSTS).map(|it| upload(it as f64 * 200.0, [it * 300, it * 100]));
    uploads().seen_as(&scripts.collect::<String>())
}

/// The milliseconds under any of these causes with a confidence.
fn said(analysis: &Analysis, confidence: Confidence, causes: &[Cause]) -> f64 {
    let shares = analysis.exchanges.iter().flat_map(|it| &it.shares);
    shares
        .filter(|it| it.confidence == confidence && causes.contains(&it.cause))
        .map(|it| it.span.as_secs_f64() * 1e3)
        .sum()
}

const NAGLE: [Cause; 2] = [Cause::NagleDelayedAck, Cause::NagleRtt];

/// The client thinks for 97 ms before each request, and acknowledges responses with it. Nagle's algorithm holds its
/// bodies until the server's delayed ACK.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn held_bodies(with_timestamps: bool) -> Analysis {
    capture(|at, [asked, answered]| {
        let stamps = |value: f64, echo: f64| match with_timestamps {
            true => format!("ts {value:.0} echo {echo:.0}"),
            false => String::new(),
        };
        let (head, body, end) = (asked + 100, asked + 300, answered + 100);
        let (ours, theirs) = (1_000.0 + at, 9_000.0 + at);
        format!(
            "
            {at} > {asked}:{head} psh ack {answered} {}
            {} < ack {head} {}
            {} > {head}:{body} psh ack {answered} {}
            {} < {answered}:{end} psh ack {body} {}
            ",
            stamps(ours, theirs - 97.0),
            at + 72.9,
            stamps(theirs + 73.0, ours),
            at + 72.93,
            stamps(ours + 73.0, theirs + 73.0),
            at + 103.0,
            stamps(theirs + 103.0, ours + 73.0),
        )
    })
}

#[test]
fn an_echoed_timestamp_tells_an_ack_that_released_a_body_from_a_pause() {
    let analysis = held_bodies(true);
    assert!(said(&analysis, Confidence::High, &NAGLE) > 300.0, "{:?}", analysis.exchanges);
    assert_eq!(said(&analysis, Confidence::High, &[Cause::ApplicationLimited]), 0.0);
}

#[test]
fn without_timestamps_nobody_is_accused_for_sure() {
    let analysis = held_bodies(false);
    let accused = [NAGLE[0], NAGLE[1], Cause::ApplicationLimited];
    assert_eq!(said(&analysis, Confidence::High, &accused), 0.0, "{:?}", analysis.exchanges);
    assert!(said(&analysis, Confidence::Medium, &accused) > 100.0, "{:?}", analysis.exchanges);
}

#[test]
fn a_body_that_comes_after_a_think_time_like_the_clients_may_be_late_by_itself() {
    // The client reads for 30 ms before the next request, and writes its body 120 ms after the head: 30 ms after the
    // ACK.
    let analysis = capture(|at, [asked, answered]| {
        let (head, body, end) = (asked + 100, asked + 300, answered + 100);
        format!(
            "
            {at} > {asked}:{head} psh ack {answered}
            {} < ack {head}
            {} > {head}:{body} psh ack {answered}
            {} < {answered}:{end} psh ack {body}
            ",
            at + 90.0,
            at + 120.0,
            at + 170.0,
        )
    });
    assert_eq!(said(&analysis, Confidence::High, &NAGLE), 0.0, "{:?}", analysis.exchanges);
    assert!(said(&analysis, Confidence::Medium, &NAGLE) > 300.0, "{:?}", analysis.exchanges);
    assert!(analysis.connections[0].quality.begins_in_middle);
}

#[test]
fn what_is_not_known_of_the_distance_may_be_the_servers_time() {
    // The request is sent again: which copy was acknowledged, nobody knows.
    let analysis = Streams::of_bodies(&[500]).seen_as(
        r#"
        0     > ack 0
        100   > 0:100 psh ack 0
        340   > 0:100 psh ack 0
        371   < 0:600 psh ack 100
        371.1 > ack 600
        "#,
    );
    let thinks = |it: &Share| it.cause == Cause::ServerThink;
    let think = analysis.exchanges[0].shares.iter().find(thinks).unwrap();
    assert_eq!((think.confidence, think.rival), (Confidence::Medium, Some(Cause::Propagation)));
}

#[test]
fn a_way_that_an_answer_shows_first_was_not_the_servers_time() {
    // The first segments, which are looked at twice, are a response that began before the capture.
    let segment = |it: usize| {
        let (from, to) = (it * 1_460, (it + 1) * 1_460);
        format!("{it} < {from}:{to} ack 0\n{it}.01 > ack {to}\n")
    };
    let (download, rest): (String, _) = ((0..25).map(segment).collect(), 25 * 1_460);
    let exchange = Streams::of_bodies(&[500]);
    let [client, server] = exchange.both();
    let streams = Streams::of(client, &[&vec![b'x'; rest], server].concat());
    let analysis = streams.seen_as(&format!(
        "{download}
        500 > 0:100 psh ack {rest}
        550 < {rest}:{} psh ack 100
        ",
        rest + 600,
    ));
    let think = analysis.exchanges[0].owed_to(Cause::ServerThink);
    assert!(think.is_zero(), "{:?}", analysis.exchanges);
}
