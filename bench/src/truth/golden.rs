//! What rules say of a few simulated cases, kept as a file: a change shows which verdicts it moves, beside the truth.
//!
//! `ACKWISE_UPDATE=1 cargo test -p ackwise-bench golden` writes the file again. A commit that changes it says why: what
//! was right and is wrong now is a defect.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ackwise_capture::attribution::Rule;

use super::case::World;
use super::options::{Set, Settings};
use super::rules;
use super::score::{Row, Sureness, ms};
use super::{each_case, reading};

/// The sets, and how many of their cases: each family at least once.
const SETS: [(Set, u64); 2] = [(Set::First, 24), (Set::Axes, 18)];
/// Our choice.
const SEED: u64 = 30;
/// Of fewer gaps, a share says nothing.
const LEAST: usize = 30;

/// Milliseconds and gaps, and those of them that are right.
#[derive(Clone, Copy, Default)]
struct Sum {
    nanos: [u64; 2],
    gaps: [usize; 2],
}

impl Sum {
    fn add(&mut self, row: &Row) {
        for (place, counts) in [true, row.is_right()].into_iter().enumerate() {
            self.nanos[place] += if counts { row.nanos } else { 0 };
            self.gaps[place] += usize::from(counts);
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "printed with a few digits")]
    fn right(&self) -> f64 {
        let [all, right] = self.nanos.map(|it| it as f64);
        100.0 * right / all
    }
}

fn table() -> anyhow::Result<String> {
    let (mut of_cases, mut of_rules) = (BTreeMap::new(), BTreeMap::<_, Sum>::new());
    for (set, runs) in SETS {
        let settings =
            Settings { set, seed: SEED, runs, worlds: vec![World::Sim], ..Settings::default() };
        each_case(&settings, |recorded| {
            let packets = reading::load(&recorded.folder, &recorded.case.captures)?;
            for row in rules::rows(recorded, &packets, None).iter().filter(|it| it.truth.is_some())
            {
                let (Some((rule, _)), Some((cause, _))) = (row.by, row.said) else { continue };
                let case = format!("{} {}", recorded.case.name, recorded.case.family);
                let key = (set.name(), case, rule, cause, row.sureness());
                of_cases.entry(key).or_insert_with(Sum::default).add(row);
                of_rules.entry((rule, row.sureness())).or_default().add(row);
            }
            Ok(())
        })?;
    }
    let mut out = "Rules with 30 gaps and more: what of their time is right, in %\n".to_owned();
    let many = |sum: &&Sum| sum.gaps[0] >= LEAST;
    for ((rule, sure), sum) in of_rules.iter().filter(|it| many(&it.1)) {
        writeln!(out, "{:<16} {:<7} {:>5.1}", rule.name(), sure.name(), sum.right())?;
    }
    out += "\nset, case and family, rule, cause, confidence: ms said, ms of them right\n";
    for ((set, case, rule, cause, sure), sum) in &of_cases {
        let ms = sum.nanos.map(ms);
        let (rule, sure): (&Rule, &Sureness) = (rule, sure);
        let (rule, cause, sure) = (rule.name(), cause.name(), sure.name());
        writeln!(out, "{set} {case} {rule} {cause} {sure}: {:.1} {:.1}", ms[0], ms[1])?;
    }
    Ok(out)
}

#[test]
fn rules_say_of_the_same_cases_what_they_said() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/rules.txt");
    let found = table().unwrap();
    if std::env::var_os("ACKWISE_UPDATE").is_some() {
        std::fs::write(file, &found).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    let differs = kept.lines().zip(found.lines()).find(|(kept, found)| kept != found);
    assert!(kept == found, "first difference: {differs:#?}; see bench/src/truth/golden.rs");
}
