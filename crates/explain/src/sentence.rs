//! The sentences that come first: what took most of the time, who waited for whom, how often, how
//! long, how sure that is, and what to change.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use ackwise_capture::{analysis::Analysis, attribution::Confidence};
use ackwise_cause::{Cause, Direction, Party};
use ackwise_report::words::{counted, grouped, rounded};

use super::totals::{Total, Totals, TotalsScope};

/// What took most of the time of a capture, and what can be changed, in a few sentences.
#[must_use]
pub fn sentence(analysis: &Analysis) -> String {
    of_totals(analysis, &Totals::of(analysis, TotalsScope::All))
}

/// The same, with the totals of all exchanges.
pub(super) fn of_totals(analysis: &Analysis, totals: &Totals) -> String {
    if totals.exchanges == 0 {
        let in_middle = analysis.connections.iter().any(|it| it.quality.begins_in_middle);
        return match in_middle {
            true => "The capture has no HTTP exchange whose request is in it. What began before the capture is \
                     not judged."
                .to_owned(),
            false => "The capture has no HTTP exchange.".to_owned(),
        };
    }
    let Some(first) = totals.largest() else {
        return "No time can be attributed: in this capture, no exchange has a duration."
            .to_owned();
    };
    let stall = totals.causes.iter().filter(|it| it.cause.is_stall()).max_by_key(|it| it.span);
    match stall.filter(|it| it.span * WORTH_SAYING > totals.span) {
        Some(stall) if stall.cause == first.cause => of_stall(analysis, stall, totals),
        Some(stall) => {
            let most = of_most(&first, totals);
            format!("{most}\nLargest avoidable part: {}", of_stall(analysis, stall, totals))
        }
        None => of_none(&first, totals),
    }
}

/// A stall below this part of all time is not what matters. Ours.
const WORTH_SAYING: u32 = 50;

