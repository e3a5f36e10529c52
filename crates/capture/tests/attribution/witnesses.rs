//! A cause needs its witness: what looks like one, and why it is not.

use ackwise_capture::{
    analysis::Analysis,
    attribution::{Confidence, Share},
};
use ackwise_cause::{Cause, Direction};

use crate::{shows, wire::Streams};

/// The milliseconds under a cause.
fn owed(analysis: &Analysis, cause: Cause) -> f64 {
    analysis.exchanges.iter().map(|it| it.owed_to(cause).as_secs_f64() * 1e3).sum()
}

#[test]
fn a_sender_whose_last_data_is_acknowledged_late_was_not_idle() {
    let streams = Streams::of_bodies(&[8_660]);
    let ack_after = |millis: f64| {
        streams.seen_as(&format!(
            r#"
            0    > syn
            0.05 < syn
            20.1 > ack 0
            20.2 > 0:100 psh ack 0
            21.00 < 0:2920 ack 100
            41.00 > ack 1460
            41.05 > ack 2920
            41.10 < 2920:5840 ack 100
            {} > ack 5840
            {} < 5840:7300 ack 100
            {} > ack 7300
            {} < 7300:8760 psh ack 100
            2000 > ack 8760
            "#,
            41.1 + millis,
            41.2 + millis,
            61.2 + millis,
            61.3 + millis,
        ))
    };
    for millis in [20.0, 300.0, 678.0] {
        let analysis = ack_after(millis);
        assert!(owed(&analysis, Cause::IdleRestart) == 0.0, "{millis}: {:?}", analysis.exchanges);
    }
}

#[test]
fn what_a_receive_window_of_168_bytes_lets_go_was_not_corked() {
    shows(
        &Streams::of_upload(3_236),
        r#"
        0    > syn
        20   < syn win 3088
        20.1 > ack 0
        20.2 > 0:2920 ack 0
        40.3 < ack 2920 win 168
        258.3 > 2920:3088 psh ack 0
        278.4 < ack 3088 win 20000
        278.5 > 3088:3336 psh ack 0
        298.6 < 0:100 psh ack 3336 win 20000
        298.7 > ack 100
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.090 (1, 0.090) high: 4
        request-upload to-server 0.023 (3, 0.020) high: 5 6 7
        receive-window to-server 40.388 (2, 20.198) medium or application-limited: 7 8 9
        silly-window to-server 217.899 (1, 217.899) high: 5 6 7
        propagation to-server 10.050 (1, 10.050) high: 9
        server-think to-client 0.100 (1, 0.100) high: 9 10
        transmission to-client 0.001 (1, 0.001) high: 10
        propagation to-client 9.999 (1, 9.999) high: 10
        "#,
    );
}

#[test]
fn a_small_segment_that_left_when_the_ack_came_and_was_held_by_the_path_was_not_corked() {
    shows(
        &Streams::of_bodies(&[2_000, 4_300]),
        r#"
        0    > syn
        30   < syn ts 5000
        30.1 > ack 0
        30.2 > 0:100 psh ack 0
        61   < 0:2100 psh ack 100 ts 5007
        61.1 > ack 2100
        2000 > 100:200 psh ack 2100
        2031 < 2100:2200 psh ack 200 ts 5500
        2031.1 < 2200:5120 ack 200 ts 5500
        2031.2 > ack 2200
        2031.3 > ack 5120
        2236   < 5120:6500 psh ack 200 ts 5508
        2236.1 > ack 6500
        "#,
        r#"
        handshake to-server 30.055 (1, 30.055) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 15.045 (1, 15.045) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        transmission to-client 0.010 (1, 0.010) high: 5 3 6
        propagation to-client 15.000 (1, 15.000) high: 6
        propagation to-server 15.000 (1, 15.000) high: 8
        server-think to-client 1.000 (1, 1.000) high: 8 9
        transmission to-client 0.216 (2, 0.120) high: 11 13 14
        nagle-rtt to-client 31.990 (1, 31.990) medium or idle-restart: 11 13 14
        propagation to-client 14.958 (1, 14.958) high: 14
        path-stall to-client 172.836 (1, 172.836) medium or queueing: 14
        "#,
    );
}

