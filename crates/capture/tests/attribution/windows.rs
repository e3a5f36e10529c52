//! Receive windows that close, and open in steps.

use crate::{shows, wire::Streams};

/// The server's program reads again after 400 ms. Three updates in a row open the window; the client
/// answers the first of them some milliseconds late, as a busy host does.
#[test]
fn a_closed_window_that_several_updates_open_held_the_data() {
    shows(
        &Streams::of_upload(8660),
        r#"
        0      > syn
        0.05   < syn
        20.1   > ack 0
        20.2   > 0:2920 psh ack 0
        20.3   < ack 2920 win 0
        420    < ack 2920 win 2920
        420.05 < ack 2920 win 5840
        420.1  < ack 2920 win 14600
        447    > 2920:8760 psh ack 0
        447.2  < ack 8760 win 14600
        447.3  < 0:100 psh ack 8760 win 14600
        467.4  > ack 100
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.090 (1, 0.090) high: 4
        request-upload to-server 0.225 (2, 0.150) medium: 13
        receive-window to-server 426.725 (1, 426.725) high: 5 9 10
        propagation to-server 10.049 (1, 10.049) high: 13
        server-think to-client 0.108 (1, 0.108) high: 13 15
        transmission to-client 0.004 (1, 0.004) high: 15
        propagation to-client 0.024 (1, 0.024) high: 15
        "#,
    );
}

/// The client's program pauses for 10 ms whenever the window is used up. The ACK of 5,840 bytes comes when it
/// reads again: that is not the rate of a link.
#[test]
fn an_acknowledgement_that_waited_for_the_reader_shows_no_rate() {
    shows(
        &Streams::of_bodies(&[50_000]),
        r#"
        0       > syn win 14600
        0.01    < syn
        0.02    > ack 0 win 14600
        0.03    > 0:100 psh ack 0 win 14600
        0.04    < ack 100
        0.05    < 0:14600 psh ack 100
        0.20    > ack 14600 win 0
        10.20   > ack 14600 win 5840
        10.22   < 14600:20440 psh ack 100
        20.22   > ack 20440 win 14600
        20.24   < 20440:35040 psh ack 100
        20.40   > ack 35040 win 0
        30.40   > ack 35040 win 14600
        30.42   < 35040:49640 psh ack 100
        30.60   > ack 49640 win 0
        40.60   > ack 49640 win 14600
        40.62   < 49640:50100 psh ack 100
        40.64   > ack 50100 win 14600
        "#,
        r#"
        handshake to-server 0.015 (1, 0.015) high: 1 2 3
        application-limited to-server 0.010 (1, 0.010) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 0.009 (1, 0.009) high: 4
        transmission to-client 0.343 (5, 0.100) high: 15 17 18
        receive-window to-client 40.237 (4, 10.107) high: 44 46 47
        propagation to-client 0.005 (1, 0.005) high: 47
        "#,
    );
}

/// The same from a host that is 1 ms late with the answers to the handshake and the request. Data beyond the
/// window shows that the ACK which opened it had arrived within 20 us.
#[test]
fn a_host_that_answers_the_handshake_late_is_not_far_away() {
    shows(
        &Streams::of_bodies(&[50_000]),
        r#"
        0.00    > syn win 14600
        1.01    < syn
        1.02    > ack 0 win 14600
        1.03    > 0:100 psh ack 0 win 14600
        2.04    < ack 100
        2.05    < 0:14600 psh ack 100
        2.20    > ack 14600 win 0
        12.20   > ack 14600 win 5840
        12.22   < 14600:20440 psh ack 100
        22.22   > ack 20440 win 14600
        22.24   < 20440:35040 psh ack 100
        22.40   > ack 35040 win 0
        32.40   > ack 35040 win 14600
        32.42   < 35040:49640 psh ack 100
        32.60   > ack 49640 win 0
        42.60   > ack 49640 win 14600
        42.62   < 49640:50100 psh ack 100
        42.64   > ack 50100 win 14600
        "#,
        r#"
        handshake to-server 1.015 (1, 1.015) high: 1 2 3
        application-limited to-server 0.010 (1, 0.010) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 0.015 (1, 0.015) medium or queueing: 4
        server-think to-client 0.990 (1, 0.990) high: 4 6
        transmission to-client 0.343 (5, 0.100) high: 15 17 18
        receive-window to-client 40.237 (4, 10.107) high: 44 46 47
        propagation to-client 0.010 (1, 0.010) medium or queueing: 47
        "#,
    );
}

