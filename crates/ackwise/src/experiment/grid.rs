//! `[grid]`: which values are tried, in all combinations.
//!
//! An entry is one axis. `"link.bottleneck.rate" = ["1 Mb/s", "10 Mb/s"]` tries one key;
//! `clients = { values = [8, 16], "application.web.users" = [2, 4] }` changes several keys together, and
//! the case shows `clients`.

use super::{
    case::{CaseValue, Labels},
    document::{Entry, Item, Place, Table, Value},
    error::ExperimentError,
    path::Path,
    reader::{Field, join},
};

/// One direction of the grid.
#[derive(Clone, Debug)]
struct Axis {
    place: Place,
    /// What the case shows, one value for each step.
    shown: Vec<(String, Vec<CaseValue>)>,
    /// What is set, one value for each step.
    set: Vec<(Path, Vec<Item>)>,
    steps: usize,
}

/// One combination of values.
#[derive(Clone, Debug)]
pub(crate) struct Combination {
    pub(crate) labels: Labels,
    pub(crate) set: Vec<(Path, Item)>,
}

/// All combinations, the last axis fastest; without a grid there is one, in which nothing is set.
pub(crate) fn combinations(field: Option<&Field<'_>>) -> Result<Vec<Combination>, ExperimentError> {
    let mut all = vec![Combination { labels: Labels::default(), set: Vec::new() }];
    let Some(field) = field else { return Ok(all) };
    let Value::Table(table) = &field.item.value else {
        return Err(field.wrong("a table of axes"));
    };
    for entry in &table.entries {
        let axis = axis(entry, &join(&field.path, &entry.key))?;
        if all.len() * axis.steps > MAX_CASES {
            let what = format!("the grid has more than {MAX_CASES} cases");
            return Err(ExperimentError::contradiction(&axis.place, &field.path, what));
        }
        all =
            all.iter().flat_map(|one| (0..axis.steps).map(|step| with(one, &axis, step))).collect();
    }
    Ok(all)
}

/// More cases are a mistake, or work for several files.
const MAX_CASES: usize = 100_000;

fn with(combination: &Combination, axis: &Axis, step: usize) -> Combination {
    let mut combination = combination.clone();
    for (name, values) in &axis.shown {
        combination.labels.push(name.clone(), values[step].clone());
    }
    let items = axis.set.iter().map(|(path, items)| (path.clone(), items[step].clone()));
    combination.set.extend(items);
    combination
}

fn axis(entry: &Entry, path: &str) -> Result<Axis, ExperimentError> {
    let field = Field { item: &entry.item, path: path.to_owned() };
    let place = entry.place.clone();
    let mut axis = Axis { place, shown: Vec::new(), set: Vec::new(), steps: 0 };
    match &entry.item.value {
        Value::List(_) => {
            let items = steps(&mut axis, &field)?;
            axis.shown.push((entry.key.clone(), items.iter().map(CaseValue::from).collect()));
            axis.set.push((Path::parse(&entry.key, &entry.place)?, items));
        }
        Value::Table(table) => together(&mut axis, table, &field)?,
        _ => return Err(field.wrong("a list of values, or a table of lists of values")),
    }
    if axis.set.is_empty() {
        return Err(field.contradiction("this axis changes nothing: no path has a list of values"));
    }
    Ok(axis)
}

/// Several keys that change together. `values` names the steps; without it, their values do.
fn together(axis: &mut Axis, table: &Table, field: &Field<'_>) -> Result<(), ExperimentError> {
    for entry in &table.entries {
        let list = Field { item: &entry.item, path: join(&field.path, &entry.key) };
        let items = steps(axis, &list)?;
        if entry.key != VALUES {
            axis.set.push((Path::parse(&entry.key, &entry.place)?, items));
        }
    }
    let shown = |items: &[Item]| items.iter().map(CaseValue::from).collect::<Vec<_>>();
    if let Some(Item { value: Value::List(items), .. }) = table.get(VALUES) {
        let name = field.path.rsplit('.').next().unwrap_or_default();
        axis.shown.push((name.to_owned(), shown(items)));
    } else {
        let each = axis.set.iter().map(|(path, items)| (path.to_string(), shown(items)));
        axis.shown.extend(each.collect::<Vec<_>>());
    }
    Ok(())
}

/// The key of an axis that says what the case shows.
const VALUES: &str = "values";

/// The values of a list, as many as in the other lists of the axis.
fn steps(axis: &mut Axis, field: &Field<'_>) -> Result<Vec<Item>, ExperimentError> {
    let Value::List(items) = &field.item.value else {
        return Err(field.wrong("a list of values"));
    };
    if items.is_empty() {
        return Err(field.wrong("at least one value"));
    }
    if axis.steps != 0 && axis.steps != items.len() {
        let what = format!(
            "found {} values, expected {} as in the axis' other lists",
            items.len(),
            axis.steps
        );
        return Err(field.contradiction(what));
    }
    axis.steps = items.len();
    Ok(items.clone())
}
