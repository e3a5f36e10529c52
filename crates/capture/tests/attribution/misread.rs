//! What was said wrongly of public captures, with packets of our own.

use ackwise_capture::{
    analysis::Analysis,
    attribution::{Confidence, Share},
};
use ackwise_cause::{Cause, Direction};

use crate::{shows, wire::Streams};

fn shares(analysis: &Analysis, cause: Cause) -> impl Iterator<Item = Share> {
    let all = analysis.exchanges.iter().flat_map(|it| it.shares.iter());
    all.filter(move |it| it.cause == cause)
}

/// The milliseconds under a cause.
fn owed(analysis: &Analysis, cause: Cause) -> f64 {
    shares(analysis, cause).map(|it| it.span.as_secs_f64() * 1e3).sum()
}

#[test]
fn an_acknowledgement_takes_a_round_trip_to_let_a_sender_go_that_is_not_quite_next_to_the_capture()
{
    let paced = |late: f64| {
        let mut script = String::from(
            "
            0    > syn
            0.4  < syn
            40.4 > ack 0
            40.6 > 0:100 psh ack 0
            41.1 < ack 100
            42   < 0:14600 ack 100
            ",
        );
        for round in 0..40_u32 {
            let at = 82.0 + f64::from(round) * 4.0;
            let (acked, from) = ((round + 1) * 2_920, 14_600 + round * 2_920);
            let to = from + 2_920;
            script += &format!("{at} > ack {acked}\n{} < {from}:{to} ack 100\n", at + late);
        }
        let analysis = Streams::of_bodies(&[131_300]).seen_as(&script);
        let pacing = analysis.connections[0].pacing[Direction::ToClient as usize].clone();
        pacing.is_some_and(|it| it.is_paced())
    };
    // The round trip to the sender is 0.4 ms.
    for (late, expected) in [(0.4, false), (0.49, false), (0.54, false), (0.57, true), (2.0, true)]
    {
        assert_eq!(paced(late), expected, "{late}");
    }
}

/// Milliseconds of transmission, by confidence, of a response read at the client, far from its sender. Of the first
/// flight, ten segments come `first` after each other; the others come by `together`, on average `apart` from each other.
fn far_from_its_sender(first: f64, apart: f64, together: u32) -> [f64; 3] {
    let mut script = String::from(
        "
        0      > syn
        40     < syn
        40.05  > ack 0
        40.2   > 0:100 psh ack 0
        ",
    );
    let (mut at, mut sent) = (80.5, 0);
    let mut send = |at: f64, segments: u32| {
        let to = sent + segments * 1_460;
        script += &format!("{at} < {sent}:{to} ack 100\n{} > ack {to}\n", at + 0.01);
        sent = to;
    };
    for _ in 0..10 {
        send(at, 1);
        at += first;
    }
    at = (at + 1.0).max(120.7);
    for _ in 0..60 / together {
        send(at, together);
        at += apart * f64::from(together);
    }
    let analysis = Streams::of_bodies(&[70 * 1_460 - 100]).seen_as(&script);
    [Confidence::High, Confidence::Medium, Confidence::Low].map(|sure| {
        let found = shares(&analysis, Cause::Transmission).filter(|it| it.confidence == sure);
        found.map(|it| it.span.as_secs_f64() * 1e3).sum()
    })
}

#[test]
fn no_link_keeps_segments_apart_that_let_a_flight_pass() {
    // A link of 8.6 Mb/s spreads the first flight, too.
    let [high, medium, low] = far_from_its_sender(1.4, 1.4, 1);
    assert!(high > 80.0 && medium + low == 0.0, "{high} {medium} {low}");
    // After a flight that came at once, a token bucket (RFC 2697), or a sender that spreads what it sends.
    let [high, medium, low] = far_from_its_sender(0.01, 1.4, 1);
    assert!(high + medium < 5.0 && low > 50.0, "{high} {medium} {low}");
    // By twos it is the sender.
    let [high, medium, low] = far_from_its_sender(0.01, 1.4, 2);
    assert!(high + medium + low < 10.0, "{high} {medium} {low}");
}

