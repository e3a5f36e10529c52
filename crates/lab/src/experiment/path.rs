//! The path of a key in a document, and setting what stands there.

use super::{
    document::{Entry, Item, Table, Value},
    error::{ExperimentError, Problem},
    place::Place,
    scenario::OF_THE_EXPERIMENT,
};

/// The keys from the top of the document to a value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Path {
    keys: Vec<String>,
}

impl Path {
    /// Reads `link.bottleneck.rate`; a key that has dots stands in double quotes.
    pub(crate) fn parse(text: &str, place: &Place) -> Result<Self, ExperimentError> {
        let wrong = || {
            let expected = "a path of keys such as link.bottleneck.rate".to_owned();
            let problem = Problem::Wrong { found: format!("{text:?}"), expected };
            ExperimentError::new(place.clone(), "", problem)
        };
        let mut keys = Vec::new();
        let mut rest = text;
        loop {
            let (key, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').ok_or_else(wrong)?,
                None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
            };
            if key.is_empty() || keys.len() == DEEPEST {
                return Err(wrong());
            }
            keys.push(key.to_owned());
            match after.strip_prefix('.') {
                Some(after) => rest = after,
                None if after.is_empty() => return Ok(Self { keys }),
                None => return Err(wrong()),
            }
        }
    }

    /// Reads the path of something that may differ from case to case.
    pub(crate) fn of_a_case(text: &str, place: &Place) -> Result<Self, ExperimentError> {
        let path = Self::parse(text, place)?;
        if OF_THE_EXPERIMENT.contains(&path.keys[0].as_str()) {
            let what = "the grid cannot vary this: it is the same for all cases";
            return Err(ExperimentError::contradiction(place, text, what));
        }
        Ok(path)
    }

    /// Puts `item` into `document`. Tables on the way are made, but neither hosts, links and
    /// applications nor axes of the grid: that would be a misspelt name.
    pub(crate) fn set(&self, document: &mut Table, item: Item) -> Result<(), ExperimentError> {
        let (last, way) = self.keys.split_last().expect("a path has a key");
        let mut table = document;
        for (depth, key) in way.iter().enumerate() {
            let named = depth == 1 && NAMED.contains(&self.keys[0].as_str());
            if named && table.get(key).is_none() {
                let place = (&item.place, self.keys[0].as_str());
                return Err(ExperimentError::unknown(place, "name", key, table.keys()));
            }
            table = self.step(table, depth, &item.place)?;
        }
        table.insert(last, item);
        Ok(())
    }

    /// What stands here in `document`, if anything does.
    pub(crate) fn find<'a>(&self, document: &'a Table) -> Option<&'a Item> {
        let (last, way) = self.keys.split_last().expect("a path has a key");
        let mut table = document;
        for key in way {
            let Some(Item { value: Value::Table(inner), .. }) = table.get(key) else { return None };
            table = inner;
        }
        table.get(last)
    }

    /// The table under the key of this depth.
    fn step<'a>(
        &self,
        table: &'a mut Table,
        depth: usize,
        place: &Place,
    ) -> Result<&'a mut Table, ExperimentError> {
        let key = &self.keys[depth];
        if table.get(key).is_none() {
            let empty = Value::Table(Table::default());
            table.insert(key, Item { value: empty, place: place.clone() });
        }
        let item = table.get_mut(key).expect("it is there by now");
        if let (Value::Text(_), true) = (&item.value, SHORT.contains(&key.as_str())) {
            let mut long = Table::default();
            long.insert("preset", item.clone());
            item.value = Value::Table(long);
        }
        let path = self.keys[..=depth].join(".");
        let what = format!("{path} is {}, not a table", item.describe());
        match &mut item.value {
            Value::Table(table) => Ok(table),
            _ => Err(ExperimentError::contradiction(place, &self.to_string(), what)),
        }
    }
}

