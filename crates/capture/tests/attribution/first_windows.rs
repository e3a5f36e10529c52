//! Initial windows of one segment, as old stacks have them and `ip route … initcwnd 1` sets them.

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
