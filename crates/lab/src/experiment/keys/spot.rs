//! A place in a document that need not exist yet.

use super::super::{
    document::{Item, Table, Value},
    place::Place,
    reader::join,
};

/// Keys and positions from the top of the document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Spot(Vec<Step>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

impl Spot {
    pub(super) fn top() -> Self {
        Self(Vec::new())
    }

    /// Reads a path as errors have it: `a.b[0].c`.
    pub(super) fn parse(path: &str) -> Self {
        let mut spot = Self::top();
        for part in path.split(['.', '[']).filter(|part| !part.is_empty()) {
            spot = match part.strip_suffix(']').map(str::parse) {
                Some(Ok(number)) => spot.index(number),
                _ => spot.key(part),
            };
        }
        spot
    }

    pub(super) fn key(&self, key: &str) -> Self {
        self.and(Step::Key(key.to_owned()))
    }

    pub(super) fn index(&self, number: usize) -> Self {
        self.and(Step::Index(number))
    }

    fn and(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// The only key of the way, if it has one.
    pub(super) fn section(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Step::Key(key)] => Some(key),
            _ => None,
        }
    }

    pub(super) fn passes(&self, key: &str) -> bool {
        self.0.iter().any(|step| matches!(step, Step::Key(own) if own == key))
    }

    /// As errors have it.
    pub(super) fn path(&self) -> String {
        self.0.iter().fold(String::new(), |path, step| match step {
            Step::Key(key) => join(&path, key),
            Step::Index(number) => format!("{path}[{number}]"),
        })
    }

    /// Whether the path of an error is this place, or one below.
    pub(super) fn covers(&self, path: &str) -> bool {
        let below = path.strip_prefix(&self.path());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    pub(super) fn find<'a>(&self, document: &'a Item) -> Option<&'a Item> {
        self.0.iter().try_fold(document, |item, step| match (step, &item.value) {
            (Step::Key(key), Value::Table(table)) => table.get(key),
            (Step::Index(number), Value::List(items)) => items.get(*number),
            _ => None,
        })
    }

    /// The document with `item` here; what is not there on the way is added.
    pub(super) fn with(&self, document: &Item, item: Item) -> Item {
        let mut document = document.clone();
        let mut here = &mut document;
        for step in &self.0 {
            here = match step {
                Step::Key(key) => entry(here, key),
                Step::Index(number) => element(here, *number),
            };
        }
        *here = item;
        document
    }

    /// The document without what is here.
    pub(super) fn without(&self, document: &Item) -> Item {
        let Some((Step::Key(key), way)) = self.0.split_last() else { return document.clone() };
        let above = Self(way.to_vec());
        let Some(Item { value: Value::Table(table), place }) = above.find(document) else {
            return document.clone();
        };
        let mut table = table.clone();
        table.entries.retain(|entry| entry.key != *key);
        above.with(document, Item { value: Value::Table(table), place: place.clone() })
    }
}

/// The value of a key; what is no table becomes one.
fn entry<'a>(item: &'a mut Item, key: &str) -> &'a mut Item {
    if !matches!(item.value, Value::Table(_)) {
        item.value = Value::Table(Table::default());
    }
    let Value::Table(table) = &mut item.value else { unreachable!("it is a table by now") };
    if table.get(key).is_none() {
        table.insert(key, nothing());
    }
    table.get_mut(key).expect("it is there by now")
}

/// An item of a list; what is no such list becomes one.
fn element(item: &mut Item, number: usize) -> &mut Item {
    if !matches!(&item.value, Value::List(items) if items.len() > number) {
        item.value = Value::List(vec![nothing(); number + 1]);
    }
    let Value::List(items) = &mut item.value else { unreachable!("it is a list by now") };
    &mut items[number]
}

fn nothing() -> Item {
    Item { value: Value::Table(Table::default()), place: Place::option("") }
}
