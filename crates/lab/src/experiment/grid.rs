//! `[grid]`: which values are tried, in all combinations.
//!
//! An entry is one axis. `"link.bottleneck.rate" = ["1 Mb/s", "10 Mb/s"]` tries one key;
//! `clients = { values = [8, 16], "application.web.users" = [2, 4] }` changes several keys together, and
//! the case shows `clients`.

use std::collections::BTreeSet;

use super::{
    case::{CaseValue, Labels},
    document::{Entry, Item, Table, Value},
    error::ExperimentError,
    path::{Path, VALUES},
    place::Place,
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

impl Axis {
    /// Rows are known by what their case shows: two cases that look the same would be taken for one.
    fn tells_steps_apart(&self, path: &str) -> Result<(), ExperimentError> {
        let mut seen = BTreeSet::new();
        for step in 0..self.steps {
            let shown: Vec<&CaseValue> = self.shown.iter().map(|(_, of)| &of[step]).collect();
            if !seen.insert(shown.clone()) {
                let shown = shown.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let what = format!("the value {shown} occurs twice");
                return Err(ExperimentError::contradiction(&self.place, path, what));
            }
        }
        Ok(())
    }

    /// Of two axes that set one key, the first would have no effect.
    fn differs_from(&self, others: &[Self], path: &str) -> Result<(), ExperimentError> {
        for other in others {
            let sets = |path: &Path| other.set.iter().any(|(set, _)| set == path);
            let shows = |name: &String| other.shown.iter().any(|(shown, _)| shown == name);
            let set =
                self.set.iter().find(|(path, _)| sets(path)).map(|(path, _)| path.to_string());
            let shown = || self.shown.iter().find(|(name, _)| shows(name));
            if let Some(twice) = set.or_else(|| shown().map(|(name, _)| name.clone())) {
                let what = format!("another axis also has \"{twice}\"");
                return Err(ExperimentError::contradiction(&self.place, path, what));
            }
        }
        Ok(())
    }
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
    let mut axes: Vec<Axis> = Vec::new();
    for entry in &table.entries {
        let path = join(&field.path, &entry.key);
        let axis = axis(entry, &path)?;
        axis.tells_steps_apart(&path)?;
        axis.differs_from(&axes, &path)?;
        if all.len() * axis.steps > MAX_CASES {
            let what = format!("too many cases in the grid (expected at most {MAX_CASES})");
            return Err(ExperimentError::contradiction(&axis.place, &field.path, what));
        }
        all =
            all.iter().flat_map(|one| (0..axis.steps).map(|step| with(one, &axis, step))).collect();
        axes.push(axis);
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
            axis.set.push((Path::of_a_case(&entry.key, &entry.place)?, items));
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
            axis.set.push((Path::of_a_case(&entry.key, &entry.place)?, items));
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
            "found a list of {} (expected {} values, as in the other lists of the axis)",
            items.len(),
            axis.steps
        );
        return Err(field.contradiction(what));
    }
    axis.steps = items.len();
    Ok(items.clone())
}
