//! What kind of loss was repaired.

use ackwise_capture::attribution::Confidence;
use ackwise_cause::Cause;

use crate::{shows, wire::Streams};

#[test]
fn an_ack_that_was_lost_is_told_by_a_duplicate_that_the_receiver_reports() {
    shows(
        &Streams::of_bodies(&[17_420]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21   < 0:14600 ack 100
        261  < 0:1460 ack 100
        281  > ack 14600 sack 0:1460
        281.1 < 14600:17520 psh ack 100
        301.2 > ack 17520
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.098 (1, 0.098) high: 4
        request-upload to-server 0.002 (1, 0.002) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.320 (3, 0.250) medium: 14 15
        retransmission-timeout (ack-lost) to-client 239.750 (1, 239.750) medium: 14 15
        loss-recovery to-client 20.075 (1, 20.075) medium or slow-start: 15 16 17
        "#,
    );
}

/// Both copies waited on the path: had the first arrived before, its duplicate would have been reported after a
/// round trip.
#[test]
fn a_duplicate_that_is_reported_late_was_held_by_the_path() {
    let seen = |report: &str| {
        let analysis = Streams::of_bodies(&[17_420]).seen_as(&format!(
            r#"
            0    > syn
            0.05 < syn
            20.1 > ack 0
            20.2 > 0:100 psh ack 0
            21   < 0:14600 ack 100
            261  < 13140:14600 ack 100
            {report}
            350.1 < 14600:17520 psh ack 100
            370.2 > ack 17520
            "#
        ));
        let owed = |cause| analysis.exchanges[0].owed_to(cause).as_millis();
        [Cause::RetransmissionTimeout, Cause::PathStall].map(|cause| owed(cause) > 200)
    };
    assert_eq!(seen("281 > ack 14600 sack 13140:14600"), [true, false]);
    assert_eq!(seen("350 > ack 14600 sack 13140:14600"), [false, true]);
    // The first copy is acknowledged, and then the second reported.
    let both = "349 > ack 13140\n350 > ack 14600\n350 > ack 14600 sack 13140:14600";
    assert_eq!(seen(both), [false, true]);
}

#[test]
fn what_is_sent_again_after_the_client_had_it_costs_the_exchange_nothing() {
    shows(
        &Streams::of_bodies(&[2_820]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21   < 0:2920 psh ack 100
        261  < 1460:2920 psh ack 100
        281  > ack 2920 sack 1460:2920
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.020 (1, 0.020) high: 6
        propagation to-client 0.025 (1, 0.025) high: 6
        "#,
    );
}

#[test]
fn several_segments_that_were_lost_together_are_a_burst() {
    shows(
        &Streams::of_bodies(&[14_500]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < 0:1460 ack 100
        41.1 < 4380:14600 psh ack 100
        41.2 > ack 1460 sack 4380:14600
        62   < 1460:2920 ack 100
        62.1 < 2920:4380 ack 100
        62.2 > ack 14600
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.009 (1, 0.009) high: 4
        propagation to-server 10.047 (1, 10.047) high: 4
        server-think to-client 0.696 (1, 0.696) high: 4 5
        transmission to-client 1.000 (3, 0.800) medium: 12 13 14
        loss-recovery (burst) to-client 20.200 (2, 20.200) high: 12 13 14
        propagation to-client 9.997 (1, 9.997) high: 15
        "#,
    );
}

#[test]
fn a_segment_that_was_overtaken_and_sent_again_was_not_lost() {
    shows(
        &Streams::of_bodies(&[14_500, 1_360]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21   < 0:11680 ack 100
        41.1 > ack 1460 sack 2920:5840
        41.2 < 1460:2920 ack 100
        43   > ack 11680
        43.1 < 11680:14600 psh ack 100
        63.2 > ack 14600
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.098 (1, 0.098) high: 4
        request-upload to-server 0.002 (1, 0.002) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.270 (3, 0.200) medium: 12 13 14
        loss-recovery (spurious) to-client 20.000 (1, 20.000) high: 12 13 14
        congestion-window to-client 1.875 (1, 1.875) medium: 14 15 16
        "#,
    );
}

#[test]
fn a_segment_that_the_capture_point_saw_was_lost_behind_it() {
    shows(
        &Streams::of_bodies(&[14_500]),
        r#"
        0    > syn
        10   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        31   < 0:14600 psh ack 100
        41.2 > ack 1460 sack 2920:14600
        51.3 < 1460:2920 ack 100
        61.4 > ack 14600
        "#,
        r#"
        handshake to-server 15.050 (1, 15.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.790 (1, 0.790) high: 4 5
        transmission to-client 0.110 (2, 0.100) high: 14 15 16
        loss-recovery (behind-capture) to-client 20.200 (1, 20.200) high: 14 15 16
        propagation to-client 5.000 (1, 5.000) high: 16
        "#,
    );
}

#[test]
fn what_is_sent_again_after_its_acknowledgement_was_seen_shows_that_this_was_lost() {
    shows(
        &Streams::of_bodies(&[600]),
        r#"
        0    > syn
        40   < syn
        40.1 > ack 0
        40.2 > 0:100 psh ack 0
        80.3 < 0:100 psh ack 100
        80.4 > ack 100
        320.4 < 0:100 psh ack 100
        320.5 > ack 100
        360.6 < 100:700 psh ack 100
        360.7 > ack 700
        "#,
        r#"
        handshake to-server 40.050 (1, 40.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 20.050 (1, 20.050) high: 4
        server-think to-client 0.100 (1, 0.100) high: 4 5
        retransmission-timeout (ack-lost) to-client 240.100 (1, 240.100) medium: 5 6 7
        application-limited to-client 40.200 (1, 40.200) medium or queueing: 7 9
        propagation to-client 20.000 (1, 20.000) high: 9
        "#,
    );
}

#[test]
fn a_tail_loss_probe_sends_the_last_segment_again_and_the_first_is_repaired_by_its_sack() {
    shows(
        &Streams::of_bodies(&[14_500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21   < 0:14600 psh ack 100
        41.1 > ack 10220
        83.2 < 13140:14600 psh ack 100
        103.3 > ack 10220 sack 13140:14600
        103.4 < 10220:11680 ack 100
        103.5 < 11680:13140 ack 100
        123.6 > ack 14600
        "#,
        r#"
        handshake to-server 10.080 (1, 10.080) high: 1 2 3
        application-limited to-server 0.099 (1, 0.099) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.045 (1, 10.045) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.130 (4, 0.100) medium: 14 15 16
        retransmission-timeout (probe) to-client 62.100 (1, 62.100) high: 14 15 16
        loss-recovery (burst) to-client 20.280 (2, 20.190) high: 16 17 18
        propagation to-client 0.025 (1, 0.025) high: 19
        "#,
    );
}

/// The end of a response was lost, and more of it, or its acknowledgement. One of the copies arrives twice; the rest was
/// lost all the same, and sent again after that.
#[test]
fn a_repair_in_vain_makes_those_before_it_no_transmission() {
    let analysis = Streams::of_bodies(&[4_320]).seen_as(
        r#"
        0    > syn
        0.05 < syn
        60   > ack 0
        60.1 > 0:100 psh ack 0
        60.2 < 0:1460 ack 100
        60.2 < 1460:2920 ack 100
        60.2 < 2920:4380 ack 100
        60.2 < 4380:4420 psh ack 100
        119  > ack 2920
        244  < 4380:4420 psh ack 100
        516  < 2920:4380 ack 100
        1064 < 2920:4380 ack 100
        1123 > ack 4380 sack 2920:4380
        1123 < 4380:4420 psh ack 100
        1181 > ack 4420
        "#,
    );
    let owed = |cause| analysis.exchanges[0].owed_to(cause).as_millis();
    assert_eq!(owed(Cause::Transmission), 0);
    assert!(owed(Cause::RetransmissionTimeout) + owed(Cause::LossRecovery) > 1_000);
}

/// The path holds a request, and its sender's timer sends it again. What the server then sends first is its last response
/// again: that acknowledges nothing of the request. Its answer echoes the timestamp of the first copy.
#[test]
fn what_an_answer_echoes_is_heard_behind_an_earlier_response_that_comes_again() {
    let analysis = Streams::of_bodies(&[500, 500]).seen_as(
        r#"
        0      > syn ts 1000
        20     < syn ts 5000
        20.1   > ack 0 ts 1020
        20.2   > 0:100 psh ack 0 ts 1020
        41     < 0:600 psh ack 100 ts 5021
        41.1   > ack 600 ts 1041
        60     > 100:200 psh ack 600 ts 1060
        305    > 100:200 psh ack 600 ts 1305
        342    < 0:600 psh ack 100 ts 5310 echo 1041
        342.1  > ack 600 ts 1342 sack 0:600
        363    < 600:1200 psh ack 200 ts 5353 echo 1060
        363.1  > ack 1200 ts 1363
        "#,
    );
    let owed = |cause| analysis.exchanges[1].owed_to(cause).as_millis();
    assert_eq!(owed(Cause::RetransmissionTimeout), 0, "{:?}", analysis.exchanges[1]);
    assert!(owed(Cause::PathStall) > 200);
}

/// The same of the first message of TLS: its acknowledgement echoes the first copy's timestamp.
#[test]
fn the_beginning_of_tls_that_was_sent_again_in_vain_was_not_lost() {
    let record = |kind: u8, length: usize| {
        let [high, low] = u16::try_from(length).unwrap().to_be_bytes();
        [vec![kind, 3, 3, high, low], vec![0; length]].concat()
    };
    let client = [record(22, 228), record(20, 1), record(23, 53), record(23, 53)];
    let server = [record(22, 122), record(20, 1), record(23, 500), record(23, 400)];
    let analysis = Streams::of(&client.concat(), &server.concat()).seen_as(
        r#"
        0      > syn ts 1000
        33.2   < syn ts 5000
        33.3   > ack 0 ts 1033
        33.4   > 0:233 psh ack 0 ts 1034
        276    > 0:233 psh ack 0 ts 1276
        319.3  < ack 233 ts 5303 echo 1034
        319.3  < 0:638 psh ack 233 ts 5303 echo 1276
        319.4  > ack 638 ts 1319
        319.5  > 233:355 psh ack 638 ts 1319
        353    < 638:1043 psh ack 355 ts 5336
        353.1  > ack 1043 ts 1353
        "#,
    );
    let owed = |cause| analysis.exchanges[0].owed_to(cause).as_millis();
    assert_eq!(owed(Cause::RetransmissionTimeout), 0, "{:?}", analysis.exchanges[0]);
    assert!(owed(Cause::PathStall) > 200, "{:?}", analysis.exchanges[0]);
}

/// That a repair arrived twice says nothing of the repairs before it, as long as the response is not complete.
#[test]
fn what_arrived_twice_does_not_undo_earlier_repairs_of_an_incomplete_response() {
    let analysis = Streams::of_bodies(&[5_540]).seen_as(
        r#"
        0      > syn
        0.05   < syn
        20.1   > ack 0
        20.2   > 0:100 psh ack 0
        20.5   < 0:1460 ack 100
        20.51  < 1460:2920 ack 100
        20.52  < 2920:4380 ack 100
        20.53  < 4380:5640 psh ack 100
        60     > ack 1460 sack 4380:5640
        60.1   < 1460:2920 ack 100
        360.1  < 1460:2920 ack 100
        960.1  < 1460:2920 ack 100
        980.2  > ack 2920 sack 1460:2920
        980.3  < 2920:4380 ack 100
        1000.4 > ack 5640
        "#,
    );
    let millis = |cause| analysis.exchanges[0].owed_to(cause).as_secs_f64() * 1e3;
    let found = [Cause::RetransmissionTimeout, Cause::Transmission].map(millis);
    assert!(found[0] > 850.0 && found[1] < 5.0, "{found:?}");
}

/// At the client: the acknowledgement of the head is in the capture, and was lost behind it, as the echoed timestamps and the
/// duplicate show that the client reports. What the server waited for meanwhile, nothing shows.
#[test]
fn a_head_that_is_sent_again_because_its_ack_was_lost_leaves_a_doubt() {
    let analysis = Streams::of_bodies(&[1_000]).seen_as(
        r#"
        0      > syn ts 1000
        40     < syn ts 1020
        40     > ack 0 ts 1040
        40.1   > 0:100 psh ack 0 ts 1040
        80.2   < ack 100 ts 1060 echo 1040
        350    < 0:100 psh ack 100 ts 1330 echo 1040
        350.1  > ack 100 ts 1350
        594    < 0:100 psh ack 100 ts 1574 echo 1040
        594.1  > ack 100 ts 1594 sack 0:100
        634    < 100:1100 psh ack 100 ts 1614 echo 1594
        634.1  > ack 1100 ts 1634
        "#,
    );
    let waits: Vec<_> = analysis.exchanges[0].shares.iter().collect();
    let lost = waits.iter().find(|it| it.cause == Cause::RetransmissionTimeout).unwrap();
    assert_eq!(lost.confidence, Confidence::Medium, "{waits:?}");
    assert_eq!(lost.kind.map(|it| it.name()), Some("ack-lost"), "{waits:?}");
}
