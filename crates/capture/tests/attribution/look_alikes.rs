//! A pair of captures for each line of the table of look-alikes in `docs/explain/attribution.md`.

use std::fmt::Write;

use ackwise_cause::Cause;

use crate::{shows, wire::Streams};

#[test]
fn a_segment_right_after_a_delayed_ack_waited_for_it_seen_at_the_client() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41     < 0:100 psh ack 100
        81     > ack 100
        101.05 < 100:600 psh ack 100
        101.1  > ack 600
        "#,
        r#"
        handshake to-server 20.075 (1, 20.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        nagle-rtt to-client 20.100 (2, 10.075) high: 5 6 7
        nagle-delayed-ack to-client 39.950 (1, 39.950) high: 5 6 7
        propagation to-client 10.000 (1, 10.000) high: 7
        "#,
    );
}

#[test]
fn a_segment_right_after_a_delayed_ack_waited_for_it_seen_at_the_server() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21    < 0:100 psh ack 100
        81    > ack 100
        81.05 < 100:600 psh ack 100
        101.1 > ack 600
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        nagle-rtt to-client 20.100 (2, 10.050) high: 5 6 7
        nagle-delayed-ack to-client 39.950 (1, 39.950) high: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn a_segment_later_than_the_round_trip_after_the_ack_was_written_then() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < 0:100 psh ack 100
        81   > ack 100
        105  < 100:600 psh ack 100
        105.1 > ack 600
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        application-limited to-client 64.000 (1, 64.000) medium or queueing: 5 6 7
        propagation to-client 10.000 (1, 10.000) high: 7
        "#,
    );
}

#[test]
fn a_segment_before_the_ack_was_written_then() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < 0:100 psh ack 100
        79   < 100:600 psh ack 100
        79.1 > ack 600
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        application-limited to-client 38.000 (1, 38.000) medium or queueing: 5 3 6
        propagation to-client 10.000 (1, 10.000) high: 6
        "#,
    );
}

