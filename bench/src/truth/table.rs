//! The results, as tables of text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use ackwise_cause::Cause;

use super::amounts;
use super::case::World;
use super::damage::Damage;
use super::reach::{self, Bound, Line};
use super::reading::Vantage;
use super::results::{Facts, Results};
use super::score::{Group, Row, Share, Sureness, ms, precision, recall};

/// Everything about the worlds that have cases.
pub(super) fn text(results: &Results) -> String {
    let mut out = String::new();
    worlds(&mut out, results).expect("a string takes everything");
    if !results.told.is_empty() {
        out.push_str(&amounts::text(&results.told));
    }
    if !results.ordinary.is_empty() {
        out.push_str(&results.ordinary.text());
    }
    if !results.sums.is_empty() {
        out.push_str(&results.sums.text());
    }
    out
}

fn worlds(out: &mut String, results: &Results) -> fmt::Result {
    for world in World::ALL {
        if results.cases.iter().any(|it| it.world == world) {
            writeln!(out, "\n{}", heading(world))?;
            of_world(out, results, world)?;
        }
    }
    Ok(())
}

const fn heading(world: World) -> &'static str {
    match world {
        World::Kernel => "KERNEL: real programs and Linux's TCP over emulated links",
        World::Sim => "SIMULATOR (it names causes by the function that the analyser uses, too)",
    }
}

fn of_world(out: &mut String, results: &Results, world: World) -> fmt::Result {
    let rows: Vec<&Row> = results.rows.iter().filter(|it| it.view.world == world).collect();
    let whole: Vec<&Row> = rows.iter().copied().filter(|it| it.view.damage.is_none()).collect();
    cases(out, results, world)?;
    writeln!(
        out,
        "\nTime by confidence, and how much of that is right (by stretches; as printed: by each exchange's shares)"
    )?;
    writeln!(out, "  {:<28} {CALIBRATION}", "read")?;
    for vantage in Vantage::ALL {
        calibration(out, vantage.name(), &of(&whole, |it| it.view.vantage == vantage))?;
    }
    let [sender, elsewhere] = sides(&whole);
    calibration(out, "sender's side and --pair", &sender)?;
    calibration(out, "other places", &elsewhere)?;
    let printed: Vec<&Row> = results.printed.iter().filter(|it| it.view.world == world).collect();
    let [printed_at_sender, printed_elsewhere] = sides(&printed);
    calibration(out, "as printed, sender's side", &printed_at_sender)?;
    calibration(out, "as printed, other places", &printed_elsewhere)?;
    for damage in Damage::ALL {
        calibration(out, damage.name(), &of(&rows, |it| it.view.damage == Some(damage)))?;
    }
    apart(out, "sender's side and --pair of", &sender, results, |it| &it.family)?;
    apart(out, "the same, sent by", &sender, results, |it| &it.sender)?;
    failures(out, results, world)?;
    writeln!(out, "\nSaid with high or medium confidence")?;
    writeln!(out, "  {:<24} {:>24}    {:>24}", "", "sender's side and --pair", "other places")?;
    writeln!(out, "  {:<24} {PRECISION}    {PRECISION}", "cause or group")?;
    for group in Group::all() {
        groups(out, group, &sender, &elsewhere)?;
    }
    for (title, rows) in [("sender's side and --pair", &sender), ("other places", &elsewhere)] {
        writeln!(out, "\nWhat is true and what is reported, {title} (share of the truth's time)")?;
        confusion(out, rows)?;
    }
    writeln!(out, "\nMust reach")?;
    for it in reach::lines(results, world) {
        line(out, &it)?;
    }
    writeln!(out, "\nWorst cases (go on with --show CASE)")?;
    worst(out, &whole)
}

/// What was recorded.
fn cases(out: &mut String, results: &Results, world: World) -> fmt::Result {
    let cases = || results.cases.iter().filter(|it| it.world == world);
    let disturbed = cases().filter(|it| it.disturbed.is_some()).count();
    let why = if disturbed > 0 { " (--show CASE and --json say why)" } else { "" };
    writeln!(out, "{} cases, {disturbed} disturbed and left out{why}", cases().count())?;
    let kept = || cases().filter(|it| it.disturbed.is_none());
    let mut senders: BTreeMap<&str, u32> = BTreeMap::new();
    kept().for_each(|it| *senders.entry(&it.sender).or_default() += 1);
    let senders: Vec<String> =
        senders.iter().map(|(sender, count)| format!("{sender} {count}")).collect();
    writeln!(out, "  senders of the responses: {}", senders.join("; "))?;
    writeln!(out, "  {:<24} {:>6} {:>12}", "cause", "cases", "time")?;
    for cause in Cause::ALL {
        let count = kept().filter(|it| it.has(cause)).count();
        let time: u64 = kept().map(|it| it.time(cause)).sum();
        if time > 0 {
            let few = if count < CASES { "  fewer than 30" } else { "" };
            writeln!(out, "  {:<24} {count:>6} {:>9.1} ms{few}", cause.name(), ms(time))?;
        } else if Group::of(cause).is_some() {
            writeln!(out, "  {:<24} {count:>6} {:>12}  fewer than 30", cause.name(), "-")?;
        }
    }
    let known = kept().map(|it| it.known).sum();
    let ambiguous = Share { part: kept().map(|it| it.ambiguous).sum(), whole: known };
    writeln!(out, "  several causes admitted: {} of the time", percent(ambiguous))?;
    for vantage in Vantage::ALL {
        let rows = results.rows.iter().filter(|it| {
            (it.view.world, it.view.vantage, it.view.damage) == (world, vantage, None)
        });
        let unjudged = Share::of(rows, |it| it.truth.is_none());
        if unjudged.whole > 0 {
            writeln!(out, "  not judged, read at {vantage}: {} of the time", percent(unjudged))?;
        }
    }
    Ok(())
}

