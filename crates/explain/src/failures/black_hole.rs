//! A path that drops full segments.

use std::time::Duration;

use ackwise_capture::{
    analysis::{BlackHole, ConnectionResult},
    attribution::Confidence,
    decode::IcmpReason,
};
use ackwise_cause::FailureKind as Kind;
use ackwise_tcp::Instant;

use super::PATH_BROKEN;

/// Whether what did not get through would have, had it been lost by chance: Linux sends it again after 0.2 and 0.6 s on a
/// path of 30 ms (RFC 6298, section 5.5).
pub(super) fn has_lasted(connection: &ConnectionResult, hole: &BlackHole, last: Instant) -> bool {
    /// Our choice.
    const LONG: Duration = Duration::from_secs(1);
    let closed = [connection.client_closed, connection.server_closed].into_iter().flatten().min();
    let until = closed.unwrap_or(if connection.reset { connection.last_seen } else { last });
    hole.sends.is_some()
        || until.saturating_since(hole.since) >= LONG.max(connection.round_trip * 4)
}

/// What did not get through, if that is why.
pub(super) fn blocked(connection: &ConnectionResult, kind: Kind) -> Option<BlackHole> {
    connection.black_hole.as_deref().copied().filter(|_| kind == Kind::PathMtuBlackHole)
}

/// How sure it is that the path drops full segments, and what looks the same; `None` if nothing shows that it does.
pub(super) fn black_hole(
    connection: &ConnectionResult,
    last: Instant,
    works_again: impl FnOnce() -> bool,
) -> Option<(Confidence, Option<&'static str>)> {
    let it = connection.black_hole.as_deref().filter(|it| has_lasted(connection, it, last))?;
    let icmp = connection.icmp.as_deref();
    let told = icmp.is_some_and(|it| matches!(it.reason, IcmpReason::TooBig { .. }));
    Some(match (it.sends, it.passes) {
        _ if told => (Confidence::High, None),
        (Some(_), Some(_)) => (Confidence::High, None),
        // Nothing got through on this connection; something small did on another.
        (Some(_), None) if works_again() => (Confidence::Medium, Some(PATH_BROKEN)),
        (Some(_), None) => return None,
        (None, _) => (Confidence::Medium, Some("burst-loss")),
    })
}
