//! What to do: at high confidence, what to change; at medium, that and how to be sure; at low, only the latter, for a
//! guess is not worth anybody's work.

use std::fmt::Write as _;

use ackwise_capture::{analysis::Analysis, attribution::Confidence, conversation::Protocol};
use ackwise_cause::{Cause, Direction};

use super::{loss::of_loss, window::of_windows};
use crate::{hops::Waits, totals::Total};

/// Adds the lines of advice.
pub(super) fn add_advice(analysis: &Analysis, total: &Total, out: &mut String) {
    if (total.cause, total.direction) == (Cause::ServerThink, Direction::ToClient)
        && let Some(of_proxy) = Waits::advice(analysis, total.span)
    {
        let _ = write!(out, "\n{of_proxy}");
        return;
    }
    let is_http = is_of_http(analysis, total.cause);
    let of_cause = match is_http {
        true => total.cause.remedy(total.direction),
        false => total.cause.remedy_without_http(total.direction),
    };
    let of_window = of_windows(analysis, total).map(|it| it.remedy(total.direction.receiver()));
    let remedy = of_window.or_else(|| of_cause.map(|it| it.text));
    let check = match is_http {
        true => total.cause.check(total.direction, total.rival),
        false => total.cause.check_without_http(total.direction, total.rival),
    };
    let is_loss = matches!(total.cause, Cause::LossRecovery | Cause::RetransmissionTimeout);
    let loss = is_loss.then(|| of_loss(analysis, total)).flatten();
    if let Some(loss) = &loss
        && total.confidence > Confidence::Low
    {
        let _ = write!(out, "\n{}", loss.text);
    }
    let label = match total.confidence {
        Confidence::High if is_loss => "Next",
        Confidence::High => "Fix",
        Confidence::Medium => "If so",
        Confidence::Low => "",
    };
    let is_moot = loss.is_some_and(|it| it.is_needless);
    if let Some(remedy) = remedy.filter(|_| !label.is_empty() && !is_moot) {
        let _ = write!(out, "\n{label}: {remedy}.");
    }
    if let Some(check) = check.filter(|_| total.confidence < Confidence::High) {
        let _ = write!(out, "\nCheck: {check}.");
    }
}

/// Whether an exchange that waited for this may have been one of HTTP; inside TLS, it may.
fn is_of_http(analysis: &Analysis, cause: Cause) -> bool {
    let waited =
        analysis.exchanges.iter().filter(|it| it.shares.iter().any(|it| it.cause == cause));
    let mut connections = waited.filter_map(|it| analysis.connections.get(it.connection as usize));
    connections.any(|it| {
        let is_other = |protocol: Option<Protocol>| protocol.is_some_and(|it| !it.may_be_http());
        it.protocol.is_some() && !is_other(it.protocol) && !is_other(it.encrypted)
    })
}
