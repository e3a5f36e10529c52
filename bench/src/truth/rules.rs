//! What each rule decides, how much of that is right, and what switching it off costs.
//!
//! Each case is read once with all rules, and once without each of those that decide any of its time, from the same
//! recording. So the difference is that rule's, and nothing else varies. A rule that nothing names in a case is not
//! switched off there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use ackwise_capture::attribution::{Rule, RuleKind};

use super::case::Recorded;
use super::reading::{self, Needed, Vantage};
use super::score::{self, Row, Share, Sureness, View, ms};

/// What rules are worth, case after case.
#[derive(Debug, Default)]
pub(super) struct Worth {
    rules: BTreeMap<Rule, OfRule>,
    cases: usize,
    /// Time with truth.
    judged: u64,
}

#[derive(Debug, Default)]
struct OfRule {
    /// What it decides, or limits: by sureness, right and all.
    decides: BTreeMap<Sureness, Share>,
    /// How switching it off changes what is right and what is wrong, by family.
    off: BTreeMap<String, Change>,
}

/// Nanoseconds more, or less, that are said with high or medium confidence; of a doubt, which changes only how sure it
/// is, with high confidence.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    right: i64,
    wrong: i64,
}

impl Worth {
    /// Reads a case.
    pub(super) fn add(&mut self, recorded: &Recorded) -> anyhow::Result<()> {
        if recorded.case.disturbed.is_some() || recorded.truth.intervals.is_empty() {
            return Ok(());
        }
        let packets = reading::load(&recorded.folder, &recorded.case.captures)?;
        let all = rows(recorded, &packets, None);
        self.cases += 1;
        let mut named = BTreeSet::new();
        for row in all.iter().filter(|it| it.truth.is_some()) {
            self.judged += row.nanos;
            let Some((rule, doubt)) = row.by else { continue };
            for rule in [Some(rule), doubt].into_iter().flatten() {
                named.insert(rule);
                let decides = &mut self.rules.entry(rule).or_default().decides;
                let share = decides.entry(row.sureness()).or_default();
                share.whole += row.nanos;
                share.part += if row.is_right() { row.nanos } else { 0 };
            }
        }
        for rule in named {
            let [right, wrong] = sums(&all, rule.kind());
            let [right_off, wrong_off] = sums(&rows(recorded, &packets, Some(rule)), rule.kind());
            let off = &mut self.rules.entry(rule).or_default().off;
            let change = off.entry(recorded.case.family.clone()).or_default();
            change.right += right_off - right;
            change.wrong += wrong_off - wrong;
        }
        Ok(())
    }

    /// A table of them.
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out).expect("a string takes everything");
        out
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "{} cases, {:.1} s of truth at all places",
            self.cases,
            ms(self.judged) / 1e3
        )?;
        writeln!(
            out,
            "What each rule decides or limits, and how much of that is right; then how many ms more are right, and wrong,\n\
             if it is switched off: with high or medium confidence, of a doubt with high confidence; and the same\n\
             without the family where that changes most. Rules on where data is cannot be switched off: +0."
        )?;
        for kind in [RuleKind::Row, RuleKind::Doubt] {
            writeln!(
                out,
                "\n{:<20} {:>10} {:>14} {:>14} {:>14} {:>18} {:>18}",
                kind.name(),
                "ms",
                "high",
                "medium",
                "low",
                "off: right, wrong",
                "but one family"
            )?;
            for rule in Rule::ALL.iter().filter(|it| it.kind() == kind) {
                self.row(out, *rule)?;
            }
        }
        Ok(())
    }

    fn row(&self, out: &mut String, rule: Rule) -> fmt::Result {
        let Some(of_rule) = self.rules.get(&rule) else {
            return writeln!(out, "{:<20} {:>10}", rule.name(), "-");
        };
        let of = |sureness| of_rule.decides.get(&sureness).copied().unwrap_or_default();
        let all: u64 = of_rule.decides.values().map(|it| it.whole).sum();
        let cell = |share: Share| match share.ratio() {
            Some(right) => format!("{:>6.1}s {:>5.1}%", ms(share.whole) / 1e3, right * 100.0),
            None => "-".to_owned(),
        };
        let most = of_rule.off.values().max_by_key(|it| it.right.abs().max(it.wrong.abs()));
        let most = most.copied().unwrap_or_default();
        let mut sum = Change::default();
        for change in of_rule.off.values() {
            sum.right += change.right;
            sum.wrong += change.wrong;
        }
        let rest = Change { right: sum.right - most.right, wrong: sum.wrong - most.wrong };
        writeln!(
            out,
            "{:<20} {:>10.1} {:>14} {:>14} {:>14} {:>18} {:>18}",
            rule.name(),
            ms(all),
            cell(of(Sureness::High)),
            cell(of(Sureness::Medium)),
            cell(of(Sureness::Low)),
            sum.text(),
            rest.text(),
        )
    }
}

impl Change {
    fn text(self) -> String {
        #[expect(clippy::cast_precision_loss, reason = "printed with a few digits")]
        let ms = |nanos: i64| nanos as f64 / 1e6;
        format!("{:+.0}, {:+.0}", ms(self.right), ms(self.wrong))
    }
}

/// What is reported about a case at all places, whole, beside the truth.
pub(super) fn rows(recorded: &Recorded, packets: &Needed<'_>, without: Option<Rule>) -> Vec<Row> {
    let case = &recorded.case;
    let read = |vantage| reading::read(vantage, &case.captures, &case.one_way_ms, packets, without);
    let of_vantage = |vantage| {
        // A pair that cannot be joined is a failure of the usual run.
        let said = read(vantage).ok().flatten()?;
        let view = View { world: case.world, vantage, damage: None };
        Some(score::rows(recorded, view, &said))
    };
    Vantage::ALL.into_iter().filter_map(of_vantage).flatten().collect()
}

/// Nanoseconds that are right, and wrong, with the confidence that counts for such a rule.
fn sums(rows: &[Row], kind: RuleKind) -> [i64; 2] {
    let counts = |row: &&Row| match kind {
        RuleKind::Doubt => row.sureness() == Sureness::High,
        _ => row.is_sure(),
    };
    let mut sums = [0; 2];
    for row in rows.iter().filter(|it| it.truth.is_some()).filter(counts) {
        sums[usize::from(!row.is_right())] += i64::try_from(row.nanos).unwrap_or(i64::MAX);
    }
    sums
}
