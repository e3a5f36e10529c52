//! Takes a table apart: every key is asked for once, and one that nobody asked for is an error.

use std::{num::NonZero, ops::RangeInclusive, time::Duration};

use ackwise_units::{ByteCount, Probability, Rate};

use super::{
    document::{Item, Table, Value},
    error::{ExperimentError, Problem, suggestion},
    place::Place,
    quantity::{Quantity, parse},
};

/// A table whose keys are being asked for.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    table: &'a Table,
    place: &'a Place,
    path: String,
    asked: Vec<&'static str>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(table: &'a Table, place: &'a Place, path: &str) -> Self {
        Self { table, place, path: path.to_owned(), asked: Vec::new() }
    }

    /// The value of `key`, if it is there.
    pub(crate) fn optional(&mut self, key: &'static str) -> Option<Field<'a>> {
        self.asked.push(key);
        self.table.get(key).map(|item| Field { item, path: join(&self.path, key) })
    }

    /// The value of `key`, of which `expected` says what it is.
    pub(crate) fn required(
        &mut self,
        key: &'static str,
        expected: &str,
    ) -> Result<Field<'a>, ExperimentError> {
        if let Some(field) = self.optional(key) {
            return Ok(field);
        }
        // A misspelt key is better called so than missing.
        let wanted = [key.to_owned()];
        let misspelt = self.table.entries.iter().find(|entry| {
            !self.asked.contains(&entry.key.as_str()) && suggestion(&entry.key, &wanted).is_some()
        });
        if let Some(entry) = misspelt {
            return Err(ExperimentError::unknown(
                (&entry.place, &self.path),
                "key",
                &entry.key,
                [key],
            ));
        }
        let problem = Problem::Missing { key: key.to_owned(), expected: expected.to_owned() };
        Err(ExperimentError::new(self.place.clone(), &self.path, problem))
    }

    /// What `key` says, if it is there.
    pub(crate) fn maybe<T: Read>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, ExperimentError> {
        self.optional(key).map(|field| field.read()).transpose()
    }

    /// What `key` says, or `default` without it.
    pub(crate) fn or<T: Read>(
        &mut self,
        key: &'static str,
        default: T,
    ) -> Result<T, ExperimentError> {
        Ok(self.maybe(key)?.unwrap_or(default))
    }

    /// What `read` makes of `key`, or `default` without it.
    pub(crate) fn or_with<T>(
        &mut self,
        key: &'static str,
        default: T,
        read: impl FnOnce(Field<'a>) -> Result<T, ExperimentError>,
    ) -> Result<T, ExperimentError> {
        self.optional(key).map_or(Ok(default), read)
    }

    /// Complains about the first key that nobody has asked for.
    pub(crate) fn finish(self) -> Result<(), ExperimentError> {
        let mut unasked = self.table.entries.iter();
        let Some(entry) = unasked.find(|entry| !self.asked.contains(&entry.key.as_str())) else {
            return Ok(());
        };
        let place = (&entry.place, self.path.as_str());
        Err(ExperimentError::unknown(place, "key", &entry.key, self.asked.iter().copied()))
    }
}

/// A value on its way into a type.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    pub(crate) item: &'a Item,
    pub(crate) path: String,
}

