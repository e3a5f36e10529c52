//! The calibration table of docs/explain/accuracy.md.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::Context;

use super::case::World;
use super::reading::Vantage;
use super::results::Results;
use super::score::{Group, Row, Share, Sureness, precision, recall};
use super::table::{percent, shares, sides};

/// Writes the table between its markers.
///
/// # Errors
///
/// If the page cannot be read or written, or lacks the markers.
pub(super) fn update(results: &Results) -> anyhow::Result<()> {
    let page = fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?;
    let page = replaced(&page, &table(results)).with_context(|| {
        format!("cannot update {PAGE}: no line {BEGIN}, or none {END} after it")
    })?;
    fs::write(PAGE, page).with_context(|| format!("cannot write {PAGE}"))
}

const PAGE: &str = "docs/explain/accuracy.md";
const BEGIN: &str = "<!-- calibration: written by `cargo xtask bench truth --markdown` -->";
const END: &str = "<!-- end of calibration -->";

fn replaced(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{table}\n{END}{after}"))
}

/// Nothing in it depends on when or from which commit it was made.
fn table(results: &Results) -> String {
    let mut out = String::new();
    for world in World::ALL {
        of_world(&mut out, results, world).expect("a string takes everything");
    }
    out
}

fn of_world(out: &mut String, results: &Results, world: World) -> std::fmt::Result {
    let all = || results.cases.iter().filter(|it| it.world == world);
    let used = all().filter(|it| it.disturbed.is_none()).count();
    if used == 0 {
        return Ok(());
    }
    let disturbed = all().count() - used;
    let name = match world {
        World::Kernel => "Linux's TCP over emulated links",
        World::Sim => "The simulator",
    };
    writeln!(
        out,
        "**{name}**, {}, {used} cases ({disturbed} more were disturbed and left out):\n",
        seeds(&results.seeds(world))
    )?;
    let rows: Vec<&Row> =
        results.rows.iter().filter(|it| it.view.world == world && it.truth.is_some()).collect();
    let whole: Vec<&Row> = rows.iter().copied().filter(|it| it.view.damage.is_none()).collect();
    let [sender, elsewhere] = sides(&whole);
    let damaged: Vec<&Row> = rows.iter().copied().filter(|it| it.view.damage.is_some()).collect();
    writeln!(out, "| captured | high | right | medium | right | low | right | unknown |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")?;
    let pair: Vec<&Row> =
        whole.iter().copied().filter(|it| it.view.vantage == Vantage::Pair).collect();
    let alone: Vec<&Row> =
        sender.iter().copied().filter(|it| it.view.vantage != Vantage::Pair).collect();
    for (title, rows) in [
        ("at the sender of the data", &alone),
        ("at both ends (`--pair`)", &pair),
        ("at another place", &elsewhere),
        ("damaged", &damaged),
    ] {
        write!(out, "| {title} |")?;
        for sureness in Sureness::ALL {
            let [share, right] = shares(rows, sureness);
            match sureness {
                Sureness::Unknown => writeln!(out, " {} |", percent(share))?,
                _ => write!(out, " {} | {} |", percent(share), percent(right))?,
            }
        }
    }
    writeln!(out, "\n| cause or group | precision | recall | elsewhere: precision | recall |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    for group in Group::all() {
        let figures: [Share; 4] = [
            precision(sender.iter().copied(), group),
            recall(sender.iter().copied(), group),
            precision(elsewhere.iter().copied(), group),
            recall(elsewhere.iter().copied(), group),
        ];
        if figures.iter().any(|it| it.whole > 0) {
            let [a, b, c, d] = figures.map(percent);
            let title = match group {
                Group::Stall(cause) => format!("`{cause}`"),
                _ => group.name().to_owned(),
            };
            writeln!(out, "| {title} | {a} | {b} | {c} | {d} |")?;
        }
    }
    writeln!(out)
}

/// `seed 2`, or `seeds 2, 9`.
fn seeds(all: &BTreeSet<u64>) -> String {
    let numbers: Vec<String> = all.iter().map(u64::to_string).collect();
    let word = if all.len() == 1 { "seed" } else { "seeds" };
    format!("{word} {}", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_those_of_the_recordings() {
        assert_eq!(seeds(&BTreeSet::from([2])), "seed 2");
        assert_eq!(seeds(&BTreeSet::from([9, 2])), "seeds 2, 9");
    }

    #[test]
    fn the_table_replaces_what_is_between_the_markers() {
        let page = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let expected = format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n");
        assert_eq!(replaced(&page, "new\n").as_deref(), Some(&expected[..]));
        assert_eq!(replaced("before\nafter\n", "new"), None);
        assert_eq!(replaced(&format!("{END}\n{BEGIN}"), "new"), None);
    }

    #[test]
    fn the_page_has_the_table_and_says_how_it_was_made() {
        let page = fs::read_to_string(format!("../{PAGE}")).unwrap();
        let (_, rest) = page.split_once(BEGIN).expect("the marker of the beginning");
        let (table, _) = rest.split_once(END).expect("the marker of the end");
        let made = table.lines().find(|it| it.starts_with("**")).expect("how it was made");
        let digits = |after: &str| {
            let (_, rest) = made.split_once(after)?;
            rest.split(|it: char| !it.is_ascii_digit()).next()?.parse::<u64>().ok()
        };
        assert!(digits("seed ").or_else(|| digits("seeds ")).is_some(), "{made}");
        assert!(made.contains(" cases ("), "{made}");
        assert!(table.contains("| at the sender of the data |"), "{table}");
    }
}
