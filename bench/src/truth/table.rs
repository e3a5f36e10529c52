//! The results as text.

use std::collections::{BTreeMap, BTreeSet};

use ackwise_cause::Cause;

use super::score::{Row, Share, Sureness};

/// Prints what was said of what, in milliseconds.
pub(super) fn confusion(rows: &[&Row]) {
    let mut sums: BTreeMap<(Cause, Option<Cause>), u64> = BTreeMap::new();
    let mut columns: BTreeSet<Option<Cause>> = BTreeSet::new();
    for row in rows {
        let Some(truth) = row.truth else { continue };
        let said = row.said.map(|it| it.0);
        columns.insert(said);
        *sums.entry((truth.cause, said)).or_default() += row.nanos;
    }
    for truth in Cause::ALL {
        let of_truth = sums.iter().filter(|((it, _), _)| *it == truth);
        let total: u64 = of_truth.clone().map(|it| it.1).sum();
        if total == 0 {
            continue;
        }
        let mut said: Vec<_> = of_truth.map(|((_, said), nanos)| (*nanos, *said)).collect();
        said.sort_unstable_by(|one, other| other.cmp(one));
        print!("  {:<24} {:>12.1} ms:", truth.name(), ms(total));
        for (nanos, said) in said {
            let share = 100.0 * ms(nanos) / ms(total);
            if share >= 0.05 {
                print!(" {} {share:.1} %,", said.map_or("nothing", Cause::name));
            }
        }
        println!();
    }
}

/// Prints how much is said how surely, and how much of that is right.
pub(super) fn calibration(rows: &[&Row]) {
    let judged: Vec<&Row> = rows.iter().copied().filter(|it| it.truth.is_some()).collect();
    for sureness in Sureness::ALL {
        let of_all = Share::of(judged.iter().copied(), |it| it.sureness() == sureness);
        let said = judged.iter().copied().filter(|it| it.sureness() == sureness);
        let right = Share::of(said, Row::is_right);
        println!(
            "  {:<8} {:>6} of the time, right {:>6}",
            sureness.name(),
            percent(of_all),
            percent(right)
        );
    }
}

pub(super) fn percent(share: Share) -> String {
    share.ratio().map_or_else(|| "-".to_owned(), |it| format!("{:.1} %", 100.0 * it))
}

#[expect(clippy::cast_precision_loss, reason = "printed with one digit")]
pub(super) fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
