//! Text output: TIME-WAIT, requests, latencies, notes.

use std::{fmt::Write, time::Duration};

use ackwise_text::{
    layout,
    words::{counted, grouped},
};

use super::{Causes, FailureCount, LoadReport};
use crate::generator::Fault;

/// Formats the report in at most `columns` columns.
#[must_use]
pub fn text(report: &LoadReport, columns: usize) -> String {
    let mut text = String::new();
    let mut paragraph = |words: &str, indent| text += &layout::paragraph(words, indent, columns);
    paragraph(&report.summary(), 0);
    text_of_numbers(report, &mut paragraph);
    if let Some(causes) = &report.causes {
        text_of_causes(causes, &mut paragraph);
    }
    for note in &report.notes {
        paragraph(&format!("Note: {note}"), 2);
    }
    text
}

/// What took a hundredth of the time or more.
fn text_of_causes(causes: &Causes, paragraph: &mut impl FnMut(&str, usize)) {
    let exchanges = counted(causes.exchanges as u64, "captured exchange");
    let seconds = causes.time.as_secs_f64();
    paragraph(&format!("Time of {exchanges}, {seconds:.3} s in total, by cause:"), 2);
    for cause in causes.list.iter().filter(|cause| causes.share(cause) >= SHOWN_SHARE) {
        let (share, seconds) = (100.0 * causes.share(cause), cause.time.as_secs_f64());
        let remedy = cause.remedy.as_ref().map_or_else(String::new, |fix| format!(". Fix: {fix}"));
        let party = cause.party.map_or_else(String::new, |party| format!(", at the {party}"));
        let exchanges = counted(cause.exchanges as u64, "exchange");
        let line = format!(
            "  {share:.0} %, {seconds:.3} s: {}{party}, {exchanges} ({} confidence){remedy}",
            cause.cause, cause.confidence
        );
        paragraph(&line, 4);
    }
    if causes.dropped > 0 {
        let dropped = counted(causes.dropped, "packet");
        paragraph(&format!("  {dropped} missed by the capture: use a lower --rate"), 4);
    }
}

fn text_of_numbers(report: &LoadReport, paragraph: &mut impl FnMut(&str, usize)) {
    paragraph("", 0);
    let rate = report.rate();
    let crossed = match report.crossed_closes {
        0 => String::new(),
        crossed => format!(", {}", counted(crossed, "crossed close")),
    };
    paragraph(
        &format!(
            "{} on {} to {} in {:.2} s: {} responses per second, {} failed{crossed}",
            counted(report.requests, "request"),
            counted(report.connections, "connection"),
            report.server,
            report.elapsed.as_secs_f64(),
            if rate < 100.0 { format!("{rate:.1}") } else { grouped(whole(rate)) },
            grouped(report.failed),
        ),
        2,
    );
    if !report.statuses.keys().all(|status| *status == 200) {
        let statuses = report.statuses.iter();
        let statuses: Vec<_> =
            statuses.map(|(status, count)| format!("{status}: {}", grouped(*count))).collect();
        paragraph(&format!("Statuses: {}", statuses.join(", ")), 2);
    }
    for failed in &report.failures {
        let FailureCount { fault: Fault { kind, outcome, rival }, count, first } = failed;
        let outcome = if kind == outcome { String::new() } else { format!(" ({outcome})") };
        let rival =
            rival.map_or_else(String::new, |it| format!(" (medium confidence, rival {it})"));
        paragraph(&format!("  {} {kind}{outcome}: {first}{rival}", grouped(*count)), 4);
    }
    if let Some(latency) = report.latency {
        let mut line = format!("Latency in ms: mean {}", millis(latency.mean));
        for (name, value) in [
            ("p50", latency.p50),
            ("p90", latency.p90),
            ("p99", latency.p99),
            ("p99.9", latency.p999),
            ("max", latency.max),
        ] {
            // Writing to a string does not fail.
            let _ = write!(line, ", {name} {}", millis(value));
        }
        paragraph(&line, 2);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a rate of responses")]
fn whole(rate: f64) -> u64 {
    rate.round() as u64
}

fn millis(span: Duration) -> String {
    let millis = span.as_secs_f64() * 1e3;
    if millis < 100.0 { format!("{millis:.2}") } else { format!("{millis:.0}") }
}

/// Our choice.
const SHOWN_SHARE: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn the_text_says_first_who_waits_and_fits_its_columns() {
        let expected = "\
The clients hold TIME-WAIT for 1,198 of the 1,200 connections; the server's
number could not be determined.

1,200 requests on 1,200 connections to 10.0.0.1:80 in 2.00 s: 599 responses per
  second, 2 failed
Statuses: 200: 1,197, 304: 1
  2 truncated: connection closed before the end of the body
Latency in ms: mean 3.00, p50 2.00, p90 4.00, p99 5.00, p99.9 6.00, max 700
Time of 1,190 captured exchanges, 4.000 s in total, by cause:
  75 %, 3.000 s: nagle-delayed-ack, at the server, 75 exchanges (high
    confidence). Fix: set TCP_NODELAY
  3 packets missed by the capture: use a lower --rate
Note: could not determine TIME-WAIT at the server
";
        assert_eq!(text(&sample::report(), 80), expected);
    }
}
