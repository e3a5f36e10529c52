//! The papers' tables, and the numbers in their sentences, as printed, from `experiments/published/`.
//!
//! A file is comment lines (`#`, the first one is its title), a line of column names, and rows. No
//! cell holds a comma or a quotation mark, so there is nothing to quote.

use super::table::CaseValue;

/// A published table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Published {
    /// The file's name without its extension; also the id of the table that compares with it.
    pub(crate) id: &'static str,
    /// What it is, and from where.
    pub(crate) title: &'static str,
    /// The names of its columns.
    pub(crate) columns: Vec<&'static str>,
    /// Its rows, a cell for each column.
    pub(crate) rows: Vec<Vec<&'static str>>,
}

impl Published {
    /// The published table of this id.
    ///
    /// # Errors
    ///
    /// If there is none, or its file cannot be read as a table.
    pub(crate) fn named(id: &str) -> Result<Self, PublishedError> {
        let found = FILES.iter().find(|(name, _)| *name == id);
        let &(id, text) = found.ok_or_else(|| PublishedError::Unknown { id: id.to_owned() })?;
        Self::parse(id, text)
    }

    /// The cell in a row, by the name of its column.
    #[must_use]
    pub(crate) fn cell(&self, row: usize, column: &str) -> Option<&'static str> {
        let place = self.columns.iter().position(|name| *name == column)?;
        self.rows.get(row)?.get(place).copied()
    }

    /// The number in a row, by the name of its column; `None` also if it is empty or words.
    #[must_use]
    pub(crate) fn number(&self, row: usize, column: &str) -> Option<f64> {
        self.cell(row, column)?.parse().ok()
    }

    /// The cells of a row that say which case it is.
    #[must_use]
    pub(crate) fn case(&self, row: usize, keys: &[&str]) -> Vec<(String, CaseValue)> {
        let value = |key: &&str| {
            let cell = self.cell(row, key).unwrap_or_default();
            ((*key).to_owned(), CaseValue::from(cell))
        };
        keys.iter().map(value).collect()
    }

    fn parse(id: &'static str, text: &'static str) -> Result<Self, PublishedError> {
        let mut lines = text.lines();
        let title = lines.next().and_then(|line| line.strip_prefix("# "));
        let mut lines = lines.skip_while(|line| line.starts_with('#'));
        let (Some(title), Some(header)) = (title, lines.next()) else {
            return Err(PublishedError::NoTable { id });
        };
        let columns: Vec<_> = header.split(',').collect();
        let rows: Vec<Vec<_>> = lines.map(|line| line.split(',').collect()).collect();
        match rows.iter().position(|row| row.len() != columns.len()) {
            Some(row) => Err(PublishedError::Ragged { id, row }),
            None => Ok(Self { id, title, columns, rows }),
        }
    }
}

/// The number in the sentence that `claim` quotes, for what is measured, and where it is printed.
///
/// # Panics
///
/// If `sentences.csv` does not have it.
pub(crate) fn sentence(claim: &str, measure: &str) -> (f64, &'static str) {
    let table = Published::named("sentences").expect("it is part of the program");
    let is = |row: &usize| {
        table.cell(*row, "claim") == Some(claim) && table.cell(*row, "measure") == Some(measure)
    };
    let found = (0..table.rows.len()).find(is);
    let found = found.and_then(|row| table.number(row, "number").zip(table.cell(row, "place")));
    found.unwrap_or_else(|| panic!("sentences.csv has no number for {measure} of {claim}"))
}

/// A published table cannot be had: the fault is ours, since the files are part of the program.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishedError {
    /// There is no file of this name.
    #[error("unknown published table `{id}`")]
    Unknown {
        /// The name.
        id: String,
    },
    /// The file has no title or no column names.
    #[error("published table `{id}` has no title or no columns")]
    NoTable {
        /// The table.
        id: &'static str,
    },
    /// A row has more or fewer cells than there are columns.
    #[error("row {row} of published table `{id}` does not have one cell per column")]
    Ragged {
        /// The table.
        id: &'static str,
        /// The row, counted from 0.
        row: usize,
    },
}

macro_rules! files {
    ($($id:literal),* $(,)?) => {
        [$((
            $id,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/experiments/published/",
                $id,
                ".csv"
            )),
        )),*]
    };
}

/// The tables whose papers are reproduced here.
const FILES: [(&str, &str); 17] = files![
    "sentences",
    "heidemann1997_table_1",
    "heidemann1997_figure_2",
    "heidemann1997_figure_4",
    "gurkan1998_table_4_1",
    "gurkan1998_table_4_2",
    "gurkan1998_table_4_3",
    "gurkan1998_table_4_4",
    "gurkan1998_table_4_5",
    "gurkan1998_table_4_6",
    "gurkan1998_table_4_7",
    "gurkan1998_table_4_8",
    "gurkan1998_table_4_9",
    "gurkan1998_table_4_10",
    "faber1997_table_1",
    "faber1997_table_2",
    "faber1997_table_3",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_table() {
        for (id, _) in FILES {
            let table = Published::named(id).unwrap();
            assert!(!table.rows.is_empty(), "{id}");
            assert!(table.title.contains("19"), "{id}: {}", table.title);
        }
    }

    #[test]
    fn every_number_of_a_sentence_is_in_the_findings() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/findings.md");
        let findings = std::fs::read_to_string(path).unwrap();
        let table = Published::named("sentences").unwrap();
        for row in 0..table.rows.len() {
            let [claim, measure, place] =
                ["claim", "measure", "place"].map(|column| table.cell(row, column).unwrap());
            let (number, found) = sentence(claim, measure);
            assert_eq!((number, found), (table.number(row, "number").unwrap(), place));
            let line = findings.lines().find(|line| line.starts_with(&format!("| `{claim}`")));
            let line = line.unwrap_or_else(|| panic!("no claim {claim}"));
            assert!(line.contains(measure) && line.contains(place), "{claim}: {measure}, {place}");
        }
    }

    #[test]
    fn cells_are_found_by_row_and_column() {
        let table = Published::named("heidemann1997_table_1").unwrap();
        assert_eq!(table.number(1, "mean_ms"), Some(605.0));
        assert_eq!(table.cell(0, "fixes"), Some("none"));
        assert_eq!(table.number(0, "fixes"), None);
        assert_eq!(table.cell(0, "median_ms"), None);
        assert_eq!(table.cell(4, "mean_ms"), None);
        let case = table.case(2, &["protocol"]);
        assert_eq!(case, [("protocol".to_owned(), CaseValue::from("p-http"))]);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let unknown = Published::named("gurkan1998_table_9").unwrap_err();
        assert_eq!(unknown.to_string(), "unknown published table `gurkan1998_table_9`");
        assert_eq!(Published::parse("x", "a,b\n1,2\n"), Err(PublishedError::NoTable { id: "x" }));
        let ragged = Published::parse("x", "# title\na,b\n1,2\n1\n");
        assert_eq!(ragged, Err(PublishedError::Ragged { id: "x", row: 1 }));
    }
}
