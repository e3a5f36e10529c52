//! A receiver that does not accept, or does not read: none of that is the path's.

use ackwise_capture::{analysis::Analysis, attribution::Confidence};
use ackwise_cause::{Cause, Direction};

use crate::wire::Streams;

/// The cause of most of the first exchange's time, how sure it is, and what else it may be.
fn longest(analysis: &Analysis) -> (Cause, Confidence, Option<Cause>) {
    let shares = analysis.exchanges[0].shares.iter();
    let longest = shares.max_by_key(|it| it.span).unwrap();
    (longest.cause, longest.confidence, longest.rival)
}

const REFUSED: (Cause, Confidence, Option<Cause>) =
    (Cause::AcceptQueueFull, Confidence::Medium, Some(Cause::RetransmissionTimeout));
const LOST_OR_REFUSED: (Cause, Confidence, Option<Cause>) =
    (Cause::RetransmissionTimeout, Confidence::Medium, Some(Cause::AcceptQueueFull));

/// Linux drops a SYN that the accept queue has no room for (`tcp_conn_request`).
#[test]
fn a_syn_that_the_server_itself_has_captured_was_not_lost_before_it() {
    // The first SYN, the second, its answer, and the ACK of that.
    for (times, between, expected) in [
        (["1000", "1000.01", "1030"], "", REFUSED),
        // On one host.
        (["1000", "1000.01", "1000.02"], "", REFUSED),
        (["1000", "1030", "1030.01"], "", LOST_OR_REFUSED),
        (["1000", "1030", "1060"], "", LOST_OR_REFUSED),
        // The server answered at once, and the answer was lost.
        (
            ["1000", "1000.01", "1030"],
            "0.01 < syn",
            (Cause::RetransmissionTimeout, Confidence::High, None),
        ),
    ] {
        let [again, answer, ack] = times;
        let asked: f64 = ack.parse::<f64>().unwrap() + 0.1;
        let analysis = Streams::of_bodies(&[500]).seen_as(&format!(
            r#"
            0          > syn
            {between}
            {again}    > syn
            {answer}   < syn
            {ack}      > ack 0
            {asked}    > 0:100 psh ack 0
            1100       < 0:600 psh ack 100
            1130       > ack 600
            "#
        ));
        assert_eq!(longest(&analysis), expected, "{times:?} {between}: {:?}", analysis.exchanges);
    }
}

/// RFC 7323, section 4.3: what a SYN-ACK echoes tells which SYN it answers.
#[test]
fn how_far_the_server_is_shows_only_if_the_last_syn_was_answered() {
    for (echo, expected) in [(1_001, REFUSED), (1, LOST_OR_REFUSED)] {
        let analysis = Streams::of_bodies(&[500]).seen_as(&format!(
            r#"
            0       > syn ts 1
            1000    > syn ts 1001
            1000.01 < syn ts 7 echo {echo}
            1030    > ack 0 ts 1031 echo 7
            1030.1  > 0:100 psh ack 0 ts 1031 echo 7
            1100    < 0:600 psh ack 100 ts 107 echo 1031
            1130    > ack 600 ts 1131 echo 107
            "#
        ));
        assert_eq!(longest(&analysis), expected, "{echo}: {:?}", analysis.exchanges);
    }
}

/// The same packets without timestamps.
fn without_timestamps(script: &str) -> String {
    let mut words = script.split(' ');
    let mut out = String::new();
    while let Some(word) = words.next() {
        if matches!(word, "ts" | "echo") {
            let rest = words.next().unwrap_or_default();
            out.extend(rest.contains('\n').then_some('\n'));
        } else {
            out.push_str(word);
            out.push(' ');
        }
    }
    out
}

