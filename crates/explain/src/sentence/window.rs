//! Which window of HTTP/2's flow control held data.

use std::{collections::BTreeMap, time::Duration};

use ackwise_capture::analysis::Analysis;
use ackwise_cause::{Cause, H2Window};

use crate::totals::Total;

/// The windows behind a `total`, but for those of less than a tenth of its time, as for its confidence.
pub(super) fn of_windows(analysis: &Analysis, total: &Total) -> Option<H2Window> {
    const LEAST: u32 = 10;
    if total.cause != Cause::H2FlowControl {
        return None;
    }
    let mut spans: BTreeMap<H2Window, Duration> = BTreeMap::new();
    let shares = analysis.exchanges.iter().flat_map(|it| it.shares.iter());
    for share in shares.filter(|it| (it.cause, it.direction) == (total.cause, total.direction)) {
        *spans.entry(share.window?).or_default() += share.span;
    }
    let least = spans.values().sum::<Duration>() / LEAST;
    let long = spans.into_iter().filter(|it| it.1 >= least).map(|it| it.0);
    long.reduce(H2Window::and)
}
