//! Groups: `count = 4` makes four of a node, and what names the group is made four times.

use super::{
    document::{Item, Table, Value},
    error::ExperimentError,
    place::Place,
    reader::{Field, join},
};

/// What is written once and made for each member of a group: the member's own copy has one value
/// where the table has `{ each = [one value for each member] }`, or `{ cycle = [values in turn] }`.
pub(crate) fn member(
    table: &Table,
    path: &str,
    number: usize,
    of: usize,
) -> Result<Table, ExperimentError> {
    let mut copy = Table::default();
    for entry in &table.entries {
        let path = join(path, &entry.key);
        let mut entry = entry.clone();
        entry.item = own(&entry.item, &path, number, of)?;
        copy.entries.push(entry);
    }
    Ok(copy)
}

fn own(item: &Item, path: &str, number: usize, of: usize) -> Result<Item, ExperimentError> {
    let Value::Table(table) = &item.value else { return Ok(item.clone()) };
    let [entry] = table.entries.as_slice() else {
        let value = Value::Table(member(table, path, number, of)?);
        return Ok(Item { value, place: item.place.clone() });
    };
    if entry.key == "cycle" {
        let field = Field { item: &entry.item, path: join(path, "cycle") };
        let values = field.list("a list of values that the members take in turn")?;
        let value = values.get(number % values.len().max(1));
        return value
            .map_or_else(|| Err(field.wrong("at least one value")), |it| Ok(it.item.clone()));
    }
    if entry.key != "each" {
        let value = Value::Table(member(table, path, number, of)?);
        return Ok(Item { value, place: item.place.clone() });
    }
    let field = Field { item: &entry.item, path: join(path, "each") };
    let values = field.list("a list with a value for each member of the group")?;
    if values.len() != of {
        let what = format!("found {} values for a group of {of}", values.len());
        return Err(field.contradiction(what));
    }
    Ok(values[number].item.clone())
}

/// Names that are used in the same place: one for each member, or one for all.
#[derive(Clone, Debug)]
pub(crate) struct Members<T> {
    members: Vec<T>,
}

impl<T: Copy> Members<T> {
    pub(crate) fn new(members: Vec<T>) -> Self {
        Self { members }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.members.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// The one that goes with member `number` of another group.
    pub(crate) fn of(&self, number: usize) -> T {
        self.members[if self.members.len() == 1 { 0 } else { number }]
    }
}

/// How many pairs two groups make: their size, if it is the same or one of them has one member.
pub(crate) fn pairs<T: Copy>(
    [a, b]: [&Members<T>; 2],
    place: &Place,
    path: &str,
) -> Result<usize, ExperimentError> {
    match (a.len(), b.len()) {
        (1, n) | (n, 1) => Ok(n),
        (n, m) if n == m => Ok(n),
        (n, m) => {
            let what = format!("cannot pair a group of {n} with a group of {m}: different sizes");
            Err(ExperimentError::contradiction(place, path, what))
        }
    }
}
