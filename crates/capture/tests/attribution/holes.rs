//! Captures that lack packets: the capture lost what was acknowledged but never captured, and the
//! causes in such a hole are unknown.

use ackwise_capture::attribution::Confidence;
use ackwise_cause::{Cause, Direction};

use crate::{shows, wire::Streams};

/// A response of nine segments in three rounds, without the packets of these numbers.
fn rounds(without: &[usize]) -> String {
    let packets = r#"
        0    > syn
        0.05 < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        21.00 < 0:1460 ack 100
        21.01 < 1460:2920 ack 100
        21.02 < 2920:4380 ack 100
        41.00 > ack 4380
        41.05 < 4380:5840 ack 100
        41.06 < 5840:7300 ack 100
        41.07 < 7300:8760 ack 100
        61.05 > ack 8760
        61.10 < 8760:10220 ack 100
        61.11 < 10220:11680 ack 100
        61.12 < 11680:13140 psh ack 100
        81.10 > ack 13140
        "#;
    let lines = packets.lines().map(str::trim).filter(|line| !line.is_empty());
    let kept = (1..).zip(lines).filter(|(number, _)| !without.contains(number));
    kept.map(|(_, line)| format!("{line}\n")).collect()
}

#[test]
fn a_packet_that_the_capture_lacks_was_not_lost_by_the_network() {
    let streams = Streams::of_bodies(&[13_040]);
    let whole = streams.seen_as(&rounds(&[]));
    assert_eq!(whole.connections[0].quality.missing_packets(), 0);
    // One of the middle of a round, and the first and the last of one.
    for (number, bytes) in [(6, 1_460), (9, 1_460), (10, 1_460), (11, 1_460), (13, 1_460)] {
        let damaged = streams.seen_as(&rounds(&[number]));
        let quality = damaged.connections[0].quality;
        assert_eq!(quality.directions[Direction::ToClient as usize].missing_bytes, bytes);
        assert_eq!((quality.missing_packets(), quality.confidence()), (1, Some(Confidence::High)));
        let [exchange] = &damaged.exchanges[..] else { panic!("{damaged:?}") };
        for loss in [Cause::LossRecovery, Cause::RetransmissionTimeout] {
            assert!(exchange.owed_to(loss).is_zero(), "without {number}: {exchange:?}");
        }
        assert_eq!(damaged.connections[0].repeated, [0, 0], "without {number}");
    }
}

#[test]
fn what_fell_into_a_hole_is_unknown_and_with_many_missing_nothing_is_certain() {
    shows(
        &Streams::of_bodies(&[13_040]),
        &rounds(&[9, 10, 11]),
        r#"
        handshake to-server 10.110 (1, 10.110) low: 1 2 3
        application-limited to-server 0.100 (1, 0.100) low: 4
        request-upload to-server 0.001 (1, 0.001) low: 4
        propagation to-server 10.015 (1, 10.015) low: 4
        server-think to-client 0.740 (1, 0.740) low: 4 5
        transmission to-client 0.050 (2, 0.030) low: 12
        unknown to-client 40.080 (1, 40.080) low: 7 9 10
        propagation to-client 0.025 (1, 0.025) low: 12
        "#,
    );
}

#[test]
fn a_request_that_the_capture_lacks_delays_no_later_response() {
    let streams = Streams::of_bodies(&[400, 400, 400]);
    let analysis = streams.seen_as(
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < 0:500 psh ack 100
        41.1 > ack 500
        1041 < ack 200
        1042 < 500:1000 psh ack 200
        1042.1 > ack 1000
        9000 > 200:300 psh ack 1000
        9021 < 1000:1500 psh ack 300
        9021.1 > ack 1500
        "#,
    );
    let found: Vec<_> =
        analysis.exchanges.iter().map(|it| (it.packet, it.duration.as_millis())).collect();
    assert_eq!(found, [(4, 41), (10, 21)]);
    assert!(analysis.exchanges.iter().all(|it| it.owed_to(Cause::HeadOfLine).is_zero()));
    assert_eq!(analysis.connections[0].quality.directions[0].missing_bytes, 100);
}

