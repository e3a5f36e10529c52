//! The description agrees with the reader, the page with the description, and the schema with both.

use std::{env, fs, path::PathBuf};

use super::{
    super::{
        document::{Item, Value as Written},
        tests::{BROKEN, SMALL},
    },
    meanings::MEANINGS,
    *,
};

fn repository(path: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(path)
}

#[test]
fn the_page_and_the_schema_are_up_to_date() {
    for (path, text) in
        [("docs/keys.md", keys_page()), ("docs/schema/experiment.json", file_schema())]
    {
        let path = repository(path);
        if env::var_os("ACKWISE_UPDATE").is_some() {
            fs::write(&path, &text).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept == text, "ACKWISE_UPDATE=1 cargo test -p ackwise-lab --lib keys");
    }
}

#[test]
fn a_default_that_is_a_value_changes_nothing() {
    let defaults = &probe::KEYS.defaults;
    assert!(defaults.len() > 50, "{defaults:?}");
    let wrong: Vec<_> = defaults.iter().filter(|(_, is)| **is == probe::IsDefault::No).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let given = MEANINGS.keys().filter(|label| meanings::default_value(label).is_some());
    let untried: Vec<_> = given.filter(|label| !defaults.contains_key(**label)).collect();
    assert!(untried.is_empty(), "{untried:?}");
}

#[test]
fn every_key_has_a_meaning() {
    let names = key_names();
    assert!(names.len() > 150, "{names:?}");
    let without: Vec<_> =
        names.iter().filter(|name| !MEANINGS.contains_key(name.as_str())).collect();
    assert!(without.is_empty(), "no line in meanings.txt: {without:#?}");
    let page = keys_page();
    let unused: Vec<_> = MEANINGS
        .keys()
        .filter(|label| {
            let word = label.rsplit('.').next().unwrap();
            !names.contains(**label) && !page.contains(&format!(": `{word}` |"))
        })
        .collect();
    assert!(unused.is_empty(), "lines of meanings.txt that describe nothing: {unused:#?}");
}

/// The schema, and a file as the JSON that an editor checks.
fn validator() -> jsonschema::Validator {
    jsonschema::draft202012::new(&serde_json::from_str(&file_schema()).unwrap()).unwrap()
}

fn as_json(item: &Item) -> serde_json::Value {
    match &item.value {
        Written::Text(text) => text.as_str().into(),
        Written::Integer(number) => (*number).into(),
        Written::Number(number) => (*number).into(),
        Written::Flag(flag) => (*flag).into(),
        Written::List(items) => items.iter().map(as_json).collect(),
        Written::Table(table) => {
            table.entries.iter().map(|entry| (entry.key.clone(), as_json(&entry.item))).collect()
        }
    }
}

#[test]
fn the_schema_takes_every_experiment_of_the_repository() {
    let validator = validator();
    let mut files = 0;
    for folder in ["crates/lab/experiments", "crates/papers/experiments"] {
        for entry in fs::read_dir(repository(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|extension| extension != "toml") {
                continue;
            }
            let document = Item::parse("file", &fs::read_to_string(&path).unwrap()).unwrap();
            let errors: Vec<_> = validator
                .iter_errors(&as_json(&document))
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
            files += 1;
        }
    }
    assert!(files > 40, "{files} files");
}

/// Mistakes that only the reader finds: it knows the names, adds up, and compares values.
#[rustfmt::skip]
const NOT_IN_A_SCHEMA: &[&str] = &[
    // The grid or `--set` may have the key.
    "a missing key",
    // The number in a text.
    "too much", "half of the smallest unit", "out of range", "a delayed ACK that no standard allows", "a request of nothing",
    // How many there are.
    "a replay without pages", "a link with three ends", "nobody",
    // Names.
    "a node that does not exist", "a link to nowhere", "a router that browses", "an application named like a link",
    "an unknown measure",
    // Values together.
    "an unusable distribution", "nothing to measure", "a seed twice",
    "RED with its thresholds the wrong way round", "a link in a circle", "a host that asks itself", "a crowd",
    // The grid's paths and values, and numbers of members.
    "a grid of a typo", "a grid of an unknown link", "a grid with a wrong value", "an axis of two lengths",
    "an axis without effect", "a value twice", "a key of two axes", "each, for other numbers",
];

#[test]
fn the_schema_refuses_what_the_reader_refuses() {
    let validator = validator();
    let small = Item::parse("small", SMALL).unwrap();
    assert!(validator.is_valid(&as_json(&small)));
    for (value, is_right) in [
        (r#"delay = { each = ["50 ms"] }"#, true),
        (r#"delay = { cycle = ["50 ms", { exponential = { mean = "1 s" } }] }"#, true),
        ("delay = { each = [50] }", false),
        (r#"delay = { each = ["50 ms"], cycle = ["50 ms"] }"#, false),
        (r#"ends = { each = ["client"] }"#, false),
    ] {
        let text = SMALL.replace(r#"delay = "50 ms""#, value).replacen(
            "ends =",
            "# ends =",
            usize::from(value.starts_with("ends")),
        );
        let document = as_json(&Item::parse("varied", &text).unwrap());
        assert_eq!(validator.is_valid(&document), is_right, "{value}");
    }
    let mut taken = Vec::new();
    for (name, from, to) in BROKEN {
        let Ok(document) = Item::parse("broken", &SMALL.replacen(from, to, 1)) else { continue };
        if validator.is_valid(&as_json(&document)) {
            taken.push(*name);
        }
    }
    let mut expected = NOT_IN_A_SCHEMA.to_vec();
    taken.sort_unstable();
    expected.sort_unstable();
    assert_eq!(taken, expected);
}
