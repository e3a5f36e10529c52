//! The results as text.

use std::collections::{BTreeMap, BTreeSet};

use ackwise_cause::Cause;

use super::case::World;
use super::damage::Damage;
use super::reach::{self, Bound, Line};
use super::reading::Vantage;
use super::results::Results;
use super::score::{Group, Row, Share, Sureness, precision, recall};

/// Prints everything about the worlds that have cases.
pub(super) fn print(results: &Results) {
    for world in World::ALL {
        if results.cases.iter().any(|it| it.world == world) {
            println!("\n{}", heading(world));
            print_world(results, world);
        }
    }
}

const fn heading(world: World) -> &'static str {
    match world {
        World::Kernel => "KERNEL: real programs and Linux's TCP over emulated links",
        World::Sim => "SIMULATOR (it names causes by the function that the analyser uses, too)",
    }
}

fn print_world(results: &Results, world: World) {
    let rows: Vec<&Row> = results.rows.iter().filter(|it| it.view.world == world).collect();
    let whole: Vec<&Row> = rows.iter().copied().filter(|it| it.view.damage.is_none()).collect();
    cases(results, world);
    println!("\nTime by confidence, and how much of that is right");
    println!("  {:<28} {CALIBRATION}", "read");
    for vantage in Vantage::ALL {
        calibration(vantage.name(), &of(&whole, |it| it.view.vantage == vantage));
    }
    let [sender, elsewhere] = sides(&whole);
    calibration("sender's side and --pair", &sender);
    calibration("other places", &elsewhere);
    for damage in Damage::ALL {
        calibration(damage.name(), &of(&rows, |it| it.view.damage == Some(damage)));
    }
    failures(results, world);
    println!("\nSaid with high or medium confidence");
    println!("  {:<24} {:>24}    {:>24}", "", "sender's side and --pair", "other places");
    println!("  {:<24} {PRECISION}    {PRECISION}", "cause or group");
    Group::all().into_iter().for_each(|group| groups(group, &sender, &elsewhere));
    for (title, rows) in [("sender's side and --pair", &sender), ("other places", &elsewhere)] {
        println!("\nWhat is said of what, {title} (share of the truth's time)");
        confusion(rows);
    }
    println!("\nMust reach");
    reach::lines(results, world).iter().for_each(print_line);
    println!("\nWorst cases (go on with --show CASE)");
    worst(&whole);
}

/// What was recorded.
fn cases(results: &Results, world: World) {
    let cases = || results.cases.iter().filter(|it| it.world == world);
    let disturbed: Vec<_> = cases().filter(|it| it.disturbed.is_some()).collect();
    println!("{} cases, {} disturbed and left out", cases().count(), disturbed.len());
    for case in disturbed {
        let why = case.disturbed.as_deref().unwrap_or_default();
        println!("  {} ({}): {why}", case.name, case.family);
    }
    let kept = || cases().filter(|it| it.disturbed.is_none());
    println!("  {:<24} {:>6} {:>12}", "cause", "cases", "time");
    for cause in Cause::ALL {
        let count = kept().filter(|it| it.has(cause)).count();
        let time: u64 = kept().map(|it| it.time(cause)).sum();
        if time > 0 {
            println!("  {:<24} {count:>6} {:>9.1} ms", cause.name(), ms(time));
        }
    }
    let known = kept().map(|it| it.known).sum();
    let ambiguous = Share { part: kept().map(|it| it.ambiguous).sum(), whole: known };
    println!("  several causes admitted: {} of the time", percent(ambiguous));
    for vantage in Vantage::ALL {
        let rows = results.rows.iter().filter(|it| {
            (it.view.world, it.view.vantage, it.view.damage) == (world, vantage, None)
        });
        let unjudged = Share::of(rows, |it| it.truth.is_none());
        if unjudged.whole > 0 {
            println!("  not judged, read at {vantage}: {} of the time", percent(unjudged));
        }
    }
}

const CALIBRATION: &str = "       ms |   high  right | medium  right |    low  right | unknown";
const PRECISION: &str = "   precision      recall";

fn calibration(title: &str, rows: &[&Row]) {
    let judged = of(rows, |it| it.truth.is_some());
    if judged.is_empty() {
        return;
    }
    print!("  {title:<28} {:>9.0}", judged.iter().map(|it| ms(it.nanos)).sum::<f64>());
    for sureness in Sureness::ALL {
        let [share, right] = shares(&judged, sureness);
        match sureness {
            Sureness::Unknown => println!(" | {:>7}", percent(share)),
            _ => print!(" | {:>6} {:>6}", percent(share), percent(right)),
        }
    }
}

/// Of judged time, how much is said so surely, and how much of that is right.
pub(super) fn shares(judged: &[&Row], sureness: Sureness) -> [Share; 2] {
    let said = judged.iter().copied().filter(|it| it.sureness() == sureness);
    let share = Share::of(judged.iter().copied(), |it| it.sureness() == sureness);
    [share, Share::of(said, Row::is_right)]
}

