//! The limits of the subset that runs in CI: `bench/truth.json`.
//!
//! A subset has few cases, so its figures vary; the limits leave room for that, and fail for what no
//! draw explains. Whether the goals are reached is decided by a whole run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use anyhow::Context;

use super::case::World;
use super::reach;
use super::results::Results;
use super::table;

/// Each limit and its figure, and whether none is missed.
///
/// # Errors
///
/// If the limits cannot be read.
pub(super) fn check(results: &Results) -> anyhow::Result<(String, bool)> {
    let text = fs::read_to_string(FILE).with_context(|| format!("cannot read {FILE}"))?;
    let limits = parse(&text).with_context(|| format!("cannot read {FILE}"))?;
    let (mut out, mut held) = (String::new(), true);
    for world in World::ALL {
        let Some(limits) = limits.get(world.name()) else { continue };
        if !results.cases.iter().any(|it| it.world == world) {
            writeln!(out, "\nLimits for CI, {world}: not checked, no cases")?;
            continue;
        }
        writeln!(out, "\nLimits for CI, {world} ({FILE})")?;
        let lines = reach::lines(results, world);
        for (key, limit) in limits {
            let line = lines.iter().find(|it| it.key == *key);
            let mut line = line.with_context(|| format!("{FILE}: no figure {key}"))?.clone();
            line.limit = *limit;
            table::line(&mut out, &line)?;
            held &= line.is_reached() != Some(false);
        }
    }
    Ok((out, held))
}

const FILE: &str = "bench/truth.json";

/// By world and key.
fn parse(text: &str) -> serde_json::Result<BTreeMap<String, BTreeMap<String, f64>>> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_has_a_figure_and_is_no_stricter_than_the_goal() {
        let limits = parse(&fs::read_to_string("truth.json").unwrap()).unwrap();
        assert!(!limits.is_empty());
        for (name, limits) in limits {
            let world = World::ALL.into_iter().find(|it| it.name() == name);
            let lines = reach::lines(&Results::default(), world.expect("a world"));
            for (key, limit) in limits {
                let line = lines.iter().find(|it| it.key == key);
                let line = line.unwrap_or_else(|| panic!("no figure {key}"));
                let mut goal = line.clone();
                goal.figure = Some(line.limit);
                goal.limit = limit;
                assert_eq!(goal.is_reached(), Some(true), "{key}: {limit} and {}", line.limit);
            }
        }
    }
}
