//! What a file may contain, as data: every key with its kinds of value, found by asking the reader.
//!
//! Nothing here repeats the reader's keys, except `meanings`, which says in words what each is for, and what may
//! differ for other reasons: the small file to begin with, and names for values that several keys have.
//!
//! | module | one idea |
//! | --- | --- |
//! | `spot` | a place in a file |
//! | `probe` | asks the reader, with files that differ in one value |
//! | `schema` | the answer for editors, as JSON Schema |
//! | `page` | the answer for people: docs/keys.md |
//! | `meanings` | what each key is for, in words |

mod meanings;
mod page;
mod probe;
mod schema;
mod spot;
#[cfg(test)]
mod tests;

pub use page::{key_names, keys_page};
pub use schema::file_schema;

/// What may stand in one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Value {
    pub(crate) alternatives: Vec<Alternative>,
    /// What the reader says that it expects, if the value is a single one.
    pub(crate) expected: Option<String>,
    /// Whether the members of a group may differ: `{ each = […] }`, `{ cycle = […] }`.
    pub(crate) varies: Varies,
}

/// Whether members of a group may have different values.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Varies {
    #[default]
    No,
    Yes,
}

/// One kind of value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Alternative {
    Flag,
    Integer {
        least: i64,
        most: i64,
    },
    Number {
        least: f64,
        most: f64,
    },
    Quantity(Unit),
    Text,
    /// The name of a host or a router.
    Node,
    Words(Vec<String>),
    List(Box<Value>),
    Table(Fields),
    /// A table of one key.
    Choice(Vec<(String, Value)>),
    /// A table whose keys are names that the author gives.
    Sections(Box<Value>),
    Grid,
    /// As the enclosing value that has this choice.
    Again(String),
}

/// Kinds of quantities.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Unit {
    Duration,
    Rate,
    Size,
    Share,
    Packets,
    Segments,
}

/// The keys of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Fields {
    pub(crate) keys: Vec<Key>,
    /// The key whose word decides which keys there are, and the keys for each word.
    pub(crate) by: Option<(String, Kinds)>,
}

/// Words, and the keys that each brings.
pub(crate) type Kinds = Vec<(String, Vec<Key>)>;

/// One key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) need: Need,
    pub(crate) value: Value,
}

/// What a file without the key means.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Need {
    Required,
    /// The value that it has then, if it is one of few words.
    Optional(Option<String>),
    /// The preset's.
    Preset,
}
