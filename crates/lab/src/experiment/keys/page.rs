//! The keys for people: docs/keys.md.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    Alternative, Fields, Key, Need, Unit, Value, Varies,
    meanings::{MEANINGS, Met, Types, canonical},
    probe,
};
use crate::experiment::{
    quantity::{Packets, Quantity, Segments},
    reader::join,
};

/// docs/keys.md, in Markdown.
#[must_use]
pub fn keys_page() -> String {
    let mut page = Page::default();
    page.table(&probe::KEYS.fields, "");
    let mut text = HEAD.to_owned();
    let fixed: Vec<_> = page.fixed.iter().map(|label| format!("`{label}`")).collect();
    let _ = writeln!(text, "{}.", fixed.join(", "));
    for Section { label, rows } in page.sections.iter().filter(|section| !section.rows.is_empty()) {
        let title = TITLES.iter().find(|(known, _)| known == label).map_or(&**label, |(_, it)| it);
        let _ = write!(
            text,
            "\n## {title}\n\n| key | value | default | meaning |\n| --- | --- | --- | --- |\n"
        );
        for Row { key, value, default, meaning } in rows {
            let _ = writeln!(text, "| `{key}` | {value} | {default} | {meaning} |");
        }
        text.push_str(&words(label, rows, &page.labels));
    }
    text
}

/// The label of each key under which its line stands in `meanings.txt`.
#[must_use]
pub fn key_names() -> BTreeSet<String> {
    let mut page = Page::default();
    page.table(&probe::KEYS.fields, "");
    page.labels
}

#[derive(Debug, Default)]
struct Page {
    sections: Vec<Section>,
    types: Types,
    labels: BTreeSet<String>,
    /// Keys of a section that are the same for all members of a group.
    fixed: Vec<String>,
}

#[derive(Debug)]
struct Section {
    label: String,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    key: String,
    value: String,
    default: String,
    meaning: &'static str,
}

impl Page {
    /// Adds the keys of a table and of what is in it, each type once.
    fn table(&mut self, fields: &Fields, label: &str) {
        for key in &fields.keys {
            self.key(key, label);
        }
        for (word, keys) in fields.by.iter().flat_map(|(_, kinds)| kinds) {
            for key in keys {
                self.key(key, word);
            }
        }
    }

    fn key(&mut self, key: &Key, above: &str) {
        let label = canonical(&join(above, &key.name));
        let is_new = self.labels.insert(label.clone());
        let met = self.types.of(&label, &key.value);
        if is_new {
            if key.value.varies == Varies::No
                && SECTIONS.contains(&root(&label))
                && label.contains('.')
            {
                self.fixed.push(label.clone());
            }
            let value = match met {
                Some((name, _)) => format!("[{name}](#{name})"),
                None => shown(&key.value),
            };
            self.add(&label, key, value);
        }
        match met {
            Some((_, Met::Before)) => {}
            Some((name, Met::First)) => self.inner(&key.value, name),
            None => self.inner(&key.value, &label),
        }
    }

    fn inner(&mut self, value: &Value, label: &str) {
        for alternative in &value.alternatives {
            match alternative {
                Alternative::Table(fields) => self.table(fields, label),
                Alternative::List(value) | Alternative::Sections(value) => self.inner(value, label),
                Alternative::Choice(choices) => {
                    for (name, value) in choices {
                        self.inner(value, &join(label, name));
                    }
                }
                _ => {}
            }
        }
    }

    fn add(&mut self, label: &str, key: &Key, value: String) {
        let root = if label.contains('.') { root(label) } else { "" };
        let meaning = MEANINGS.get(label);
        let default = match (&key.need, meaning.map_or("", |meaning| meaning.default)) {
            (Need::Required, _) => "required".to_owned(),
            (Need::Preset, _) => "preset's".to_owned(),
            (Need::Optional(Some(word)), "") => format!("`{}`", word.trim_matches('"')),
            (Need::Optional(_), default) => default.to_owned(),
        };
        let name = label.strip_prefix(root).unwrap_or(label).trim_start_matches('.').to_owned();
        let row = Row { key: name, value, default, meaning: meaning.map_or("", |it| it.text) };
        match self.sections.iter_mut().find(|section| section.label == root) {
            Some(section) => section.rows.push(row),
            None => self.sections.push(Section { label: root.to_owned(), rows: vec![row] }),
        }
    }
}

fn root(label: &str) -> &str {
    label.split('.').next().unwrap_or(label)
}

