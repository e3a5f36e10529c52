//! A TOML document in which everything knows where it was written.

use std::{fmt, sync::Arc};

use toml::de::{DeTable, DeValue};

use super::{
    error::{ExperimentError, Problem},
    place::Place,
};

/// A value and where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) value: Value,
    pub(crate) place: Place,
}

/// What TOML can say, less dates.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Number(f64),
    Flag(bool),
    List(Vec<Item>),
    Table(Table),
}

/// Entries in the order of the file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// Where the key was written.
    pub(crate) place: Place,
    pub(crate) item: Item,
}

impl Table {
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Item> {
        self.entry(key).map(|entry| &entry.item)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Item> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.item)
    }

    /// Replaces the value of `key`, or adds it at the end.
    pub(crate) fn insert(&mut self, key: &str, item: Item) {
        match self.get_mut(key) {
            Some(old) => *old = item,
            None => {
                let place = item.place.clone();
                self.entries.push(Entry { key: key.to_owned(), place, item });
            }
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }

    /// This table with the entries of `other` laid over it.
    pub(crate) fn overlaid(&self, other: &Self) -> Self {
        let mut result = self.clone();
        for entry in &other.entries {
            result.insert(&entry.key, entry.item.clone());
        }
        result
    }
}

impl Item {
    /// Reads a whole file.
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        let source = Source::new(name, text);
        let table = DeTable::parse(text).map_err(|error| source.syntax(&error))?;
        let place = source.place(0);
        Ok(Self { value: Value::Table(source.table(table.get_ref())?), place })
    }

    /// Reads one value of an option: what is not a value of TOML is text.
    pub(crate) fn parse_value(option: &str, text: &str) -> Result<Self, ExperimentError> {
        let (lines, before_blocks) = (Vec::new(), Vec::new());
        let source = Source { name: option.into(), text, lines, before_blocks };
        match DeValue::parse(text) {
            Ok(value) => source.item(value.get_ref(), 0),
            Err(error) if text.starts_with(['{', '[', '"', '\'']) => {
                let what = format!(
                    "{} (expected quotes around text in a list or a table)",
                    message(&error)
                );
                Err(ExperimentError::new(source.place(0), "", Problem::Syntax { what }))
            }
            Err(_) => Ok(Self { value: Value::Text(text.to_owned()), place: source.place(0) }),
        }
    }

    /// What kind of value this is, for messages.
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Table(_) => "a table".to_owned(),
            _ => self.to_string(),
        }
    }
}

/// As TOML on one line: for cases, for messages and for the hash.
impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Text(text) => write!(f, "{text:?}"),
            Value::Integer(number) => write!(f, "{number}"),
            Value::Number(number) => write!(f, "{number:?}"),
            Value::Flag(flag) => write!(f, "{flag}"),
            Value::List(items) => {
                f.write_str("[")?;
                for (number, item) in items.iter().enumerate() {
                    let comma = if number == 0 { "" } else { ", " };
                    write!(f, "{comma}{item}")?;
                }
                f.write_str("]")
            }
            Value::Table(table) => write!(f, "{table}"),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{ ")?;
        for (number, entry) in self.entries.iter().enumerate() {
            let comma = if number == 0 { "" } else { ", " };
            write!(f, "{comma}{} = {}", entry.key, entry.item)?;
        }
        f.write_str(" }")
    }
}

/// On one line.
fn message(error: &toml::de::Error) -> String {
    error.message().replace('\n', ", ")
}

/// A text on its way into a document.
struct Source<'a> {
    name: Arc<str>,
    text: &'a str,
    /// Where its lines begin; an option has none.
    lines: Vec<usize>,
    /// The characters before each block of [`BLOCK`] bytes: every value has a column, and all may be on one line.
    before_blocks: Vec<usize>,
}

/// Our choice: counting the characters of a block takes less than reading a value.
const BLOCK: usize = 256;