/// What a capture begins with need not be a connection's first data.
#[test]
fn a_request_of_a_connection_that_was_open_before_found_no_full_accept_queue() {
    let script = r#"
        10 > ack 0 ts 11 echo 1
        10.1 > 0:100 psh ack 0 ts 11 echo 1
        220 > 0:100 psh ack 0 ts 221 echo 1
        640 > 0:100 psh ack 0 ts 641 echo 1
        640.01 < ack 100 ts 642 echo 641
        1600 < 0:600 psh ack 100 ts 1601 echo 641
        1610 > ack 600 ts 1611 echo 1601
        "#;
    let analysis = Streams::of_bodies(&[500]).seen_as(script);
    let shares = &analysis.exchanges[0].shares;
    let names = |it: Cause| it == Cause::AcceptQueueFull;
    assert!(shares.iter().any(|it| it.cause == Cause::RetransmissionTimeout));
    assert!(shares.iter().all(|it| !names(it.cause) && !it.rival.is_some_and(names)));
}

/// Linux ignores the ACK of its SYN-ACK, and the data behind that, while the accept queue is full
/// (`tcp_v4_syn_recv_sock`).
#[test]
fn first_data_of_which_the_server_acknowledges_a_later_copy_found_the_accept_queue_full() {
    let think = (Cause::ServerThink, Confidence::High, None);
    let second = "220 > 0:100 psh ack 0 ts 221 echo 1 \n";
    let third = "640 > 0:100 psh ack 0 ts 641 echo 1 \n";
    for (copies, ack, expected) in [
        ([second, third], "640.01 < ack 100 ts 642 echo 641", (REFUSED.0, Confidence::High, None)),
        // One copy may have been damaged.
        ([second, ""], "220.01 < ack 100 ts 221 echo 221", REFUSED),
        (["", ""], "10.11 < ack 100 ts 12 echo 11", think),
        // It had the first one, and acknowledged that when another one came.
        ([second, ""], "220.01 < ack 100 ts 221 echo 11", think),
        ([second, third], "640.01 < ack 100 ts 642 echo 11", think),
        ([second, third], "640.01 < ack 100 ts 642 echo 11 sack 0:100", think),
    ] {
        let [one, other] = copies;
        let script = format!(
            r#"
            0 > syn ts 1 echo 0
            0.01 < syn ts 1 echo 1
            10 > ack 0 ts 11 echo 1
            10.1 > 0:100 psh ack 0 ts 11 echo 1
            {one} {other} {ack}
            1600 < 0:600 psh ack 100 ts 1601 echo 641
            1610 > ack 600 ts 1611 echo 1601
            "#
        );
        let analysis = Streams::of_bodies(&[500]).seen_as(&script);
        let shares = &analysis.exchanges[0].shares;
        let refused = shares.iter().find(|it| it.cause == Cause::AcceptQueueFull);
        let found = match refused {
            Some(it) => (it.cause, it.confidence, it.rival),
            None => longest(&analysis),
        };
        assert_eq!(found, expected, "{copies:?} {ack}: {shares:?}");
    }
}

#[test]
fn without_timestamps_it_may_have_been_another_copy() {
    let script = r#"
        0 > syn ts 1 echo 0
        0.01 < syn ts 1 echo 1
        10 > ack 0 ts 11 echo 1
        10.1 > 0:100 psh ack 0 ts 11 echo 1
        220 > 0:100 psh ack 0 ts 221 echo 1
        640 > 0:100 psh ack 0 ts 641 echo 1
        640.01 < ack 100 ts 642 echo 641
        641 < 0:600 psh ack 100 ts 642 echo 641
        651 > ack 600 ts 652 echo 642
        "#;
    let streams = Streams::of_bodies(&[500]);
    let told = |script: &str| longest(&streams.seen_as(script));
    assert_eq!(told(script), (REFUSED.0, Confidence::High, None));
    assert_eq!(told(&without_timestamps(script)), REFUSED);
}

#[test]
fn what_comes_behind_data_that_a_server_has_taken_is_not_refused() {
    let analysis = Streams::of_bodies(&[500, 500]).seen_as(
        r#"
        0      > syn ts 1
        0.01   < syn ts 1 echo 1
        30.01  > ack 0 ts 31 echo 1
        30.1   > 0:100 psh ack 0 ts 31 echo 1
        31     < 0:600 psh ack 100 ts 32 echo 31
        62     > 100:200 psh ack 600 ts 63 echo 32
        270    > 100:200 psh ack 600 ts 271 echo 32
        640    > 100:200 psh ack 600 ts 641 echo 32
        640.01 < ack 200 ts 641 echo 641
        641    < 600:1200 psh ack 200 ts 642 echo 641
        671.1  > ack 1200 ts 672 echo 642
        "#,
    );
    for exchange in &analysis.exchanges {
        assert!(exchange.owed_to(Cause::AcceptQueueFull).is_zero(), "{exchange:?}");
    }
}

