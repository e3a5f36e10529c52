//! A path that delivers nothing for a while, and what looks like it.

use crate::{shows, wire::Streams};

#[test]
fn segments_that_were_ready_and_came_late_in_one_go_were_held_by_the_path() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41     < 0:1460 ack 100
        41.1   > ack 1460
        300    < 1460:5100 psh ack 100
        300.2  > ack 5100
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.097 (1, 0.097) high: 4
        request-upload to-server 0.004 (1, 0.004) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.790 (1, 0.790) high: 4 5
        transmission to-client 0.141 (2, 0.101) medium: 9
        path-stall to-client 258.960 (1, 258.960) medium: 5 6 7
        propagation to-client 9.929 (1, 9.929) high: 9
        "#,
    );
}

#[test]
fn one_segment_that_came_late_was_held_by_the_path_or_sent_again_by_a_timer() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41     < 0:2920 ack 100
        41.1   > ack 2920
        300    < 2920:4380 ack 100
        300.1  > ack 4380
        320.2  < 4380:5100 psh ack 100
        320.3  > ack 5100
        "#,
        r#"
        handshake to-server 20.055 (1, 20.055) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.045 (1, 10.045) high: 4
        server-think to-client 0.790 (1, 0.790) high: 4 5
        transmission to-client 0.035 (3, 0.020) high: 6 7 8
        path-stall to-client 258.980 (1, 258.980) low or retransmission-timeout: 6 7 8
        nagle-rtt to-client 20.195 (1, 20.195) high: 8 9 10
        propagation to-client 10.000 (1, 10.000) high: 10
        "#,
    );
}

#[test]
fn an_ack_of_many_segments_that_came_late_was_held_by_the_path() {
    shows(
        &Streams::of_bodies(&[21_800]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21     < 0:14600 ack 100
        200    > ack 2920
        200.01 > ack 5840
        200.02 > ack 14600
        200.1  < 14600:21900 psh ack 100
        220.2  > ack 21900
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.099 (1, 0.099) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.150 (2, 0.100) medium: 14 17 18
        slow-start to-client 10.050 (1, 10.050) medium: 14 17 18
        path-stall to-client 168.950 (1, 168.950) medium: 14 17 18
        propagation to-client 0.025 (1, 0.025) high: 22
        "#,
    );
}

#[test]
fn what_a_timer_sent_again_in_vain_was_held_by_the_path() {
    shows(
        &Streams::of_bodies(&[21_800]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21     < 0:14600 ack 100
        261    < 0:1460 ack 100
        265    > ack 2920
        265.01 > ack 14600
        265.1  < 14600:21900 psh ack 100
        285.2  > ack 21900
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.099 (1, 0.099) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.160 (3, 0.100) medium: 14 15
        propagation to-client 10.074 (2, 10.050) medium: 14 15
        path-stall to-client 233.940 (2, 229.850) medium: 14 15
        "#,
    );
}

#[test]
fn a_request_that_a_timer_sent_again_in_vain_was_held_by_the_path() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        240.3 > 0:100 psh ack 0
        245   < ack 100
        246   < 0:600 psh ack 100
        246.1 > ack 600
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) medium: 4 2 5
        path-stall to-server 210.050 (1, 210.050) medium: 4 2 5
        propagation to-client 5.750 (1, 5.750) high: 7
        "#,
    );
}

#[test]
fn a_request_whose_ack_came_a_round_trip_after_a_timer_sent_it_again_was_lost() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        240.3 > 0:100 psh ack 0
        260.3 < ack 100
        261   < 0:600 psh ack 100
        261.1 > ack 600
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        retransmission-timeout (tail) to-server 220.100 (1, 220.100) low or accept-queue-full: 4 2 5
        propagation to-server 10.050 (1, 10.050) high: 5
        server-think to-client 0.700 (1, 0.700) high: 5 7
        propagation to-client 10.000 (1, 10.000) high: 7
        "#,
    );
}

#[test]
fn a_segment_whose_timestamp_is_old_was_held_by_the_path() {
    shows(
        &Streams::of_bodies(&[5_740, 4_280]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < 0:5840 psh ack 100 ts 5000
        41.1 > ack 5840
        1500 > 100:200 psh ack 5840
        1521   < 5840:7300 ack 200 ts 6480
        1621   < 7300:10220 psh ack 200 ts 6480
        1621.1 > ack 10220
        "#,
        r#"
        handshake to-server 20.065 (1, 20.065) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.035 (1, 10.035) high: 4
        server-think to-client 0.790 (1, 0.790) high: 4 5
        transmission to-client 0.040 (1, 0.040) high: 8
        propagation to-client 10.000 (1, 10.000) high: 8
        propagation to-server 10.000 (1, 10.000) high: 10
        server-think to-client 0.990 (1, 0.990) high: 10 11
        transmission to-client 0.030 (1, 0.030) high: 13
        propagation to-client 10.014 (1, 10.014) high: 13
        path-stall to-client 99.975 (1, 99.975) medium or queueing: 13
        "#,
    );
}

/// At the server: the request acknowledges all, and both segments that answer it stay unacknowledged, until a
/// probe sends what comes next (RFC 8985, section 7.2). That the request came just before them does not
/// matter.
#[test]
fn what_a_probe_sends_behind_a_burst_had_been_ready() {
    shows(
        &Streams::of_bodies(&[4_280]),
        r#"
        0       > syn
        0.05    < syn
        20.05   > ack 0
        20.10   > 0:100 psh ack 0
        20.15   < 0:2920 psh ack 100
        80.15   < 2920:4380 psh ack 100
        100.13  > ack 1460
        100.14  > ack 2920
        100.15  > ack 4380
        "#,
        r#"
        handshake to-server 10.050 (1, 10.050) high: 1 2 3
        application-limited to-server 0.050 (1, 0.050) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.014 (1, 10.014) high: 4
        transmission to-client 0.030 (2, 0.020) high: 6 3 7
        slow-start to-client 10.025 (1, 10.025) medium: 6 3 7
        path-stall to-client 49.955 (1, 49.955) medium or retransmission-timeout: 6 3 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}