#[test]
fn a_request_and_its_response_that_the_capture_lacks_delay_no_later_response() {
    let streams = Streams::of_bodies(&[400, 400, 400]);
    let analysis = streams.seen_as(
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        41   < 0:500 psh ack 100
        41.1 > ack 500
        9000 > 200:300 psh ack 1000
        9021 < 1000:1500 psh ack 300
        9021.1 > ack 1500
        "#,
    );
    let found: Vec<_> =
        analysis.exchanges.iter().map(|it| (it.packet, it.duration.as_millis())).collect();
    assert_eq!(found, [(4, 41), (7, 21)], "the request counts from when it was seen");
}

#[test]
fn how_long_the_server_took_is_unknown_if_the_beginning_of_its_answer_is_missing() {
    shows(
        &Streams::of_bodies(&[2_000]),
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        1041 < 1460:2100 psh ack 100
        1041.1 > ack 2100
        "#,
        r#"
        handshake to-server 20.050 (1, 20.050) high: 1 2 3
        application-limited to-server 0.100 (1, 0.100) high: 4
        propagation to-server 10.050 (1, 10.050) high: 4
        unknown to-client 1000.800 (1, 1000.800) low: 4 5
        propagation to-client 10.000 (1, 10.000) high: 5
        "#,
    );
}

#[test]
fn of_one_direction_alone_nothing_is_known() {
    let analysis = Streams::of_bodies(&[500, 500]).seen_as(
        r#"
        0    > syn
        20.1 > ack 0
        20.2 > 0:100 psh ack 0
        58165.1 > 100:200 psh ack 600
        58200   > ack 1200
        "#,
    );
    assert_eq!(analysis.connections[0].quality.unseen(), Some(Direction::ToClient));
    for exchange in &analysis.exchanges {
        assert_eq!(exchange.owed_to(Cause::Unknown), exchange.duration, "{exchange:?}");
    }
    assert_eq!(analysis.connections[0].delayed_ack, None);
}

#[test]
fn without_acks_no_verdict_is_more_than_a_guess() {
    let analysis = Streams::of_bodies(&[8_660, 500]).seen_as(
        r#"
        0    > syn
        20   < syn
        20.2 > 0:100 psh ack 0
        41   < 0:8760 psh ack 100
        58165.1 > 100:200 psh ack 8760
        58186   < 8760:9360 psh ack 200
        "#,
    );
    assert!(analysis.connections[0].quality.lacks_acks());
    let shares = analysis.exchanges.iter().flat_map(|it| &it.shares);
    assert!(shares.clone().count() > 0);
    assert!(shares.clone().all(|it| it.confidence == Confidence::Low));
    assert_eq!(analysis.connections[0].delayed_ack, None);
}

#[test]
fn what_was_overtaken_was_not_lost() {
    let overtaken = Streams::of_bodies(&[5_000]).seen_as(
        r#"
        0    > syn
        20   < syn
        20.1 > ack 0
        60.2 > 0:100 psh ack 0
        81    < 0:1460 ack 100
        84    < 2920:4380 ack 100
        88    < 4380:5100 psh ack 100
        88.1  > ack 1460
        89    < 1460:2920 ack 100
        89.1  > ack 5100
        "#,
    );
    assert!(overtaken.exchanges[0].owed_to(Cause::LossRecovery).is_zero(), "{overtaken:?}");
    assert_eq!(overtaken.connections[0].quality.missing_packets(), 0);
}