fn of_stall(analysis: &Analysis, stall: &Total, totals: &Totals) -> String {
    let worst = worst_host(analysis, stall.cause, stall.direction);
    let who = worst.map_or_else(|| "The sender".to_owned(), named);
    let mut out = format!(
        "{who} {}: {}, {} ({}, {}).",
        did(stall.cause, stall.direction),
        how_often(stall, totals.exchanges as u64),
        how_long(stall),
        how_much(stall, totals),
        how_sure(stall),
    );
    add_remedy(stall, &mut out);
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

/// The summary if no stall is significant.
fn of_none(first: &Total, totals: &Totals) -> String {
    let share = share(first, totals);
    if first.party() == Some(Party::Path) && share >= NOTHING_ELSE {
        return format!("Nothing to change. {}", of_most(first, totals));
    }
    if first.cause == Cause::Unknown {
        return of_most(first, totals);
    }
    let exchanges = counted(totals.exchanges as u64, "exchange");
    let most = of_most(first, totals);
    // Losses and a path that stands still are stalls, too, for whoever waits.
    let stalls = match first.cause {
        Cause::LossRecovery | Cause::PathStall => "No other significant stall",
        _ => "No significant stall caused by TCP",
    };
    let mut out = format!("{most} {stalls} in {exchanges}.");
    add_remedy(first, &mut out);
    out
}

/// If the path takes at least this part of the time, neither end can change much. Our choice.
const NOTHING_ELSE: f64 = 0.9;

fn add_remedy(total: &Total, out: &mut String) {
    // A guess is not worth anybody's work.
    if total.confidence == Confidence::Low {
        return;
    }
    if let Some(remedy) = total.cause.remedy(total.direction) {
        let _ = write!(out, "\nFix: {}.", remedy.text);
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

/// What happened during the time of a cause that is not a stall.
const fn happened(cause: Cause, direction: Direction) -> &'static str {
    let to_client = matches!(direction, Direction::ToClient);
    match cause {
        Cause::Handshake => "Connections were being opened (TCP handshake)",
        Cause::TlsHandshake => "Connections were being opened (TLS handshake)",
        Cause::RequestUpload => "A link was busy with requests",
        Cause::Transmission => "A link was busy with responses",
        Cause::Queueing => "Data waited behind packets of other connections",
        Cause::PathStall => "The path delivered nothing",
        Cause::Propagation => "Data was in transit (distance)",
        Cause::ServerThink => "The server was working on responses",
        Cause::SlowStart => "The congestion window was full during slow start",
        Cause::CongestionWindow => "The congestion window was full",
        Cause::Pacing => "The sender spread its segments over time",
        Cause::LossRecovery => "Losses were being repaired",
        Cause::ApplicationLimited if to_client => "The server paused in the middle of responses",
        Cause::ApplicationLimited => "The client paused in the middle of requests",
        Cause::Unknown => "The capture does not show the cause",
        _ => "A stall took most of the time",
    }
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

/// What the party did, after its name.
const fn did(cause: Cause, direction: Direction) -> &'static str {
    let to_client = matches!(direction, Direction::ToClient);
    match cause {
        Cause::NagleDelayedAck if to_client => {
            "held the last segment of a response (Nagle) until the client's delayed ACK"
        }
        Cause::NagleDelayedAck => {
            "held the last segment of a request (Nagle) until the server's delayed ACK"
        }
        _ => match cause.deed() {
            Some(deed) => deed,
            None => "waited",
        },
    }
}

/// Whoever is to blame for most of it.
fn worst_host(analysis: &Analysis, cause: Cause, direction: Direction) -> Option<SocketAddr> {
    let mut owed: std::collections::BTreeMap<SocketAddr, Duration> = Default::default();
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
    use super::*;
    use crate::Reading;

    use Cause::{
        IdleRestart, LossRecovery, NagleDelayedAck, Propagation, ServerThink, Transmission,
    };
    use Confidence::{High, Low, Medium};

    /// The summary of 1,000 ms, of which each cause took this many.
    fn said(causes: &[(Cause, u64, Confidence)]) -> String {
        let total = |&(cause, millis, confidence): &(Cause, u64, Confidence)| Total {
            cause,
            direction: Direction::ToClient,
            span: Duration::from_millis(millis),
            exchanges: 1,
            times: 2,
            confidence,
            rival: (confidence == Medium).then_some(Cause::PathStall),
            sure: [Duration::ZERO; 2],
        };
        let totals = Totals {
            scope: TotalsScope::All,
            exchanges: 3,
            shortest: Duration::ZERO,
            span: Duration::from_secs(1),
            causes: causes.iter().map(total).collect(),
        };
        of_totals(&Reading::new().end().unwrap().analysis, &totals)
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
                &[(ServerThink, 900, High), (NagleDelayedAck, 30, Medium)],
                &[
                    "The server was working on responses: 90 % of the time (high confidence).",
                    "Largest avoidable part: The sender held",
                    "(3 % of the time, medium confidence; the packets also admit path-stall)",
                    "Fix: ",
                ],
            ),
            (
                &[(LossRecovery, 500, Medium), (IdleRestart, 300, Low)],
                &["Losses were being repaired: 50 %", "Largest avoidable part: ", "low confidence"],
            ),
            (
                &[(Transmission, 950, High), (NagleDelayedAck, 20, High)],
                &["Nothing to change. A link was busy with responses: 95 % of the time"],
            ),
            (
                &[(Propagation, 600, High), (Transmission, 390, High)],
                &["Data was in transit (distance): 60 %", "No significant stall"],
            ),
            (
                &[(LossRecovery, 460, Medium), (Propagation, 440, High)],
                &["Losses were being repaired: 46 %", "No other significant stall in 3 exchanges."],
            ),
            (
                &[(ServerThink, 1_000, High)],
                &["The server was working", "No significant stall", "Fix: profile the server"],
            ),
            (&[(Cause::Unknown, 990, Low)], &["The capture does not show the cause: 99 %"]),
        ] {
            let text = said(causes);
            let mut rest = text.as_str();
            for part in expected {
                let (_, after) = rest.split_once(part).unwrap_or_else(|| panic!("{part}: {text}"));
                rest = after;
            }
            assert!(text.starts_with(expected[0]), "{text}");
        }
    }

    #[test]
    fn a_verdict_with_low_confidence_comes_without_advice() {
        for (confidence, advises) in [(Low, false), (Medium, true), (High, true)] {
            let text = said(&[(ServerThink, 500, High), (NagleDelayedAck, 300, confidence)]);
            assert_eq!(text.contains("Fix: "), advises, "{text}");
        }
    }

    #[test]
    fn where_nothing_took_time_there_is_nothing_to_say() {
        assert_eq!(
            said(&[]),
            "No time can be attributed: in this capture, no exchange has a duration."
        );
        let none = Reading::new().end().unwrap().analysis;
        assert_eq!(sentence(&none), "The capture has no HTTP exchange.");
    }
}