/// Does what `--show NAME` asks for.
pub(crate) fn show(document: &mut Item, names: &[String]) {
    let Value::Table(table) = &mut document.value else { return };
    let item = |name: &String| {
        let place = Place::option(&format!("--show {name}"));
        Item { value: Value::Text(name.clone()), place }
    };
    let value = Value::List(names.iter().map(item).collect());
    table.insert("show", Item { value, place: Place::option("--show") });
}

/// Does what `--set path=value` asks for.
pub(crate) fn set(document: &mut Item, setting: &str) -> Result<(), ExperimentError> {
    let source = format!("--set {setting}");
    let whole = Place::option(&source);
    let Some((path, value)) = setting.split_once('=') else {
        let what = "\"=\" is missing (expected PATH=VALUE, such as duration=\"20 s\")";
        return Err(ExperimentError::contradiction(&whole, "", what));
    };
    let path = Path::parse(path.trim(), &whole)?;
    let item = Item::parse_value(&source, value.trim())?;
    let Value::Table(table) = &mut document.value else { return Ok(()) };
    if let Some(Item { value: Value::Table(grid), .. }) = table.get("grid")
        && path.is_varied_by(grid)
    {
        let what = "the grid varies this (expected its values, as in grid.NAME=[…])";
        return Err(ExperimentError::contradiction(&whole, &path.to_string(), what));
    }
    path.set(table, item)
}

/// Adds an axis to the grid, or replaces that of the file if it varies the same key and no other.
pub(crate) fn vary(document: &mut Item, key: &str, values: &str) -> Result<(), ExperimentError> {
    let source = format!("grid {key:?}");
    let place = Place::option(&source);
    let path = Path::of_a_case(key, &place)?;
    let item = Item::parse_value(&source, values)?;
    let Value::Table(table) = &mut document.value else { return Ok(()) };
    if table.get("grid").is_none() {
        table.insert("grid", Item { value: Value::Table(Table::default()), place: place.clone() });
    }
    // What is no table has its own complaint when it is read.
    let Some(Item { value: Value::Table(grid), .. }) = table.get_mut("grid") else { return Ok(()) };
    let axis = Entry { key: key.to_owned(), place: place.clone(), item };
    for at in 0..grid.entries.len() {
        let keys = grid.entries[at].varied();
        let same = keys.contains(&path);
        if same && keys.len() == 1 {
            grid.entries[at] = axis;
            return Ok(());
        }
        if let Some(other) = keys.iter().find(|other| other.is_related(&path)) {
            let what = match same {
                true => format!("the axis {} varies this and other keys", grid.entries[at].key),
                false => format!("the grid varies {other}, which has a part in common with this"),
            };
            return Err(ExperimentError::contradiction(&place, key, what));
        }
    }
    grid.entries.push(axis);
    Ok(())
}

impl Entry {
    /// The keys that this axis of a grid sets.
    fn varied(&self) -> Vec<Path> {
        let keys: Vec<&str> = match &self.item.value {
            Value::Table(table) => table.keys().filter(|key| *key != VALUES).collect(),
            _ => vec![&self.key],
        };
        keys.into_iter().filter_map(|key| Path::parse(key, &self.place).ok()).collect()
    }
}

impl Path {
    /// Whether one is the other, or a part of it.
    fn is_related(&self, other: &Self) -> bool {
        self.keys.iter().zip(&other.keys).all(|(a, b)| a == b)
    }

    /// Whether an axis of the grid sets this, or a part of it, or what it is a part of.
    fn is_varied_by(&self, grid: &Table) -> bool {
        let related = |axis: &Entry| axis.varied().iter().any(|path| path.is_related(self));
        self.keys[0] != "grid" && grid.entries.iter().any(related)
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.keys.join("."))
    }
}

/// No document is deeper, and what walks through one may recurse.
const DEEPEST: usize = 32;

/// Sections whose keys are names that the author gives.
pub(crate) const NAMED: [&str; 5] = ["host", "router", "link", "application", "grid"];

/// The key of an axis that says what the case shows.
pub(super) const VALUES: &str = "values";

/// Tables for which the name of a preset may stand.
const SHORT: [&str; 2] = ["tcp", "behaviour"];