/// Nothing says how long a full segment is. The bodies are shorter than one on any path in use.
#[test]
fn without_a_handshake_short_bodies_are_small_segments_that_nagle_holds() {
    shows(
        &Streams::of_bodies(&[300, 300]),
        r#"
        0      > 0:100 psh ack 0
        0.3    < 0:100 psh ack 100
        60.3   > ack 100
        60.35  < 100:400 psh ack 100
        80.4   > ack 400
        90     > 100:200 psh ack 400
        90.3   < 400:500 psh ack 200
        150.3  > ack 500
        150.35 < 500:800 psh ack 200
        170.4  > ack 800
        "#,
        r#"
        propagation to-server 0.150 (1, 0.150) high: 1
        nagle-rtt to-client 20.100 (2, 10.175) high: 2 3 4
        nagle-delayed-ack to-client 39.950 (1, 39.950) high: 2 3 4
        propagation to-client 0.150 (1, 0.150) high: 4
        propagation to-server 0.150 (1, 0.150) high: 6
        nagle-rtt to-client 20.100 (2, 10.175) high: 7 8 9
        nagle-delayed-ack to-client 39.950 (1, 39.950) high: 7 8 9
        propagation to-client 0.150 (1, 0.150) high: 9
        "#,
    );
}

#[test]
fn without_the_answer_to_the_syn_a_handshake_is_one_and_less_sure() {
    let damaged = Streams::of_bodies(&[13_040]).seen_as(&rounds(&[2]));
    let [exchange] = &damaged.exchanges[..] else { panic!("{damaged:?}") };
    let handshake = exchange.shares.iter().find(|it| it.cause == Cause::Handshake).unwrap();
    assert!(handshake.span.as_millis() >= 10, "{handshake:?}");
    assert_eq!(handshake.confidence, Confidence::Medium);
    assert_eq!(handshake.rival, Some(Cause::ApplicationLimited));
}

/// RFC 7323, section 4.3: what is echoed has arrived.
#[test]
fn an_echoed_timestamp_shows_that_an_acknowledgement_is_missing() {
    use Confidence::{High, Low};
    for (ack, echo, expected) in [
        ("81.0 > ack 100 ts 81", 81, (Cause::NagleRtt, High)),
        ("", 81, (Cause::ApplicationLimited, Low)),
        ("", 40, (Cause::ApplicationLimited, High)),
    ] {
        let analysis = Streams::of_bodies(&[500]).seen_as(&format!(
            r#"
            0    > syn
            0.05 < syn
            40   > ack 0
            40.1 > 0:100 psh ack 0 ts 40
            41   < 0:100 psh ack 100 ts 41 echo 40
            {ack}
            81.1 < 100:600 psh ack 100 ts 81 echo {echo}
            121  > ack 600 ts 121 echo 81
            "#,
        ));
        let [exchange] = &analysis.exchanges[..] else { panic!("{analysis:?}") };
        let (cause, confidence) = expected;
        let share = exchange.shares.iter().find(|it| {
            it.cause == cause && it.direction == Direction::ToClient && it.span.as_millis() >= 15
        });
        assert_eq!(share.map(|it| it.confidence), Some(confidence), "{echo}: {exchange:?}");
    }
}

/// The end of the response is lost, and the FIN behind it comes twice: the response goes on until it is complete.
#[test]
fn a_fin_that_comes_again_behind_a_hole_ends_nothing() {
    let analysis = Streams::of_bodies(&[2_900]).seen_as(
        r#"
        0      > syn
        20     < syn
        20.05  > ack 0
        20.1   > 0:100 psh ack 0
        40.2   < 0:1460 ack 100
        40.25  > ack 1460
        40.3   < 3000:3000 fin ack 100
        40.35  > ack 1460
        300    < 3000:3000 fin ack 100
        300.05 > ack 1460
        700    < 1460:2920 ack 100
        700.01 < 2920:3000 psh ack 100
        700.05 > ack 3001
        "#,
    );
    let [exchange] = &analysis.exchanges[..] else { panic!("one exchange") };
    assert!(exchange.complete);
    assert_eq!(exchange.duration, std::time::Duration::from_micros(700_010));
}