#[test]
fn no_receiver_delays_an_ack_by_more_than_half_a_second() {
    // The stall includes the way of the ACK.
    for (late, cause, expected) in
        [(400.0, Cause::NagleDelayedAck, 400.0), (700.0, Cause::PathStall, 710.0)]
    {
        let analysis = Streams::of_bodies(&[500]).seen_as(&format!(
            r#"
            0    > syn
            0.05 < syn
            20.1 > ack 0
            20.2 > 0:100 psh ack 0
            21   < 0:100 psh ack 100
            {}   > ack 100
            {}   < 100:600 psh ack 100
            {}   > ack 600
            "#,
            41.0 + late,
            41.05 + late,
            61.1 + late,
        ));
        assert!(
            (owed(&analysis, cause) - expected).abs() < 1.0,
            "{late}: {:?}",
            analysis.exchanges
        );
        let delayed_ack = analysis.connections[0].delayed_ack;
        assert_eq!(delayed_ack.is_some(), cause == Cause::NagleDelayedAck, "{delayed_ack:?}");
    }
}

#[test]
fn a_server_that_thinks_long_acknowledges_the_request_before() {
    use Cause::{PathStall, ServerThink};
    for (ack, answer, expected) in [
        ("80 < ack 100 ts 80", 2_000.0, (ServerThink, Confidence::High)),
        // A cork may have held all of a short answer, for longer than its timer usually runs.
        ("80 < ack 100 ts 80", 342.0, (ServerThink, Confidence::Medium)),
        // The request may have been as late.
        ("", 80.0, (ServerThink, Confidence::Medium)),
        // Linux would have acknowledged it after 40 ms, and others within 200 ms.
        ("", 100.0, (ServerThink, Confidence::Medium)),
        ("", 200.0, (ServerThink, Confidence::Medium)),
        ("", 250.0, (PathStall, Confidence::Medium)),
        ("", 500.0, (PathStall, Confidence::Medium)),
        // Its client would have sent it again: the capture lacks the ACK.
        ("", 2_000.0, (ServerThink, Confidence::Medium)),
    ] {
        let found = answered(ack, answer, &format!("ts {answer}"));
        assert_eq!(found, expected, "{ack} {answer}");
    }
}

/// RFC 6817, section 2.1: a queue is what a packet took longer than the one that took least.
#[test]
fn a_timestamp_tells_a_server_that_thinks_from_a_queue() {
    for (answer, timestamp, think, queue) in [
        // Ticks of 1 ms, and the promptest took 10 ms: one tick is in doubt.
        (1_550.0, 1_540, 30.0, 0.0),
        (1_550.0, 1_520, 11.0, 19.0),
        (1_550.0, 1_512, 3.0, 27.0),
    ] {
        let analysis = Streams::of_bodies(&[500, 500]).seen_as(&format!(
            r#"
            0    > syn
            20   < syn ts 10
            20.1 > ack 0
            20.2 > 0:100 psh ack 0
            41   < 0:600 psh ack 100 ts 31
            41.1 > ack 600
            1500 > 100:200 psh ack 600
            {answer} < 600:1200 psh ack 200 ts {timestamp}
            1600 > ack 1200
            "#,
        ));
        let exchange = &analysis.exchanges[1];
        let millis = |cause| exchange.owed_to(cause).as_secs_f64() * 1e3;
        let found = [Cause::ServerThink, Cause::Queueing].map(millis);
        let near = |found: f64, expected: f64| (found - expected).abs() < 2.0;
        assert!(near(found[0], think) && near(found[1], queue), "{timestamp}: {found:?}");
        let sure = exchange.shares.iter().find(|it| it.cause == Cause::ServerThink).unwrap();
        // Nothing bounds the way of the request, but what is brief beside the round trip needs no bound.
        let expected = if timestamp == 1_512 { Confidence::High } else { Confidence::Medium };
        assert_eq!(sure.confidence, expected, "{timestamp}");
    }
}

