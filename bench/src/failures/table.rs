//! The results, printed.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Results;
use super::score::{CapturedAt, Cell};

pub(super) fn text(results: &Results) -> String {
    let mut text = String::new();
    let head = ["kind", "place", "cases", "precision", "recall", "inside", "not knowable (told)"];
    line(&mut text, &head.map(str::to_owned));
    for ((kind, place), cell) in &results.score.cells {
        line(&mut text, &row(kind, *place, cell));
    }
    text += "\n";
    for place in [Some(CapturedAt::Client), Some(CapturedAt::Server), Some(CapturedAt::Pair), None]
    {
        let means = results.score.means(place);
        let _ = writeln!(
            text,
            "mean over kinds, {:<8} precision {:.3} (least {:.2}), recall {:.3} (least {:.2})",
            place.map_or("all", CapturedAt::name),
            means.precision.mean,
            means.precision.least,
            means.recall.mean,
            means.recall.least,
        );
    }
    let Results { answered, reported, false_alarms, left_out, .. } = results;
    let _ = writeln!(
        text,
        "\nordinary traffic: {answered} exchanges by their clients, {reported} in reports, {} failures told",
        false_alarms.len()
    );
    for alarm in false_alarms {
        let _ = writeln!(text, "  {alarm}");
    }
    for why in left_out {
        let _ = writeln!(text, "left out: {why}");
    }
    text += "\nwrong:\n";
    for it in &results.score.wrong {
        let number = it.number.map_or_else(|| "-".to_owned(), |it| it.to_string());
        let _ = writeln!(
            text,
            "  {:<24} {:<6} port {} exchange {number}: was {}, told {}: {}",
            it.case,
            it.place.name(),
            it.port,
            it.was.map_or("nothing", |it| it.name()),
            it.told.as_deref().unwrap_or("nothing"),
            it.why,
        );
    }
    text
}

fn row(kind: &str, place: CapturedAt, cell: &Cell) -> [String; 7] {
    let share = |share: f64, of: u32| if of == 0 { "-".to_owned() } else { format!("{share:.2}") };
    [
        kind.to_owned(),
        place.name().to_owned(),
        cell.cases.to_string(),
        share(cell.precision(), cell.told),
        share(cell.recall(), cell.cases),
        format!("{} of {}", cell.inside, cell.timed),
        format!("{} ({})", cell.hidden, cell.guessed),
    ]
}

fn line(text: &mut String, fields: &[String; 7]) {
    let [kind, rest @ ..] = fields;
    let _ = write!(text, "{kind:<22}");
    for field in rest {
        let _ = write!(text, " {field:>10}");
    }
    text.push('\n');
}

pub(super) fn json(results: &Results) -> Value {
    let cells: Vec<Value> = results
        .score
        .cells
        .iter()
        .map(|((kind, place), cell)| {
            json!({
                "kind": kind, "place": place, "counts": cell,
                "precision": (cell.told > 0).then(|| cell.precision()),
                "recall": (cell.cases > 0).then(|| cell.recall()),
            })
        })
        .collect();
    let means = |place| results.score.means(place);
    json!({
        "cells": cells,
        "means": {
            "client": means(Some(CapturedAt::Client)), "server": means(Some(CapturedAt::Server)),
            "pair": means(Some(CapturedAt::Pair)), "all": means(None),
        },
        "ordinary": {
            "answered": results.answered, "reported": results.reported,
            "told": results.false_alarms,
        },
        "left_out": results.left_out,
        "wrong": results.score.wrong,
    })
}
