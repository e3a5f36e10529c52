//! Receive windows that close, and open in steps.

use std::fmt::Write;

use ackwise_capture::analysis::Analysis;
use ackwise_cause::Cause;

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
        request-upload to-server 0.225 (2, 0.150) medium or receive-window: 13
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
        handshake to-server 1.015 (1, 1.015) medium or queueing: 1 2 3
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
        receive-window to-client 259.600 (2, 239.540) high: 17 19 20
        silly-window to-client 219.943 (1, 219.943) high: 15 16 17
        propagation to-client 0.025 (1, 0.025) high: 31
        "#,
    );
}

/// The client's program reads slowly: its window of 1,000 bytes has room, but not for a segment. Only after the ACK of
/// all data is it nothing but the window that holds the rest.
#[test]
fn a_window_with_too_little_room_is_silly_once_nothing_is_outstanding() {
    shows(
        &Streams::of_bodies(&[23_260]),
        r#"
        0      > syn win 14600
        0.05   < syn
        20.1   > ack 0 win 14600
        20.2   > 0:100 psh ack 0 win 14600
        20.3   < ack 100
        20.4   < 0:13140 psh ack 100
        40.5   > ack 13140 win 1000
        100    > ack 13140 win 10220
        100.05 < 13140:23360 psh ack 100
        120.2  > ack 23360 win 14600
        "#,
        r#"
        handshake to-server 10.090 (1, 10.090) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.035 (1, 10.035) high: 4
        server-think to-client 0.140 (1, 0.140) high: 4 6
        transmission to-client 0.160 (2, 0.090) high: 14 16 17
        receive-window to-client 20.070 (1, 20.070) high: 14 16 17
        silly-window to-client 59.490 (1, 59.490) high: 14 16 17
        propagation to-client 0.025 (1, 0.025) high: 23
        "#,
    );
}

/// The same before a response: whether the server had it ready so long, nothing shows.
#[test]
fn a_response_that_leaves_when_a_silly_window_opens_may_have_waited_for_that() {
    shows(
        &Streams::of_bodies(&[1_000, 5_000]),
        r#"
        0      > syn win 14600
        0.05   < syn
        20.1   > ack 0 win 14600
        20.2   > 0:100 psh ack 0 win 14600
        20.3   < ack 100
        20.4   < 0:1100 psh ack 100
        40.6   > ack 1100 win 1000
        60     > 100:200 psh ack 1100 win 1000
        60.1   < ack 200
        160    > ack 1100 win 14600
        160.05 < 1100:6200 psh ack 200
        180.2  > ack 6200 win 14600
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.098 (1, 0.098) high: 4
        request-upload to-server 0.003 (1, 0.003) high: 4
        propagation to-server 10.049 (1, 10.049) high: 4
        server-think to-client 0.143 (1, 0.143) high: 4 6
        transmission to-client 0.022 (1, 0.022) high: 6
        propagation to-client 0.010 (1, 0.010) high: 6
        propagation to-server 0.025 (1, 0.025) high: 8
        silly-window to-client 99.990 (1, 99.990) medium or server-think: 8 11
        transmission to-client 0.065 (1, 0.065) medium or receive-window: 14
        "#,
    );
}

/// The persist timer sends what a silly window has room for. The segment takes all of it, so the message has more.
#[test]
fn a_response_that_begins_with_all_of_a_silly_window_waited_for_the_timer() {
    shows(
        &Streams::of_bodies(&[1_000, 1_900]),
        r#"
        0      > syn win 14600
        0.05   < syn
        20.1   > ack 0 win 14600
        20.2   > 0:100 psh ack 0 win 14600
        20.3   < ack 100
        20.4   < 0:1100 psh ack 100
        40.6   > ack 1100 win 1000
        60     > 100:200 psh ack 1100 win 1000
        60.1   < ack 200
        281    < 1100:2100 psh ack 200
        301.2  > ack 2100 win 1000
        301.3  < 2100:3100 psh ack 200
        321.5  > ack 3100 win 1000
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.150 (1, 0.150) high: 4 6
        propagation to-client 0.025 (1, 0.025) high: 6
        propagation to-server 0.025 (1, 0.025) high: 8
        silly-window to-client 221.000 (2, 220.950) medium or server-think: 8 10
        receive-window to-client 20.250 (1, 20.250) high: 10 11 12
        propagation to-client 0.025 (1, 0.025) high: 12
        "#,
    );
}

/// A response that ends before the window does needs no timer.
#[test]
fn a_response_that_fits_into_a_silly_window_did_not_wait_for_it() {
    shows(
        &Streams::of_bodies(&[1_000, 899]),
        r#"
        0      > syn win 14600
        0.05   < syn
        20.1   > ack 0 win 14600
        20.2   > 0:100 psh ack 0 win 14600
        20.3   < ack 100
        20.4   < 0:1100 psh ack 100
        40.6   > ack 1100 win 1000
        60     > 100:200 psh ack 1100 win 1000
        60.1   < ack 200
        281    < 1100:2099 psh ack 200
        301.2  > ack 2099 win 1000
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.150 (1, 0.150) high: 4 6
        propagation to-client 0.025 (1, 0.025) high: 6
        propagation to-server 0.025 (1, 0.025) high: 8
        server-think to-client 220.950 (1, 220.950) medium or cork-timer: 8 10
        propagation to-client 0.025 (1, 0.025) high: 10
        "#,
    );
}