/// The first response waits for 100 ms in a queue, which later packets show.
#[test]
fn a_promptest_packet_that_comes_later_tells_of_a_queue_before_it() {
    for (later, think, queue) in [
        (
            "400 > 100:200 psh ack 600\n421 < 600:1200 psh ack 200 ts 411\n421.1 > ack 1200",
            1.0,
            100.0,
        ),
        // Without them it may be a stall of the path.
        ("", 0.0, 0.0),
    ] {
        let analysis = Streams::of_bodies(&[500, 500]).seen_as(&format!(
            r#"
            0    > syn
            20   < syn ts 10
            20.1 > ack 0
            20.2 > 0:100 psh ack 0
            141  < 0:600 psh ack 100 ts 31
            141.1 > ack 600
            {later}
            "#,
        ));
        let millis = |cause| analysis.exchanges[0].owed_to(cause).as_secs_f64() * 1e3;
        let found = [Cause::ServerThink, Cause::Queueing].map(millis);
        let near = |found: f64, expected: f64| (found - expected).abs() < 2.0;
        assert!(near(found[0], think) && near(found[1], queue), "{later}: {found:?}");
    }
}

#[test]
fn on_one_host_no_queue_explains_what_a_server_took() {
    for (round_trip, expected) in [(0.05, Confidence::High), (0.5, Confidence::Medium)] {
        let half = round_trip / 2.0;
        let analysis = Streams::of_bodies(&[500]).seen_as(&format!(
            r#"
            0    > syn
            {half} < syn
            {round_trip} > ack 0
            0.6  > 0:100 psh ack 0
            5    < 0:600 psh ack 100
            {}   > ack 600
            "#,
            5.0 + half,
        ));
        let exchange = &analysis.exchanges[0];
        let share = exchange.shares.iter().find(|it| it.cause == Cause::ServerThink).unwrap();
        assert_eq!(share.confidence, expected, "{round_trip}");
    }
}

#[test]
fn a_timestamp_tells_a_server_that_thinks_from_a_path_that_held_its_answer() {
    // After 300 ms, a short answer may have been corked instead.
    use Cause::{PathStall, ServerThink};
    use Confidence::{High, Medium};
    for (answer, timestamp, expected) in [
        // The request may have been late.
        (80.0, "ts 80", (ServerThink, Medium)),
        // By then, a server would have acknowledged the request.
        (200.0, "ts 200", (ServerThink, Medium)),
        (450.0, "ts 450", (PathStall, Medium)),
        (300.0, "ts 300", (PathStall, Medium)),
        (300.0, "ts 60", (PathStall, Medium)),
        (300.0, "", (PathStall, Medium)),
        // Nothing shows whether the server or a queue took a shorter time, unless it is brief.
        (60.0, "", (ServerThink, Medium)),
        (60.0, "ts 60", (ServerThink, Medium)),
        (42.0, "", (ServerThink, High)),
    ] {
        assert_eq!(answered("", answer, timestamp), expected, "{answer} {timestamp}");
    }
}

/// Why a request at 20 ms was answered at `answer`, and how sure that is.
fn answered(ack: &str, answer: f64, timestamp: &str) -> (Cause, Confidence) {
    let analysis = Streams::of_bodies(&[500]).seen_as(&format!(
        r#"
        0    > syn
        20   < syn ts 20
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        {ack}
        {answer} < 0:600 psh ack 100 {timestamp}
        {}       > ack 600
        "#,
        answer + 0.1,
    ));
    let shares = &analysis.exchanges[0].shares;
    let found = |it: &Share| matches!(it.cause, Cause::ServerThink | Cause::PathStall);
    let share = shares.iter().find(found).unwrap();
    (share.cause, share.confidence)
}

