//! The sentence that comes first: who waited for whom, how often, how long, and what to change.

use std::{fmt::Write as _, net::SocketAddr, time::Duration};

use ackwise_capture::analysis::Analysis;
use ackwise_cause::{Cause, Direction};
use ackwise_report::words::{counted, grouped, rounded};

use super::totals::{Total, Totals, TotalsScope};

/// Who waited for whom in a capture, in one sentence or two.
#[must_use]
pub fn sentence(analysis: &Analysis) -> String {
    let totals = Totals::of(analysis, TotalsScope::All);
    if totals.exchanges == 0 {
        return "The capture has no HTTP exchange.".to_owned();
    }
    let stall = totals.causes.iter().filter(|it| is_stall(it.cause)).max_by_key(|it| it.span);
    match stall.filter(|it| it.span * WORTH_SAYING > totals.span) {
        Some(stall) => of_stall(analysis, stall),
        None => of_none(&totals),
    }
}

/// A stall below this part of all time is not what matters. Ours.
const WORTH_SAYING: u32 = 50;

/// Time that one end wastes on the other, rather than work, distance or loss.
pub(super) const fn is_stall(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::ShortInitialSegment
            | Cause::NagleDelayedAck
            | Cause::NagleRtt
            | Cause::CorkTimer
            | Cause::SillyWindow
            | Cause::IdleRestart
            | Cause::ReceiveWindow
            | Cause::SendBuffer
            | Cause::H2FlowControl
            | Cause::HeadOfLine
            | Cause::RetransmissionTimeout
    )
}

fn of_stall(analysis: &Analysis, stall: &Total) -> String {
    let worst = worst_host(analysis, stall.cause, stall.direction);
    let who = worst.map_or_else(|| "The sender".to_owned(), named);
    let mut out = format!(
        "{who} {}: {}, {}.",
        did(stall.cause, stall.direction),
        how_often(stall, analysis.exchanges.len() as u64),
        how_long(stall),
    );
    if let Some(remedy) = stall.cause.remedy(stall.direction) {
        let _ = write!(out, "\nFix: {}.", remedy.text);
    }
    out
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
        Cause::ShortInitialSegment => "waited for a delayed ACK with its congestion window full",
        Cause::NagleDelayedAck if to_client => {
            "held the last segment of a response (Nagle) until the client's delayed ACK"
        }
        Cause::NagleDelayedAck => {
            "held the last segment of a request (Nagle) until the server's delayed ACK"
        }
        Cause::NagleRtt => "held a small segment (Nagle) for a round trip",
        Cause::CorkTimer => {
            "held a small segment (TCP_CORK or MSG_MORE) until the cork timer expired"
        }
        Cause::SillyWindow | Cause::ReceiveWindow => "kept its receive window closed",
        Cause::IdleRestart => "cut its congestion window after an idle period",
        Cause::SendBuffer => "was limited by its send buffer",
        Cause::H2FlowControl => "kept its HTTP/2 flow-control window closed",
        Cause::HeadOfLine => "waited for earlier responses on the same connection",
        Cause::RetransmissionTimeout => "waited for its retransmission timer after a loss",
        _ => "waited",
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

fn of_none(totals: &Totals) -> String {
    let Some(first) = totals.causes.first() else {
        return "All exchanges have zero duration.".to_owned();
    };
    let share = first.span.as_secs_f64() / totals.span.as_secs_f64().max(f64::MIN_POSITIVE);
    let mut out = format!(
        "No significant stall caused by TCP in {}. Largest cause: {2} ({1:.0} % of \
         the time).",
        counted(totals.exchanges as u64, "exchange"),
        share * 100.0,
        first.cause,
    );
    if let Some(remedy) = first.cause.remedy(first.direction) {
        let _ = write!(out, "\nFix: {}.", remedy.text);
    }
    out
}