/// D-SACK (RFC 2883) proves that a probe was in vain: the server had the request, and has not yet read it.
#[test]
fn a_probe_before_a_busy_server_delays_nothing() {
    let lost = Cause::RetransmissionTimeout;
    // The way to the server, and what it sends when the last segment comes again.
    for (far, near, report, think) in [
        (0.02, 0.01, "ack 106 sack 103:106", true),
        (0.3, 0.01, "ack 106 sack 103:106", true),
        (0.01, 0.3, "ack 106 sack 103:106", true),
        // That was the first copy that came.
        (0.3, 0.01, "ack 106", false),
    ] {
        let at = |millis: f64| millis + far;
        let analysis = Streams::of_upload(6).seen_as(&format!(
            "0 > syn\n{} < syn\n{} > ack 0\n1 > 0:100 psh ack 0\n1.1 > 100:103 psh ack 0\n\
             1.2 > 103:106 psh ack 0\n11 > 103:106 psh ack 0\n{} < {report}\n\
             26 < 0:100 psh ack 106\n{} > ack 100",
            far,
            at(near),
            at(11.0),
            26.0 + near,
        ));
        let exchange = &analysis.exchanges[0];
        let owed = |cause| exchange.owed_to(cause).as_millis();
        assert_eq!(owed(lost) < 1, think, "{far} {report}: {:?}", exchange.shares);
        assert_eq!(owed(Cause::ServerThink) >= 23, think, "{far} {report}: {:?}", exchange.shares);
    }
}

/// RFC 5681, section 4.2, lets no receiver wait after two segments; Linux does while its program does not read.
#[test]
fn who_does_not_read_does_not_acknowledge() {
    let think = Cause::ServerThink;
    // Where the capture was taken, the window behind the late ACK, and when that left.
    for (at_server, window, stamp, expected) in [
        (true, 30_000, 150, (think, Some(Cause::ShortInitialSegment))),
        (true, 65_535, 150, (think, Some(Cause::ShortInitialSegment))),
        (false, 30_000, 150, (think, Some(Cause::PathStall))),
        (false, 65_535, 150, (Cause::PathStall, Some(Cause::ShortInitialSegment))),
        // It left at once, by its timestamp, and came late.
        (false, 30_000, 41, (Cause::PathStall, Some(Cause::ShortInitialSegment))),
    ] {
        let (there, back) = if at_server { (0.0, 10.0) } else { (10.0, 0.0) };
        let ack = |at: f64, packet: &str| format!("{} < {packet}", at + there);
        let data = |at: f64, packet: &str| format!("{} > {packet}", at + back);
        let analysis = Streams::of_upload(50_000).seen_as(
            &[
                data(-back, "syn ts 1"),
                ack(0.05, "syn ts 1 echo 1"),
                data(10.1, "ack 0 ts 11 echo 1"),
                data(10.2, "0:14600 ack 0 ts 11 echo 1"),
                ack(20.5, "ack 14600 win 60000 ts 21 echo 11"),
                data(30.6, "14600:43800 ack 0 ts 31 echo 21"),
                ack(150.0, &format!("ack 43800 win {window} ts {stamp} echo 31")),
                data(160.1, "43800:50100 psh ack 0 ts 161 echo 150"),
                ack(170.5, "ack 50100 win 60000 ts 171 echo 161"),
                ack(171.0, "0:100 psh ack 50100 ts 172 echo 161"),
                data(181.1, "ack 100 ts 182 echo 172"),
            ]
            .join("\n"),
        );
        let (cause, confidence, rival) = longest(&analysis);
        assert_eq!((cause, rival), expected, "{at_server} {window}: {:?}", analysis.exchanges);
        assert_eq!(confidence, Confidence::Medium);
        let held = analysis.exchanges[0].shares.iter().find(|it| it.cause == think).unwrap();
        assert_eq!(held.direction, Direction::ToClient);
    }
}
