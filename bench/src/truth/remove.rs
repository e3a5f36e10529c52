//! How much of what is said moves if one packet is missing from a capture.

use std::collections::BTreeMap;

use ackwise_capture::attribution::Confidence;
use ackwise_cause::{Cause, Direction};

use super::case::Connection;
use super::reading::Said;

/// What a missing packet changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Change {
    /// Time of the connection's exchanges, in nanoseconds.
    pub(super) whole: u64,
    /// Time that is under another cause, or under none.
    pub(super) moved: u64,
    /// Time of that with a lower confidence than before.
    pub(super) lowered: u64,
    /// Time that had high confidence.
    pub(super) high: u64,
    /// Time of that that still has it.
    pub(super) still_high: u64,
    /// Number of other connections.
    pub(super) others: u32,
    /// Number of those with another cause or another confidence anywhere.
    pub(super) others_changed: u32,
}

/// Some time with one verdict, and how sure it is; unknown is least sure.
type Piece = (u64, u64, (Cause, Direction), Option<Confidence>);

impl Change {
    /// Compares what was said with what is said without a packet of `connection`.
    pub(super) fn of(connection: Connection, before: &Said, after: &Said) -> Self {
        let (before, after) = (timelines(before), timelines(after));
        let none = Vec::new();
        let of = |all: &'_ BTreeMap<Connection, Vec<Piece>>| {
            all.get(&connection).cloned().unwrap_or_default()
        };
        let mut change = Self::compare(&of(&before), &of(&after));
        for (other, pieces) in before.iter().filter(|it| *it.0 != connection) {
            change.others += 1;
            change.others_changed += u32::from(after.get(other).unwrap_or(&none) != pieces);
        }
        change
    }

    fn compare(before: &[Piece], after: &[Piece]) -> Self {
        let mut change = Self::default();
        for &(from, until, cause, confidence) in before {
            let is_high = confidence == Some(Confidence::High);
            let mut missing = until - from;
            let first = after.partition_point(|it| it.1 <= from);
            for it in after[first..].iter().take_while(|it| it.0 < until) {
                let span = it.1.min(until) - it.0.max(from);
                missing -= span;
                if it.2 != cause {
                    change.moved += span;
                    change.lowered += if it.3 < confidence { span } else { 0 };
                }
                if is_high && it.3 == Some(Confidence::High) {
                    change.still_high += span;
                }
            }
            change.whole += until - from;
            change.moved += missing;
            change.lowered += missing;
            change.high += if is_high { until - from } else { 0 };
        }
        change
    }
}

/// What was said of each connection's oldest exchange, in order of time.
fn timelines(said: &Said) -> BTreeMap<Connection, Vec<Piece>> {
    let mut timelines: BTreeMap<Connection, Vec<Piece>> = BTreeMap::new();
    for exchange in &said.exchanges {
        let pieces = timelines.entry(exchange.connection).or_default();
        for it in &exchange.claims {
            let from = it.from.max(exchange.oldest_from_ns);
            if from < it.until {
                let confidence = Some(it.confidence).filter(|_| it.cause != Cause::Unknown);
                pieces.push((from, it.until, (it.cause, it.direction), confidence));
            }
        }
    }
    timelines.values_mut().for_each(|it| it.sort_unstable());
    timelines
}

#[cfg(test)]
mod tests {
    use super::*;
    use Cause::{NagleRtt, Propagation, Unknown};
    use Confidence::{High, Medium};

    fn piece(from: u64, until: u64, cause: Cause, confidence: Option<Confidence>) -> Piece {
        (from, until, (cause, Direction::ToClient), confidence)
    }

    #[test]
    fn time_moves_if_its_cause_changes_or_nothing_is_said_of_it_any_more() {
        let before =
            [piece(0, 60, NagleRtt, Some(High)), piece(60, 100, Propagation, Some(Medium))];
        for (after, moved, lowered, still_high) in [
            (before.to_vec(), 0, 0, 60),
            (vec![piece(0, 60, NagleRtt, Some(High))], 40, 40, 60),
            (vec![piece(0, 100, NagleRtt, Some(Medium))], 40, 0, 0),
            (vec![piece(0, 50, NagleRtt, Some(High)), piece(50, 100, Unknown, None)], 50, 50, 50),
            (vec![piece(10, 200, Propagation, Some(High))], 60, 10, 50),
            (vec![], 100, 100, 0),
        ] {
            let change = Change::compare(&before, &after);
            assert_eq!((change.whole, change.high), (100, 60));
            let found = (change.moved, change.lowered, change.still_high);
            assert_eq!(found, (moved, lowered, still_high), "{after:?}");
        }
    }
}
