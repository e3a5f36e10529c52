//! Verdicts on streams that were made up.

use std::time::{Duration, Instant};

use ackwise_cause::Software;
use ackwise_http::Fields;

use super::{CheckId, Finding, StreamHeld, Values, stream_held::HeldBy};
use crate::{
    http_client::{Acked, Arrived, Exchange, ExchangeError, Head, HeadEnd, Piece},
    stream::{Readings, record::Record, trial::Trial},
    verdict::{Reason, Verdict},
};

/// A stream in clear text, 1 ms away: what arrives at which millisecond after the request. The head of 100 bytes comes at
/// 1 ms. Every arrival is acknowledged `delay` after the first that is not.
fn record(kind: &str, arrivals: &[(u64, String)], delay: u64) -> Record {
    let sent = Instant::now();
    let at = |ms: u64| sent + Duration::from_millis(ms);
    let (mut beginning, mut pieces) = (Vec::new(), Vec::new());
    let mut arrived = vec![Arrived { at: at(1), offset: 0, len: 100 }];
    for (ms, text) in arrivals {
        let offset = 100 + beginning.len() as u64;
        beginning.extend_from_slice(text.as_bytes());
        let content = beginning.len() as u64;
        arrived.push(Arrived { at: at(*ms), offset, len: text.len() as u64 });
        pieces.push(Piece { content, wire: 100 + content });
    }
    let content = beginning.len() as u64;
    let head = Head {
        bytes: 100,
        status: 200,
        fields: Fields::of([(&b"Content-Type"[..], kind.as_bytes())]),
        content_length: None,
        keep_alive: None,
        persists: true,
    };
    let exchange = Exchange {
        sent,
        start: 0,
        head_end: HeadEnd { offset: 100, separable: true },
        end: 100 + content,
        complete: false,
        head,
        trailers: None,
        content,
        beginning,
        pieces,
        digest: 0,
        acks: acks(&arrived, Duration::from_millis(delay)),
        arrivals: arrived,
    };
    let until = at(arrivals.last().map_or(1, |(ms, _)| *ms));
    let trial = Trial::delayed(Duration::from_millis(delay));
    Record::new(exchange, trial, Duration::from_millis(1), until)
}

fn acks(arrivals: &[Arrived], delay: Duration) -> Vec<Acked> {
    let mut acks: Vec<Acked> = Vec::new();
    for arrived in arrivals {
        let is_known = acks.last().is_some_and(|ack| arrived.at < ack.at);
        match acks.last_mut().filter(|_| is_known) {
            Some(ack) => ack.up_to = arrived.end(),
            None => acks.push(Acked { at: arrived.at + delay, up_to: arrived.end() }),
        }
    }
    acks
}

const SSE: &str = "text/event-stream; charset=utf-8";

/// `together` events every `gap` milliseconds from the hundredth on.
fn events(together: usize, gap: u64, bursts: u64) -> Vec<(u64, String)> {
    let event = "data: {\"content\": \"token\"}\n\n".repeat(together);
    (0..bursts).map(|number| (100 + number * gap, event.clone())).collect()
}

/// The same bytes in pieces of these sizes, `gap` milliseconds apart.
fn pieces(sizes: &[usize], gap: u64) -> Vec<(u64, String)> {
    let text = "data: {\"content\": \"token\"}\n\n".repeat(4_000);
    let (mut at, mut ms, mut pieces) = (0, 100, Vec::new());
    for size in sizes {
        pieces.push((ms, text[at..][..*size].to_owned()));
        (at, ms) = (at + size, ms + gap);
    }
    pieces
}

fn cut(size: usize, gap: u64, bursts: usize) -> Vec<(u64, String)> {
    pieces(&vec![size; bursts], gap)
}

/// Of a server that does not mind how it is read.
fn readings(arrivals: &[(u64, String)]) -> Readings {
    let read = |delay| record(SSE, arrivals, delay);
    Readings {
        prompt: read(0),
        longest: Ok(read(120)),
        shorter: Some(Ok(read(40))),
        small: Some(Ok(read(0))),
        gzip: Some(Ok(read(0))),
        software: None,
    }
}

fn judged(id: CheckId, readings: &Readings) -> Finding {
    id.of_stream().expect("it grades streams")(readings).into_finding(id, None)
}

