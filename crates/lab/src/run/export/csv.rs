//! One line for each row: what it is a case of, what was measured, where it comes from.

use std::collections::BTreeSet;

use ackwise_text::escape;

use super::{super::row::Row, labels, measures, origin};

/// All rows with all measures (RFC 4180). A measure that a row does not have is empty.
#[must_use]
pub fn csv(rows: &[Row]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let names = measures(rows);
    let lines = std::iter::once(head(rows, &names)).chain(rows.iter().map(|row| line(row, &names)));
    for line in lines.filter(|_| !rows.is_empty()) {
        // A row may come from another machine, and a spreadsheet computes formulas.
        let fields = line.iter().map(|field| escape::csv(field).into_owned());
        writer.write_record(fields).expect("a vector takes everything, and lines are equally long");
    }
    let bytes = writer.into_inner().expect("a vector takes everything");
    String::from_utf8(bytes).expect("strings are UTF-8")
}

fn head(rows: &[Row], names: &BTreeSet<&str>) -> Vec<String> {
    let labels = labels(rows).into_iter().chain(["seed"]).chain(names.iter().copied());
    let origin = rows.iter().take(1).flat_map(|row| origin(row).into_keys());
    labels.chain(origin).map(str::to_owned).collect()
}

fn line(row: &Row, names: &BTreeSet<&str>) -> Vec<String> {
    let mut line: Vec<String> = row.case.iter().map(|(_, value)| value.to_string()).collect();
    line.push(row.seed.to_string());
    let number =
        |name: &&str| row.measure(name).map_or_else(String::new, |value| value.to_string());
    line.extend(names.iter().map(number));
    line.extend(origin(row).into_values());
    line
}
