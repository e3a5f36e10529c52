//! Columns for data frames. With the feature `parquet`, also from and to Parquet files.

#[cfg(feature = "parquet")]
mod parquet;

#[cfg(feature = "parquet")]
pub use parquet::{read, write};

/// One value of each row, by a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// As many as there are rows.
    pub values: Values,
}

/// `None` is null.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integers(Vec<Option<i64>>),
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Vec<Option<String>>),
    /// Yes or no.
    Flags(Vec<Option<bool>>),
}

impl Column {
    /// Whole numbers.
    pub fn integers(name: &str, values: impl Iterator<Item = Option<i64>>) -> Self {
        Self { name: name.to_owned(), values: Values::Integers(values.collect()) }
    }

    /// Numbers.
    pub fn numbers(name: &str, values: impl Iterator<Item = Option<f64>>) -> Self {
        Self { name: name.to_owned(), values: Values::Numbers(values.collect()) }
    }

    /// Texts.
    pub fn texts<S: Into<String>>(name: &str, values: impl Iterator<Item = Option<S>>) -> Self {
        let values = values.map(|value| value.map(Into::into)).collect();
        Self { name: name.to_owned(), values: Values::Texts(values) }
    }

    /// Yes or no.
    pub fn flags(name: &str, values: impl Iterator<Item = Option<bool>>) -> Self {
        Self { name: name.to_owned(), values: Values::Flags(values.collect()) }
    }
}