#[test]
fn what_was_on_a_link_before_a_request_shows_nothing_of_its_rate() {
    let mut script = String::from(
        "
        0      > syn
        40     < syn
        40.05  > ack 0
        40.2   > 0:100 psh ack 0
        ",
    );
    for segment in 0..40_u32 {
        let (at, from) = (85.0 + 1.4 * f64::from(segment), segment * 1_460);
        let to = (from + 1_460).min(58_200);
        script += &format!("{at} < {from}:{to} ack 100\n");
        if segment % 10 == 9 {
            script += &format!("{} > ack {to}\n", at + 0.01);
        }
        // The second request goes out while the first response is on its way, and 30 ms of that are left.
        if segment == 10 {
            script += &format!("{} > 100:200 psh ack {to}\n", at + 0.1);
        }
    }
    let analysis = Streams::of_bodies(&[50_000, 8_000]).seen_as(&script);
    let found: Vec<Share> = shares(&analysis, Cause::Transmission).collect();
    let high = found.iter().filter(|it| it.confidence == Confidence::High);
    assert!(found.len() == 2 && high.count() == 2, "{found:?}");
}

/// A program that writes a chunk of 1,445 bytes every 120 ms, seen 4 ms from its server and 76 ms from the client, which
/// delays one acknowledgement. `prompt`: before that, it acknowledges 955 bytes at once.
#[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
fn chunks(prompt: bool) -> f64 {
    let first = if prompt { 955 } else { 55 };
    let mut script = format!(
        "
        0     > syn
        4     < syn
        80    > ack 0
        80.1  > 0:100 psh ack 0
        84.2  < ack 100
        104   < 0:{first} psh ack 100
        180   > ack {first}
        224   < {first}:{} ack 100
        224   < {}:{} psh ack 100
        254   < {}:{} psh ack 100
        300.1 > ack {}
        305   < {}:{} psh ack 100
        378.6 > ack {}
        381   > ack {}
        ",
        first + 1_460,
        first + 1_460,
        first + 2_000,
        first + 2_000,
        first + 3_460,
        first + 2_000,
        first + 3_460,
        first + 4_060,
        first + 3_460,
        first + 4_060,
    );
    let (mut at, mut sent) = (425.0, first + 4_060);
    for _ in 0..5 {
        let to = sent + 1_445;
        script += &format!("{at} < {sent}:{to} psh ack 100\n{} > ack {to}\n", at + 116.0);
        (at, sent) = (at + 120.0, to);
    }
    let analysis = Streams::of_bodies(&[sent - 100]).seen_as(&script);
    owed(&analysis, Cause::Transmission)
}

#[test]
fn a_link_is_no_slower_than_for_the_largest_segment_that_was_acknowledged_together() {
    // A delayed acknowledgement of one segment looks like a slow link, unless a link is known to be none.
    let [known, unknown] = [true, false].map(chunks);
    assert!(known < 10.0 && unknown > 100.0, "{known} {unknown}");
}

#[test]
fn a_window_that_a_loss_has_cut_is_no_short_beginning() {
    let streams = Streams::of_bodies(&[11_580]);
    let analysis = streams.seen_as(
        "
        0      > syn
        0.05   < syn
        40.05  > ack 0
        40.2   > 0:100 psh ack 0
        41     < 0:2920 ack 100
        81.05  > ack 2920
        81.1   < 2920:8760 ack 100
        121.2  > ack 2920 sack 4380:8760
        121.25 < 2920:4380 ack 100
        161.3  > ack 8760
        161.35 < 8760:10220 ack 100
        351.4  > ack 10220
        351.45 < 10220:11680 psh ack 100
        391.5  > ack 11680
        ",
    );
    assert_eq!(owed(&analysis, Cause::ShortInitialSegment), 0.0, "{:?}", analysis.exchanges);
    assert!(owed(&analysis, Cause::CongestionWindow) > 149.0, "{:?}", analysis.exchanges);
}

#[test]
fn a_syn_that_is_sent_again_is_answered_together_and_by_no_timer() {
    for (answer, timeouts) in [(3_000.5, 3_000.0), (4_000.0, 4_000.0)] {
        let analysis = Streams::of_bodies(&[2_000]).seen_as(&format!(
            "
            0       > syn
            0.4     < syn
            3000    > syn
            {answer} < syn
            {}      > ack 0
            {}      > 0:100 psh ack 0
            {}      < 0:2100 psh ack 100
            {}      > ack 2100
            ",
            answer + 40.0,
            answer + 40.2,
            answer + 41.0,
            answer + 81.0,
        ));
        let found = owed(&analysis, Cause::RetransmissionTimeout);
        assert!((found - timeouts).abs() < 0.001, "{answer}: {:?}", analysis.exchanges);
    }
}

