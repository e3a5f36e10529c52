//! A table's rows as a grid of cells: a line for each case, a column for each measure.

pub(crate) use crate::table::number;
use crate::table::{ComparisonTable, Row};

/// A grid of words.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Grid<'a> {
    pub(crate) header: Vec<String>,
    pub(crate) lines: Vec<Vec<Entry<'a>>>,
    /// The first columns say which case it is; the others are values.
    pub(crate) keys: usize,
}

/// A cell: what it says, and the value that says it, if it is one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Entry<'a> {
    pub(crate) text: String,
    pub(crate) row: Option<&'a Row>,
}

/// What a value's cell looks like.
pub(crate) const LEGEND: &str = "published → ours (error); = if they are equal; ! if ours is \
                                 outside its tolerance; model: the analytic model's value (its error \
                                 from ours)";

impl<'a> Grid<'a> {
    pub(crate) fn of(table: &'a ComparisonTable) -> Self {
        let mut keys: Vec<&str> = Vec::new();
        let mut measures: Vec<&str> = Vec::new();
        for row in &table.rows {
            let names = row.case.0.iter().map(|(name, _)| name.as_str());
            names.for_each(|name| push_new(&mut keys, name));
            push_new(&mut measures, &row.measure);
        }
        let mut lines: Vec<(&Row, Vec<Entry<'_>>)> = Vec::new();
        for row in &table.rows {
            let place = lines.iter().position(|(first, _)| first.case == row.case);
            let place = place.unwrap_or_else(|| {
                let blank = vec![Entry::default(); keys.len() + measures.len()];
                lines.push((row, with_case(blank, row, &keys)));
                lines.len() - 1
            });
            let column = measures.iter().position(|measure| *measure == row.measure);
            lines[place].1[keys.len() + column.unwrap_or_default()] =
                Entry { text: cell(row), row: Some(row) };
        }
        Self {
            header: keys.iter().chain(&measures).map(|&name| name.to_owned()).collect(),
            lines: lines.into_iter().map(|(_, line)| line).collect(),
            keys: keys.len(),
        }
    }
}

impl Grid<'_> {
    /// The lines without the header.
    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        let words = |line: &Vec<Entry<'_>>| line.iter().map(|it| it.text.clone()).collect();
        self.lines.iter().map(words).collect()
    }
}

fn push_new<'a>(names: &mut Vec<&'a str>, name: &'a str) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn with_case<'a>(mut line: Vec<Entry<'a>>, row: &Row, keys: &[&str]) -> Vec<Entry<'a>> {
    for (name, value) in &row.case.0 {
        if let Some(column) = keys.iter().position(|key| key == name) {
            line[column].text = value.to_string();
        }
    }
    line
}

fn cell(row: &Row) -> String {
    let mut cell = match (row.published, row.ours) {
        (Some(published), Some(ours)) if published == ours => format!("{} =", number(ours)),
        (Some(published), Some(ours)) => {
            let error = row.error().map(|error| format!(" ({})", percent(error)));
            format!("{} → {}{}", number(published), number(ours), error.unwrap_or_default())
        }
        (Some(published), None) => format!("{} → none", number(published)),
        (None, Some(ours)) => number(ours),
        (None, None) => String::new(),
    };
    if row.is_within() == Some(false) {
        cell.push_str(" !");
    }
    if let Some(model) = row.model {
        let error = row.model_error().map(|error| format!(" ({})", percent(error)));
        let separator = if cell.is_empty() { "" } else { "; model " };
        cell.push_str(&format!("{separator}{}{}", number(model), error.unwrap_or_default()));
    }
    cell
}

fn percent(share: f64) -> String {
    let (percent, sign) = (share.abs() * 100.0, if share < 0.0 { "−" } else { "+" });
    if percent < 0.05 {
        return "±0.0 %".to_owned();
    }
    format!("{sign}{percent:.1} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{Case, CaseValue, Limit};

    fn row(case: &str, measure: &str, published: Option<f64>, ours: Option<f64>) -> Row {
        let case = Case(vec![("case".to_owned(), CaseValue::from(case))]);
        Row { case, measure: measure.to_owned(), published, ours, ..Row::default() }
    }

    #[test]
    fn rows_of_one_case_share_a_line() {
        let rows = vec![
            row("a", "mean_ms", Some(605.0), Some(600.0)),
            row("b", "mean_ms", None, Some(26.25)),
            row("a", "stalls", Some(3.0), Some(3.0)),
        ];
        let table = ComparisonTable { rows, ..ComparisonTable::default() };
        let grid = Grid::of(&table);
        assert_eq!(grid.header, ["case", "mean_ms", "stalls"]);
        let lines = grid.cells();
        assert_eq!(lines, [["a", "605 → 600 (−0.8 %)", "3 ="], ["b", "26.25", ""]]);
    }

    #[test]
    fn cells_say_what_is_too_far_away_and_what_the_model_says() {
        let far = Row {
            limit: Some(Limit::Share(0.1)),
            model: Some(45.0),
            ..row("a", "mean_ms", Some(43.0), Some(50.0))
        };
        assert_eq!(cell(&far), "43 → 50 (+16.3 %) !; model 45 (−10.0 %)");
    }
}
