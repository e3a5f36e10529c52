//! What an analysis may say, whatever the capture.

use std::{collections::BTreeMap, time::Duration};

use ackwise_capture::analysis::{Analysis, ExchangeResult};

/// Looks at everything that an analysis says of a capture of so many packets, the last of which has this
/// number: pcapng numbers some blocks that are no packets, too.
///
/// # Panics
///
/// If an invariant is broken.
pub fn check(analysis: &Analysis, packets: u64, last_number: u64) {
    assert!(analysis.copies <= analysis.segments && analysis.segments <= packets);
    let mut exchanges = BTreeMap::new();
    for exchange in &analysis.exchanges {
        check_exchange(exchange, last_number);
        *exchanges.entry(exchange.connection).or_insert(0) += 1;
    }
    for connection in &analysis.connections {
        assert!(connection.first_seen <= connection.last_seen, "{connection:?}");
        let told = exchanges.remove(&connection.id).unwrap_or(0);
        assert!(told <= connection.exchanges, "{told} exchanges of {connection:?}");
    }
    assert!(exchanges.is_empty(), "exchanges of no connection: {exchanges:?}");
    assert!(analysis.connections.is_sorted_by(|one, other| one.id < other.id), "told of twice");
    let seen: u64 =
        analysis.connections.iter().flat_map(|it| it.quality.directions).map(|it| u64::from(it.packets)).sum();
    assert!(seen + analysis.copies <= analysis.segments);
}

/// The time of an exchange is divided without a rest, and shown by packets that there are.
fn check_exchange(exchange: &ExchangeResult, last_number: u64) {
    let sum: Duration = exchange.shares.iter().map(|share| share.span).sum();
    assert_eq!(sum, exchange.duration, "shares do not add up: {exchange:?}");
    for share in &exchange.shares {
        assert!(share.times > 0 && share.longest <= share.span, "{share:?}");
        assert!(share.evidence.packets().all(|number| number <= last_number), "{share:?}");
    }
    let mut cursor = exchange.start;
    for stretch in &exchange.stretches {
        assert!(cursor <= stretch.from && stretch.from <= stretch.until, "{exchange:?}");
        cursor = stretch.until;
    }
    assert!(cursor.since(exchange.start) <= exchange.duration, "{exchange:?}");
}