/// With fewer cases, a single one decides the figures of a cause. Our choice.
const CASES: usize = 30;

const CALIBRATION: &str = "       ms |   high  right | medium  right |    low  right | unknown";
const PRECISION: &str = "   precision      recall";

fn calibration(out: &mut String, title: &str, rows: &[&Row]) -> fmt::Result {
    let judged = of(rows, |it| it.truth.is_some());
    if judged.is_empty() {
        return Ok(());
    }
    write!(out, "  {title:<28} {:>9.0}", judged.iter().map(|it| ms(it.nanos)).sum::<f64>())?;
    for sureness in Sureness::ALL {
        let [share, right] = shares(&judged, sureness);
        match sureness {
            Sureness::Unknown => writeln!(out, " | {:>7}", percent(share))?,
            _ => write!(out, " | {:>6} {:>6}", percent(share), percent(right))?,
        }
    }
    Ok(())
}

/// Of judged time, how much is said so surely, and how much of that is right.
pub(super) fn shares(judged: &[&Row], sureness: Sureness) -> [Share; 2] {
    let said = judged.iter().copied().filter(|it| it.sureness() == sureness);
    let share = Share::of(judged.iter().copied(), |it| it.sureness() == sureness);
    [share, Share::of(said, Row::is_right)]
}

/// The same for each family of cases.
/// Cases apart by what `part` says of them.
fn apart(
    out: &mut String,
    title: &str,
    sender: &[&Row],
    results: &Results,
    part: impl Fn(&Facts) -> &str,
) -> fmt::Result {
    let parts: BTreeMap<&str, &str> =
        results.cases.iter().map(|it| (&it.name[..], part(it))).collect();
    let mut rows: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in sender {
        rows.entry(parts[&row.case[..]]).or_default().push(row);
    }
    writeln!(out, "  {title:<28} {CALIBRATION}")?;
    rows.iter().try_for_each(|(part, rows)| calibration(out, part, rows))
}

fn failures(out: &mut String, results: &Results, world: World) -> fmt::Result {
    let mut counts: BTreeMap<_, u32> = BTreeMap::new();
    for (_, view, why) in results.failures.iter().filter(|it| it.1.world == world) {
        *counts
            .entry((view.vantage, view.damage.map_or("whole", Damage::name), why))
            .or_default() += 1;
    }
    for ((vantage, damage, why), count) in counts {
        writeln!(out, "  not read: {count} times {vantage}, {damage}: {why}")?;
    }
    Ok(())
}

fn groups(out: &mut String, group: Group, sender: &[&Row], elsewhere: &[&Row]) -> fmt::Result {
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
        writeln!(out, "  {:<24} {sender}    {elsewhere}", group.name())?;
    }
    Ok(())
}

/// What was said of what.
fn confusion(out: &mut String, rows: &[&Row]) -> fmt::Result {
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
        writeln!(out, "  {:<22} {:>10.0} ms: {}", truth.name(), ms(whole), parts.join(", "))?;
    }
    Ok(())
}

/// Smaller shares are not printed; JSON has them.
const LEAST_SHOWN: f64 = 0.001;

/// A figure, its limit, and whether that is reached.
pub(super) fn line(out: &mut String, line: &Line) -> fmt::Result {
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
    writeln!(out, "  {:<68} {figure:>8} {sign} {:<6} {verdict}", line.what, number(line.limit))
}

/// Wrong statements, the longest first: one for each case and each pair of truth and statement.
pub(super) fn wrong<'a>(rows: &[&'a Row]) -> Vec<&'a Row> {
    let mut wrong = of(rows, |it| it.truth.is_some() && !it.is_right());
    wrong.sort_by_key(|it| std::cmp::Reverse(it.nanos));
    let mut found = BTreeSet::new();
    wrong
        .retain(|it| found.insert((&it.case, it.truth.map(|it| it.cause), it.said.map(|it| it.0))));
    wrong
}

fn worst(out: &mut String, rows: &[&Row]) -> fmt::Result {
    wrong(rows).into_iter().take(WORST).try_for_each(|row| told(out, row))
}

/// Prints what is true of some time, and what was said.
pub(super) fn told(out: &mut String, row: &Row) -> fmt::Result {
    let Some(truth) = row.truth else { return Ok(()) };
    let direction = if truth.to_server { "to server" } else { "to client" };
    writeln!(
        out,
        "  {} {:<6} {:>9.1} ms of {} at {:.6} s: {} {direction}, said {} ({})",
        row.case,
        row.view.vantage.name(),
        ms(row.nanos),
        row.exchange,
        ms(row.longest_from) / 1e3,
        truth.cause,
        row.said.map_or("nothing", |it| it.0.name()),
        row.sureness().name(),
    )
}

/// As many as a screen shows. Our choice.
pub(super) const WORST: usize = 40;

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
