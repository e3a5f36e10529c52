//! Checks `docs/conformance.md`: each departure from a standard names a test, and that test exists.
//!
//! The table is `| requirement | what we do | why | test |`, with the names of the tests in
//! backticks, with or without the path to them.

use std::fs;

use crate::repository::{assert_none, files, root};

#[test]
fn every_test_that_the_table_names_exists() {
    // The table exists only once there is a departure.
    let Ok(table) = fs::read_to_string(root().join("docs/conformance.md")) else { return };
    let sources: String = files()
        .iter()
        .filter(|file| file.has_extension("rs"))
        .filter_map(|file| file.text())
        .collect();
    assert_none(&complaints(&table, &sources), "docs/conformance.md:");
}

#[test]
fn a_missing_test_and_a_row_without_one_are_found() {
    let table = "\
| requirement | what we do | why | test |
| --- | --- | --- | --- |
| SHLD-19 | `every` may be 8 | stretch ACKs | `policy::ack::waits_for_eight` |
| MUST-40 | nothing | none | `gone` |
| MUST-17 | nothing | none | later |
";
    let sources = "#[test]\nfn waits_for_eight() {}\n";
    assert_eq!(
        complaints(table, sources),
        ["MUST-40: no test is named `gone`", "MUST-17: names no test"]
    );
}

fn complaints(table: &str, sources: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    for row in table.lines().filter_map(cells) {
        let [requirement, .., tests] = row.as_slice() else { continue };
        let names: Vec<_> = tests.split('`').skip(1).step_by(2).collect();
        if names.is_empty() {
            complaints.push(format!("{requirement}: names no test"));
        }
        for name in names {
            let function = name.rsplit("::").next().unwrap_or(name);
            if !sources.contains(&format!("fn {function}(")) {
                complaints.push(format!("{requirement}: no test is named `{name}`"));
            }
        }
    }
    complaints
}

/// The cells of a row of the table's body.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    let cells: Vec<_> = inner.split('|').map(str::trim).collect();
    let ruler = cells.iter().all(|cell| cell.chars().all(|letter| "-: ".contains(letter)));
    (!ruler && cells.last() != Some(&"test")).then_some(cells)
}
