//! What all forms of the report have in common: which part of a capture they show, and in which words.

use std::time::Duration;

use ackwise_capture::attribution::{Confidence, LossKind, Share};
use ackwise_cause::{Direction, H2Window};
use ackwise_text::words::millis;

use super::{
    clock_time::TimeFormat,
    reading::Explained,
    totals::{Total, Totals, TotalsScope},
};

/// Which part of a capture the reports show.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReportOptions {
    /// The number of slowest exchanges listed.
    pub worst: usize,
    /// Only this connection.
    pub connection: Option<u32>,
    /// Also total the exchanges slower than this.
    pub slower_than: Option<Duration>,
    /// With a table of exchanges by URL path.
    pub by_path: bool,
    /// With a table of connections.
    pub connections: bool,
    /// How points in time are printed.
    pub time: TimeFormat,
    /// Width of the terminal in columns.
    pub columns: usize,
}

impl Default for ReportOptions {
    fn default() -> Self {
        Self {
            worst: 5,
            connection: None,
            slower_than: None,
            by_path: false,
            connections: false,
            time: TimeFormat::Relative,
            columns: 100,
        }
    }
}

impl ReportOptions {
    /// The totals to report: of all exchanges, of two percentiles, and of those above a limit. With too
    /// few exchanges, a percentile is one of them.
    pub(super) fn totals(&self, explained: &Explained) -> Vec<Totals> {
        /// With fewer exchanges, the list of the slowest shows as much as a percentile (our choice).
        const FEW: usize = 20;
        let analysis = &explained.analysis;
        let mut scopes = vec![TotalsScope::All];
        if analysis.exchanges.len() >= FEW {
            scopes.extend([TotalsScope::Percentile(95), TotalsScope::Percentile(99)]);
        }
        scopes.extend(self.slower_than.map(TotalsScope::Slower));
        scopes.into_iter().map(|scope| Totals::of(analysis, scope)).collect()
    }
}

/// A table of a report.
pub(super) struct Shown {
    /// What it adds up.
    pub totals: Totals,
    /// For percentiles: `p95`, or `p95 and p99` if the same exchanges are at or above both.
    pub percentiles: String,
}

/// Which exchanges a table of a percentile covers.
pub(super) fn at_or_above(percentiles: &str, totals: &Totals) -> String {
    let least = millis(totals.shortest);
    match percentiles.contains(" and ") {
        true => format!("Exchanges that took {least} or more ({percentiles} are equal)"),
        false => format!("Exchanges at or above {percentiles} ({least})"),
    }
}

/// Drops tables that would repeat another one: a percentile that covers as many exchanges as the one
/// before, or all of them.
pub(super) fn without_repetition(all: Vec<Totals>) -> Vec<Shown> {
    let mut shown: Vec<Shown> = Vec::new();
    for totals in all {
        let TotalsScope::Percentile(_) = totals.scope else {
            shown.push(Shown { totals, percentiles: String::new() });
            continue;
        };
        let name = totals.scope.name();
        match shown.last_mut() {
            Some(last) if last.totals.exchanges == totals.exchanges => {
                if matches!(last.totals.scope, TotalsScope::Percentile(_)) {
                    last.percentiles += &format!(" and {name}");
                }
            }
            _ => shown.push(Shown { totals, percentiles: name }),
        }
    }
    shown
}

/// Whether a time is not printed as zero.
pub(super) fn is_visible(time: Duration) -> bool {
    time >= Duration::from_nanos(500)
}

/// A cause below this share, in percent, is not why slow exchanges are slow (our choice).
pub(super) const LEAST_SHOWN: f64 = 1.0;

/// Direction of the delayed data.
pub(super) const fn towards(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "to server",
        Direction::ToClient => "to client",
    }
}

/// `retransmission-timeout (tail)`, or `h2-flow-control (both)`.
pub(super) fn named(share: &Share) -> String {
    let detail = share.kind.map(LossKind::name).or_else(|| share.window.map(H2Window::name));
    let detail = detail.map_or(String::new(), |detail| format!(" ({detail})"));
    format!("{}{detail}", share.cause)
}

/// ` (medium confidence, rival path-stall)`; nothing if the verdict is sure.
pub(super) fn doubt(share: &Share) -> String {
    match (share.confidence, share.rival) {
        (Confidence::High, None) => String::new(),
        (unsure, None) => format!(" ({} confidence)", unsure.name()),
        (unsure, Some(rival)) => format!(" ({} confidence, rival {rival})", unsure.name()),
    }
}

/// In a table: `high`, or `medium, rival path-stall`.
pub(super) fn sureness(total: &Total) -> String {
    let rival = total.rival.map_or(String::new(), |rival| format!(", rival {rival}"));
    format!("{}{rival}", total.confidence.name())
}
