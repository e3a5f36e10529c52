//! The sentences that come first: what took most of the time, who waited for whom, how often, how
//! long, how sure that is, and what to change or to look at. Where nothing matters, they say that first.

mod advice;
mod loss;
mod matters;
mod window;
mod words;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    time::Duration,
};

use ackwise_capture::{analysis::Analysis, conversation::Protocol};
use ackwise_cause::{Cause, Direction, H2Window};
use ackwise_text::words::{counted, grouped, rounded};
use ackwise_units::statistics::middle;

use self::{
    advice::add_advice,
    matters::{is_explained, is_worth_saying, largest_avoidable, largest_stall},
    window::of_windows,
    words::{did, happened},
};
use super::failures::{self, Failure};
use super::held_requests::Held;
use super::messages::MessagesSaid;
use super::totals::{Total, Totals, TotalsScope};

/// What took most of the time of a capture, and what can be changed, in a few sentences.
#[must_use]
pub fn sentence(analysis: &Analysis) -> String {
    of_totals(analysis, &Totals::of(analysis, TotalsScope::All), &Failure::all(analysis))
}

/// The same, with the totals of all exchanges, and what failed, which comes first.
pub(super) fn of_totals(analysis: &Analysis, totals: &Totals, failures: &[Failure]) -> String {
    let messages = MessagesSaid::of(analysis, totals.span);
    let exchanges = of_exchanges(analysis, totals, failures, &messages);
    messages.around(exchanges)
}

fn of_exchanges(
    analysis: &Analysis,
    totals: &Totals,
    failures: &[Failure],
    messages: &MessagesSaid,
) -> String {
    let Some(failed) = failures::sentence(analysis, failures) else {
        let Some(held) = Held::most(analysis) else {
            let beside = if messages.is_well() { Beside::Nothing } else { Beside::HeldMessages };
            return of_time(analysis, totals, beside);
        };
        let in_time = of_time(analysis, totals, Beside::FailedOrHeld);
        let held_part = held.sentence(&in_time);
        return if held.total() > avoidable(analysis, totals) {
            format!("{held_part}\n{in_time}")
        } else {
            format!("{in_time}\n{held_part}")
        };
    };
    // What an exchange waited for that failed, is not what made it fail.
    let out: BTreeSet<_> = failures.iter().filter_map(|it| it.exchange).collect();
    let others = analysis.exchanges.iter().enumerate().filter(|it| !out.contains(&it.0));
    let others = others.map(|it| it.1);
    let totals = Totals::over(others, Some(&analysis.folded), TotalsScope::All);
    match totals.exchanges {
        0 => failed,
        _ => format!("{failed}\n{}", of_time(analysis, &totals, Beside::FailedOrHeld)),
    }
}

/// How long what can be avoided took, as far as it is said.
fn avoidable(analysis: &Analysis, totals: &Totals) -> Duration {
    let part = largest_stall(totals).or_else(|| largest_avoidable(analysis, totals));
    part.map_or(Duration::ZERO, |it| it.span)
}

/// What is said beside what took most of the time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Beside {
    Nothing,
    /// That messages were held, which are in no exchange.
    HeldMessages,
    /// That requests failed, or were held.
    FailedOrHeld,
}

/// What took most of the time.
fn of_time(analysis: &Analysis, totals: &Totals, beside_it: Beside) -> String {
    if totals.exchanges == 0 {
        let in_middle = analysis.connections.iter().any(|it| it.quality.begins_in_middle);
        let spoken = not_divided(analysis).unwrap_or_default();
        return match in_middle {
            true => format!(
                "The capture has no exchange with its request{spoken}. Exchanges that began before the capture are not analysed."
            ),
            false => format!("The capture has no exchange{spoken}."),
        };
    }
    let Some(first) = totals.largest() else {
        return "No time can be attributed: all exchanges of this capture have a duration of zero."
            .to_owned();
    };
    let is_first = |it: &Total| it.cause == first.cause;
    if let Some(stall) = largest_stall(totals) {
        let stalled = of_stall(analysis, &stall, totals);
        return if is_first(&stall) { stalled } else { beside(&first, &stalled, totals) };
    }
    match largest_avoidable(analysis, totals) {
        Some(work) if is_first(&work) => of_largest(analysis, &first, totals),
        Some(work) => beside(&first, &of_work(analysis, &work, totals), totals),
        None if beside_it != Beside::FailedOrHeld && is_healthy(totals) => {
            of_health(analysis, &first, totals, beside_it)
        }
        None => of_largest(analysis, &first, totals),
    }
}

