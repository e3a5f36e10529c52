//! Transfers that share a link: each waits behind the other's packets.

use std::fmt::Write as _;

use ackwise_capture::attribution::Confidence;
use ackwise_cause::Cause;

use crate::wire::Streams;

const SEGMENTS: u32 = 60;

/// A response of 60 segments on this port, read at the client 40 ms from its server. The link delivers one of them every
/// 2.4 ms from `from` on, and nothing for 300 ms after half of them.
fn transfer(port: u32, from: f64, segments: u32) -> Vec<(f64, String)> {
    let mut lines: Vec<(f64, String)> = Vec::new();
    let mut line = |at: f64, text: String| lines.push((at, format!("{at} {text} port {port}")));
    line(from, "> syn".into());
    line(from + 40.0, "< syn".into());
    line(from + 40.1, "> ack 0".into());
    line(from + 40.2, "> 0:100 psh ack 0".into());
    for number in 0..segments {
        let pause = if number < segments / 2 { 0.0 } else { 300.0 };
        let at = from + 82.0 + f64::from(number) * 2.4 + pause;
        let (start, end) = (number * 1_460, (number + 1) * 1_460);
        line(at, format!("< {start}:{end} ack 100"));
        line(at + 0.01, format!("> ack {end}"));
    }
    lines
}

/// How sure the time of the first transfer is that links and the path take.
fn sure(other: Option<(f64, u32)>) -> Vec<(Cause, Confidence, Option<Cause>)> {
    let mut lines = transfer(50_000, 0.0, SEGMENTS);
    lines.extend(other.into_iter().flat_map(|(from, segments)| transfer(50_001, from, segments)));
    lines.sort_by(|one, other| one.0.total_cmp(&other.0));
    let script = lines.iter().fold(String::new(), |mut script, (_, line)| {
        writeln!(script, "{line}").unwrap();
        script
    });
    let body = SEGMENTS as usize * 1_460 - 100;
    let analysis = Streams::of_bodies(&[body]).seen_as(&script);
    let first = analysis.exchanges.iter().find(|it| it.connection == 0).unwrap();
    let of_path = |cause| {
        use Cause::{Pacing, PathStall, Queueing, SlowStart, Transmission};
        matches!(cause, Transmission | PathStall | Pacing | SlowStart | Queueing)
    };
    let shares = first.shares.iter().filter(|it| of_path(it.cause) && it.span.as_millis() > 50);
    shares.map(|it| (it.cause, it.confidence, it.rival)).collect()
}

#[test]
fn what_a_transfer_waits_for_beside_another_one_may_be_the_others_packets() {
    let alone = sure(None);
    assert!(alone.contains(&(Cause::Transmission, Confidence::High, None)), "{alone:?}");
    let is_low =
        |it: &(Cause, Confidence, Option<Cause>)| it.1 == Confidence::Low && it.2.is_some();
    let beside = sure(Some((1.2, SEGMENTS)));
    assert!(beside.len() == alone.len() && beside.iter().all(is_low), "{beside:?}");
    let waits = (Cause::Queueing, Confidence::Low, Some(Cause::PathStall));
    assert!(beside.contains(&waits), "{beside:?}");
    // One that comes after it, and a few segments, take nothing of the link.
    assert_eq!(sure(Some((1_000.0, SEGMENTS))), alone);
    assert_eq!(sure(Some((1.2, 10))), alone);
}
