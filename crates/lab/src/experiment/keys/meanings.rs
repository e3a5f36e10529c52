//! What each key is for, in words: `meanings.txt` has a line for each key, and for each word that does not
//! explain itself.

use std::{collections::BTreeMap, sync::LazyLock};

use super::{Alternative, Fields, Key, Value, Varies};

/// The line of one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meaning {
    /// What a file without the key means: a value in backticks, or words; empty if the reader says it.
    pub(crate) default: &'static str,
    pub(crate) text: &'static str,
}

/// All lines, in the order of the file.
pub(super) static MEANINGS: LazyLock<BTreeMap<&str, Meaning>> = LazyLock::new(|| {
    let lines = include_str!("meanings.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let meanings = lines.map(|line| {
        let mut parts = line.splitn(3, '|').map(str::trim);
        let [label, default, text] =
            [(); 3].map(|()| parts.next().expect("a line has three parts"));
        (label, Meaning { default, text })
    });
    meanings.collect()
});

/// Values of one notation that several keys have. The first key with it, and its name.
const TYPES: &[(&str, &str)] = &[
    ("tcp", "tcp"),
    ("link.delay", "span"),
    ("web.workload.primary", "size"),
    ("web.behaviour", "behaviour"),
];

/// Labels of keys that mean the same as others: beginnings, and the beginnings to read instead.
const SAME: &[(&str, &str)] = &[
    ("link.back.", "link."),
    ("router.", "host."),
    ("host.tcp.", "tcp."),
    ("web.behaviour.", "behaviour."),
    ("web.", "application."),
    ("bulk.", "application."),
    ("arrivals.", "application."),
    ("proxy.", "application."),
    ("tcp.idle_restart.rfc-2861.", "tcp.idle_restart.decay."),
];

/// The label under which a key has its line.
pub(super) fn canonical(label: &str) -> String {
    let same = SAME
        .iter()
        .filter_map(|(from, to)| label.strip_prefix(from).map(|rest| format!("{to}{rest}")));
    let mut labels = std::iter::once(label.to_owned()).chain(same);
    let known = labels.find(|label| MEANINGS.contains_key(label.as_str()));
    known.unwrap_or_else(|| label.to_owned())
}

pub(super) fn meaning(label: &str) -> Option<Meaning> {
    MEANINGS.get(canonical(label).as_str()).copied()
}

/// The default of a key, if it is a value.
pub(super) fn default_value(label: &str) -> Option<&'static str> {
    let default = MEANINGS.get(label)?.default;
    default.strip_prefix('`')?.strip_suffix('`').filter(|value| !value.starts_with('['))
}

/// The types that a walk through the keys has met.
#[derive(Debug, Default)]
pub(super) struct Types {
    known: Vec<(Value, &'static str)>,
}

impl Types {
    /// The name of the type of `value`, and whether it is met for the first time.
    pub(super) fn of(&mut self, label: &str, value: &Value) -> Option<(&'static str, Met)> {
        let value = stripped(value);
        if let Some((_, name)) = self.known.iter().find(|(known, _)| *known == value) {
            return Some((name, Met::Before));
        }
        let (_, name) = TYPES.iter().find(|(first, _)| *first == label)?;
        if self.known.iter().any(|(_, known)| known == name) {
            return None;
        }
        self.known.push((value, name));
        Some((name, Met::First))
    }
}

/// Whether a type was met before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Met {
    First,
    Before,
}

/// The value, whether or not members of a group may differ in it.
fn stripped(value: &Value) -> Value {
    let alternatives = value.alternatives.iter().map(|alternative| match alternative {
        Alternative::List(inner) => Alternative::List(Box::new(stripped(inner))),
        Alternative::Sections(inner) => Alternative::Sections(Box::new(stripped(inner))),
        Alternative::Table(Fields { keys, by: None }) => {
            Alternative::Table(Fields { keys: keys.iter().map(key).collect(), by: None })
        }
        Alternative::Choice(choices) => Alternative::Choice(
            choices.iter().map(|(name, value)| (name.clone(), stripped(value))).collect(),
        ),
        other => other.clone(),
    });
    Value { alternatives: alternatives.collect(), expected: None, varies: Varies::No }
}

fn key(Key { name, need, value }: &Key) -> Key {
    Key { name: name.clone(), need: need.clone(), value: stripped(value) }
}
