//! `first-byte`: how long does the server take to begin its responses?

use std::time::Duration;

use ackwise_cause::{Remedy, Software};
use ackwise_units::statistics::middle;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    checks::{Check, Run, Subject, judged::Judged, server_check::ServerCheck},
    http_client::{Client, Exchange},
    milliseconds::ms,
    no_verdict::NoVerdict,
    server::{
        Facts, follow,
        prompt::{self, SILENCE, are_of_delayed_acks},
    },
    verdict::{Reason, Verdict},
};

pub(super) const CHECK: Check = Check {
    subject: Subject::Fact("first-byte", "how long the server takes to begin its responses"),
    is_stall: true,
    remedies: &[&[Remedy::new(CHECK_BEHIND)]],
    run: Run::Server(ServerCheck::new(3, [4, 16], 0.5, run)),
};

/// Values of `first-byte`.
#[derive(Clone, Debug, Default, JsonSchema, PartialEq, Serialize)]
pub struct FirstByte {
    /// Time to the first byte by the number of the request after 0.3 s without requests: the quickest of each number.
    pub by_request_ms: Option<Vec<f64>>,
    /// Median time from the end of a request to the first byte of its response.
    pub median_ms: Option<f64>,
    /// The 99th percentile; of fewer than 100 responses, the slowest.
    pub p99_ms: Option<f64>,
    /// Field of the response that shows a proxy; null if none does.
    pub proxy: Option<String>,
    /// How much longer than a round trip the median is.
    pub wait_ms: Option<f64>,
}

/// Looks at responses that are acknowledged at once: what is left is the round trip, the program, and whoever the
/// program asks.
fn run(client: &mut Client, facts: &mut Facts) -> Result<Judged, NoVerdict> {
    let mut times = Times::default();
    for series in prompt::series(client, facts)?.iter() {
        series.iter().enumerate().for_each(|(number, exchange)| times.add(number, exchange));
    }
    decide(&times, proxy(&facts.first, facts.software()), facts.rtt)
}

/// Times to the first byte, by the number of the request after a silence.
#[derive(Debug, Default)]
struct Times(Vec<Vec<Duration>>);

impl Times {
    fn add(&mut self, number: usize, exchange: &Exchange) {
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Vec::new);
        }
        self.0[number].extend(exchange.first_byte());
    }

    fn all(&self) -> impl Iterator<Item = Duration> {
        self.0.iter().flatten().copied()
    }

    /// The quickest of each number: load makes answers late, never early.
    fn quickest(&self) -> impl Iterator<Item = Duration> {
        self.0.iter().filter_map(|times| times.iter().min().copied())
    }

    /// How much later than after a silence responses begin, and how many of them: most, or some that wait for a
    /// delayed ACK behind a proxy.
    fn rise(&self) -> Option<(Duration, usize)> {
        let first = self.quickest().next()?;
        let late = |time: Duration| time.checked_sub(first).filter(|late| *late >= follow::STALL);
        let later = || self.0.iter().skip(1).flatten().filter_map(|time| late(*time));
        let most = middle(self.quickest().skip(1)).and_then(late).is_some();
        let rise = middle(later())?;
        (most || are_of_delayed_acks(later())).then(|| (rise, later().count()))
    }
}