#[test]
fn a_server_whose_answer_was_lost_on_its_way_was_not_thinking() {
    shows(
        &Streams::of_bodies(&[2_820]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < 1460:2920 psh ack 100
        41.1 > ack 0 sack 1460:2920
        261  < 0:1460 ack 100
        261.1 > ack 2920
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        retransmission-timeout (tail) to-client 220.000 (1, 220.000) high: 5 6 7
        propagation to-client 10.000 (1, 10.000) high: 7
        "#,
    );
}

#[test]
fn an_answer_that_only_a_sack_shows_had_left_before_it_was_seen() {
    let analysis = Streams::of_bodies(&[2_820]).seen_as(
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41.1 > ack 0 sack 1460:2920
        261  < 0:1460 ack 100
        261.1 > ack 2920
        "#,
    );
    assert!(owed(&analysis, Cause::ServerThink) == 0.0, "{:?}", analysis.exchanges);
    assert!(owed(&analysis, Cause::Unknown) > 200.0, "{:?}", analysis.exchanges);
}

#[test]
fn a_timestamp_tells_a_timer_from_a_path_that_held_a_segment() {
    for (timestamp, cause) in [
        (5_260, Cause::RetransmissionTimeout),
        (5_012, Cause::PathStall),
        (5_004, Cause::PathStall),
    ] {
        let analysis = Streams::of_bodies(&[4_280]).seen_as(&format!(
            r#"
            0    > syn
            20   < syn
            20.1 > ack 0
            20.2 > 0:100 psh ack 0
            41   < 0:2920 ack 100 ts 5000
            41.1 > ack 2920
            301  < 2920:4380 psh ack 100 ts {timestamp}
            301.1 > ack 4380
            "#,
        ));
        assert!(owed(&analysis, cause) > 200.0, "{timestamp}: {:?}", analysis.exchanges);
    }
}

#[test]
fn a_loss_behind_a_capture_point_in_the_middle_is_not_hidden() {
    shows(
        &Streams::of_bodies(&[2_000, 100]),
        r#"
        0    > syn
        10   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        31   < 0:2100 psh ack 100
        41.1 > ack 1460
        193  < 1460:2100 psh ack 100
        203.1 > ack 2100
        300  > 100:200 psh ack 2100
        310.1 < 2100:2300 psh ack 200
        320.2 > ack 2300
        "#,
        r#"
        handshake to-server 15.050 (1, 15.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        transmission to-client 0.010 (1, 0.010) high: 5 3 6
        retransmission-timeout (probe) to-client 161.990 (1, 161.990) high: 6 7 8
        propagation to-client 5.000 (1, 5.000) high: 8
        propagation to-server 5.000 (1, 5.000) high: 10
        server-think to-client 0.100 (1, 0.100) high: 10 11
        propagation to-client 5.000 (1, 5.000) high: 11
        "#,
    );
}

/// A program writes 100 bytes every 3 ms, without Nagle's algorithm. At the client, 20 ms away, its segments come
/// as close together as those of a burst on a path that varies: nobody knows that a link was busy with them.
#[test]
fn writes_in_quick_succession_need_no_slow_link() {
    shows(
        &Streams::of_bodies(&[400]),
        r#"
        0      > syn
        20     < syn
        20.1   > ack 0
        20.2   > 0:100 psh ack 0
        40.3   < ack 100
        41     < 0:100 psh ack 100
        41.05  > ack 100
        43.2   < 100:200 psh ack 100
        43.25  > ack 200
        45.4   < 200:300 psh ack 100
        45.45  > ack 300
        47.6   < 300:400 psh ack 100
        47.65  > ack 400
        49.8   < 400:500 psh ack 100
        49.85  > ack 500
        "#,
        r#"
        handshake to-server 20.075 (1, 20.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 6
        transmission to-client 8.800 (1, 8.800) medium or application-limited: 12 14
        propagation to-client 10.000 (1, 10.000) high: 14
        "#,
    );
}

/// The server closes the connection instead of an answer: its FIN was on its way for half a round trip.
#[test]
fn the_way_of_the_fin_is_no_think_time() {
    shows(
        &Streams::of_bodies(&[400]),
        r#"
        0      > syn
        20     < syn
        20.1   > ack 0
        20.2   > 0:100 psh ack 0
        40.3   < ack 100
        140.3  < fin ack 100
        140.4  > fin ack 1
        160.4  < ack 101
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 100.100 (1, 100.100) high: 4
        propagation to-client 10.000 (1, 10.000) high:
        "#,
    );
}

/// The server refuses an upload when it has the head. What it waited for until then, nothing shows; no link was busy.
#[test]
fn a_response_that_begins_before_its_request_has_ended_is_doubtful() {
    shows(
        &Streams::of_upload(8660),
        r#"
        0      > syn
        0.05   < syn
        20.1   > ack 0
        20.2   > 0:100 psh ack 0
        20.3   < ack 100
        20.8   < 0:100 psh ack 100
        20.9   < fin ack 100
        41     > ack 101
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) medium or server-think: 6
        server-think to-client 0.550 (1, 0.550) medium or application-limited: 6
        propagation to-client 0.025 (1, 0.025) high: 6
        "#,
    );
}

/// Linux counts the packets of a connection (`ip_select_ident_segs`).
#[test]
fn a_packet_that_is_missing_before_an_answer_was_the_answer() {
    use Cause::{PathStall, RetransmissionTimeout};
    for (number, expected) in [(10, PathStall), (11, RetransmissionTimeout)] {
        let analysis = Streams::of_bodies(&[500, 500]).seen_as(&format!(
            r#"
            0     > syn
            40    < syn ip 7
            40.1  > ack 0
            40.2  > 0:100 psh ack 0
            80.3  < ack 100 ip 8
            81    < 0:600 psh ack 100 ip 9
            81.1  > 100:200 psh ack 600
            400   < 600:1200 psh ack 200 ip {number}
            400.1 > ack 1200
            "#,
        ));
        let second = &analysis.exchanges[1];
        let longest = second.shares.iter().max_by_key(|it| it.span).unwrap();
        assert_eq!(longest.cause, expected, "{number}: {second:?}");
        assert_eq!(longest.confidence, Confidence::Medium);
    }
}

/// A path that reorders packets without data delays nothing by that.
#[test]
fn a_packet_that_is_overtaken_by_a_later_one_is_not_missing_before_an_answer() {
    use Cause::{RetransmissionTimeout, ServerThink};
    let parts = [Streams::of_bodies(&[500]), Streams::of_upload(5_000)];
    let joined = |end: usize| parts.each_ref().map(|it| it.both()[end]).concat();
    let streams = Streams::of(&joined(0), &joined(1));
    for (order, expected) in [
        ([10, 11, 12], ServerThink),
        ([10, 12, 11], ServerThink),
        ([12, 10, 11], ServerThink),
        ([12, 11, 0], RetransmissionTimeout),
        ([10, 12, 0], RetransmissionTimeout),
    ] {
        let place = |(at, number): (&str, u32)| match number {
            0 => String::new(),
            _ => format!("{at} < ack {} ip {number}", 1_560 + (number - 10) * 1_460),
        };
        let acks = ["50.2", "50.21", "50.22"].into_iter().zip(order).map(place);
        let acks = acks.collect::<Vec<_>>().join("\n");
        let analysis = streams.seen_as(&format!(
            r#"
            0     > syn
            10    < syn ip 7
            10.1  > ack 0
            10.2  > 0:100 psh ack 0
            20.3  < ack 100 ip 8
            20.4  < 0:600 psh ack 100 ip 9
            40.1  > 100:4480 psh ack 600
            {acks}
            50.3  > 4480:5200 psh ack 600
            60.4  < ack 5200 ip 13
            130   < 600:700 psh ack 5200 ip 14
            130.1 > ack 700
            "#,
        ));
        let longest = analysis.exchanges[1].shares.iter().max_by_key(|it| it.span).unwrap();
        assert_eq!(longest.cause, expected, "{order:?}: {:?}", analysis.exchanges);
    }
}

#[test]
fn the_answer_to_a_request_that_had_arrived_was_lost_if_a_packet_of_the_server_is_missing() {
    // The request had arrived, so its client's timer delayed nothing: the server's did.
    let lost = (Cause::RetransmissionTimeout, Direction::ToClient);
    let held = (Cause::PathStall, Direction::ToServer);
    for (number, expected) in [(10, held), (11, lost)] {
        let analysis = Streams::of_bodies(&[500, 500]).seen_as(&format!(
            r#"
            0     > syn ts 1
            40    < syn ip 7 ts 1
            40.1  > ack 0 ts 41
            40.2  > 0:100 psh ack 0 ts 41
            80.3  < ack 100 ip 8 ts 41 echo 41
            81    < 0:600 psh ack 100 ip 9 ts 41 echo 41
            81.1  > 100:200 psh ack 600 ts 82
            330   > 100:200 psh ack 600 ts 331
            400   < 600:1200 psh ack 200 ip {number} ts 361 echo 82
            400.1 > ack 1200 ts 401
            "#,
        ));
        let second = &analysis.exchanges[1];
        let longest = second.shares.iter().max_by_key(|it| it.span).unwrap();
        assert_eq!((longest.cause, longest.direction), expected, "{number}: {second:?}");
    }
}

#[test]
fn packets_that_a_filter_for_data_took_were_no_answers() {
    // Before each answer the server acknowledges the request, and those ACKs are missing, all or all except the first.
    let script = |ack: &str| {
        format!(
            r#"
            0     > syn
            40    < syn ip 0
            40.1  > ack 0
            40.2  > 0:100 psh ack 0
            81    < 0:300 ack 100 ip 7
            81.01 < 300:600 psh ack 100 ip 8
            81.1  > 100:200 psh ack 600
            {ack}
            251   < 600:900 ack 200 ip 10
            251.01 < 900:1200 psh ack 200 ip 11
            251.1 > 200:300 psh ack 1200
            421   < 1200:1500 ack 300 ip 13
            421.01 < 1500:1800 psh ack 300 ip 14
            421.1 > 300:400 psh ack 1800
            591   < 1800:2100 ack 400 ip 16
            591.01 < 2100:2400 psh ack 400 ip 17
            591.1 > ack 2400
            "#,
        )
    };
    let streams = Streams::of_bodies(&[500; 4]);
    let filtered = streams.seen_as(&script(""));
    assert_eq!(owed(&filtered, Cause::RetransmissionTimeout), 0.0, "{:?}", filtered.exchanges);
    assert!(owed(&filtered, Cause::ServerThink) > 380.0, "{:?}", filtered.exchanges);
    let lost = streams.seen_as(&script("121.2 < ack 200 ip 9"));
    assert!(owed(&lost, Cause::RetransmissionTimeout) > 250.0, "{:?}", lost.exchanges);
}

#[test]
fn next_to_the_server_no_answer_is_lost_before() {
    let analysis = Streams::of_bodies(&[500, 500]).seen_as(
        r#"
        0     > syn
        0.05  < syn ip 7
        40.1  > ack 0
        40.2  > 0:100 psh ack 0
        40.3  < ack 100 ip 8
        40.4  < 0:600 psh ack 100 ip 9
        81.1  > 100:200 psh ack 600
        400   < 600:1200 psh ack 200 ip 11
        "#,
    );
    assert_eq!(owed(&analysis, Cause::RetransmissionTimeout), 0.0, "{:?}", analysis.exchanges);
    assert!(owed(&analysis, Cause::ServerThink) > 300.0, "{:?}", analysis.exchanges);
}

/// RFC 7323, section 4.3.
#[test]
fn what_echoes_an_earlier_timestamp_than_an_acks_did_not_wait_for_that() {
    // The path takes 30 ms each way. The server writes 200 bytes every 60 ms, and ACKs arrive a moment before.
    let chunks = |is_late: bool| {
        let chunk = |it: u32| {
            let (at, from) = (181.0 + 60.0 * f64::from(it), 100 + it * 200);
            let newest = 1_000 + it * 60;
            let echo = if is_late { newest - 60 } else { newest };
            let ours = newest + 60;
            let to = from + 200;
            format!(
                "{at} < {from}:{to} psh ack 100 ts {} echo {echo}\n{} > ack {to} ts {ours} echo 1\n",
                5_020 + it * 60,
                at + 0.02,
            )
        };
        (0..10).map(chunk).collect::<String>()
    };
    let streams = Streams::of_bodies(&[2_000]);
    let said = |is_late| {
        let analysis = streams.seen_as(&format!(
            "
            0    > syn ts 880
            60   < syn ts 4900 echo 880
            60.1 > ack 0 ts 940 echo 4900
            60.2 > 0:100 psh ack 0 ts 940 echo 4900
            120.9 < 0:100 psh ack 100 ts 4960 echo 940
            120.95 > ack 100 ts 1000 echo 4960
            {}
            ",
            chunks(is_late),
        ));
        [Cause::NagleRtt, Cause::ApplicationLimited].map(|it| owed(&analysis, it))
    };
    let [nagle, paused] = said(true);
    assert!(nagle < 70.0 && paused > 400.0, "{nagle} {paused}");
    let [nagle, paused] = said(false);
    assert!(nagle > 400.0 && paused < 70.0, "{nagle} {paused}");
}

#[test]
fn what_answers_a_fin_was_not_held_by_nagles_algorithm() {
    for (fin, held) in [("fin", false), ("", true)] {
        let analysis = Streams::of(
            b"GET / HTTP/1.0\r\n\r\n",
            &[&b"HTTP/1.0 200 OK\r\n\r\n"[..], &[b'.'; 2_000]].concat(),
        )
        .seen_as(&format!(
            r#"
            0    > syn
            40   < syn
            40.1 > ack 0
            40.2 > 0:18 psh ack 0
            80.3 < 0:1019 psh ack 18
            120  > {fin} ack 1019
            160  < 1019:1219 psh ack 18
            160.1 < fin ack 18
            "#,
        ));
        let nagle = [Cause::NagleRtt, Cause::NagleDelayedAck].map(|it| owed(&analysis, it));
        assert_eq!(nagle.iter().sum::<f64>() > 0.0, held, "{fin}: {:?}", analysis.exchanges);
    }
}

#[test]
fn distance_that_later_round_trips_do_not_confirm_is_doubted() {
    for (least, expected) in [(40, Confidence::Medium), (200, Confidence::High)] {
        let analysis = Streams::of_bodies(&[500, 500, 500, 500]).seen_as(&format!(
            r#"
            0      > syn
            200    < syn
            200.1  > ack 0
            200.2  > 0:100 psh ack 0
            401    < 0:600 psh ack 100
            3000   > 100:200 psh ack 600
            {}     < 600:1200 psh ack 200
            4000   > 200:300 psh ack 1200
            {}     < 1200:1800 psh ack 300
            5000   > 300:400 psh ack 1800
            {}     < 1800:2400 psh ack 400
            5200.1 > ack 2400
            "#,
            3_000 + least,
            4_000 + least,
            5_000 + least,
        ));
        let first = &analysis.exchanges[0];
        let distance = first.shares.iter().find(|it| it.cause == Cause::Propagation).unwrap();
        assert_eq!(distance.confidence, expected, "{least}: {first:?}");
    }
}

/// An acknowledgement that comes at once shows when the request arrived. One that Linux has delayed by 40 ms looks like
/// one of a request that was late itself.
#[test]
fn a_server_thinks_for_sure_only_if_it_acknowledged_the_request_in_time() {
    use Confidence::{High, Medium};
    let in_doubt = (Medium, Some(Cause::PathStall));
    for (acked, expected) in [(1_044, (High, None)), (1_081, in_doubt), (1_150, in_doubt)] {
        let analysis = Streams::of_bodies(&[500, 500]).seen_as(&format!(
            r#"
            0     > syn ts 1
            40    < syn ts 1
            40.1  > ack 0 ts 41
            40.2  > 0:100 psh ack 0 ts 41
            81    < 0:600 psh ack 100 ts 41
            81.1  > ack 600 ts 82
            1000  > 100:200 psh ack 600 ts 1001
            {acked} < ack 200 ts {}
            1160  < 600:1200 psh ack 200 ts 1120
            1161  > ack 1200 ts 1162
            "#,
            acked - 40,
        ));
        let second = &analysis.exchanges[1];
        let think = second.shares.iter().find(|it| it.cause == Cause::ServerThink).unwrap();
        assert!(think.span.as_millis() >= 100, "{second:?}");
        assert_eq!((think.confidence, think.rival), expected, "{acked}: {second:?}");
    }
}

#[test]
fn why_an_answer_has_not_come_when_the_capture_ends_nothing_shows() {
    let analysis = Streams::of_bodies(&[500, 500]).seen_as(
        r#"
        0     > syn
        40    < syn
        40.1  > ack 0
        40.2  > 0:100 psh ack 0
        81    < 0:600 psh ack 100
        1000  > 100:200 psh ack 600
        1041  < ack 200
        1500  > ack 600
        "#,
    );
    let second = &analysis.exchanges[1];
    let think = second.shares.iter().find(|it| it.cause == Cause::ServerThink).unwrap();
    assert_eq!((think.confidence, think.rival), (Confidence::Medium, Some(Cause::PathStall)));
    assert_eq!(think.evidence.packets().collect::<Vec<_>>(), [6]);
}