#[test]
fn a_small_segment_with_room_in_the_window_was_held_by_nagle() {
    shows(
        &Streams::of_bodies(&[2000]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21     < 0:1460 ack 100
        241    > ack 1460
        241.05 < 1460:2100 psh ack 100
        261.1  > ack 2100
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        nagle-rtt to-client 20.100 (2, 10.050) high: 5 6 7
        nagle-delayed-ack to-client 199.950 (1, 199.950) high: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn a_small_segment_without_room_in_the_window_was_held_by_the_window() {
    shows(
        &Streams::of_bodies(&[2000]),
        r#"
        0    > syn old
        0.05 < syn old
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21     < 0:1460 ack 100
        241    > ack 1460
        241.05 < 1460:2100 psh ack 100
        261.1  > ack 2100
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        slow-start to-client 20.100 (2, 10.050) high: 5 6 7
        short-initial-segment to-client 199.950 (1, 199.950) high: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn a_small_segment_at_the_earliest_time_of_the_cork_timer_was_corked() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21 < 0:100 ack 100
        41 > ack 100
        236.06 < 100:600 psh ack 100
        300 > ack 600
        "#,
        r#"
        handshake to-server 10.100 (1, 10.100) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        cork-timer to-client 215.060 (1, 215.060) medium or application-limited: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn a_small_segment_at_the_latest_time_of_the_cork_timer_was_corked() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21 < 0:100 ack 100
        41 > ack 100
        381.04 < 100:600 psh ack 100
        401 > ack 600
        "#,
        r#"
        handshake to-server 10.120 (1, 10.120) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.005 (1, 10.005) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        cork-timer to-client 360.040 (1, 360.040) medium or application-limited: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn a_small_segment_before_the_cork_timer_was_written_late() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21 < 0:100 ack 100
        41 > ack 100
        215.96 < 100:600 psh ack 100
        300 > ack 600
        "#,
        r#"
        handshake to-server 10.100 (1, 10.100) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        application-limited to-client 194.960 (1, 194.960) high: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn a_small_segment_after_the_cork_timer_was_written_late() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21 < 0:100 ack 100
        41 > ack 100
        382.06 < 100:600 psh ack 100
        402 > ack 600
        "#,
        r#"
        handshake to-server 10.130 (1, 10.130) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 9.995 (1, 9.995) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        application-limited to-client 361.060 (1, 361.060) high: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn what_follows_psh_was_not_corked() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21     < 0:100 psh ack 100
        41     > ack 100
        241 < 100:600 psh ack 100
        300 > ack 600
        "#,
        r#"
        handshake to-server 10.100 (1, 10.100) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        application-limited to-client 220.000 (1, 220.000) high: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn what_follows_psh_on_a_full_segment_that_a_network_card_cut_may_have_been_corked() {
    shows(
        &Streams::of_bodies(&[3320]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21  < 0:2920 psh ack 100
        41  > ack 2920
        241 < 2920:3420 psh ack 100
        300 > ack 3420
        "#,
        r#"
        handshake to-server 10.105 (1, 10.105) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.020 (1, 10.020) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.024 (2, 0.020) high: 6 7 8
        cork-timer to-client 219.986 (1, 219.986) medium or application-limited: 6 7 8
        propagation to-client 0.025 (1, 0.025) high: 8
        "#,
    );
}

#[test]
fn segments_equally_far_apart_whatever_the_acks_do_were_spaced_by_a_link() {
    shows(
        &Streams::of_bodies(&[17420]),
        r#"
        0    > syn
        16   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41 < 0:1460 ack 100
        42.3 > ack 1460
        46 < 1460:2920 ack 100
        46.05 > ack 2920
        51 < 2920:4380 ack 100
        52.3 > ack 4380
        56 < 4380:5840 ack 100
        56.05 > ack 5840
        61 < 5840:7300 ack 100
        62.3 > ack 7300
        66 < 7300:8760 ack 100
        66.05 > ack 8760
        71 < 8760:10220 ack 100
        72.3 > ack 10220
        76 < 10220:11680 ack 100
        76.05 > ack 11680
        81 < 11680:13140 ack 100
        82.3 > ack 13140
        86 < 13140:14600 ack 100
        86.05 > ack 14600
        91 < 14600:16060 ack 100
        92.3 > ack 16060
        96 < 16060:17520 psh ack 100
        96.05 > ack 17520
        "#,
        r#"
        handshake to-server 20.075 (1, 20.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.467 (1, 0.467) high: 4
        propagation to-server 7.492 (1, 7.492) high: 4
        transmission to-client 60.000 (1, 60.000) high: 27
        propagation to-client 7.867 (1, 7.867) high: 27
        "#,
    );
}

#[test]
fn segments_equally_far_apart_that_follow_acks_waited_for_a_window() {
    shows(
        &Streams::of_bodies(&[5740]),
        r#"
        0    > syn old
        0.05 < syn old
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21.00 < 0:1460 ack 100
        41.00 > ack 1460
        41.05 < 1460:2920 ack 100
        61.05 > ack 2920
        61.10 < 2920:4380 ack 100
        81.10 > ack 4380
        81.15 < 4380:5840 psh ack 100
        101.15 > ack 5840
        "#,
        r#"
        handshake to-server 10.100 (1, 10.100) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        slow-start to-client 60.150 (1, 60.150) high: 9 10 11
        propagation to-client 0.025 (1, 0.025) high: 11
        "#,
    );
}

#[test]
fn what_fills_a_hole_within_three_quarters_of_a_round_trip_was_overtaken() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        60.2 > 0:100 psh ack 0
        81    < 0:1460 ack 100
        81.05 < 2920:4380 ack 100
        81.1  > ack 1460
        96.05 < 1460:2920 ack 100
        96.1  < 4380:5100 psh ack 100
        96.2  > ack 5100
        "#,
        r#"
        propagation to-server 10.003 (1, 10.003) high: 4
        server-think to-client 0.748 (1, 0.748) high: 4 5
        transmission to-client 0.200 (2, 0.100) high: 9
        pacing to-client 14.950 (1, 14.950) low or application-limited: 6 8
        propagation to-client 9.999 (1, 9.999) high: 9
        "#,
    );
}

#[test]
fn what_fills_a_hole_later_was_sent_again() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        60.2 > 0:100 psh ack 0
        81    < 0:1460 ack 100
        81.05 < 2920:4380 ack 100
        81.1  > ack 1460
        96.2  < 1460:2920 ack 100
        96.25 < 4380:5100 psh ack 100
        96.3  > ack 5100
        "#,
        r#"
        propagation to-server 10.003 (1, 10.003) high: 4
        server-think to-client 0.748 (1, 0.748) high: 4 5
        transmission to-client 0.175 (3, 0.100) medium: 6 8
        retransmission-timeout (tail) to-client 15.100 (1, 15.100) high: 6 8
        application-limited to-client 0.025 (1, 0.025) high: 8 9
        propagation to-client 9.999 (1, 9.999) high: 9
        "#,
    );
}

#[test]
fn another_connection_between_the_same_ports_is_no_retransmission() {
    let streams = Streams::of_bodies(&[500]);
    let capture = r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < ack 100
        10000000    > syn anew
        10000020    < syn
        10000020.1  > ack 0
        10000020.2  > 0:100 psh ack 0
        10000041    < 0:600 psh ack 100
        10000041.1  > ack 600
        "#;
    let analysis = streams.seen_as(capture);
    let statuses: Vec<_> = analysis.exchanges.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [None, Some(200)]);
    let millis: Vec<_> = analysis.exchanges.iter().map(|it| it.duration.as_millis()).collect();
    assert_eq!(millis, [41, 41]);
}

#[test]
fn a_syn_that_is_sent_again_begins_no_other_connection() {
    let analysis = Streams::of_bodies(&[500]).seen_as(
        r#"
        0       > syn
        1000    > syn
        1020    < syn
        1020.1  > ack 0
        1020.2  > 0:100 psh ack 0
        1041    < 0:600 psh ack 100
        1041.1  > ack 600
        "#,
    );
    assert_eq!(analysis.exchanges.len(), 1);
    assert_eq!(analysis.exchanges[0].duration.as_millis(), 1041);
}

#[test]
fn a_request_that_is_sent_again_after_it_was_acknowledged_lost_nothing() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21   < ack 100
        35   > 0:100 psh ack 0
        80   < 0:600 psh ack 100
        100  > ack 600
        "#,
        r#"
        handshake to-server 10.100 (1, 10.100) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 59.750 (1, 59.750) high: 4 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn a_pause_that_ends_with_a_delayed_ack_is_not_a_send_buffer_of_a_few_bytes() {
    // Twice the body leaves before the head is acknowledged: Nagle's algorithm is off. The third time, the
    // pause happens to end right after the delayed ACK.
    shows(
        &Streams::of_bodies(&[500, 500, 500]),
        r#"
        0    > syn
        0.03 < syn
        0.05 > ack 0
        10   > 0:100 psh ack 0
        10.1 < 0:100 psh ack 100
        45.1 < 100:600 psh ack 100
        45.2 > ack 600
        110  > 100:200 psh ack 600
        110.1 < 600:700 psh ack 200
        145.1 < 700:1200 psh ack 200
        145.2 > ack 1200
        210  > 200:300 psh ack 1200
        210.1 < 1200:1300 psh ack 300
        250.1 > ack 1300
        250.2 < 1300:1800 psh ack 300
        250.3 > ack 1800
        "#,
        r#"
        propagation to-server 0.015 (1, 0.015) high: 4
        server-think to-client 0.070 (1, 0.070) high: 4 5
        application-limited to-client 35.000 (1, 35.000) high: 5 6
        propagation to-client 0.015 (1, 0.015) high: 6
        propagation to-server 0.015 (1, 0.015) high: 8
        server-think to-client 0.070 (1, 0.070) high: 8 9
        application-limited to-client 35.000 (1, 35.000) high: 9 10
        propagation to-client 0.015 (1, 0.015) high: 10
        propagation to-server 0.015 (1, 0.015) high: 12
        server-think to-client 0.070 (1, 0.070) high: 12 13
        application-limited to-client 40.100 (1, 40.100) medium or slow-start: 13 14 15
        propagation to-client 0.015 (1, 0.015) high: 15
        "#,
    );
}

/// TLS 1.3 without tickets. What the server sends when it has read more than a first window holds is the response,
/// although it is as short as a ticket.
#[test]
fn a_short_response_to_a_long_upload_over_tls_is_no_ticket() {
    let record = |kind: u8, length: usize| {
        let [high, low] = u16::try_from(length).unwrap().to_be_bytes();
        [vec![kind, 3, 3, high, low], vec![0; length]].concat()
    };
    let client = [
        record(22, 512),
        record(20, 1),
        record(23, 53),
        record(23, 16_384).repeat(5),
        record(23, 100),
    ];
    let server =
        [record(22, 122), record(20, 1), record(23, 1_000), record(23, 250), record(23, 400)];
    shows(
        &Streams::of(&client.concat(), &server.concat()),
        r#"
        0      > syn
        20     < syn
        20.01  > ack 0
        20.02  > 0:517 psh ack 0
        40.02  < 0:1138 psh ack 517
        40.05  > 517:581 psh ack 1138
        40.06  > 581:66281 psh ack 1138
        60.10  < ack 66281
        60.15  > 66281:82526 psh ack 1138
        130.00 < 1138:1393 psh ack 82526
        130.05 > 82526:82631 psh ack 1393
        150.06 < 1393:1798 psh ack 82631
        150.10 > ack 1798
        "#,
        r#"
        handshake to-server 20.005 (1, 20.005) high: 1 2 3
        tls-handshake to-server 10.027 (3, 10.015) high: 5
        tls-handshake to-client 10.013 (2, 10.013) high: 5
        request-upload to-server 0.570 (2, 0.450) high: 51 52 53
        receive-window to-server 19.640 (1, 19.640) high: 51 52 53
        propagation to-server 10.005 (1, 10.005) high: 64
        server-think to-client 49.740 (1, 49.740) medium or path-stall: 64 65
        transmission to-client 0.002 (1, 0.002) high: 65
        propagation to-client 9.998 (1, 9.998) high: 65
        request-upload to-server 0.428 (1, 0.428) high: 66
        propagation to-server 9.582 (1, 9.582) high: 66
        transmission to-client 0.003 (1, 0.003) high: 67
        propagation to-client 9.997 (1, 9.997) high: 67
        "#,
    );
}

/// A response over TLS 1.3 in two writes, of which the first is as short as a ticket. Nagle's algorithm holds the second
/// until the client's delayed ACK: only what that was late by is its delay, not the ways, nor what the server did first.
#[test]
fn a_response_that_nagle_held_is_divided_although_its_beginning_looks_like_a_ticket() {
    let record = |kind: u8, length: usize| {
        let [high, low] = u16::try_from(length).unwrap().to_be_bytes();
        [vec![kind, 3, 3, high, low], vec![0; length]].concat()
    };
    let client = [record(22, 228), record(20, 1), record(23, 69), record(23, 53)];
    let server = [record(22, 122), record(20, 1), record(23, 520), record(23, 83), record(23, 952)];
    shows(
        &Streams::of(&client.concat(), &server.concat()),
        r#"
        0      > syn
        0.05   < syn
        48.05  > ack 0
        48.06  > 0:233 psh ack 0
        48.10  < 0:127 psh ack 233
        96.10  > ack 127
        96.12  < 127:658 psh ack 233
        144.12 > ack 658
        144.14 > 233:313 psh ack 658
        144.16 > 313:371 psh ack 658
        144.17 < ack 371
        149.20 < 658:746 psh ack 371
        237.20 > ack 746
        237.22 < 746:1703 psh ack 371
        285.22 > ack 1703
        "#,
        r#"
        handshake to-server 24.050 (1, 24.050) high: 1 2 3
        tls-handshake to-server 24.085 (2, 24.045) high: 5
        nagle-rtt to-client 96.040 (3, 48.020) medium or server-think: 5 6 7
        tls-handshake to-client 24.005 (1, 24.005) high: 7
        propagation to-server 24.005 (1, 24.005) high: 10
        server-think to-client 5.030 (1, 5.030) medium or nagle-delayed-ack: 10 14
        nagle-delayed-ack to-client 40.000 (1, 40.000) medium or server-think: 10 14
        propagation to-client 0.005 (1, 0.005) high: 14
        "#,
    );
}

/// Two responses in two writes each. The first is acknowledged at once, and its second write follows `own` milliseconds
/// after the first, with nothing that would hold it; the second waits for a delayed acknowledgement.
fn second_writes(own: f64) -> [f64; 2] {
    second_writes_behind("", own)
}

/// The same, with what the server sends again before the first of them.
fn second_writes_behind(again: &str, own: f64) -> [f64; 2] {
    let rest = 21.0 + own;
    let analysis = Streams::of_bodies(&[500, 500]).seen_as(&format!(
        r"
        0    > syn
        0.05 < syn
        2    > ack 0
        20   > 0:100 psh ack 0
        21   < 0:100 psh ack 100
        {again}
        23   > ack 100
        {rest} < 100:600 psh ack 100
        100  > ack 600
        110  > 100:200 psh ack 600
        111  < 600:700 psh ack 200
        155  > ack 700
        155.06 < 700:1200 psh ack 200
        157  > ack 1200
        "
    ));
    let second = &analysis.exchanges[1];
    let program = second.owed_to(Cause::ApplicationLimited).as_secs_f64() * 1e3;
    let nagle =
        [Cause::NagleRtt, Cause::NagleDelayedAck].map(|it| second.owed_to(it).as_secs_f64() * 1e3);
    [program, nagle.iter().sum()]
}

#[test]
fn what_a_program_pauses_by_itself_nagles_algorithm_has_not_held() {
    for (own, charged) in [(30.0, 30.0), (10.0, 10.0), (3.0, 0.0), (2.01, 0.0), (60.0, 0.0)] {
        let [program, nagle] = second_writes(own);
        assert!((program - charged).abs() < 0.1, "{own}: {program}");
        assert!((nagle - (44.06 - charged)).abs() < 0.1, "{own}: {nagle}");
    }
}

/// A program writes `every` segments each `apart` microseconds, and the client, at which they are captured, acknowledges
/// them at once. The round trip takes 20 ms. How long it waited for its send buffer, and how long its program paused.
fn drip(apart: u32, every: usize) -> [f64; 2] {
    let mut script = String::from(
        r"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        40.7 < 0:100 psh ack 100
        ",
    );
    let (segments, mut at) = (60, 40.7);
    for segment in (0..segments).step_by(every) {
        at += f64::from(apart) / 1e3;
        let from = 100 + segment * 1_460;
        for one in 0..every {
            let (from, to) = (from + one * 1_460, from + (one + 1) * 1_460);
            let _ = writeln!(script, "{at} < {from}:{to} psh ack 100");
            at += 0.01;
        }
        let _ = writeln!(script, "{at} > ack {}", from + every * 1_460);
    }
    let analysis = Streams::of_bodies(&[segments * 1_460]).seen_as(&script);
    let exchange = &analysis.exchanges[0];
    [Cause::SendBuffer, Cause::ApplicationLimited]
        .map(|it| exchange.owed_to(it).as_secs_f64() * 1e3)
}

/// Linux wakes a program that waits for room when a third of the buffer is free.
#[test]
fn small_writes_far_from_the_vantage_point_are_no_full_send_buffer() {
    for apart in [5_000, 4_000, 3_300] {
        let [buffer, program] = drip(apart, 1);
        assert!(buffer < 15.0 && program > 150.0, "{apart}: {buffer} {program}");
    }
    // Six segments a round trip, which an acknowledgement of all lets go.
    let [buffer, program] = drip(20_020, 6);
    assert!(buffer > 80.0 && program < 45.0, "{buffer} {program}");
}

/// What a segment waited for that was sent again says nothing of its program, and nothing more was written.
#[test]
fn nothing_is_learnt_of_a_program_from_what_follows_a_repair() {
    let [_, nagle] = second_writes_behind("21.1 < 0:100 psh ack 100", 10.0);
    assert!((nagle - 44.06).abs() < 0.1, "{nagle}");
}

/// An earlier connection of the same hosts may have gone another way: what is longer than another's shortest round trip
/// is a queue only where round trips vary.
#[test]
fn a_longer_round_trip_that_does_not_vary_is_no_queue() {
    let first_answer = |at| {
        let analysis = Streams::of_bodies(&[500]).seen_as(&format!(
            "
            0    > syn
            20   < syn
            20.1 > ack 0
            20.2 > 0:100 psh ack 0
            {at} < ack 100
            10000000    > syn anew
            10000020    < syn
            10000020.1  > ack 0
            10000020.2  > 0:100 psh ack 0
            10000031    < 0:600 psh ack 100
            10000031.1  > ack 600
            "
        ));
        analysis.exchanges[0].owed_to(Cause::Queueing)
    };
    assert_eq!(first_answer(191.0), std::time::Duration::ZERO);
}
