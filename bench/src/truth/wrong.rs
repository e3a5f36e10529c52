//! What is said to be one cause and is not, and what is that cause and is not said to be; or all that is wrong
//! with one confidence.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use ackwise_cause::Cause;

use super::options::Wrong;
use super::results::Results;
use super::score::{Row, Share, Sureness, ms};
use super::table::{WORST, percent, sides, told};

/// Of undamaged captures, the longest first, by where they were taken. As in precision and recall, a
/// statement counts if it has high or medium confidence.
pub(super) fn text(results: &Results, wrong: Wrong) -> String {
    let whole: Vec<&Row> = results.rows.iter().filter(|it| it.view.damage.is_none()).collect();
    let mut out = String::new();
    let families = results.cases.iter().map(|it| (it.name.as_str(), it.family.as_str())).collect();
    let places = ["sender's side and --pair", "other places"];
    for (place, rows) in places.into_iter().zip(sides(&whole)) {
        let written = match wrong {
            Wrong::Cause(cause) => lists(&mut out, place, &rows, cause),
            Wrong::Sure(sure) => so_sure(&mut out, place, &rows, sure, &families),
        };
        written.expect("a string takes everything");
    }
    out
}

/// What is said with this confidence: how much of each cause is right; then what is wrong, as sums by family, rule, truth
/// and statement, and the longest.
fn so_sure(
    out: &mut String,
    place: &str,
    rows: &[&Row],
    sureness: Sureness,
    families: &BTreeMap<&str, &str>,
) -> fmt::Result {
    let sure = || rows.iter().copied().filter(|it| it.sureness() == sureness);
    let title = format!("{place}: said with {} confidence", sureness.name());
    writeln!(out, "\n{title}, and how much of that is right")?;
    for cause in Cause::ALL {
        let share =
            Share::of(sure().filter(|it| it.said.is_some_and(|it| it.0 == cause)), Row::is_right);
        if share.whole > 0 {
            writeln!(
                out,
                "  {:<24} {:>9.1} ms {:>8}",
                cause.name(),
                ms(share.whole),
                percent(share)
            )?;
        }
    }
    writeln!(out, "\n{place}: what is wrong of it")?;
    let mut sums: BTreeMap<_, u64> = BTreeMap::new();
    for row in sure().filter(|it| !it.is_right()) {
        let (Some((truth, said)), Some(by)) = (row.truth.zip(row.said), row.by) else { continue };
        let family = families.get(row.case.as_str()).copied().unwrap_or_default();
        *sums.entry((family, by.0.name(), truth.cause, said.0)).or_default() += row.nanos;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|it| std::cmp::Reverse(it.1));
    for ((family, rule, truth, said), nanos) in sums.into_iter().take(WORST) {
        writeln!(out, "  {:>9.1} ms of {truth}, said {said} by {rule} in {family}", ms(nanos))?;
    }
    list(out, &title, sure(), Row::is_right)
}

fn lists(out: &mut String, place: &str, rows: &[&Row], cause: Cause) -> fmt::Result {
    let said = |row: &&Row| row.is_sure() && row.said.is_some_and(|it| it.0 == cause);
    let known = |row: &&Row| row.truth.is_some_and(|it| it.cause == cause);
    let all = rows.iter().copied();
    list(out, &format!("{place}: said to be {cause}"), all.clone().filter(said), Row::is_right)?;
    list(out, &format!("{place}: {cause}, and said to be"), all.filter(known), |row| {
        row.is_right() && row.is_sure()
    })
}

/// What of `rows` is wrong.
fn list<'a>(
    out: &mut String,
    title: &str,
    rows: impl Iterator<Item = &'a Row> + Clone,
    is_right: impl Fn(&Row) -> bool,
) -> fmt::Result {
    let sum = |rows: &mut dyn Iterator<Item = &Row>| ms(rows.map(|it| it.nanos).sum());
    let mut wrong: Vec<&Row> = rows.clone().filter(|it| !is_right(it)).collect();
    wrong.sort_by_key(|it| std::cmp::Reverse(it.nanos));
    let (part, whole) = (sum(&mut wrong.iter().copied()), sum(&mut rows.into_iter()));
    writeln!(out, "\n{title}: {part:.1} of {whole:.1} ms are wrong")?;
    wrong.into_iter().take(WORST).try_for_each(|row| told(out, row))
}
