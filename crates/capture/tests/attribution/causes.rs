//! A capture for each cause.

use crate::{shows, wire::Streams};

#[test]
fn slow_start_seen_at_the_server() {
    shows(
        &Streams::of_bodies(&[60000]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21    < 0:14600 ack 100
        41.3  > ack 14600
        41.35 < 14600:43800 ack 100
        61.8  > ack 43800
        61.85 < 43800:60100 psh ack 100
        82.1  > ack 60100
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.098 (1, 0.098) high: 4
        request-upload to-server 0.002 (1, 0.002) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.895 (3, 0.500) medium: 35 36 37
        slow-start to-client 40.100 (2, 20.100) high: 14 15 16
        "#,
    );
}

#[test]
fn slow_start_seen_at_the_client() {
    shows(
        &Streams::of_bodies(&[60000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41    < 0:14600 ack 100
        41.1  > ack 2920
        41.15 > ack 14600
        61.3  < 14600:43800 ack 100
        61.6  > ack 43800
        81.7  < 43800:60100 psh ack 100
        81.9  > ack 60100
        "#,
        r#"
        handshake to-server 20.070 (1, 20.070) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.030 (1, 10.030) high: 4
        server-think to-client 0.790 (1, 0.790) high: 4 5
        transmission to-client 0.420 (3, 0.200) high: 36 37 38
        slow-start to-client 40.400 (2, 20.200) high: 14 16 17
        propagation to-client 10.000 (1, 10.000) high: 49
        "#,
    );
}

#[test]
fn congestion_avoidance_where_a_window_grows_by_a_segment_a_round() {
    shows(
        &Streams::of_bodies(&[142060]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21.00 < 0:14600 ack 100
        41.50 > ack 14600
        41.55 < 14600:43800 ack 100
        62.05 > ack 43800
        62.10 < 43800:74460 ack 100
        82.60 > ack 74460
        82.65 < 74460:106580 ack 100
        103.15 > ack 106580
        103.20 < 106580:140160 ack 100
        123.70 > ack 140160
        123.75 < 140160:142160 psh ack 100
        144.25 > ack 142160
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.097 (1, 0.097) high: 4
        request-upload to-server 0.004 (1, 0.004) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 4.365 (6, 1.035) high: 104 105 106
        slow-start to-client 78.915 (4, 20.100) high: 14 15 16
        congestion-window to-client 19.515 (1, 19.515) high: 104 105 106
        "#,
    );
}

#[test]
fn a_send_buffer_where_what_is_outstanding_does_not_grow() {
    shows(
        &Streams::of_bodies(&[74900]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21.00 < 0:14600 psh ack 100
        41.50 > ack 14600
        41.55 < 14600:29200 psh ack 100
        62.05 > ack 29200
        62.10 < 29200:43800 psh ack 100
        82.60 > ack 43800
        82.65 < 43800:58400 psh ack 100
        103.15 > ack 58400
        103.20 < 58400:73000 psh ack 100
        123.70 > ack 73000
        123.75 < 73000:75000 psh ack 100
        144.25 > ack 75000
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.097 (1, 0.097) high: 4
        request-upload to-server 0.004 (1, 0.004) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 2.295 (6, 0.450) high: 14 15 16
        slow-start to-client 60.300 (3, 20.100) high: 14 15 16
        send-buffer to-client 40.200 (2, 20.100) low or congestion-window: 47 48 49
        "#,
    );
}

#[test]
fn a_receive_window_that_opens_late() {
    shows(
        &Streams::of_bodies(&[8000]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0 win 2920
        21     < 0:2920 ack 100
        41     > ack 2920 win 0
        141    > ack 2920 win 5840
        141.05 < 2920:8100 psh ack 100
        161.1  > ack 8100
        "#,
        r#"
        handshake to-server 10.105 (1, 10.105) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.020 (1, 10.020) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.060 (2, 0.040) high: 12
        receive-window to-client 120.030 (1, 120.030) high: 6 8 9
        propagation to-client 0.025 (1, 0.025) high: 12
        "#,
    );
}

#[test]
fn a_receive_window_that_was_closed_is_blamed_for_a_sender_that_wakes_late() {
    shows(
        &Streams::of_bodies(&[8000]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0 win 2920
        21     < 0:2920 ack 100
        41     > ack 2920 win 0
        141    > ack 2920 win 5840
        161    < 2920:8100 psh ack 100
        181.1  > ack 8100
        "#,
        r#"
        handshake to-server 10.105 (1, 10.105) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.020 (1, 10.020) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.060 (2, 0.040) high: 12
        receive-window to-client 139.980 (1, 139.980) high: 6 8 9
        propagation to-client 0.025 (1, 0.025) high: 12
        "#,
    );
}

#[test]
fn an_idle_time_that_cut_the_window() {
    shows(
        &Streams::of_bodies(&[60000, 60000]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21      < 0:14600 ack 100
        41.3    > ack 14600
        41.35   < 14600:43800 ack 100
        61.8    > ack 43800
        61.85   < 43800:60100 psh ack 100
        82.1    > ack 60100
        2000    > 100:200 psh ack 60100
        2001    < 60100:74700 ack 200
        2021.3  > ack 74700
        2021.35 < 74700:103900 ack 200
        2041.8  > ack 103900
        2041.85 < 103900:120200 psh ack 200
        2062.1  > ack 120200
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.098 (1, 0.098) high: 4
        request-upload to-server 0.002 (1, 0.002) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.895 (3, 0.500) medium: 35 36 37
        slow-start to-client 40.100 (2, 20.100) high: 14 15 16
        propagation to-server 0.025 (1, 0.025) high: 50
        server-think to-client 0.940 (1, 0.940) high: 50 51
        transmission to-client 0.682 (3, 0.358) high: 81 82 83
        idle-restart to-client 40.312 (2, 20.171) medium or slow-start: 60 61 62
        "#,
    );
}

#[test]
fn a_short_pause_that_did_not_cut_the_window() {
    shows(
        &Streams::of_bodies(&[60000, 29100]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21      < 0:14600 ack 100
        41.3    > ack 14600
        41.35   < 14600:43800 ack 100
        61.8    > ack 43800
        61.85   < 43800:60100 psh ack 100
        82.1    > ack 60100
        200     > 100:200 psh ack 60100
        281.7   < 60100:74700 ack 200
        301.9   > ack 74700
        301.95  < 74700:89300 psh ack 200
        322.3   > ack 89300
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.098 (1, 0.098) high: 4
        request-upload to-server 0.002 (1, 0.002) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.895 (3, 0.500) medium: 35 36 37
        slow-start to-client 40.100 (2, 20.100) high: 14 15 16
        propagation to-server 0.025 (1, 0.025) high: 50
        server-think to-client 81.640 (1, 81.640) high: 50 51
        transmission to-client 0.304 (2, 0.179) high: 60 61 62
        slow-start to-client 20.071 (1, 20.071) medium or send-buffer: 60 61 62
        "#,
    );
}

#[test]
fn the_shortest_pause_that_may_have_cut_it() {
    shows(
        &Streams::of_bodies(&[60000, 29100]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21      < 0:14600 ack 100
        41.3    > ack 14600
        41.35   < 14600:43800 ack 100
        61.8    > ack 43800
        61.85   < 43800:60100 psh ack 100
        82.1    > ack 60100
        200     > 100:200 psh ack 60100
        282.3   < 60100:74700 ack 200
        302.5   > ack 74700
        302.55  < 74700:89300 psh ack 200
        322.9   > ack 89300
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.098 (1, 0.098) high: 4
        request-upload to-server 0.002 (1, 0.002) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.895 (3, 0.500) medium: 35 36 37
        slow-start to-client 40.100 (2, 20.100) high: 14 15 16
        propagation to-server 0.025 (1, 0.025) high: 50
        server-think to-client 82.240 (1, 82.240) high: 50 51
        transmission to-client 0.304 (2, 0.179) high: 60 61 62
        idle-restart to-client 20.071 (1, 20.071) high: 60 61 62
        "#,
    );
}

#[test]
fn pacing_where_full_segments_wait_for_nothing() {
    shows(
        &Streams::of_bodies(&[14500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21 < 0:1460 ack 100
        21.01 < 1460:2920 ack 100
        21.02 < 2920:4380 ack 100
        26.1 < 4380:5840 ack 100
        30.3 < 5840:7300 ack 100
        34.7 < 7300:8760 ack 100
        38.2 < 8760:10220 ack 100
        40.5 < 10220:11680 ack 100
        40.9 < 11680:13140 ack 100
        40.95 < 13140:14600 psh ack 100
        41.2 > ack 4380
        61 > ack 14600
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.097 (1, 0.097) high: 4
        request-upload to-server 0.005 (1, 0.005) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.739 (1, 0.739) high: 4 5
        transmission to-client 0.487 (7, 0.150) medium: 7 8
        pacing to-client 19.499 (6, 4.951) low: 7 8
        "#,
    );
}

#[test]
fn a_program_that_writes_late() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21  < 0:100 psh ack 100
        41  > ack 100
        121 < 100:600 psh ack 100
        141 > ack 600
        "#,
        r#"
        handshake to-server 10.100 (1, 10.100) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        application-limited to-client 100.000 (1, 100.000) high: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn a_fast_retransmit_seen_at_the_client() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41    < 0:1460 ack 100
        41.05 < 2920:4380 ack 100
        41.1  > ack 1460
        61.3  < 1460:2920 ack 100
        61.35 < 4380:5100 psh ack 100
        61.4  > ack 5100
        "#,
        r#"
        handshake to-server 20.075 (1, 20.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.005 (1, 0.005) high: 4
        propagation to-server 10.024 (1, 10.024) high: 4
        server-think to-client 0.748 (1, 0.748) high: 4 5
        transmission to-client 0.175 (3, 0.100) medium: 6 7 8
        loss-recovery to-client 20.225 (2, 20.200) high: 6 7 8
        propagation to-client 9.999 (1, 9.999) high: 9
        "#,
    );
}

#[test]
fn a_fast_retransmit_seen_at_the_server() {
    shows(
        &Streams::of_bodies(&[9000]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21    < 0:7300 ack 100
        41.1  > ack 1460
        41.2  > ack 1460
        41.25 < 1460:2920 ack 100
        61.4  > ack 7300
        61.45 < 7300:9100 psh ack 100
        81.6  > ack 9100
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.080 (3, 0.050) medium: 9 11 12
        loss-recovery to-client 40.390 (2, 20.200) medium or congestion-window: 9 11 12
        propagation to-client 0.025 (1, 0.025) high: 15
        "#,
    );
}

#[test]
fn a_retransmission_timeout_seen_at_the_server() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21    < 0:5100 psh ack 100
        41.1  > ack 1460
        260   < 1460:2920 ack 100
        280.1 > ack 5100
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.050 (2, 0.040) medium: 8 9 10
        retransmission-timeout (tail) to-client 238.960 (1, 238.960) high: 8 9 10
        propagation to-client 0.025 (1, 0.025) high: 10
        "#,
    );
}

#[test]
fn a_repair_after_the_shortest_timeout() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        0.5  < syn
        0.6  > ack 0
        0.7  > 0:100 psh ack 0
        1.5  < 0:5100 psh ack 100
        2    > ack 1460
        7.51 < 1460:2920 ack 100
        8.1  > ack 5100
        "#,
        r#"
        handshake to-server 0.550 (1, 0.550) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 0.300 (1, 0.300) high: 4
        server-think to-client 0.290 (1, 0.290) high: 4 5
        transmission to-client 0.050 (2, 0.040) medium: 8 9 10
        retransmission-timeout (tail) to-client 5.970 (1, 5.970) high: 8 9 10
        propagation to-client 0.250 (1, 0.250) high: 10
        "#,
    );
}

#[test]
fn a_repair_before_the_shortest_timeout() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        0.5  < syn
        0.6  > ack 0
        0.7  > 0:100 psh ack 0
        1.5  < 0:5100 psh ack 100
        2    > ack 1460
        7.49 < 1460:2920 ack 100
        8.1  > ack 5100
        "#,
        r#"
        handshake to-server 0.550 (1, 0.550) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 0.300 (1, 0.300) high: 4
        server-think to-client 0.290 (1, 0.290) high: 4 5
        transmission to-client 0.050 (2, 0.040) medium: 8 9 10
        loss-recovery (behind-capture) to-client 5.950 (1, 5.950) high: 8 9 10
        propagation to-client 0.250 (1, 0.250) high: 10
        "#,
    );
}

#[test]
fn what_the_capture_has_lost_is_unknown() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < 0:1460 ack 100
        41.1 > ack 1460
        60   > ack 4380
        61   < 4380:5100 psh ack 100
        61.2 > ack 5100
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        unknown to-client 20.000 (1, 20.000) low: 5 6 8
        propagation to-client 10.000 (1, 10.000) high: 8
        "#,
    );
}

#[test]
fn an_upload_that_waits_for_the_window() {
    shows(
        &Streams::of_upload(30_000),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:14600 ack 0
        40.6 < ack 14600
        40.65 > 14600:30100 psh ack 0
        61 < 0:100 psh ack 30100
        61.1 > ack 100
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.090 (1, 0.090) high: 4
        request-upload to-server 0.681 (2, 0.351) high: 25
        slow-start to-server 20.120 (1, 20.120) high: 13 14 15
        propagation to-server 10.049 (1, 10.049) high: 25
        server-think to-client 0.008 (1, 0.008) high: 25 26
        transmission to-client 0.003 (1, 0.003) high: 26
        propagation to-client 9.999 (1, 9.999) high: 26
        "#,
    );
}

#[test]
fn a_syn_that_was_lost() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0      > syn
        1000   > syn
        1020   < syn
        1020.1 > ack 0
        1020.2 > 0:100 psh ack 0
        1041   < 0:600 psh ack 100
        1041.1 > ack 600
        "#,
        r#"
        retransmission-timeout to-server 1000.000 (1, 1000.000) medium or accept-queue-full: 1 2
        handshake to-server 20.050 (1, 20.050) high: 2 3 4
        application-limited to-server 0.100 (1, 0.100) high: 5
        propagation to-server 10.450 (1, 10.450) high: 5
        propagation to-client 10.400 (1, 10.400) high: 6
        "#,
    );
}

#[test]
fn a_link_that_is_slow_behind_the_vantage_point() {
    shows(
        &Streams::of_bodies(&[14500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21 < 0:14600 psh ack 100
        42 > ack 2920
        48 > ack 5840
        54 > ack 8760
        60 > ack 11680
        66 > ack 14600
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.066 (1, 0.066) high: 4
        request-upload to-server 0.047 (1, 0.047) high: 4
        propagation to-server 10.037 (1, 10.037) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.125 (1, 0.125) high: 14
        "#,
    );
}

#[test]
fn nagle_that_waits_for_an_ack_that_was_not_delayed() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21    < 0:100 psh ack 100
        41.05 > ack 100
        41.1  < 100:600 psh ack 100
        61.1  > ack 600
        "#,
        r#"
        handshake to-server 10.100 (1, 10.100) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.750 (1, 0.750) high: 4 5
        nagle-rtt to-client 20.100 (1, 20.100) high: 5 6 7
        propagation to-client 0.025 (1, 0.025) high: 7
        "#,
    );
}

#[test]
fn nagle_seen_between_the_ends() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0     > syn
        10    < syn
        20.1  > ack 0
        20.2  > 0:100 psh ack 0
        31    < 0:100 psh ack 100
        81    > ack 100
        91.05 < 100:600 psh ack 100
        101.1 > ack 600
        "#,
        r#"
        handshake to-server 15.075 (1, 15.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.025 (1, 10.025) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        nagle-rtt to-client 20.100 (2, 10.075) high: 5 6 7
        nagle-delayed-ack to-client 39.950 (1, 39.950) high: 5 6 7
        propagation to-client 5.000 (1, 5.000) high: 7
        "#,
    );
}

#[test]
fn an_idle_time_that_cut_the_window_seen_at_the_client() {
    shows(
        &Streams::of_bodies(&[60000, 29100]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        60.2 > 0:100 psh ack 0
        81     < 0:14600 ack 100
        81.2   > ack 14600
        101.35 < 14600:43800 ack 100
        101.7  > ack 43800
        121.85 < 43800:60100 psh ack 100
        122.1  > ack 60100
        2000   > 100:200 psh ack 60100
        2021   < 60100:74700 ack 200
        2021.2 > ack 74700
        2041.4 < 74700:89300 psh ack 200
        2041.7 > ack 89300
        "#,
        r#"
        propagation to-server 10.000 (1, 10.000) high: 4
        server-think to-client 0.790 (1, 0.790) high: 4 5
        transmission to-client 0.420 (3, 0.200) medium: 35 36 37
        slow-start to-client 40.550 (2, 20.300) high: 35 36 37
        propagation to-client 10.000 (1, 10.000) high: 48
        propagation to-server 10.000 (1, 10.000) high: 50
        server-think to-client 0.990 (1, 0.990) high: 50 51
        transmission to-client 0.200 (2, 0.100) high: 60 61 62
        idle-restart to-client 20.300 (1, 20.300) high: 60 61 62
        propagation to-client 10.000 (1, 10.000) high: 71
        "#,
    );
}

#[test]
fn a_receive_window_that_opens_late_seen_at_the_client() {
    shows(
        &Streams::of_bodies(&[8000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        60.2 > 0:100 psh ack 0 win 2920
        81     < 0:2920 ack 100
        81.1   > ack 2920 win 0
        141    > ack 2920 win 5840
        161.2  < 2920:8100 psh ack 100
        161.4  > ack 8100
        "#,
        r#"
        propagation to-server 10.001 (1, 10.001) high: 4
        server-think to-client 0.790 (1, 0.790) high: 4 5
        transmission to-client 0.060 (2, 0.040) high: 12
        receive-window to-client 80.180 (1, 80.180) high: 6 8 9
        propagation to-client 10.000 (1, 10.000) high: 12
        "#,
    );
}

#[test]
fn an_earlier_response_on_the_connection() {
    shows(
        &Streams::of_bodies(&[500, 500]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        20.3 > 100:200 psh ack 0
        41   < 0:600 psh ack 100
        81   < 600:1200 psh ack 200
        81.1 > ack 1200
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 6
        propagation to-client 10.000 (1, 10.000) high: 6
        propagation to-server 10.000 (1, 10.000) high: 5
        head-of-line to-client 0.700 (1, 0.700) high: 6
        server-think to-client 40.000 (1, 40.000) medium or queueing: 5 7
        propagation to-client 10.000 (1, 10.000) high: 7
        "#,
    );
}

#[test]
fn a_connection_that_was_opened_in_advance() {
    shows(
        &Streams::of_bodies(&[500]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        520.2 > 0:100 psh ack 0
        541   < 0:600 psh ack 100
        541.1 > ack 600
        "#,
        r#"
        propagation to-server 10.000 (1, 10.000) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        propagation to-client 10.000 (1, 10.000) high: 5
        "#,
    );
}

#[test]
fn a_response_that_does_not_end() {
    shows(
        &Streams::of_bodies(&[5000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < 0:1460 psh ack 100
        41.1 > ack 1460
        500  < 1460:2000 psh ack 100
        500.1 > ack 2000
        600 < rst
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.800 (1, 0.800) high: 4 5
        application-limited to-client 548.950 (2, 459.000) medium or path-stall: 5 6 7
        propagation to-client 20.050 (2, 10.050) high: 7
        "#,
    );
}

#[test]
fn a_repair_that_waits_for_rack() {
    shows(
        &Streams::of_bodies(&[9000]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21    < 0:7300 ack 100
        41.1  > ack 1460
        41.7  < 1460:2920 ack 100
        61.8  > ack 7300
        61.85 < 7300:9100 psh ack 100
        81.9  > ack 9100
        "#,
        r#"
        handshake to-server 10.080 (1, 10.080) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.045 (1, 10.045) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.080 (3, 0.050) medium: 9 10 11
        loss-recovery to-client 40.790 (2, 20.650) medium or congestion-window: 9 10 11
        propagation to-client 0.025 (1, 0.025) high: 14
        "#,
    );
}

#[test]
fn what_waits_for_a_repair() {
    shows(
        &Streams::of_bodies(&[11000]),
        r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21    < 0:7300 ack 100
        41.1  > ack 1460
        41.15 < 1460:2920 ack 100
        45.3  > ack 1460
        45.35 < 7300:8760 ack 100
        61.4  > ack 7300
        61.45 < 8760:11100 psh ack 100
        81.6  > ack 11100
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.740 (1, 0.740) high: 4 5
        transmission to-client 0.090 (4, 0.050) medium: 9 10 11
        loss-recovery to-client 40.380 (3, 20.100) medium or congestion-window: 9 10 11
        propagation to-client 0.025 (1, 0.025) high: 16
        "#,
    );
}

/// TLS 1.3, at the server. Its hello was written apart from the rest of its flight, and so was the client's
/// change_cipher_spec from what follows it: Nagle's algorithm holds either for a round trip. The client's begins
/// when the flight has arrived; its change_cipher_spec answers nothing, and the server did not wait for it.
#[test]
fn a_tls_handshake_in_small_writes_is_held_by_nagle() {
    const CHANGE: [u8; 6] = [20, 3, 3, 0, 1, 1];
    let record = |kind: u8, body: u16| {
        let [high, low] = body.to_be_bytes();
        let mut record = vec![kind, 3, 3, high, low];
        record.resize(5 + usize::from(body), 1);
        record
    };
    let client = [record(22, 195), CHANGE.to_vec(), record(23, 53), record(23, 100)].concat();
    let server = [record(22, 95), record(23, 495), record(23, 95), record(23, 95)].concat();
    shows(
        &Streams::of(&client, &server),
        r#"
        0       > syn
        0.05    < syn
        20.05   > ack 0
        20.10   > 0:200 psh ack 0
        20.12   < ack 200
        20.20   < 0:100 psh ack 200
        40.20   > ack 100
        40.21   < 100:600 psh ack 200
        40.22   > 200:206 psh ack 100
        84.22   < ack 206
        104.25  > 206:369 psh ack 600
        104.30  < 600:700 psh ack 369
        124.30  > ack 700
        "#,
        r#"
        handshake to-server 10.050 (1, 10.050) high: 1 2 3
        tls-handshake to-server 10.140 (1, 10.140) high: 6
        nagle-rtt to-client 20.010 (1, 20.010) high: 6 7 8
        tls-handshake to-client 10.010 (1, 10.010) high: 8
        nagle-delayed-ack to-server 34.000 (1, 34.000) high: 9 10 11
        nagle-rtt to-server 10.040 (1, 10.040) high: 9 10 11
        propagation to-server 10.010 (1, 10.010) high: 11
        server-think to-client 0.030 (1, 0.030) high: 11 12
        propagation to-client 0.010 (1, 0.010) high: 12
        "#,
    );
}

/// At the client. The server's settings were written apart from its response, which Nagle's algorithm holds until they
/// are acknowledged. That the client acknowledges them in HTTP/2, too, is nothing that a response answers.
#[test]
fn a_response_does_not_answer_the_acknowledgement_of_settings() {
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    let request = frame(1, 5, 1, &[0x82, 0x84, 0x86]);
    let client = [preface, frame(4, 0, 0, &[]), request, frame(4, 1, 0, &[])].concat();
    let response = [frame(1, 4, 1, &[0x88]), frame(0, 1, 1, &[b'.'; 100])].concat();
    let server = [frame(4, 0, 0, &[]), response].concat();
    shows(
        &Streams::of(&client, &server),
        r#"
        0       > syn
        20      < syn
        20.01   > ack 0
        20.02   > 0:45 psh ack 0
        40.03   < 0:9 psh ack 45
        40.04   > ack 9
        40.05   > 45:54 psh ack 9
        60.06   < 9:128 psh ack 45
        60.07   > ack 128
        "#,
        r#"
        handshake to-server 20.005 (1, 20.005) high: 1 2 3
        application-limited to-server 0.010 (1, 0.010) high: 4
        propagation to-server 10.005 (1, 10.005) high: 4
        server-think to-client 0.010 (1, 0.010) medium or nagle-rtt: 4 8
        nagle-rtt to-client 20.030 (1, 20.030) medium or server-think: 4 8
        propagation to-client 10.000 (1, 10.000) high: 8
        "#,
    );
}

/// At the server. The SYN was answered twice, so that only the first data shows how far the client is: its
/// acknowledgement took a round trip, and nobody delayed it.
#[test]
fn the_first_acknowledgement_that_shows_the_distance_was_not_delayed() {
    shows(
        &Streams::of_bodies(&[5_740]),
        r#"
        0        > syn
        0.05     < syn
        1000     < syn
        1060     > ack 0
        3000     > 0:100 psh ack 0
        3000.05  < 0:2920 ack 100
        3060.05  > ack 2920
        3060.10  < 2920:5840 psh ack 100
        3120.10  > ack 5840
        "#,
        r#"
        propagation to-server 0.025 (1, 0.025) high: 5
        transmission to-client 0.040 (2, 0.020) medium: 7 8 9
        slow-start to-client 60.020 (1, 60.020) medium: 7 8 9
        propagation to-client 0.025 (1, 0.025) high: 10
        "#,
    );
}