/// Requests whose bodies are sent without waiting, each answered by 100 (Continue) in 25 bytes and by a head of
/// 100 bytes and a body.
fn continued(bodies: &[usize]) -> Streams {
    let padded = |head: &str| format!("{head}{}\r\n\r\n", "x".repeat(96 - head.len()));
    let (mut client, mut server) = (String::new(), String::new());
    for body in bodies {
        client += &padded("PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 200\r\nX: ");
        client += &"x".repeat(200);
        server += "HTTP/1.1 100 Continue\r\n\r\n";
        server += &padded(&format!("HTTP/1.1 200 OK\r\nContent-Length: {body}\r\nX: "));
        server += &"x".repeat(*body);
    }
    Streams::of(client.as_bytes(), server.as_bytes())
}

#[test]
fn what_nagle_holds_behind_100_continue_was_not_held_before_that_was_sent() {
    shows(
        &continued(&[0]),
        "
        0    > syn
        1    < syn
        1.01 > ack 0
        1.1  > 0:100 psh ack 0
        1.12 > 100:300 psh ack 0
        4.7  < ack 300
        6.2  < 0:25 psh ack 300
        6.22 > ack 25
        7.27 < 25:125 psh ack 300
        7.28 > ack 125
        ",
        "
        handshake to-server 1.005 (1, 1.005) high: 1 2 3
        application-limited to-server 0.090 (1, 0.090) high: 4
        propagation to-server 0.525 (1, 0.525) high: 5
        server-think to-client 4.080 (1, 4.080) medium or queueing: 5 7
        nagle-rtt to-client 1.070 (1, 1.070) medium or server-think: 7 9
        propagation to-client 0.500 (1, 0.500) high: 9
        ",
    );
}

/// The second exchange of a connection whose server wrote the body of its first response in two pieces, `pause`
/// milliseconds apart, and whose second response follows 100 (Continue) when the delayed acknowledgement comes.
fn behind_own_pauses(pause: f64) -> Vec<Share> {
    let from = 7.27 + 3.0 * pause;
    let analysis = continued(&[60, 0]).seen_as(&format!(
        "
        0    > syn
        1    < syn
        1.01 > ack 0
        1.1  > 0:100 psh ack 0
        1.12 > 100:300 psh ack 0
        4.7  < ack 300
        6.2  < 0:25 psh ack 300
        6.22 > ack 25
        7.27 < 25:125 psh ack 300
        7.28 > ack 125
        {} < 125:150 psh ack 300
        {} > ack 150
        {} < 150:185 psh ack 300
        {} > ack 185
        {} > 300:400 psh ack 185
        {} > 400:600 psh ack 185
        {} < ack 600
        {} < 185:210 psh ack 600
        {} > ack 210
        {} < 210:310 psh ack 600
        {} > ack 310
        ",
        7.27 + pause,
        7.28 + pause,
        7.27 + 2.0 * pause,
        7.28 + 2.0 * pause,
        from,
        from + 0.02,
        from + 3.0,
        from + 4.5,
        from + 44.2,
        from + 45.2,
        from + 45.21,
    ));
    analysis.exchanges[1].shares.iter().collect()
}

#[test]
fn a_pause_much_longer_than_its_programs_is_no_coincidence_with_an_ack() {
    let long = |cause| {
        move |shares: &[Share]| {
            let share = shares.iter().find(|it| it.cause == cause);
            share.filter(|it| it.span.as_millis() >= 35).map(|it| (it.confidence, it.rival))
        }
    };
    let found = behind_own_pauses(5.0);
    let expected = Some((Confidence::Medium, Some(Cause::ServerThink)));
    assert_eq!(long(Cause::NagleDelayedAck)(&found), expected, "{found:?}");
    // So long, the program waits by itself.
    let found = behind_own_pauses(30.0);
    assert!(long(Cause::ServerThink)(&found).is_some(), "{found:?}");
}

