//! `first-byte`: how long does the server take to begin its responses?

use std::time::Duration;

use ackwise_cause::Software;
use ackwise_http::ConnectionOption;

use super::{Facts, ProbeResult, follow, ms};
use crate::{
    card::{FirstByte, Verdict},
    http_client::{Client, Exchange, ExchangeError},
    stack::Receiver,
};

/// Asks for the page again and again on a few connections, and acknowledges at once: what is left is the
/// round trip, the program, and whoever the program asks.
pub(super) fn probe(client: &mut Client, facts: &mut Facts) -> Result<ProbeResult, ExchangeError> {
    let mut times = Times::default();
    for _ in 0..CONNECTIONS {
        match ask(client, facts, &mut times) {
            // A few answers say enough.
            Err(_) if times.all().count() >= ANSWERS_MIN => break,
            answered => answered?,
        }
    }
    Ok(decide(&times, proxy(&facts.first, facts.software()), facts.rtt))
}

/// Requests on one connection, as long as it lasts.
fn ask(client: &mut Client, facts: &mut Facts, times: &mut Times) -> Result<(), ExchangeError> {
    let request = client.ask_for(&facts.page, Some(ConnectionOption::KeepAlive))?;
    let mut connection = client.open(Receiver::ETHERNET)?;
    for number in 0..REQUESTS {
        if !connection.accepts_requests() {
            break;
        }
        let exchange = connection.request(&request, &mut client.budget)?;
        facts.note(&exchange);
        times.add(number, &exchange);
    }
    Ok(())
}

/// Times to the first byte, by the number of the request on its connection.
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

    /// How much later than to the first request of a connection the usual answer to a later one begins.
    fn rise(&self) -> Duration {
        let mut quickest = self.quickest();
        let first = quickest.next().unwrap_or_default();
        follow::median(quickest).unwrap_or_default().saturating_sub(first)
    }
}

fn decide(times: &Times, proxy: Option<&'static str>, rtt: Duration) -> ProbeResult {
    let Some(median) = follow::median(times.all()) else {
        let summary = "no response began in time";
        return ProbeResult::new(Verdict::Unknown, summary, FirstByte::default());
    };
    let slowest = times.all().max().unwrap_or(median);
    let (wait, rise) = (median.saturating_sub(rtt), times.rise());
    let values = FirstByte {
        by_request_ms: Some(times.quickest().map(ms).collect()),
        median_ms: Some(ms(median)),
        p99_ms: Some(ms(slowest)),
        proxy: proxy.map(str::to_owned),
        wait_ms: Some(ms(wait)),
    };
    let takes = format!("the first byte takes {:.1} ms (median)", ms(median));
    if rise >= follow::STALL {
        let summary = format!(
            "{takes}: after the first request of a connection, {:.1} ms longer than for that one",
            ms(rise)
        );
        return ProbeResult::new(Verdict::Warn, summary, values).costing(Some(ms(rise)));
    }
    if wait < follow::STALL {
        return ProbeResult::new(Verdict::Pass, takes, values);
    }
    let more = format!("{takes}, {:.1} ms more than a round trip", ms(wait));
    match proxy {
        Some(sign) => {
            let summary = format!("{more}; {sign} shows a proxy, so a server behind it may stall");
            ProbeResult::new(Verdict::Warn, summary, values)
        }
        None => {
            let summary = format!("{more}: the time of the program, or of a server behind it");
            ProbeResult::new(Verdict::Pass, summary, values)
        }
    }
}

/// What shows that the response comes from another server than the one that answers.
fn proxy(first: &Exchange, software: Option<Software>) -> Option<&'static str> {
    let field =
        ["Via", "Age", "X-Cache"].into_iter().find(|it| first.head.fields.first(it).is_some());
    let is_proxy = matches!(software, Some(Software::HaProxy | Software::Squid));
    field.or_else(|| is_proxy.then_some("Server"))
}

/// Connections, and requests on each: enough to tell the first request from later ones. Our choice.
const CONNECTIONS: usize = 2;
const REQUESTS: usize = 6;

/// Answers after which a limit does not make the whole finding unknown.
const ANSWERS_MIN: usize = 3;

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
        let table: [Row; 7] = [
            (&[&[1, 1], &[1, 1], &[2, 1]],       None,        Pass, None,       "takes 1.0 ms (median)"),
            (&[&[1, 1], &[1, 1], &[2, 1]],       Some("Via"), Pass, None,       "takes 1.0 ms (median)"),
            (&[&[45], &[44], &[45], &[44]],      None,        Pass, None,       "44.0 ms more than a round trip: the time"),
            (&[&[45], &[44], &[45], &[44]],      Some("Age"), Warn, None,       "Age shows a proxy"),
            (&[&[2, 3], &[44, 43], &[44, 45]],   None,        Warn, Some(42.0), "42.0 ms longer than for that one"),
            // A busy machine: the quickest of each number counts.
            (&[&[1, 1], &[60, 1], &[1, 60]],     None,        Pass, None,       "takes 1.0 ms"),
            // A program that sets itself up for the first request.
            (&[&[90, 95], &[1, 1], &[1, 1]],     None,        Pass, None,       "takes 1.0 ms"),
        ];
        for (by_number, proxy, verdict, cost, says) in table {
            let found = decide(&times(by_number), proxy, Duration::from_millis(1));
            assert_eq!((found.verdict, found.cost_ms), (verdict, cost), "{by_number:?} {proxy:?}");
            assert!(found.summary.contains(says), "{}", found.summary);
        }
        let nothing = decide(&Times::default(), None, Duration::ZERO);
        assert_eq!(nothing.verdict, Verdict::Unknown);
    }
}