impl<'a> Field<'a> {
    pub(crate) fn place(&self) -> &'a Place {
        &self.item.place
    }

    /// Complains about this value.
    pub(crate) fn wrong(&self, expected: impl Into<String>) -> ExperimentError {
        let problem = Problem::Wrong { found: self.item.describe(), expected: expected.into() };
        ExperimentError::new(self.place().clone(), &self.path, problem)
    }

    /// Complains that `found` is none of those `known`.
    pub(crate) fn unknown<'b>(
        &self,
        kind: &'static str,
        found: &str,
        known: impl IntoIterator<Item = &'b str>,
    ) -> ExperimentError {
        ExperimentError::unknown((self.place(), &self.path), kind, found, known)
    }

    pub(crate) fn contradiction(&self, what: impl Into<String>) -> ExperimentError {
        ExperimentError::contradiction(self.place(), &self.path, what)
    }

    pub(crate) fn text(&self, expected: &str) -> Result<&'a str, ExperimentError> {
        match &self.item.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong(expected)),
        }
    }

    /// What this says as a type of which there is one notation.
    pub(crate) fn read<T: Read>(&self) -> Result<T, ExperimentError> {
        T::read(self)
    }

    pub(crate) fn integer<N>(&self, range: RangeInclusive<N>) -> Result<N, ExperimentError>
    where
        N: TryFrom<i64> + PartialOrd + std::fmt::Display,
    {
        let number = match self.item.value {
            Value::Integer(number) => N::try_from(number).ok(),
            _ => None,
        };
        let expected = || format!("an integer from {} to {}", range.start(), range.end());
        number.filter(|number| range.contains(number)).ok_or_else(|| self.wrong(expected()))
    }

    pub(crate) fn number(&self, range: RangeInclusive<f64>) -> Result<f64, ExperimentError> {
        let number = match self.item.value {
            #[expect(clippy::cast_precision_loss, reason = "what is written as a number is short")]
            Value::Integer(number) => Some(number as f64),
            Value::Number(number) => Some(number),
            _ => None,
        };
        let expected = || format!("a number from {} to {}", range.start(), range.end());
        number.filter(|number| range.contains(number)).ok_or_else(|| self.wrong(expected()))
    }

    /// A number with a unit, within the type's own range.
    pub(crate) fn quantity<Q: Quantity>(&self) -> Result<Q, ExperimentError> {
        self.quantity_in(&|_| true, Q::RANGE)
    }

    /// A number with a unit that `fits`; `range` says in words what does.
    pub(crate) fn quantity_in<Q: Quantity>(
        &self,
        fits: &dyn Fn(&Q) -> bool,
        range: &str,
    ) -> Result<Q, ExperimentError> {
        let quantity = match &self.item.value {
            Value::Text(text) => parse(text).ok().filter(fits),
            _ => None,
        };
        let expected = || format!("{}, {range}", Q::EXPECTED);
        quantity.ok_or_else(|| self.wrong(expected()))
    }

    /// One of several words.
    pub(crate) fn choice<T: Copy>(&self, choices: &[(&str, T)]) -> Result<T, ExperimentError> {
        let names = || choices.iter().map(|(name, _)| *name);
        let Value::Text(text) = &self.item.value else {
            return Err(self.wrong(format!("one of {}", names().collect::<Vec<_>>().join(", "))));
        };
        let found = choices.iter().find(|(name, _)| name == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| self.unknown("choice", text, names()))
    }

    /// A word, or a table of one key whose value says more: the key, and the value if there is one.
    pub(crate) fn variant(
        &self,
        known: &'static [&'static str],
    ) -> Result<(&'static str, Variant<'a>), ExperimentError> {
        let (name, path, item) = match &self.item.value {
            Value::Text(name) => (name, self.path.clone(), None),
            Value::Table(Table { entries }) if entries.len() == 1 => {
                (&entries[0].key, join(&self.path, &entries[0].key), Some(&entries[0].item))
            }
            _ => {
                let expected = format!("one of {}, with its values", known.join(", "));
                return Err(self.wrong(expected));
            }
        };
        let name = *known
            .iter()
            .find(|known| *known == name)
            .ok_or_else(|| self.unknown("choice", name, known.iter().copied()))?;
        let field = item.map(|item| Field { item, path });
        Ok((name, Variant { whole: self.clone(), field }))
    }

    pub(crate) fn table(&self, expected: &str) -> Result<Reader<'a>, ExperimentError> {
        match &self.item.value {
            Value::Table(table) => Ok(Reader::new(table, self.place(), &self.path)),
            _ => Err(self.wrong(expected)),
        }
    }

    /// The items of a list.
    pub(crate) fn list(&self, expected: &str) -> Result<Vec<Self>, ExperimentError> {
        let Value::List(items) = &self.item.value else {
            return Err(self.wrong(expected));
        };
        let field = |(number, item)| Self { item, path: format!("{}[{number}]", self.path) };
        Ok(items.iter().enumerate().map(field).collect())
    }
}

/// A type whose values are written in one way, whatever the key.
pub(crate) trait Read: Sized {
    fn read(field: &Field<'_>) -> Result<Self, ExperimentError>;
}

/// `on` and `off` are words of TOML: `true` and `false`.
impl Read for bool {
    fn read(field: &Field<'_>) -> Result<Self, ExperimentError> {
        match field.item.value {
            Value::Flag(flag) => Ok(flag),
            _ => Err(field.wrong("true or false")),
        }
    }
}

macro_rules! quantities {
    ($($type:ident)*) => {$(
        impl Read for $type {
            fn read(field: &Field<'_>) -> Result<Self, ExperimentError> {
                field.quantity()
            }
        }
    )*};
}

quantities! { ByteCount Duration Probability Rate }

macro_rules! at_least_one {
    ($($type:ident)*) => {$(
        impl Read for NonZero<$type> {
            fn read(field: &Field<'_>) -> Result<Self, ExperimentError> {
                let number = field.integer(1..=$type::MAX)?;
                Ok(Self::new(number).expect("the range begins at 1"))
            }
        }
    )*};
}

at_least_one! { u8 u16 u32 }

/// Types whose values have a word each.
macro_rules! words {
    ($($type:ident { $($word:literal => $value:ident $(($of:expr))?),* $(,)? })*) => {$(
        impl $crate::experiment::reader::Read for $type {
            fn read(
                field: &$crate::experiment::reader::Field<'_>,
            ) -> Result<Self, $crate::experiment::error::ExperimentError> {
                field.choice(&[$(($word, Self::$value $(($of))?)),*])
            }
        }
    )*};
}
pub(crate) use words;

/// What belongs to a word that was chosen.
#[derive(Debug)]
pub(crate) struct Variant<'a> {
    whole: Field<'a>,
    field: Option<Field<'a>>,
}

impl<'a> Variant<'a> {
    /// Nothing belongs to it.
    pub(crate) fn bare<T>(self, value: T) -> Result<T, ExperimentError> {
        match self.field {
            None => Ok(value),
            Some(field) => Err(field.wrong("the word alone, without values")),
        }
    }

    /// The value that belongs to it.
    pub(crate) fn value(self, expected: &str) -> Result<Field<'a>, ExperimentError> {
        self.field.ok_or_else(|| self.whole.wrong(expected))
    }

    /// The table that belongs to it, which may be left out if it would say nothing.
    pub(crate) fn table_or_word(self, expected: &str) -> Result<Reader<'a>, ExperimentError> {
        match self.field {
            Some(field) => field.table(expected),
            None => Ok(Reader::new(&NOTHING, self.whole.place(), &self.whole.path)),
        }
    }

    /// The table that belongs to it.
    pub(crate) fn table(self, expected: &str) -> Result<Reader<'a>, ExperimentError> {
        self.value(expected)?.table(expected)
    }
}

static NOTHING: Table = Table { entries: Vec::new() };

/// `path.key`.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