fn decide(times: &Times, proxy: Option<&'static str>, rtt: Duration) -> Result<Judged, NoVerdict> {
    let median = middle(times.all())
        .ok_or_else(|| NoVerdict::unknown(Reason::NoAnswer, "no response began in time"))?;
    let slowest = times.all().max().unwrap_or(median);
    let wait = median.saturating_sub(rtt);
    let values = FirstByte {
        by_request_ms: Some(times.quickest().map(ms).collect()),
        median_ms: Some(ms(median)),
        p99_ms: Some(ms(slowest)),
        proxy: proxy.map(str::to_owned),
        wait_ms: Some(ms(wait)),
    };
    let takes = format!("the first byte takes {:.1} ms (median)", ms(median));
    if let Some((rise, responses)) = times.rise() {
        let summary = format!(
            "{takes}: {responses} of {} responses begin {:.1} ms later than after {:.1} s without requests; \
             a delayed ACK behind a proxy looks like this",
            times.all().count(),
            ms(rise),
            SILENCE.as_secs_f64()
        );
        return Ok(Judged::new(Verdict::Warn, summary, values).costing(Some(ms(rise))));
    }
    if wait < follow::STALL {
        return Ok(Judged::new(Verdict::Pass, takes, values));
    }
    let more = format!("{takes}, {:.1} ms more than a round trip", ms(wait));
    Ok(match proxy {
        Some(sign) => {
            let summary = format!("{more}; {sign} shows a proxy, so a server behind it may stall");
            Judged::new(Verdict::Warn, summary, values)
        }
        None => {
            let summary = format!("{more}: the time of the program, or of a server behind it");
            Judged::new(Verdict::Pass, summary, values)
        }
    })
}

/// What shows that the response comes from another server than the one that answers.
fn proxy(first: &Exchange, software: Option<Software>) -> Option<&'static str> {
    let field =
        ["Via", "Age", "X-Cache"].into_iter().find(|it| first.head.fields.first(it).is_some());
    let is_proxy = matches!(software, Some(Software::HaProxy | Software::Squid));
    field.or_else(|| is_proxy.then_some("Server"))
}

/// For a server whose program, or what it asks, takes its time.
pub(super) const CHECK_BEHIND: &str = "run ackwise check at the server behind the proxy, if there is one: that server, or the proxy \
    as its client, may lack TCP_NODELAY; otherwise profile the program";

#[cfg(test)]
mod tests {
    use super::*;

    fn times(by_number: &[&[u64]]) -> Times {
        let spans = |ms: &&[u64]| ms.iter().copied().map(Duration::from_millis).collect();
        Times(by_number.iter().map(spans).collect())
    }

    #[test]
    fn what_the_times_say() {
        use Verdict::{Pass, Warn};
        type Row<'a> = (&'a [&'a [u64]], Option<&'static str>, Verdict, Option<f64>, &'a str);
        #[rustfmt::skip]
        let table: [Row; 9] = [
            (&[&[1, 1], &[1, 1], &[2, 1]],       None,        Pass, None,       "takes 1.0 ms (median)"),
            (&[&[1, 1], &[1, 1], &[2, 1]],       Some("Via"), Pass, None,       "takes 1.0 ms (median)"),
            (&[&[45], &[44], &[45], &[44]],      None,        Pass, None,       "44.0 ms more than a round trip: the time"),
            (&[&[45], &[44], &[45], &[44]],      Some("Age"), Warn, None,       "Age shows a proxy"),
            (&[&[2, 3], &[44, 43], &[44, 45]],   None,        Warn, Some(42.0), "4 of 6 responses begin 42.0 ms later than after 0.3 s"),
            // A proxy that has two connections to a server that stalls.
            (&[&[1, 1], &[45, 1], &[1, 44], &[45, 1], &[1, 43]], None, Warn, Some(44.0), "4 of 10 responses"),
            // The same number of delays that are not alike.
            (&[&[1, 1], &[45, 1], &[1, 90], &[20, 1], &[1, 43]], None, Pass, None, "takes 1.0 ms"),
            // A busy machine: the quickest of each number counts.
            (&[&[1, 1], &[60, 1], &[1, 60]],     None,        Pass, None,       "takes 1.0 ms"),
            // A program that sets itself up for the first request.
            (&[&[90, 95], &[1, 1], &[1, 1]],     None,        Pass, None,       "takes 1.0 ms"),
        ];
        for (by_number, proxy, verdict, cost, says) in table {
            let found = decide(&times(by_number), proxy, Duration::from_millis(1)).unwrap();
            assert_eq!((found.verdict, found.cost_ms), (verdict, cost), "{by_number:?} {proxy:?}");
            assert!(found.summary.contains(says), "{}", found.summary);
        }
        let nothing = decide(&Times::default(), None, Duration::ZERO).unwrap_err();
        assert_eq!(nothing.reason, Some(Reason::NoAnswer));
    }
}
