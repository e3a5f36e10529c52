//! What failed because of gRPC: deadlines that were over, and keepalive pings that came too often.

use std::{collections::BTreeSet, time::Duration};

use ackwise_capture::{
    analysis::{Analysis, ConnectionResult, Ending, ExchangeResult, SeenGoaway},
    attribution::Confidence,
};
use ackwise_cause::{FailureKind as Kind, GrpcStatus, Outcome, Party};
use ackwise_http::http2::frame;
use ackwise_text::words::rounded;

use super::Failure;

/// The server's GOAWAY, if it came before the end of the connection ended the exchange, or excluded it.
pub(super) fn goaway<'a>(
    connection: &'a ConnectionResult,
    exchange: &ExchangeResult,
    ending: &Ending,
) -> Option<&'a SeenGoaway> {
    let seen = connection.goaway.as_deref()?;
    let ends_with_it = match ending.outcome {
        Outcome::Unprocessed => true,
        // A stream that was reset has a code of its own.
        Outcome::ClosedUnanswered | Outcome::Truncated | Outcome::Reset => ending.code.is_none(),
        _ => false,
    };
    (ends_with_it && seen.at <= exchange.start + exchange.duration).then_some(seen)
}

/// Why an exchange failed, if gRPC's fields show that.
pub(super) fn kind(
    connection: &ConnectionResult,
    exchange: &ExchangeResult,
    ending: &Ending,
) -> Option<Kind> {
    let says = goaway(connection, exchange, ending).map(|it| it.says);
    if says.is_some_and(|it| it.is_too_many_pings()) {
        return Some(Kind::TooManyPings);
    }
    ending.deadline.map(|_| Kind::DeadlineExceeded)
}

/// What the client's library makes of it, if it does not try again: gRPC's PROTOCOL-HTTP2 has UNAVAILABLE for a
/// connection that ends.
pub(super) fn client_status(
    exchange: &ExchangeResult,
    ending: &Ending,
    kind: Kind,
) -> Option<GrpcStatus> {
    let is_stream = ending.code.is_some() && ending.outcome != Outcome::Unprocessed;
    match kind {
        Kind::DeadlineExceeded => Some(GrpcStatus::DEADLINE_EXCEEDED),
        Kind::Unprocessed
        | Kind::TooManyPings
        | Kind::ClosedUnanswered
        | Kind::Truncated
        | Kind::Reset
        | Kind::CloseRace
        | Kind::IgnoredClose
            if exchange.is_grpc && !is_stream =>
        {
            Some(GrpcStatus::UNAVAILABLE)
        }
        _ => None,
    }
}

/// Connections that ended because of too many pings when no call was under way that `failures` has.
pub(super) fn idle_pings(analysis: &Analysis, failures: &[Failure]) -> Vec<Failure> {
    let told = failures.iter().filter(|it| it.kind == Kind::TooManyPings);
    let told: BTreeSet<u32> = told.map(|it| it.connection).collect();
    let pings =
        |it: &&ConnectionResult| it.goaway.as_deref().is_some_and(|it| it.says.is_too_many_pings());
    let untold = analysis.connections.iter().filter(pings).filter(|it| !told.contains(&it.id));
    untold.filter_map(idle).collect()
}

fn idle(connection: &ConnectionResult) -> Option<Failure> {
    let seen = connection.goaway.as_deref()?;
    Some(Failure {
        kind: Kind::TooManyPings,
        outcome: Outcome::Unprocessed.name(),
        exchange: None,
        connection: connection.id,
        server: connection.server,
        at: seen.at,
        span: Duration::ZERO,
        at_most: None,
        party: Kind::TooManyPings.party(),
        ended_by: Some(Party::Server),
        confidence: Confidence::High,
        rival: None,
        idle: [None; 2],
        packet: None,
        black_hole: None,
        icmp: None,
        http2_code: seen.says.code,
        goaway_code: seen.says.code,
        deadline: None,
        grpc_status: None,
        alert: None,
        recovered_by: None,
        made_for: None,
        on_the_way: None,
    })
}

/// What shows it, of a group of failures.
pub(super) fn evidence(failures: &[&Failure]) -> Vec<String> {
    let mut deadlines: Vec<_> = failures.iter().filter_map(|it| it.deadline).collect();
    deadlines.sort_unstable();
    let deadline = deadlines.first().zip(deadlines.last()).map(|(least, most)| {
        let [least, most] = [least, most].map(|it| rounded(*it));
        let span = if least == most { least } else { format!("{least} to {most}") };
        format!("The deadline that the client set (grpc-timeout) was {span}")
    });
    let announced = failures.iter().find_map(|it| it.goaway_code).filter(|_| {
        // Otherwise the code of the GOAWAY itself is named.
        failures.iter().all(|it| it.http2_code.is_none())
    });
    let announced = announced.map(|code| {
        let name = frame::error_name(code).unwrap_or("an unknown code");
        format!("The server had announced the end of the connection before (GOAWAY, {name})")
    });
    let unavailable = failures.iter().any(|it| it.grpc_status == Some(GrpcStatus::UNAVAILABLE));
    let unavailable = unavailable.then(|| {
        "A gRPC client reports such calls as UNAVAILABLE, unless it sends them again".to_owned()
    });
    [deadline, announced, unavailable].into_iter().flatten().collect()
}