#[test]
fn a_client_that_resets_the_connection_had_waited_for_an_answer() {
    let streams = Streams::of(&[0x81; 68], &[]);
    let seen = |ack: &str, end: &str| {
        streams.seen_as(&format!(
            "
            0     > syn
            0.3   < syn
            80    > ack 0
            100   > 0:68 psh ack 0
            {ack}
            {end}
            ",
        ))
    };
    let acked = "200 < ack 68";
    for (ack, end, cause, millis) in [
        (acked, "10800 > rst ack 0", Cause::ServerThink, 10_700.0),
        // The request may not have been complete, and the path may have lost it.
        ("", "10800 > rst ack 0", Cause::Unknown, 10_700.0),
        (acked, "10800 < ack 68", Cause::Unknown, 10_700.0),
    ] {
        let analysis = seen(ack, end);
        let found: Vec<_> = shares(&analysis, cause).collect();
        let [share] = &found[..] else { panic!("{ack} {end}: {:?}", analysis.exchanges) };
        assert!((share.span.as_secs_f64() * 1e3 - millis).abs() < 1.0, "{ack} {end}: {share:?}");
        assert_eq!(share.evidence.packets().collect::<Vec<_>>(), [4], "{ack} {end}");
        if cause == Cause::ServerThink {
            assert_eq!(share.confidence, Confidence::Medium);
            assert_eq!(share.rival, Some(Cause::ApplicationLimited));
        }
    }
}

#[test]
fn what_leaves_long_after_the_data_before_and_just_after_an_ack_is_not_paced_while_a_loss_is_repaired()
 {
    let analysis = Streams::of_bodies(&[17_420]).seen_as(
        "
        0     > syn
        0.48  < syn
        40.5  > ack 0
        40.7  > 0:100 psh ack 0
        41.2  < ack 100
        42    < 0:14600 ack 100
        82.6  > ack 0 sack 1460:2920
        82.7  > ack 0 sack 1460:4380
        82.8  > ack 0 sack 1460:5840
        83.3  < 0:1460 ack 100
        110   > ack 0 sack 1460:13140
        111.4 < 14600:16060 ack 100
        123.4 > ack 14600
        123.9 < 16060:17520 psh ack 100
        164   > ack 17520
        ",
    );
    assert_eq!(owed(&analysis, Cause::Pacing), 0.0, "{:?}", analysis.exchanges);
    let found: Vec<_> = shares(&analysis, Cause::LossRecovery).map(|it| it.confidence).collect();
    assert_eq!(found, [Confidence::Medium], "{:?}", analysis.exchanges);
}

#[test]
fn a_client_may_have_waited_for_the_data_that_opens_a_connection() {
    let handshake = |opening: &str| {
        let analysis = Streams::of_bodies(&[2_000]).seen_as(&format!(
            "
            0   > syn
            0.3 < syn
            {opening}
            81  < 0:2100 psh ack 100
            161 > ack 2100
            ",
        ));
        shares(&analysis, Cause::Handshake).map(|it| (it.confidence, it.rival)).next()
    };
    let doubtful = Some((Confidence::Medium, Some(Cause::ApplicationLimited)));
    assert_eq!(handshake("80 > 0:100 psh ack 0"), doubtful);
    let sure = Some((Confidence::High, None));
    assert_eq!(handshake("80 > ack 0\n80.01 > 0:100 psh ack 0"), sure);
}

#[test]
fn an_answer_behind_a_held_ack_was_not_held_itself() {
    // Ticks of 4 ms. The path held the acknowledgement of the second request for 400 ms, and by its timestamp the
    // answer left 540 ms after that.
    let analysis = Streams::of_bodies(&[100, 100]).seen_as(
        "
        0      > syn
        100    < syn ts 1000
        100.1  > ack 0
        100.2  > 0:100 psh ack 0
        205    < 0:200 psh ack 100 ts 1026
        205.1  > ack 200
        5000   > 100:200 psh ack 200
        5500   < ack 200 ts 2250
        5640   < 200:400 psh ack 200 ts 2385
        5640.1 > ack 400
        ",
    );
    let shares: Vec<_> = analysis.exchanges[1].shares.iter().collect();
    let longest = shares.iter().max_by_key(|it| it.span).unwrap();
    assert_eq!(longest.cause, Cause::ServerThink, "{shares:?}");
    assert_ne!(longest.confidence, Confidence::High, "{shares:?}");
}

/// At the server, which writes `bytes` every 20 ms on a path of 60 ms, whatever is acknowledged. An acknowledgement
/// comes `late` for what it acknowledges.
fn paced_writes(bytes: usize, late: f64) -> Analysis {
    let mut script = String::from(
        "
        0    > syn
        0.05 < syn
        60.1 > ack 0
        60.2 > 0:100 psh ack 0
        ",
    );
    let mut lines = Vec::new();
    for write in 0..12_u32 {
        let at = 61.0 + f64::from(write) * 20.0;
        let (from, to) = (usize::try_from(write).unwrap() * bytes, (write as usize + 1) * bytes);
        lines.push((at, format!("{at} < {from}:{to} psh ack 100\n")));
        let acked = at + 60.1 + late;
        lines.push((acked, format!("{acked} > ack {to}\n")));
    }
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    script.extend(lines.into_iter().map(|it| it.1));
    Streams::of_bodies(&[12 * bytes - 100]).seen_as(&script)
}

