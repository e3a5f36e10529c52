//! What must be reached, and what was.

use ackwise_cause::Cause;

use super::case::World;
use super::remove::Change;
use super::results::{Facts, Results};
use super::score::{Group, Row, Share, Sureness, precision, recall};

/// A figure and its limit.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// For a program: stable.
    pub(super) key: String,
    pub(super) what: String,
    /// `None` if there was nothing to measure.
    pub(super) figure: Option<f64>,
    pub(super) limit: f64,
    pub(super) bound: Bound,
}

/// On which side of the limit it must be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Bound {
    AtLeast,
    AtMost,
}

impl Line {
    /// `None` if there was nothing to measure.
    pub(super) fn is_reached(&self) -> Option<bool> {
        self.figure.map(|figure| match self.bound {
            Bound::AtLeast => figure >= self.limit,
            Bound::AtMost => figure <= self.limit,
        })
    }
}

/// Collects lines under a common prefix.
struct Lines {
    prefix: &'static str,
    title: &'static str,
    lines: Vec<Line>,
}

impl Lines {
    fn add(&mut self, bound: Bound, key: &str, what: &str, figure: Option<f64>, limit: f64) {
        let Self { prefix, title, lines } = self;
        let (key, what) = (format!("{prefix}{key}"), format!("{title}{what}"));
        lines.push(Line { key, what, figure, limit, bound });
    }

    fn at_least(&mut self, key: &str, what: &str, figure: Option<f64>, limit: f64) {
        self.add(Bound::AtLeast, key, what, figure, limit);
    }

    fn at_most(&mut self, key: &str, what: &str, figure: Option<f64>, limit: f64) {
        self.add(Bound::AtMost, key, what, figure, limit);
    }
}

/// All lines for one world.
pub(super) fn lines(results: &Results, world: World) -> Vec<Line> {
    let undamaged =
        |row: &&Row| row.view.world == world && row.view.damage.is_none() && row.truth.is_some();
    let rows: Vec<&Row> = results.rows.iter().filter(undamaged).collect();
    let (at_sender, elsewhere): (Vec<_>, Vec<_>) = rows.iter().partition(|it| it.is_at_sender());
    let mut lines =
        Lines { prefix: "sender.", title: "sender's side and --pair: ", lines: Vec::new() };
    statements(&at_sender, 0.60, &mut lines);
    lines.at_most("unknown", "unknown", share_of(&at_sender, Sureness::Unknown), 0.05);
    (lines.prefix, lines.title) = ("elsewhere.", "other places: ");
    statements(&elsewhere, 0.40, &mut lines);
    let printed: Vec<&Row> = results.printed.iter().filter(undamaged).collect();
    let (at_sender, elsewhere): (Vec<_>, Vec<_>) = printed.iter().partition(|it| it.is_at_sender());
    (lines.prefix, lines.title) = ("printed.sender.", "as printed, sender's side and --pair: ");
    confidence(&at_sender, [0.98, 0.88, 0.40], &mut lines);
    (lines.prefix, lines.title) = ("printed.elsewhere.", "as printed, other places: ");
    confidence(&elsewhere, [0.98, 0.85, 0.30], &mut lines);
    (lines.prefix, lines.title) = ("", "");
    if world == World::Kernel {
        about_cases(&results.cases, &mut lines);
    }
    let changes: Vec<&Change> =
        results.removals.iter().filter(|it| it.world == world).map(|it| &it.change).collect();
    removal(&changes, &mut lines);
    lines.lines
}

/// What is said, and how much of it is right.
fn statements(rows: &[&Row], coverage: f64, lines: &mut Lines) {
    confidence(rows, [0.98, 0.85, coverage], lines);
    for group in Group::all() {
        let is_stall = matches!(group, Group::Stall(_));
        let (least, name) = (if is_stall { 0.97 } else { 0.9 }, group.name());
        let key = name.replace(' ', "-");
        let of = |share: Share| share.ratio();
        lines.at_least(
            &format!("{key}.precision"),
            &format!("{name}, precision"),
            of(precision(rows.iter().copied(), group)),
            least,
        );
        lines.at_least(
            &format!("{key}.recall"),
            &format!("{name}, recall"),
            of(recall(rows.iter().copied(), group)),
            0.9,
        );
    }
}

