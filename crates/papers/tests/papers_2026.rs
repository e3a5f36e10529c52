//! The plots of docs/papers-2026.md and docs/on-kernel/tables.md are those of the runs in docs/papers-2026.
//!
//! `ACKWISE_UPDATE=1 cargo test -p ackwise-papers --test papers_2026` draws them again.

#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{fs, path::PathBuf};

use ackwise_papers::{
    on_kernel::{OnKernel, report},
    plots::drawings,
};
use serde_json::Value;

fn documentation(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

fn read(name: &str) -> String {
    fs::read_to_string(documentation(name)).unwrap_or_default()
}

/// What `ackwise reproduce --json` has printed.
fn run(name: &str) -> Value {
    serde_json::from_str(&read(&format!("papers-2026/{name}"))).unwrap()
}

/// Whether a file is as it should be, after it was written if that was asked for.
fn is_up_to_date(name: &str, expected: &str) -> bool {
    if std::env::var_os("ACKWISE_UPDATE").is_some() {
        fs::write(documentation(name), expected).unwrap();
    }
    read(name) == expected
}

#[test]
fn the_plots_are_drawn_from_the_runs_beside_them() {
    let drawn = drawings(&run("on-kernel.json"), &run("simulated.json"));
    assert_eq!(drawn.len(), 10);
    for drawing in &drawn {
        let name = drawing.name;
        let up_to_date = is_up_to_date(&format!("papers-2026/{name}"), &drawing.svg);
        assert!(up_to_date, "{name} differs; draw it again with ACKWISE_UPDATE=1");
        assert!(drawing.svg.len() < 30_000, "{name}");
        assert!(!drawing.svg.contains("not run"), "{name} lacks a claim");
        assert!(drawing.svg.matches("class=\"value\"").count() >= 6, "{name} lacks values");
    }
}

#[test]
fn the_tables_of_the_page_about_the_kernel_are_those_of_the_run() {
    // Not by way of a `Value`, which sorts the keys of a case.
    let all: OnKernel = serde_json::from_str(&read("papers-2026/on-kernel.json")).unwrap();
    let expected = format!("{TABLES}{}", report::markdown(&all));
    let up_to_date = is_up_to_date("on-kernel/tables.md", &expected);
    assert!(up_to_date, "on-kernel/tables.md differs; write it again with ACKWISE_UPDATE=1");
}

#[test]
fn the_page_shows_every_plot_once() {
    let page = read("papers-2026.md");
    for drawing in drawings(&Value::Null, &Value::Null) {
        let links = page.matches(&format!("](papers-2026/{})", drawing.name)).count();
        assert_eq!(links, 1, "{}", drawing.name);
    }
}

const TABLES: &str = "# The papers on a current kernel: tables

Every value of [the papers on a current kernel](../on-kernel.md), which explains the columns. This page is generated from
[on-kernel.json](../papers-2026/on-kernel.json).
";