/// `: 3 connections of MQTT and 1 of SSH are not divided`.
fn not_divided(analysis: &Analysis) -> Option<String> {
    let mut spoken: BTreeMap<&'static str, u64> = BTreeMap::new();
    let protocols = analysis.connections.iter().filter_map(|it| it.protocol);
    for title in protocols.filter(|it| !it.may_be_http()).filter_map(Protocol::title) {
        *spoken.entry(title).or_default() += 1;
    }
    let (first, rest) = spoken.iter().next().map(|it| (it, spoken.iter().skip(1)))?;
    let all: u64 = spoken.values().sum();
    let mut out = format!(": {} of {}", counted(*first.1, "connection"), first.0);
    for (title, count) in rest {
        out += &format!(", {} of {title}", grouped(*count));
    }
    Some(
        out + if all == 1 {
            " is not divided into exchanges"
        } else {
            " are not divided into exchanges"
        },
    )
}

/// What took most of the time, and what else can be changed.
fn beside(first: &Total, avoidable: &str, totals: &Totals) -> String {
    format!("{}\nLargest avoidable part: {avoidable}", of_most(first, totals))
}

fn of_stall(analysis: &Analysis, stall: &Total, totals: &Totals) -> String {
    let worst = worst_host(analysis, stall.cause, stall.direction);
    let who = worst.map_or_else(|| "The sender".to_owned(), named);
    let of_window = of_windows(analysis, stall).map(H2Window::deed);
    let what = of_window.unwrap_or_else(|| did(stall.cause, stall.direction));
    let what = format!("{who} {what}");
    of_part(analysis, &what, stall, totals)
}

/// A part of the time that is not the largest and no stall.
fn of_work(analysis: &Analysis, work: &Total, totals: &Totals) -> String {
    of_part(analysis, happened(work.cause, work.direction), work, totals)
}

fn of_part(analysis: &Analysis, what: &str, part: &Total, totals: &Totals) -> String {
    let mut out = format!(
        "{what}: {}, {} ({}, {}).",
        how_often(part, totals.exchanges as u64),
        how_long(part),
        how_much(part, totals),
        how_sure(part),
    );
    add_advice(analysis, part, &mut out);
    out
}

/// The largest cause, if it is not a stall.
fn of_most(first: &Total, totals: &Totals) -> String {
    let happened = match (first.cause, first.rival) {
        (Cause::Propagation, Some(Cause::Queueing)) => {
            "Data was in transit (distance, or a queue that never empties)"
        }
        _ => happened(first.cause, first.direction),
    };
    format!("{happened}: {} ({}).", how_much(first, totals), how_sure(first))
}

/// The summary if no stall is significant, but what took most of the time may be changed, or is not explained.
fn of_largest(analysis: &Analysis, first: &Total, totals: &Totals) -> String {
    let mut out = of_most(first, totals);
    let exchanges = counted(totals.exchanges as u64, "exchange");
    // Losses and a path that stands still are stalls, too, for whoever waits.
    out += &match first.cause {
        Cause::Unknown => String::new(),
        Cause::LossRecovery | Cause::PathStall => {
            format!(" No other significant stall in {exchanges}.")
        }
        _ => format!(" No significant stall caused by TCP in {exchanges}."),
    };
    if is_worth_saying(totals.incomplete, totals.exchanges) {
        let incomplete = grouped(totals.incomplete as u64);
        out += &format!(" {incomplete} of {exchanges} without a complete response.");
    }
    if matters::matters(analysis, first, totals) || first.cause == Cause::Unknown {
        add_advice(analysis, first, &mut out);
    }
    out
}

/// Whether all that took time is explained, and nothing of that can be avoided.
fn is_healthy(totals: &Totals) -> bool {
    is_explained(totals) && !is_worth_saying(totals.incomplete, totals.exchanges)
}

