//! Whether two captures of the same connections say the same.

use std::time::Duration;

use ackwise_capture::analysis::{Analysis, ExchangeResult};
use ackwise_cause::Cause;

/// Times of two places differ by what the host needs to hand a packet on, and by who else runs. Ours.
const NEAR: Duration = Duration::from_millis(2);

/// What differs between the verdicts; nothing if they are the same.
pub(crate) fn differences(one: &Analysis, other: &Analysis) -> Vec<String> {
    let mut differences = Vec::new();
    let counts = [one, other].map(|it| (it.connections.len(), it.exchanges.len()));
    if counts[0] != counts[1] {
        return vec![format!("connections and exchanges: {counts:?}")];
    }
    for (one, other) in one.connections.iter().zip(&other.connections) {
        let ends = [one, other].map(|it| (it.client, it.server, it.closed_first, it.repeated));
        if ends[0] != ends[1] {
            differences.push(format!("{ends:?}"));
        }
    }
    for (number, (one, other)) in one.exchanges.iter().zip(&other.exchanges).enumerate() {
        let known = [one, other].map(|it| (it.request.clone(), it.status, it.bytes, it.complete));
        if known[0] != known[1] {
            differences.push(format!("exchange {number}: {known:?}"));
        }
        differences.extend(costs(number, one, other));
    }
    differences
}

fn costs(number: usize, one: &ExchangeResult, other: &ExchangeResult) -> Vec<String> {
    let causes = Cause::ALL.iter().map(|&cause| (cause, one.owed_to(cause), other.owed_to(cause)));
    causes
        .filter(|(_, one, other)| one.abs_diff(*other) > NEAR)
        .map(|(cause, one, other)| format!("exchange {number}: {cause} {one:?}, {other:?}"))
        .collect()
}