/// While a loss is repaired, 60 segments are outstanding, most of which have arrived. The window is 20: after the
/// idle time, it is that again when 20 are outstanding.
#[test]
fn after_an_idle_time_a_window_is_what_a_loss_had_left_of_it() {
    shows(
        &Streams::of_bodies(&[160_500, 94_800]),
        r#"
        0       > syn
        0.05    < syn
        20.1    > ack 0
        20.2    > 0:100 psh ack 0
        20.3    < ack 100
        20.4    < 0:14600 ack 100
        40.6    > ack 14600
        40.65   < 14600:43800 ack 100
        60.9    > ack 43800
        60.95   < 43800:102200 ack 100
        81.2    > ack 43800 sack 45260:102200
        81.25   < 43800:45260 ack 100
        81.3    < 102200:131400 ack 100
        101.6   > ack 131400
        101.65  < 131400:160600 psh ack 100
        121.9   > ack 160600
        1000    > 100:200 psh ack 160600
        1000.1  < 160600:175200 ack 200
        1020.3  > ack 175200
        1020.35 < 175200:204400 ack 200
        1040.6  > ack 204400
        1040.65 < 204400:235060 ack 200
        1060.9  > ack 235060
        1060.95 < 235060:255500 psh ack 200
        1081.2  > ack 255500
        "#,
        r#"
        handshake to-server 10.075 (1, 10.075) high: 1 2 3
        application-limited to-server 0.099 (1, 0.099) high: 4
        request-upload to-server 0.001 (1, 0.001) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        server-think to-client 0.140 (1, 0.140) high: 4 6
        transmission to-client 1.590 (6, 0.600) medium: 77 78 79
        slow-start to-client 40.100 (2, 20.100) high: 15 16 17
        loss-recovery to-client 39.785 (3, 20.050) medium or congestion-window: 99 100 101
        propagation to-server 0.025 (1, 0.025) high: 122
        server-think to-client 0.040 (1, 0.040) high: 122 123
        transmission to-client 0.930 (4, 0.315) high: 175 176 177
        idle-restart to-client 20.100 (1, 20.100) high: 132 133 134
        slow-start to-client 39.985 (2, 20.000) medium or idle-restart: 153 154 155
        "#,
    );
}

/// Linux keeps a full segment back where the window has room for one only (`tcp_tso_should_defer`), until a tail-loss
/// probe sends it.
#[test]
fn a_full_segment_that_fills_the_window_and_follows_no_ack_waited_for_it() {
    for (window, expected) in [(5_840, Cause::ReceiveWindow), (60_000, Cause::Pacing)] {
        let analysis = Streams::of_bodies(&[5_740]).seen_as(&format!(
            r#"
            0     > syn win {window}
            0.05  < syn
            40    > ack 0 win {window}
            40.1  > 0:100 psh ack 0 win {window}
            41    < 0:4380 psh ack 100
            75    < 4380:5840 psh ack 100
            115   > ack 5840 win {window}
            "#,
        ));
        let [exchange] = &analysis.exchanges[..] else { panic!("{analysis:?}") };
        let said = |cause| {
            exchange.shares.iter().find(|it| it.cause == cause).map(|it| it.span.as_millis())
        };
        assert!(said(expected).is_some_and(|it| it > 5), "{window}: {exchange:?}");
    }
}

/// A response into a window of `segments`, each of which is acknowledged as a whole `late` milliseconds after a round trip
/// of 20.
fn used_up(segments: usize, late: f64) -> Analysis {
    let window = segments * 1_460;
    let mut script = format!(
        r"
        0    > syn win {window}
        0.05 < syn
        20.1 > ack 0 win {window}
        20.2 > 0:100 psh ack 0 win {window}
        20.3 < ack 100
        "
    );
    let (mut at, rounds) = (20.4, 12);
    for round in 0..rounds {
        let (from, to) = (round * window, (round + 1) * window);
        let _ = writeln!(script, "{at} < {from}:{to} psh ack 100");
        at += 20.1 + late;
        let _ = writeln!(script, "{at} > ack {to} win {window}");
        at += 0.02;
    }
    Streams::of_bodies(&[rounds * window - 100]).seen_as(&script)
}

/// RFC 5681, section 4.2: a link that brings four segments one after the other brings the second before the last, and that
/// is acknowledged. An acknowledgement of all comes when the program reads. Of two segments, nothing shows that.
#[test]
fn acknowledgements_that_come_when_a_program_reads_show_no_rate() {
    for (segments, is_readers) in [(4, true), (3, true), (2, false)] {
        let analysis = used_up(segments, 10.0);
        let exchange = &analysis.exchanges[0];
        let owed = |cause| exchange.owed_to(cause).as_secs_f64() * 1e3;
        let [window, link] = [Cause::ReceiveWindow, Cause::Transmission].map(owed);
        assert_eq!(window > 300.0 && link < 5.0, is_readers, "{segments}: {exchange:?}");
    }
}
