//! The results as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::case::World;
use super::compare::Label;
use super::damage::Damage;
use super::reach::{self, Bound, Line};
use super::results::Results;
use super::score::{Row, Statement, View, ms};
use super::table::wrong;

/// Everything that the tables show, and the whole confusion matrix.
pub(super) fn json(results: &Results) -> Value {
    let is_there = |world: &World| results.cases.iter().any(|it| it.world == *world);
    let worlds: BTreeMap<&str, Value> = World::ALL
        .into_iter()
        .filter(is_there)
        .map(|world| (world.name(), of_world(results, world)))
        .collect();
    json!({ "worlds": worlds })
}

fn of_world(results: &Results, world: World) -> Value {
    let cases = results
        .cases
        .iter()
        .filter(|it| it.world == world)
        .map(|it| json!({ "name": it.name, "family": it.family, "disturbed": it.disturbed }));
    let failures = results.failures.iter().filter(|it| it.1.world == world).map(|it| {
        json!({
            "case": it.0,
            "reading": it.1.vantage.name(),
            "damage": it.1.damage.map(Damage::name),
            "why": it.2,
        })
    });
    json!({
        "seeds": results.seeds(world),
        "cases": cases.collect::<Vec<_>>(),
        "matrix": matrix(results.rows.iter().filter(|it| it.view.world == world)),
        "printed": matrix(results.printed.iter().filter(|it| it.view.world == world)),
        "must_reach": reach::lines(results, world).iter().map(line).collect::<Vec<_>>(),
        "wrong": worst(results, world),
        "failures": failures.collect::<Vec<_>>(),
    })
}

/// The longest wrong statements about whole captures.
fn worst(results: &Results, world: World) -> Vec<Value> {
    let is_whole = |it: &&Row| it.view.world == world && it.view.damage.is_none();
    let rows: Vec<&Row> = results.rows.iter().filter(is_whole).collect();
    let entry = |row: &Row| {
        json!({
            "case": row.case,
            "reading": row.view.vantage.name(),
            "exchange": row.exchange,
            "at_s": ms(row.longest_from) / 1e3,
            "truth": row.truth.map(|it| it.cause.name()),
            "said": row.said.map(|it| it.0.name()),
            "confidence": row.said.map(|it| it.1.name()),
            "ms": ms(row.nanos),
        })
    };
    wrong(&rows).into_iter().take(WORST).map(entry).collect()
}

/// Most wrong statements. Our choice.
const WORST: usize = 500;

/// Milliseconds by reading, damage, truth, statement and confidence. `truth` is null for time that is not
/// judged, and `said` for time without a statement.
fn matrix<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<Value> {
    let mut sums: BTreeMap<_, u64> = BTreeMap::new();
    for row in rows {
        let key = (row.view, row.truth, row.said);
        *sums.entry(key).or_default() += row.nanos;
    }
    let entry = |((view, truth, said), nanos): ((View, Option<Label>, Option<Statement>), u64)| {
        json!({
            "reading": view.vantage.name(),
            "damage": view.damage.map(Damage::name),
            "at_sender": truth.map(|it| view.vantage.is_at(it.at)),
            "truth": truth.map(|it| it.cause.name()),
            "several_admitted": truth.is_some_and(|it| it.ambiguous),
            "said": said.map(|it| it.0.name()),
            "confidence": said.map(|it| it.1.name()),
            "right": truth.map(|it| it.right),
            "ms": ms(nanos),
        })
    };
    sums.into_iter().map(entry).collect()
}

fn line(line: &Line) -> Value {
    json!({
        "key": line.key,
        "figure": line.figure,
        "limit": line.limit,
        "bound": match line.bound {
            Bound::AtLeast => "at least",
            Bound::AtMost => "at most",
        },
        "reached": line.is_reached(),
    })
}