/// The summary of a healthy capture: how many exchanges, how fast they are, and what most of that is if an exchange
/// has any of it to speak of.
fn of_health(analysis: &Analysis, first: &Total, totals: &Totals, beside_it: Beside) -> String {
    let what = match beside_it {
        Beside::HeldMessages => "In exchanges, nothing to change",
        Beside::Nothing | Beside::FailedOrHeld => "Nothing to change",
    };
    let exchanges = counted(totals.exchanges as u64, "exchange");
    let out = format!("{what}: {exchanges}, {}.", how_fast(analysis, totals));
    match matters::is_considerable(first.notable, totals) {
        true => format!("{out} {}", of_most(first, totals)),
        false => out,
    }
}

/// `median 0.40 ms, slowest 3.00 ms`.
fn how_fast(analysis: &Analysis, totals: &Totals) -> String {
    if totals.exchanges == 1 {
        return rounded(totals.span);
    }
    let durations = || analysis.exchanges.iter().map(|it| it.duration);
    let slowest = durations().max().unwrap_or(totals.shortest);
    // What is not listed is faster than what is, and only its sum is known.
    match analysis.folded.exchanges {
        0 => {
            let median = middle(durations()).unwrap_or_default();
            format!("median {}, slowest {}", rounded(median), rounded(slowest))
        }
        _ => {
            let mean = totals.span / u32::try_from(totals.exchanges).unwrap_or(u32::MAX);
            format!("mean {}, slowest {}", rounded(mean), rounded(slowest))
        }
    }
}