/// What is right of high and of medium, and the share that is high.
fn confidence(rows: &[&Row], [high, medium, coverage]: [f64; 3], lines: &mut Lines) {
    let right = |sureness| {
        let said = rows.iter().copied().filter(|it| it.sureness() == sureness);
        Share::of(said, Row::is_right).ratio()
    };
    lines.at_least("high.right", "right of what is high", right(Sureness::High), high);
    lines.at_least("medium.right", "right of what is medium", right(Sureness::Medium), medium);
    lines.at_least(
        "high.share",
        "share of time that is high",
        share_of(rows, Sureness::High),
        coverage,
    );
}

fn share_of(rows: &[&Row], sureness: Sureness) -> Option<f64> {
    Share::of(rows.iter().copied(), |it| it.sureness() == sureness).ratio()
}

#[expect(clippy::cast_precision_loss, reason = "small counts, and shares of time")]
fn about_cases(cases: &[Facts], lines: &mut Lines) {
    let is_counted = |it: &&Facts| it.world == World::Kernel && it.disturbed.is_none();
    let cases: Vec<&Facts> = cases.iter().filter(is_counted).collect();
    lines.at_least("cases", "cases", Some(cases.len() as f64), 250.0);
    for cause in Cause::ALL.into_iter().filter(|it| *it != Cause::Unknown) {
        let count = cases.iter().filter(|it| it.has(cause)).count();
        lines.at_least(
            &format!("cases.{cause}"),
            &format!("cases with {cause}"),
            Some(count as f64),
            30.0,
        );
    }
    let ambiguous: u64 = cases.iter().map(|it| it.ambiguous).sum();
    let known: u64 = cases.iter().map(|it| it.known).sum();
    let share = (known > 0).then(|| ambiguous as f64 / known as f64);
    lines.at_most("ambiguous", "truth that admits several causes", share, 0.1);
}

/// One packet is missing.
fn removal(changes: &[&Change], lines: &mut Lines) {
    let shares = |part: fn(&Change) -> (u64, u64)| -> Vec<f64> {
        let ratio = |it: &&&Change| {
            let (part, whole) = part(it);
            Share { part, whole }.ratio()
        };
        let mut shares: Vec<f64> = changes.iter().filter_map(|it| ratio(&it)).collect();
        shares.sort_by(f64::total_cmp);
        shares
    };
    let unmarked = shares(|it| (it.moved - it.lowered, it.whole));
    let moved = shares(|it| (it.moved, it.whole));
    let either = shares(|it| if it.is_lowered() { (0, it.whole) } else { (it.moved, it.whole) });
    let high = shares(|it| (it.still_high, it.high));
    let high_after = shares(|it| (it.high_after, it.whole));
    for (key, title, shares) in [
        ("moved", "one packet missing: time that moves", &moved),
        ("unmarked", "one packet missing: that moves without lower confidence", &unmarked),
        (
            "either",
            "one packet missing: that moves, 0 if the confidence of nine tenths of it is lower",
            &either,
        ),
    ] {
        for (place, name, limit) in [(50, "median", 0.03), (95, "95th percentile", 0.1)] {
            lines.at_most(
                &format!("remove.{key}.{place}"),
                &format!("{title}, {name}"),
                percentile(shares, place),
                limit,
            );
        }
    }
    lines.at_least(
        "remove.high",
        "one packet missing: high time that stays high, median",
        percentile(&high, 50),
        0.5,
    );
    lines.at_least(
        "remove.high.whole",
        "one packet missing: time of its connection that is high, median",
        percentile(&high_after, 50),
        0.5,
    );
    let others = changes.iter().map(|it| f64::from(it.others_changed)).sum::<f64>();
    lines.at_most(
        "remove.others",
        "one packet missing: other connections that change",
        (!changes.is_empty()).then_some(others),
        0.0,
    );
}

/// Of sorted values, the nearest rank.
fn percentile(sorted: &[f64], percent: usize) -> Option<f64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let values: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(percentile(&values, 50), Some(10.0));
        assert_eq!(percentile(&values, 95), Some(19.0));
        assert_eq!(percentile(&values[..1], 50), Some(1.0));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn a_limit_is_reached_on_its_own_side() {
        let line = |figure, bound| {
            let (key, what) = (String::new(), String::new());
            Line { key, what, figure, limit: 0.9, bound }.is_reached()
        };
        assert_eq!(line(Some(0.9), Bound::AtLeast), Some(true));
        assert_eq!(line(Some(0.89), Bound::AtLeast), Some(false));
        assert_eq!(line(Some(0.89), Bound::AtMost), Some(true));
        assert_eq!(line(Some(0.91), Bound::AtMost), Some(false));
        assert_eq!(line(None, Bound::AtMost), None);
    }
}
