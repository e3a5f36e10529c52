//! A part of the rows, for one machine of several.

use std::{fmt, str::FromStr};

/// The `index`th of `of` parts, as `I/N` on the command line. Rows are dealt in turn, so that parts have
/// something of every axis and take about the same time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shard {
    /// From 0.
    index: usize,
    of: usize,
}

impl Shard {
    /// All rows.
    pub const ALL: Self = Self { index: 0, of: 1 };

    /// Whether the row at this place belongs to this part.
    #[must_use]
    pub const fn has(self, row: usize) -> bool {
        row % self.of == self.index
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (index, of) = text.split_once('/').ok_or(ShardError)?;
        let number = |text: &str| text.parse::<usize>().map_err(|_| ShardError);
        let (index, of) = (number(index)?, number(of)?);
        if (1..=of).contains(&index) { Ok(Self { index: index - 1, of }) } else { Err(ShardError) }
    }
}

/// The caller asked for a part that there is not.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ShardError;

impl fmt::Display for ShardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a shard (expected I/N with I from 1 to N, such as 1/4)")
    }
}

impl std::error::Error for ShardError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_in_one_part() {
        let parts: Vec<Shard> = ["1/3", "2/3", "3/3"].map(|text| text.parse().unwrap()).into();
        for row in 0..10 {
            assert_eq!(parts.iter().filter(|part| part.has(row)).count(), 1, "row {row}");
        }
        for text in ["", "1", "0/3", "4/3", "1/0", "a/b", "-1/3"] {
            assert_eq!(text.parse::<Shard>(), Err(ShardError), "{text}");
        }
    }
}