fn share(total: &Total, totals: &Totals) -> f64 {
    total.span.as_secs_f64() / totals.span.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// `63 % of the time`.
fn how_much(total: &Total, totals: &Totals) -> String {
    format!("{:.0} % of the time", share(total, totals) * 100.0)
}

/// `high confidence`, or `medium confidence; the packets also admit path-stall`.
fn how_sure(total: &Total) -> String {
    let rival = |rival| format!("; the packets also admit {rival}");
    let rival = total.rival.map_or(String::new(), rival);
    format!("{} confidence{rival}", total.confidence.name())
}

/// In how many exchanges, and how often if that is another number.
fn how_often(stall: &Total, all: u64) -> String {
    let exchanges = stall.exchanges as u64;
    let exchanges = format!("{} of {}", grouped(exchanges), counted(all, "exchange"));
    match stall.times == stall.exchanges as u64 {
        true => exchanges,
        false => format!("{} in {exchanges}", counted(stall.times, "time")),
    }
}

/// The mean and the sum.
fn how_long(stall: &Total) -> String {
    match u32::try_from(stall.times).unwrap_or(u32::MAX) {
        0 | 1 => rounded(stall.span),
        times => {
            let mean = rounded(stall.span / times);
            format!("{mean} each on average, {} in total", rounded(stall.span))
        }
    }
}

/// Whoever is to blame for most of it.
fn worst_host(analysis: &Analysis, cause: Cause, direction: Direction) -> Option<SocketAddr> {
    let mut owed: BTreeMap<SocketAddr, Duration> = Default::default();
    for exchange in &analysis.exchanges {
        let connection = &analysis.connections[exchange.connection as usize];
        let sender = match direction {
            Direction::ToServer => SocketAddr::new(connection.client.ip(), 0),
            Direction::ToClient => connection.server,
        };
        let receiver = match direction {
            Direction::ToServer => connection.server,
            Direction::ToClient => SocketAddr::new(connection.client.ip(), 0),
        };
        let receivers = cause.party(direction) == Some(direction.receiver());
        let host = if receivers { receiver } else { sender };
        for share in exchange.shares.iter().filter(|it| it.cause == cause) {
            *owed.entry(host).or_default() += share.span;
        }
    }
    owed.into_iter().max_by_key(|&(_, span)| span).map(|(host, _)| host)
}

/// A client's ports come and go: it is known by its address.
fn named(host: SocketAddr) -> String {
    if host.port() == 0 { host.ip().to_string() } else { host.to_string() }
}

#[cfg(test)]
mod tests {
    use ackwise_capture::{analysis::HeldRequests, attribution::Confidence};

    use super::*;
    use crate::{
        Reading,
        failures::tests::{Host, Pair},
        totals::Notable,
    };

    use Cause::{
        ApplicationLimited, CongestionWindow, IdleRestart, LossRecovery, NagleDelayedAck,
        Propagation, Queueing, RetransmissionTimeout, ServerThink, Transmission, Unknown,
    };
    use Confidence::{High, Low, Medium};

    /// The totals of 1,000 exchanges of 1 ms each. Each item is a cause, its time in milliseconds, its confidence, and how
    /// much of this time is in exchanges that take long enough to be noticed.
    fn totals_of(causes: &[(Cause, u64, Confidence, u64)]) -> Totals {
        let total = |&(cause, millis, confidence, notable): &(Cause, u64, Confidence, u64)| Total {
            cause,
            direction: Direction::ToClient,
            span: Duration::from_millis(millis),
            exchanges: 1,
            times: 2,
            confidence,
            rival: (confidence < High).then_some(Cause::PathStall),
            sure: [Duration::ZERO; 2],
            notable: Notable {
                span: Duration::from_millis(notable),
                exchanges: usize::from(notable > 0),
            },
        };
        Totals {
            scope: TotalsScope::All,
            exchanges: 1_000,
            incomplete: 0,
            shortest: Duration::ZERO,
            span: Duration::from_secs(1),
            causes: causes.iter().map(total).collect(),
        }
    }

    fn said_of(causes: &[(Cause, u64, Confidence, u64)]) -> String {
        of_totals(&Reading::new().end().unwrap().analysis, &totals_of(causes), &[])
    }

    /// The same, if all of it is noticed.
    fn said(causes: &[(Cause, u64, Confidence)]) -> String {
        said_of(&causes.iter().map(|&(cause, ms, sure)| (cause, ms, sure, ms)).collect::<Vec<_>>())
    }

    #[test]
    fn what_took_most_of_the_time_comes_first_and_what_can_be_changed_then() {
        for (causes, expected) in [
            (
                &[(NagleDelayedAck, 600, High), (ServerThink, 400, High)][..],
                &["The sender held the last segment", "60 % of the time, high confidence", "Fix: "]
                    [..],
            ),
            (
                &[(ServerThink, 900, High), (NagleDelayedAck, 30, High)],
                &[
                    "The server was working on responses: 90 % of the time (high confidence).",
                    "Largest avoidable part: The sender held",
                    "(3 % of the time, high confidence)",
                    "Fix: set TCP_NODELAY",
                ],
            ),
            (
                &[(Propagation, 600, High), (ServerThink, 390, High)],
                &[
                    "Data was in transit (distance): 60 %",
                    "Largest avoidable part: The server was working on responses: ",
                    "(39 % of the time, high confidence)",
                    "Fix: profile the server",
                ],
            ),
            (
                &[(LossRecovery, 500, Medium), (IdleRestart, 300, Low)],
                &["Losses were being repaired: 50 %", "Largest avoidable part: ", "low confidence"],
            ),
            (
                &[(LossRecovery, 460, Medium), (Propagation, 440, High)],
                &[
                    "Losses were being repaired: 46 %",
                    "No other significant stall in 1,000 exchanges.",
                    "If so: look where packets are dropped",
                    "Check: capture at the receiver",
                ],
            ),
            (
                &[(Queueing, 950, Medium)],
                &["Data waited behind packets of other connections: 95 %", "If so: ", "Check: "],
            ),
            (
                &[(ServerThink, 1_000, High)],
                &["The server was working", "No significant stall", "Fix: profile the server"],
            ),
            (
                &[(Propagation, 600, High), (CongestionWindow, 390, High)],
                &["Data was in transit (distance): 60 %", "No significant stall caused by TCP"],
            ),
            (&[(Unknown, 990, Low)], &["The capture does not show the cause: 99 %", "Check: "]),
        ] {
            let text = said(causes);
            let mut rest = text.as_str();
            for part in expected {
                let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("{part}: {text}"));
                rest = after;
            }
            assert!(text.starts_with(expected[0]), "{text}");
            assert!(!text.contains("Nothing to change"), "{text}");
        }
    }

    /// Time that nobody notices gets no share and no confidence where messages were held, and does get them where requests
    /// failed.
    #[test]
    fn beside_held_messages_healthy_exchanges_are_only_counted() {
        let totals = totals_of(&[(ServerThink, 1_000, High, 0)]);
        let analysis = Reading::new().end().unwrap().analysis;
        for (beside_it, expected) in [
            (Beside::Nothing, "Nothing to change: 1,000 exchanges, "),
            (Beside::HeldMessages, "In exchanges, nothing to change: 1,000 exchanges, "),
            (Beside::FailedOrHeld, "The server was working on responses: 100 % of the time"),
        ] {
            let text = of_time(&analysis, &totals, beside_it);
            assert!(text.starts_with(expected), "{text}");
        }
    }

    /// They are in no exchange, so their time is beside that of all causes.
    #[test]
    fn held_requests_come_first_if_they_took_longer_than_what_can_be_avoided() {
        let mut host = Host::default();
        host.exchange(Pair(1_000, "10.0.0.2:80"), 10);
        let mut analysis = host.finish();
        let mut held = HeldRequests::once(Duration::from_millis(40), Medium);
        held.add(&HeldRequests::once(Duration::from_millis(44), Medium));
        analysis.connections[0].held_requests = Some(Box::new(held));
        for (stalled, is_first) in [(80, true), (90, false)] {
            let totals = totals_of(&[
                (Propagation, 900, High, 900),
                (NagleDelayedAck, stalled, High, stalled),
            ]);
            let text = of_totals(&analysis, &totals, &[]);
            assert_eq!(text.starts_with("Before exchanges"), is_first, "{text}");
        }
    }

    #[test]
    fn a_healthy_capture_needs_no_change() {
        let nothing = "Nothing to change: 1,000 exchanges, median ";
        for (causes, expected) in [
            (
                &[(Propagation, 600, High, 600), (Transmission, 390, High, 390)][..],
                "Data was in transit (distance): 60 % of the time (high confidence).",
            ),
            (
                &[(Transmission, 950, High, 950), (NagleDelayedAck, 20, High, 20)],
                "A link was busy with responses: 95 %",
            ),
            // A path of nine tenths: neither end can change much.
            (&[(Propagation, 910, High, 910), (ServerThink, 90, High, 90)], "Data was in transit"),
            // What no exchange has to speak of is not worth a word, whatever its share.
            (&[(ServerThink, 1_000, High, 0)], ""),
            (&[(ServerThink, 900, High, 50), (Transmission, 100, High, 0)], ""),
            (&[(ApplicationLimited, 900, High, 0), (NagleDelayedAck, 100, High, 10)], ""),
            (&[(RetransmissionTimeout, 900, Medium, 0), (Unknown, 100, Low, 0)], ""),
            (&[(Cause::Handshake, 900, High, 900)], "Connections were being opened"),
        ] {
            let text = said_of(causes);
            assert!(text.starts_with(nothing), "{text}");
            assert_eq!(text.lines().count(), 1, "{text}");
            let (_, rest) = text.split_once(". ").unwrap_or((&text, ""));
            assert!(rest.contains(expected), "{text}");
            assert!(!expected.is_empty() || text.ends_with("ms."), "{text}");
        }
    }

    #[test]
    fn a_stall_of_a_few_exchanges_leads_among_many_that_are_fast() {
        let text = said_of(&[(ServerThink, 900, High, 0), (NagleDelayedAck, 80, High, 80)]);
        assert!(text.contains("Largest avoidable part: The sender held"), "{text}");
        let text = said_of(&[(Transmission, 500, High, 0), (ServerThink, 480, High, 400)]);
        assert!(text.contains("Largest avoidable part: The server was working"), "{text}");
    }

    #[test]
    fn advice_is_as_firm_as_its_verdict() {
        for (confidence, labels) in
            [(Low, &["Check: "][..]), (Medium, &["If so: ", "Check: "]), (High, &["Fix: "])]
        {
            for cause in [NagleDelayedAck, ServerThink, ApplicationLimited, Queueing] {
                let text = said(&[(cause, 900, confidence)]);
                let lines: Vec<_> = text.lines().skip(1).collect();
                assert_eq!(lines.len(), labels.len(), "{text}");
                for (line, label) in lines.iter().zip(labels) {
                    assert!(line.starts_with(label) && line.ends_with('.'), "{text}");
                }
            }
        }
    }

    #[test]
    fn nobody_pauses_within_a_request_before_it_begins() {
        let words = happened(ApplicationLimited, Direction::ToServer);
        assert_eq!(words, "The client was slow to send its requests");
    }

    #[test]
    fn where_nothing_took_time_there_is_nothing_to_say() {
        assert_eq!(
            said(&[]),
            "No time can be attributed: all exchanges of this capture have a duration of zero."
        );
        let none = Reading::new().end().unwrap().analysis;
        assert_eq!(sentence(&none), "The capture has no exchange.");
    }
}
