//! Attempts to connect that brought no connection, or no TLS session.

use std::time::Duration;

use ackwise_capture::{analysis::ConnectionResult, attribution::Confidence};
use ackwise_cause::{ConnectOutcome, FailureKind as Kind, Party};

use super::{
    Failure, LEAST_TIMEOUT,
    attempts::Attempts,
    black_hole::{black_hole, blocked},
};

/// A failed attempt to connect.
#[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
pub(super) fn connect(attempts: &Attempts, it: &ConnectionResult) -> Option<Failure> {
    /// A client that waits for a connection waits at least that long, and a scan not at all. Our choice: browsers try
    /// the next address after 250 ms (RFC 8305, section 5).
    const WAITED: Duration = Duration::from_millis(250);
    let outcome = it.connect?;
    let mut span = it.last_seen.saturating_since(it.first_seen);
    let asked_again = it.quality.directions[0].packets > 2;
    let by_client = it.closed_first == Some(Party::Client);
    let mut kind = Kind::of_connect(outcome);
    let (mut confidence, mut rival) = (Confidence::High, None);
    match outcome {
        ConnectOutcome::Refused | ConnectOutcome::Unreachable
            if attempts.succeeds_elsewhere(it) =>
        {
            return None;
        }
        ConnectOutcome::Abandoned
            if attempts.succeeds_elsewhere(it)
                || span < WAITED && !attempts.fails_elsewhere(it) =>
        {
            return None;
        }
        ConnectOutcome::Collided if !attempts.had_time_wait(it) => {
            (confidence, rival) = (Confidence::Medium, Some("half-open"));
        }
        ConnectOutcome::Abandoned if !asked_again => {
            (confidence, rival) = (Confidence::Medium, Some("scan"));
        }
        // A firewall that drops what it has not seen the beginning of lets none of it pass.
        ConnectOutcome::Reset if span > it.round_trip * 2 + LEAST_TIMEOUT => return None,
        ConnectOutcome::TlsUnfinished => {
            if let Some(found) = black_hole(it, attempts.last(), || true) {
                kind = Kind::PathMtuBlackHole;
                (confidence, rival) = found;
            } else if by_client && span < WAITED + it.round_trip * 2 {
                // A browser opens more than it needs.
                return None;
            }
        }
        _ => {}
    }
    if matches!(outcome, ConnectOutcome::TlsAlert | ConnectOutcome::TlsUnfinished) {
        // Whoever closes first knows then; the other end's packets come later.
        let closed = [it.client_closed, it.server_closed].into_iter().flatten().min();
        span = closed.map_or(span, |at| at.saturating_since(it.first_seen));
    }
    let next = kind.ends_with_next_try().then(|| attempts.next(it, it.last_seen)).flatten();
    let at_most = match kind {
        // It had given up by then; when, nothing shows.
        Kind::ConnectAbandoned => Some(std::mem::take(&mut span)),
        // The client goes on when the next one is answered.
        Kind::TimeWaitCollision => next.map(|next| next.saturating_since(it.first_seen) + span * 2),
        _ => next.map(|next| next.saturating_since(it.first_seen)),
    };
    Some(Failure {
        kind,
        outcome: outcome.name(),
        exchange: None,
        connection: it.id,
        server: it.server,
        at: it.first_seen,
        span,
        at_most,
        party: match kind {
            Kind::TlsUnfinished if !by_client => Some(Party::Server),
            _ => kind.party(),
        },
        ended_by: it.closed_first,
        confidence,
        rival,
        idle: [None; 2],
        packet: None,
        black_hole: blocked(it, kind),
        icmp: it.icmp.as_deref().copied(),
        http2_code: None,
        goaway_code: None,
        deadline: None,
        grpc_status: None,
        alert: it.alert,
        recovered_by: None,
        made_for: None,
        on_the_way: None,
    })
}