fn failures(results: &Results, world: World) {
    let mut counts: BTreeMap<_, u32> = BTreeMap::new();
    for (_, view, why) in results.failures.iter().filter(|it| it.1.world == world) {
        *counts
            .entry((view.vantage, view.damage.map_or("whole", Damage::name), why))
            .or_default() += 1;
    }
    for ((vantage, damage, why), count) in counts {
        println!("  not read: {count} times {vantage}, {damage}: {why}");
    }
}

fn groups(group: Group, sender: &[&Row], elsewhere: &[&Row]) {
    let both = |rows: &[&Row]| {
        let judged = || rows.iter().copied();
        [precision(judged(), group), recall(judged(), group)]
    };
    let figures = [both(sender), both(elsewhere)];
    if figures.iter().flatten().any(|it| it.whole > 0) {
        let [sender, elsewhere] = figures.map(|it| {
            let [precision, recall] = it.map(percent);
            format!("{precision:>12} {recall:>11}")
        });
        println!("  {:<24} {sender}    {elsewhere}", group.name());
    }
}

/// Prints what was said of what.
fn confusion(rows: &[&Row]) {
    let mut sums: BTreeMap<Cause, BTreeMap<&str, u64>> = BTreeMap::new();
    for row in rows {
        let Some(truth) = row.truth else { continue };
        let said = match row.said {
            _ if row.is_right() => truth.cause.name(),
            Some((cause, _)) if cause == truth.cause => "the same, other direction",
            Some((cause, _)) => cause.name(),
            None => "nothing",
        };
        *sums.entry(truth.cause).or_default().entry(said).or_default() += row.nanos;
    }
    for (truth, said) in sums {
        let whole: u64 = said.values().sum();
        let mut said: Vec<_> = said.into_iter().map(|(name, part)| (part, name)).collect();
        said.sort_unstable_by(|one, other| other.cmp(one));
        let parts: Vec<String> = said
            .into_iter()
            .map(|(part, name)| (Share { part, whole }, name))
            .filter(|it| it.0.ratio().is_some_and(|ratio| ratio >= LEAST_SHOWN))
            .map(|(share, name)| format!("{name} {}", percent(share)))
            .collect();
        println!("  {:<22} {:>10.0} ms: {}", truth.name(), ms(whole), parts.join(", "));
    }
}

/// Smaller shares are not printed; JSON has them.
const LEAST_SHOWN: f64 = 0.001;

pub(super) fn print_line(line: &Line) {
    let sign = match line.bound {
        Bound::AtLeast => ">=",
        Bound::AtMost => "<=",
    };
    let verdict = match line.is_reached() {
        Some(reached) => crate::verdict(reached),
        None => "not measured",
    };
    // Shares need three digits, and counts none.
    let is_count = line.limit.fract() == 0.0;
    let number = |it: f64| if is_count { format!("{it}") } else { format!("{it:.3}") };
    let figure = line.figure.map_or_else(|| "-".to_owned(), number);
    println!("  {:<68} {figure:>8} {sign} {:<6} {verdict}", line.what, number(line.limit));
}

/// Prints wrong statements, the longest first: one for each case and each pair of truth and statement.
fn worst(rows: &[&Row]) {
    let mut wrong = of(rows, |it| it.truth.is_some() && !it.is_right());
    wrong.sort_by_key(|it| std::cmp::Reverse(it.nanos));
    let mut printed = BTreeSet::new();
    wrong.retain(|it| {
        printed.insert((&it.case, it.truth.map(|it| it.cause), it.said.map(|it| it.0)))
    });
    for row in wrong.into_iter().take(WORST) {
        let Some(truth) = row.truth else { continue };
        let direction = if truth.to_server { "to server" } else { "to client" };
        println!(
            "  {} {:<6} {:>9.1} ms of {} at {:.6} s: {} {direction}, said {} ({})",
            row.case,
            row.view.vantage.name(),
            ms(row.nanos),
            row.exchange,
            ms(row.longest_from) / 1e3,
            truth.cause,
            row.said.map_or("nothing", |it| it.0.name()),
            row.sureness().name(),
        );
    }
}

/// As many as a screen shows. Our choice.
const WORST: usize = 40;

/// Read where the data was sent or by `--pair`, and elsewhere; judged time only.
pub(super) fn sides<'a>(rows: &[&'a Row]) -> [Vec<&'a Row>; 2] {
    let judged = of(rows, |it| it.truth.is_some());
    let (sender, elsewhere) = judged.into_iter().partition(|it| it.is_at_sender());
    [sender, elsewhere]
}

fn of<'a>(rows: &[&'a Row], keeps: impl Fn(&Row) -> bool) -> Vec<&'a Row> {
    rows.iter().copied().filter(|it| keeps(it)).collect()
}

pub(super) fn percent(share: Share) -> String {
    share.ratio().map_or_else(|| "-".to_owned(), |it| format!("{:.1} %", 100.0 * it))
}

#[expect(clippy::cast_precision_loss, reason = "printed with a few digits")]
pub(super) fn ms(nanos: u64) -> f64 {
    nanos as f64 / 1e6
}
