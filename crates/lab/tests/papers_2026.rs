//! The plots of docs/papers-2026.md are those of the data beside them.
//!
//! `ACKWISE_UPDATE=1 cargo test -p ackwise-lab --test papers_2026` draws them again.

#![expect(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{fs, path::PathBuf};

use ackwise_lab::reproduce::plots::drawings;
use serde_json::Value;

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers-2026")
}

fn data(name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(directory().join(name)).unwrap()).unwrap()
}

#[test]
fn the_plots_are_drawn_from_the_data_beside_them() {
    let drawn = drawings(&data("on-kernel.json"), &data("simulated.json"));
    assert_eq!(drawn.len(), 10);
    for drawing in &drawn {
        let path = directory().join(drawing.name);
        if std::env::var_os("ACKWISE_UPDATE").is_some() {
            fs::write(&path, &drawing.svg).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == drawing.svg,
            "{} differs; draw it again with ACKWISE_UPDATE=1",
            drawing.name
        );
        assert!(drawing.svg.len() < 30_000, "{}", drawing.name);
        assert!(!drawing.svg.contains("not run"), "{} lacks a claim", drawing.name);
        assert!(
            drawing.svg.matches("class=\"value\"").count() >= 6,
            "{} lacks values",
            drawing.name
        );
    }
}

#[test]
fn the_page_shows_every_plot_once() {
    let page = fs::read_to_string(directory().join("../papers-2026.md")).unwrap();
    for drawing in drawings(&Value::Null, &Value::Null) {
        let links = page.matches(&format!("](papers-2026/{})", drawing.name)).count();
        assert_eq!(links, 1, "{}", drawing.name);
    }
}