/// The words of a section that have a line of their own, beneath its keys.
fn words(section: &str, rows: &[Row], labels: &BTreeSet<String>) -> String {
    let mut text = String::new();
    for row in rows {
        let label = join(section, &row.key);
        let below = MEANINGS.iter().filter(|(word, _)| {
            !labels.contains(**word)
                && word.rsplit_once('.').is_some_and(|(above, _)| above == label)
        });
        for (word, meaning) in below {
            let word = word.rsplit('.').next().unwrap_or(word);
            let _ = writeln!(text, "| `{}`: `{word}` | {} |", row.key, meaning.text);
        }
    }
    if text.is_empty() { text } else { format!("\n| choice | meaning |\n| --- | --- |\n{text}") }
}

/// The kinds of a value, in a cell.
fn shown(value: &Value) -> String {
    let mut shown: Vec<String> = value.alternatives.iter().map(alternative).collect();
    if let [Alternative::Quantity(unit)] = value.alternatives.as_slice()
        && let Some(range) =
            value.expected.as_ref().and_then(|it| it.strip_prefix(expected(*unit).0))
        && let range = range.trim_start_matches(", ")
        && range != expected(*unit).1
    {
        shown.push(range.to_owned());
    }
    shown.join(", ")
}

fn alternative(alternative: &Alternative) -> String {
    match alternative {
        Alternative::Flag => "`true`, `false`".to_owned(),
        Alternative::Integer { least, most: i64::MAX } => format!("an integer from {least}"),
        Alternative::Integer { least, most } => format!("{least} to {most}"),
        Alternative::Number { least, most } => format!("a number from {least} to {most}"),
        Alternative::Quantity(unit) => expected(*unit).2.to_owned(),
        Alternative::Text => "text".to_owned(),
        Alternative::Node => "a node".to_owned(),
        Alternative::Words(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        Alternative::List(inner) => format!("a list of: {}", shown(inner)),
        Alternative::Table(fields) => {
            let keys: Vec<_> = fields.keys.iter().map(|key| key.name.as_str()).collect();
            if keys.len() > SHORT {
                "a table".to_owned()
            } else {
                format!("`{{ {} }}`", keys.join(", "))
            }
        }
        Alternative::Choice(choices) => {
            let choices = choices.iter().map(|(name, _)| format!("`{{ {name} = … }}`"));
            choices.collect::<Vec<_>>().join(", ")
        }
        Alternative::Sections(_) => "a table for each name".to_owned(),
        Alternative::Grid => "axes".to_owned(),
        Alternative::Again(_) => "the same again".to_owned(),
    }
}

/// Our choice: more keys do not fit into a cell.
const SHORT: usize = 5;

/// For messages: what it is, and its range; then a word for it.
fn expected(unit: Unit) -> (&'static str, &'static str, &'static str) {
    fn of<Q: Quantity>(word: &'static str) -> (&'static str, &'static str, &'static str) {
        (Q::EXPECTED, Q::RANGE, word)
    }
    match unit {
        Unit::Duration => of::<std::time::Duration>("duration"),
        Unit::Rate => of::<ackwise_units::Rate>("rate"),
        Unit::Size => of::<ackwise_units::ByteCount>("bytes"),
        Unit::Share => of::<ackwise_units::Probability>("share"),
        Unit::Packets => of::<Packets>("packets"),
        Unit::Segments => of::<Segments>("segments"),
    }
}

/// Sections whose members `count` multiplies, and the kinds of applications between them.
const SECTIONS: &[&str] = &["host", "link", "application", "web", "bulk", "arrivals"];

const TITLES: &[(&str, &str)] = &[
    ("", "Top level"),
    ("tcp", "tcp"),
    ("host", "host and router"),
    ("link", "link"),
    ("application", "application: all kinds"),
    ("web", "application: web"),
    ("bulk", "application: bulk"),
    ("arrivals", "application: arrivals"),
    ("proxy", "application: proxy"),
];

const HEAD: &str = "\
# Keys of experiment files

Every key of an [experiment file](experiments.md). This page is generated from the reader of the files \
(`ACKWISE_UPDATE=1 cargo test -p ackwise-lab --lib keys`), and so is the schema for editors that `ackwise schema experiment` \
prints. *Required* means that the file, its grid or `--set` has the key; *preset's*, that the `preset` beside it decides.

Below `[host.NAME]`, `[router.NAME]`, `[link.NAME]` and `[application.NAME]`, `{ each = […] }` and `{ cycle = […] }` may stand for any \
value outside a list, except for all keys of `proxy` and for ";
