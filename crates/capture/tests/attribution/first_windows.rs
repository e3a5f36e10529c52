//! Windows with which a sender begins: initial ones of one segment, as old stacks have them and `ip route … initcwnd 1`
//! sets them, and those after an idle time.

use ackwise_capture::analysis::Analysis;
use ackwise_cause::Cause;

use crate::wire::Streams;

/// The milliseconds under a cause.
fn owed(analysis: &Analysis, cause: Cause) -> f64 {
    analysis.exchanges.iter().map(|it| it.owed_to(cause).as_secs_f64() * 1e3).sum()
}

/// The head of a response leaves alone; the full segments of its body, after one delayed ACK each.
#[test]
fn a_head_that_fills_the_window_holds_the_body() {
    let analysis = Streams::of_bodies(&[4_380]).seen_as(
        r"
        0      > syn
        0.05   < syn
        20.1   > ack 0
        20.2   > 0:100 psh ack 0
        20.4   < 0:100 psh ack 100
        80.4   > ack 100
        80.45  < 100:1560 ack 100
        140.45 > ack 1560
        140.5  < 1560:4480 psh ack 100
        160.6  > ack 4480
        ",
    );
    assert!(owed(&analysis, Cause::ApplicationLimited) < 0.5, "{:?}", analysis.exchanges);
    let window = owed(&analysis, Cause::SlowStart) + owed(&analysis, Cause::ShortInitialSegment);
    assert!((119.0..121.0).contains(&window), "{window}: {:?}", analysis.exchanges);
}

/// More was outstanding before, so one small segment does not fill the window: the program wrote late.
#[test]
fn a_head_that_leaves_room_holds_nothing() {
    let analysis = Streams::of_bodies(&[4_280, 4_380]).seen_as(
        r"
        0      > syn
        0.05   < syn
        20.1   > ack 0
        20.2   > 0:100 psh ack 0
        20.4   < 0:4380 psh ack 100
        40.5   > ack 4380
        50     > 100:200 psh ack 4380
        50.2   < 4380:4480 psh ack 200
        110.2  > ack 4480
        110.25 < 4480:8860 psh ack 200
        130.3  > ack 8860
        ",
    );
    assert_eq!(owed(&analysis, Cause::SlowStart), 0.0, "{:?}", analysis.exchanges);
    assert_eq!(owed(&analysis, Cause::ShortInitialSegment), 0.0, "{:?}", analysis.exchanges);
}

/// A response of 70 segments in slow start, three seconds later another of 80, of which `first` leave at once; as it is
/// captured at the server.
fn after_idle(first: usize) -> Analysis {
    let end = 102_200 + first * 1_460;
    Streams::of_bodies(&[102_100, 116_700]).seen_as(&format!(
        r"
        0       > syn scale 7
        0.05    < syn scale 7
        20.1    > ack 0 win 2000
        20.2    > 0:100 psh ack 0 win 2000
        20.4    < 0:14600 ack 100
        40.5    > ack 14600 win 2000
        40.6    < 14600:43800 ack 100
        61      > ack 43800 win 2000
        61.1    < 43800:102200 psh ack 100
        82      > ack 102200 win 2000
        3000    > 100:200 psh ack 102200 win 2000
        3000.1  < 102200:{end} ack 200
        3021    > ack {end} win 2000
        3021.05 < {end}:219000 psh ack 200
        3042    > ack 219000 win 2000
        "
    ))
}

/// RFC 5681, section 4.1, and RFC 2861: an idle time leaves an initial window, or half of what the window was. The last
/// flight of 40 segments lets slow start grow to 80.
#[test]
fn a_first_flight_that_no_cut_leaves_shows_that_the_window_was_kept() {
    for (segments, is_cut) in [(10, true), (20, true), (42, true), (43, false), (60, false)] {
        let analysis = after_idle(segments);
        let second = &analysis.exchanges[1];
        let owed = |cause| second.owed_to(cause).as_secs_f64() * 1e3;
        let [idle, slow_start] = [Cause::IdleRestart, Cause::SlowStart].map(owed);
        assert_eq!(idle > 15.0, is_cut, "{segments}: {second:?}");
        assert_eq!(slow_start > 15.0, !is_cut, "{segments}: {second:?}");
        let is_named = second.shares.iter().any(|it| it.rival == Some(Cause::IdleRestart));
        assert!(!is_named, "{segments}: {second:?}");
    }
}

/// A sender of 1999: one segment at first, and an acknowledgement of each after a timer of 200 ms. What it holds are full
/// segments or the ends of messages, and the acknowledgement lets them go: no cork.
#[test]
fn an_initial_window_of_one_and_delays_of_200_ms_are_no_cork() {
    let segments = |delay| [1_460, 536, 100].map(|first| (delay, first));
    for ((delay, first), body) in
        [200, 195, 170].into_iter().flat_map(segments).zip([1_900, 4_380].into_iter().cycle())
    {
        for at_server in [true, false] {
            let (answer, way) = if at_server { (0.05, 20.0) } else { (20.0, 0.05) };
            let [syn, request] = [answer, way + answer + 0.1];
            let reply = request + answer + 0.2;
            let ack = reply + way + f64::from(delay);
            let rest = ack + answer + 0.05;
            let last = rest + way + f64::from(delay);
            let end = last + answer + 0.05;
            let total = body + 100;
            let second = total.min(3 * first);
            let mut script = format!(
                r"
                0 > syn old
                {syn} < syn old
                {request} > 0:100 psh ack 0
                {reply} < 0:{first} ack 100
                {ack} > ack {first}
                {rest} < {first}:{second} psh ack 100
                "
            );
            if total > second {
                script += &format!("{last} > ack {second}\n{end} < {second}:{total} psh ack 100\n");
            }
            let analysis = Streams::of_bodies(&[body]).seen_as(&script);
            let shares = || analysis.exchanges.iter().flat_map(|it| &it.shares);
            let is_cork = |it: Cause| it == Cause::CorkTimer;
            assert!(
                !shares().any(|it| is_cork(it.cause) || it.rival.is_some_and(is_cork)),
                "{delay} {body} {at_server}: {:?}",
                analysis.exchanges
            );
        }
    }
}