/// The client offers a window scale, but the server's SYN cookie forgets it (RFC 7323, section 2.2): 14,600 bytes
/// are 14,600 bytes.
#[test]
fn a_window_scale_that_is_not_answered_counts_for_nothing() {
    shows(
        &Streams::of_bodies(&[50_000]),
        r#"
        0      > syn win 14600 scale 10
        0.05   < syn
        20.1   > ack 0 win 14600
        20.2   > 0:100 psh ack 0 win 14600
        20.3   < ack 100
        20.4   < 0:14600 psh ack 100
        40.5   > ack 14600 win 14600
        40.55  < 14600:29200 psh ack 100
        60.7   > ack 29200 win 14600
        60.75  < 29200:43800 psh ack 100
        80.9   > ack 43800 win 14600
        80.95  < 43800:50100 psh ack 100
        101    > ack 50100 win 14600
        "#,
        r#"
        handshake to-server 10.095 (1, 10.095) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.030 (1, 10.030) high: 4
        server-think to-client 0.140 (1, 0.140) high: 4 6
        transmission to-client 0.350 (4, 0.100) high: 15 16 17
        receive-window to-client 60.250 (3, 20.100) high: 26 27 28
        propagation to-client 0.025 (1, 0.025) high: 43
        "#,
    );
}

/// The last 2,920 bytes fill the window, and their ACK is delayed. The tail-loss probe that is sent meanwhile says
/// nothing: no more could leave before the client's program reads, after 300 ms.
#[test]
fn a_probe_into_a_full_window_delays_nothing() {
    shows(
        &Streams::of_bodies(&[32_020]),
        r#"
        0      > syn win 14600
        0.05   < syn
        20.1   > ack 0 win 14600
        20.2   > 0:100 psh ack 0 win 14600
        20.3   < ack 100
        20.4   < 0:14600 psh ack 100
        40.5   > ack 14600 win 2920
        40.55  < 14600:17520 psh ack 100
        98.5   < 16060:17520 psh ack 100
        100.6  > ack 17520 win 0
        118.6  > ack 17520 win 0 sack 16060:17520
        320    > ack 17520 win 14600
        320.05 < 17520:32120 psh ack 100
        340.2  > ack 32120 win 14600
        "#,
        r#"
        handshake to-server 10.095 (1, 10.095) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.030 (1, 10.030) high: 4
        server-think to-client 0.140 (1, 0.140) high: 4 6
        transmission to-client 0.230 (4, 0.100) high: 15 16 17
        receive-window to-client 299.520 (3, 221.540) medium: 19 22 23
        propagation to-client 0.025 (1, 0.025) high: 32
        "#,
    );
}

/// The same at the client, which has the ACK before the probe.
#[test]
fn a_probe_into_a_full_window_delays_nothing_where_it_arrives_after_the_ack() {
    shows(
        &Streams::of_bodies(&[32_020]),
        r#"
        0      > syn win 14600
        20     < syn
        20.1   > ack 0 win 14600
        20.2   > 0:100 psh ack 0 win 14600
        40.3   < ack 100
        40.4   < 0:14600 psh ack 100
        40.6   > ack 14600 win 2920
        60.7   < 14600:17520 psh ack 100
        101    > ack 17520 win 0
        114.6  < 16060:17520 psh ack 100
        114.7  > ack 17520 win 0 sack 16060:17520
        320    > ack 17520 win 14600
        340.1  < 17520:32120 psh ack 100
        340.3  > ack 32120 win 14600
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.190 (1, 0.190) high: 4 6
        transmission to-client 0.230 (4, 0.100) high: 15 16 17
        receive-window to-client 299.570 (3, 225.490) medium: 20 22 23
        propagation to-client 10.000 (1, 10.000) high: 32
        "#,
    );
}

/// A window of 1,000 bytes is too small for a segment: the persist timer (RFC 9293, section 3.8.6.1) fills it, at
/// the end of a write or not.
#[test]
fn a_timer_fills_a_window_that_is_too_small_for_a_segment() {
    shows(
        &Streams::of_bodies(&[32_020]),
        r#"
        0      > syn win 14600
        0.05   < syn
        20.1   > ack 0 win 14600
        20.2   > 0:100 psh ack 0 win 14600
        20.3   < ack 100
        20.4   < 0:14600 psh ack 100
        40.5   > ack 14600 win 1000
        260.5  < 14600:15600 psh ack 100
        280.6  > ack 15600 win 0
        500    > ack 15600 win 16520
        500.05 < 15600:32120 psh ack 100
        520.2  > ack 32120 win 16520
        "#,
        r#"
        handshake to-server 10.095 (1, 10.095) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.030 (1, 10.030) high: 4
        server-think to-client 0.140 (1, 0.140) high: 4 6
        transmission to-client 0.227 (3, 0.120) high: 31
        receive-window to-client 479.543 (2, 240.003) medium or application-limited: 15 16 17
        propagation to-client 0.025 (1, 0.025) high: 31
        "#,
    );
}