#[test]
fn a_program_that_writes_at_its_own_pace_keeps_no_link_busy() {
    let analysis = paced_writes(4_000, 0.3);
    assert!(owed(&analysis, Cause::ApplicationLimited) > 200.0, "{:?}", analysis.exchanges);
    assert!(owed(&analysis, Cause::Transmission) < 10.0, "{:?}", analysis.exchanges);
}

/// On a path of 60 ms a program writes every 60 ms: each write leaves with the acknowledgement of the one before, like what
/// a full send buffer held, which goes on at a third of it.
#[test]
fn who_writes_once_a_round_trip_is_not_said_to_have_a_small_buffer() {
    let mut script = String::from("0 > syn\n0.05 < syn\n60.1 > ack 0\n60.2 > 0:100 psh ack 0\n");
    for write in 0..9_u32 {
        let (at, from) = (61.0 + f64::from(write) * 60.3, write * 5_089);
        let (half, to) = (from + 2_920, from + 5_089);
        script += &format!("{at} < {from}:{to} psh ack 100\n");
        script += &format!("{} > ack {half}\n{} > ack {to}\n", at + 60.2, at + 60.25);
    }
    let analysis = Streams::of_bodies(&[9 * 5_089 - 100]).seen_as(&script);
    for share in shares(&analysis, Cause::SendBuffer) {
        assert_eq!(share.confidence, Confidence::Low, "{share:?}");
    }
}

/// Nagle's algorithm collects small writes until they fill a segment, which then leaves without an acknowledgement. When
/// each was written, nobody sees.
#[test]
fn a_segment_that_small_writes_fill_behind_a_small_one_was_perhaps_not_written_then() {
    let mut script = String::from(
        "0 > syn\n0.05 < syn\n12 > ack 0\n12.1 > 0:100 psh ack 0\n12.3 < 0:300 psh ack 100\n
        24.4 > ack 300\n24.45 < 300:708 psh ack 100\n",
    );
    for round in 0..6_u32 {
        let (at, from) = (24.45 + f64::from(round) * 47.7, 708 + round * 2_844);
        let (full, to) = (from + 1_460, from + 2_844);
        script += &format!("{} < {from}:{full} ack 100\n{} > ack {full}\n", at + 34.3, at + 47.6);
        script += &format!("{} < {full}:{to} psh ack 100\n", at + 47.66);
    }
    let analysis = Streams::of_bodies(&[708 + 6 * 2_844 - 100]).seen_as(&script);
    let written = shares(&analysis, Cause::ApplicationLimited).max_by_key(|it| it.span).unwrap();
    assert_eq!(written.confidence, Confidence::Medium, "{written:?}");
}

/// At the client, on a path of 94 ms. No server needs as long as this for its hello, or the path held one of the two.
#[test]
fn a_hello_that_is_answered_late_may_have_been_held_on_its_way() {
    let record = |kind: u8, body: u16| {
        let [high, low] = body.to_be_bytes();
        let mut record = vec![kind, 3, 3, high, low];
        record.resize(5 + usize::from(body), 1);
        record
    };
    let client = [record(22, 228), record(20, 1), record(23, 69), record(23, 53)].concat();
    let server = [record(22, 122), record(20, 1), record(23, 521), record(23, 200)].concat();
    for (late, rival) in [(60.0, None), (250.0, Some(Cause::PathStall))] {
        let answer = 188.6 + late;
        let script = format!(
            "0 > syn\n94.2 < syn\n94.3 > ack 0\n94.6 > 0:233 psh ack 0\n
            {answer} < 0:659 psh ack 233\n{} > 233:371 psh ack 659\n{} < 659:864 psh ack 371\n{} > ack 864",
            answer + 0.5,
            answer + 95.0,
            answer + 95.1,
        );
        let analysis = Streams::of(&client, &server).seen_as(&script);
        let shares = shares(&analysis, Cause::TlsHandshake);
        let longest = shares.max_by_key(|it| it.span).unwrap();
        assert_eq!(longest.rival, rival, "{late}: {longest:?}");
    }
}