fn held(readings: &Readings) -> (Finding, StreamHeld) {
    let finding = judged(CheckId::StreamHeld, readings);
    let Values::StreamHeld(values) = finding.values.clone() else { panic!("{finding:?}") };
    (finding, values)
}

/// One by one, or several whole events at once, at any pace: that is the program's own affair.
#[test]
fn a_program_that_emits_batches_is_not_accused() {
    for (together, gap) in [(1, 20), (1, 200), (1, 1_000), (10, 200), (5, 40), (3, 120), (40, 500)]
    {
        let (finding, values) = held(&readings(&events(together, gap, 12)));
        assert_eq!(finding.verdict, Verdict::Pass, "{together} every {gap}: {finding:?}");
        assert_eq!(values.held_by, Some(HeldBy::None));
        assert!(finding.remedy.is_none() && finding.cost_ms.is_none());
    }
}

#[test]
fn arrivals_that_follow_acks_at_two_delays_are_nagle_s() {
    let smooth = events(1, 20, 40);
    let nagle = Readings {
        longest: Ok(record(SSE, &events(6, 121, 10), 120)),
        shorter: Some(Ok(record(SSE, &events(2, 41, 30), 40))),
        ..readings(&smooth)
    };
    let (finding, values) = held(&nagle);
    assert_eq!((finding.verdict, values.held_by), (Verdict::Fail, Some(HeldBy::Nagle)));
    assert_eq!(finding.cost_ms, Some(21.0));
    assert!(finding.remedy.unwrap().contains("TCP_NODELAY"));
    assert!(!finding.evidence.is_empty());

    // The ends of events wait, and events are far apart.
    let halves = |delay: u64| {
        let halves = (0..8).flat_map(|number| {
            let at = 100 + number * 500;
            [(at, "data: to".to_owned()), (at + delay + 1, "ken\n\n".to_owned())]
        });
        halves.collect::<Vec<_>>()
    };
    let ends = Readings {
        longest: Ok(record(SSE, &halves(120), 120)),
        shorter: Some(Ok(record(SSE, &halves(40), 40))),
        ..readings(&halves(0))
    };
    let (finding, values) = held(&ends);
    assert_eq!(
        (finding.verdict, values.held_by),
        (Verdict::Fail, Some(HeldBy::Nagle)),
        "{finding:?}"
    );
    assert_eq!(finding.cost_ms, Some(41.0));

    // HAProxy's cork lets go with an ACK, too, but holds events for longer without.
    let corked = Readings {
        small: Some(Ok(record(SSE, &smooth, 0))),
        prompt: record(SSE, &events(7, 140, 10), 0),
        ..nagle
    };
    assert_eq!(held(&corked).1.held_by, Some(HeldBy::Cork));

    // A program that happens to write every 121 ms writes so with another delay, too.
    let rhythm = events(6, 121, 10);
    let (finding, _) = held(&readings(&rhythm));
    assert_eq!(finding.verdict, Verdict::Pass, "{finding:?}");
}

#[test]
fn bursts_that_are_shorter_with_small_segments_are_a_cork_s() {
    let corked = Readings {
        small: Some(Ok(record(SSE, &events(4, 80, 20), 0))),
        ..readings(&events(10, 204, 10))
    };
    let (finding, values) = held(&corked);
    assert_eq!((finding.verdict, values.held_by), (Verdict::Warn, Some(HeldBy::Cork)));
    assert_eq!(finding.cost_ms, Some(124.0));
    assert!(finding.remedy.unwrap().contains("TCP_CORK"));
    // Full segments only, so that each ends within an event: no buffer.
    let full = Readings {
        small: Some(Ok(record(SSE, &cut(128, 90, 20), 0))),
        ..readings(&cut(1_460, 1_000, 5))
    };
    assert_eq!(held(&full).1.held_by, Some(HeldBy::Cork));
}

#[test]
fn bursts_that_end_within_events_are_a_buffer_s() {
    let mut buffered = readings(&cut(4_096, 300, 8));
    let (finding, values) = held(&buffered);
    assert_eq!((finding.verdict, values.held_by), (Verdict::Warn, Some(HeldBy::Buffer)));
    assert_eq!((values.buffer_bytes, finding.cost_ms), (Some(4_096), Some(300.0)));
    buffered.software = Some(Software::Nginx);
    assert!(held(&buffered).0.remedy.unwrap().starts_with("nginx: proxy_buffering off"));
    // Two are not enough, nor are pieces of any size.
    for arrivals in [cut(4_096, 300, 3), pieces(&[400, 2_100, 5_000, 900, 3_100, 700, 2_000], 300)]
    {
        let (finding, _) = held(&readings(&arrivals));
        assert!(finding.verdict < Verdict::Warn, "{finding:?}");
    }
}