/// Characters of which the first byte is among these.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

impl<'a> Source<'a> {
    fn new(name: &str, text: &'a str) -> Self {
        let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
        let blocks = text
            .as_bytes()
            .chunks(BLOCK)
            .scan(0, |before, block| Some(std::mem::replace(before, *before + characters(block))));
        let lines = std::iter::once(0).chain(breaks).collect();
        Self { name: name.into(), text, lines, before_blocks: blocks.collect() }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.lines.partition_point(|&start| start <= offset);
        let Some(&start) = line.checked_sub(1).and_then(|line| self.lines.get(line)) else {
            return Place::option(&self.name);
        };
        let column = self.characters_before(offset) - self.characters_before(start) + 1;
        Place { source: self.name.clone(), line, column }
    }

    fn characters_before(&self, offset: usize) -> usize {
        let offset = offset.min(self.text.len());
        let block = offset / BLOCK;
        let rest = &self.text.as_bytes()[block * BLOCK..offset];
        // At the end of the text there may be no block any more.
        match self.before_blocks.get(block) {
            Some(before) => before + characters(rest),
            None => characters(self.text.as_bytes()),
        }
    }

    fn syntax(&self, error: &toml::de::Error) -> ExperimentError {
        let offset = error.span().map_or(0, |span| span.start);
        let problem = Problem::Syntax { what: message(error) };
        ExperimentError::new(self.place(offset), "", problem)
    }

    fn table(&self, table: &DeTable<'_>) -> Result<Table, ExperimentError> {
        let entry = |(key, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let key: &toml::Spanned<toml::de::DeString<'_>> = key;
            Ok(Entry {
                key: key.get_ref().clone().into_owned(),
                place: self.place(key.span().start),
                item: self.item(value.get_ref(), value.span().start)?,
            })
        };
        Ok(Table { entries: table.iter().map(entry).collect::<Result<_, _>>()? })
    }

    fn item(&self, value: &DeValue<'_>, offset: usize) -> Result<Item, ExperimentError> {
        let place = self.place(offset);
        let wrong = |found: String, expected: &str| {
            let problem = Problem::Wrong { found, expected: expected.to_owned() };
            ExperimentError::new(place.clone(), "", problem)
        };
        let value = match value {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Integer(digits) => {
                let integer = i64::from_str_radix(digits.as_str(), digits.radix());
                let expected = "an integer of at most 63 bits";
                Value::Integer(integer.map_err(|_| wrong(digits.to_string(), expected))?)
            }
            DeValue::Float(digits) => match digits.as_str().parse::<f64>() {
                Ok(number) if number.is_finite() => Value::Number(number),
                _ => return Err(wrong(digits.to_string(), "a finite number")),
            },
            DeValue::Boolean(flag) => Value::Flag(*flag),
            DeValue::Datetime(date) => {
                return Err(wrong(
                    format!("the date {date}"),
                    "text, a number or a list, since no key takes a date",
                ));
            }
            DeValue::Array(items) => {
                let items = items.iter().map(|item| self.item(item.get_ref(), item.span().start));
                Value::List(items.collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => Value::Table(self.table(table)?),
        };
        Ok(Item { value, place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mixture of 40,000 parts on one line took seconds, for each column was counted from the line's beginning.
    #[test]
    fn columns_are_characters_of_the_line_at_every_offset() {
        for text in ["", "\n", "a = 1", &"ä\u{1F600}b\n".repeat(200), &"é ".repeat(700)] {
            let source = Source::new("x", text);
            for offset in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let (line, column) = (source.place(offset).line, source.place(offset).column);
                let before = &text[..offset];
                let start = before.rfind('\n').map_or(0, |at| at + 1);
                let expected =
                    (before.matches('\n').count() + 1, before[start..].chars().count() + 1);
                assert_eq!((line, column), expected, "{offset} of {text:?}");
            }
        }
    }
}