#[test]
fn what_could_not_be_read_again_is_unknown() {
    let failed = || ExchangeError::ClosedUnanswered(None);
    let smooth = events(1, 20, 40);
    let again = Readings { longest: Err(failed()), ..readings(&smooth) };
    assert_eq!(held(&again).0.reason, Some(Reason::NoAnswer));
    let small = Readings { small: Some(Err(failed())), ..readings(&events(10, 204, 10)) };
    assert_eq!(held(&small).0.verdict, Verdict::Unknown);
    // Late ACKs that some arrivals follow, and others do not.
    let mixed: Vec<_> = [events(6, 121, 8), vec![(1_000, "data: x\n\n".to_owned()); 2]].concat();
    let mixed = Readings {
        longest: Ok(record(SSE, &mixed, 120)),
        shorter: Some(Ok(record(SSE, &events(2, 41, 9), 40))),
        ..readings(&smooth)
    };
    assert_eq!(held(&mixed).0.reason, Some(Reason::Disturbed));
}

#[test]
fn late_acks_that_the_stack_cannot_have_are_not_denied() {
    let slow = events(1, 100, 10);
    let kernel = Readings { longest: Ok(record(SSE, &slow, 30)), shorter: None, ..readings(&slow) };
    let (finding, _) = held(&kernel);
    assert_eq!((finding.verdict, finding.reason), (Verdict::Unknown, Some(Reason::Stack)));
}

#[test]
fn a_stream_that_comes_at_once_is_judged_by_how_late_it_comes() {
    let at = |ms: u64| events(20, 0, 1).into_iter().map(|(_, text)| (ms, text)).collect::<Vec<_>>();
    for (ms, verdict, by) in
        [(2_000, Verdict::Warn, Some(HeldBy::End)), (20, Verdict::NotApplicable, None)]
    {
        let mut readings = readings(&at(ms));
        readings.prompt.exchange.complete = true;
        let (finding, values) = held(&readings);
        assert_eq!((finding.verdict, values.held_by), (verdict, by), "{finding:?}");
        assert!(finding.remedy.is_none(), "nobody is accused");
        assert_eq!(judged(CheckId::StreamGzip, &readings).verdict, Verdict::NotApplicable);
    }
}

#[test]
fn a_compressor_that_holds_events_is_found_by_their_pace() {
    let smooth = events(1, 20, 50);
    let encoded = |arrivals: &[(u64, String)]| {
        let mut record = record(SSE, arrivals, 0);
        let fields = [(&b"Content-Encoding"[..], &b"gzip"[..])];
        record.exchange.head.fields = Fields::of(fields);
        Some(Ok(record))
    };
    for (arrivals, verdict) in [
        (smooth.clone(), Verdict::Pass),
        (events(10, 200, 5), Verdict::Warn),
        (vec![(100, "\x1f".to_owned()), (1_100, "x".to_owned())], Verdict::Warn),
    ] {
        let readings = Readings { gzip: encoded(&arrivals), ..readings(&smooth) };
        let finding = judged(CheckId::StreamGzip, &readings);
        assert_eq!(finding.verdict, verdict, "{finding:?}");
    }
    let plain = judged(CheckId::StreamGzip, &readings(&smooth));
    assert_eq!(plain.verdict, Verdict::Pass);
    assert!(plain.summary.contains("without compression"), "{plain:?}");
}

#[test]
fn facts_are_of_the_reading_with_prompt_acks() {
    let readings = readings(&events(1, 20, 50));
    let first = judged(CheckId::StreamFirstEvent, &readings);
    assert!(
        first.summary.contains("100 ms after the request, the first byte after 1.00 ms"),
        "{first:?}"
    );
    let gaps = judged(CheckId::StreamGaps, &readings);
    assert_eq!((gaps.id, gaps.verdict), (CheckId::StreamGaps, Verdict::Pass));
    assert!(gaps.summary.starts_with("50 events in 50 arrivals, 20.0 ms apart"), "{gaps:?}");
}
