//! What is wrong with an experiment: one message, with the place, what was found and what was expected.

use std::fmt;

use super::place::Place;

/// An experiment cannot be read. Its author is at fault, and is told where.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ExperimentError(Box<Details>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct Details {
    place: Place,
    path: String,
    problem: Problem,
}

/// What is wrong.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Problem {
    /// It is not TOML.
    Syntax {
        /// In the words of the TOML parser.
        what: String,
    },
    /// A name that nothing has: a key, a choice, a node.
    Unknown {
        /// What kind of name: "key", "host".
        kind: &'static str,
        /// The name.
        found: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A key that must be there is not.
    Missing {
        /// The key.
        key: String,
        /// What it would say.
        expected: String,
    },
    /// A value that is no such value, of the wrong unit, or out of range.
    Wrong {
        /// The value.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// Each value is right by itself, but not all of them together.
    Contradiction {
        /// In words.
        what: String,
    },
}

impl ExperimentError {
    pub(crate) fn new(place: Place, path: &str, problem: Problem) -> Self {
        Self(Box::new(Details { place, path: path.to_owned(), problem }))
    }

    pub(crate) fn contradiction(place: &Place, path: &str, what: impl Into<String>) -> Self {
        Self::new(place.clone(), path, Problem::Contradiction { what: what.into() })
    }

    /// A name that is none of those `known`.
    pub(crate) fn unknown<'a>(
        (place, path): (&Place, &str),
        kind: &'static str,
        found: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known = known.into_iter().map(str::to_owned).collect();
        let problem = Problem::Unknown { kind, found: found.to_owned(), known };
        Self::new(place.clone(), path, problem)
    }

    /// Where.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.0.place
    }

    /// The path of the key in the document, with dots; empty for the document.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// What.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.0.problem
    }
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Details { place, path, problem } = &*self.0;
        write!(f, "{place}: ")?;
        if !path.is_empty() && place.needs_path() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{problem}")
    }
}

impl std::error::Error for ExperimentError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { what } => write!(f, "invalid TOML: {what}"),
            Self::Unknown { kind, found, known } => {
                write!(f, "unknown {kind} \"{found}\" ")?;
                match suggestion(found, known) {
                    Some(name) => write!(f, "(similar: \"{name}\")"),
                    None if known.is_empty() => write!(f, "(expected none)"),
                    // There are dozens of them.
                    None if *kind == METRIC => {
                        let example = &known[0];
                        let group = example.split('.').next().unwrap_or(example);
                        write!(
                            f,
                            "(expected a metric such as {example}, or a pattern such as {group}.*; \
                             docs/experiments.md lists all metrics)"
                        )
                    }
                    None => write!(f, "(expected {})", one_of(known)),
                }
            }
            Self::Missing { key, expected } => {
                write!(f, "the key \"{key}\" is missing (expected {expected})")
            }
            Self::Wrong { found, expected } => write!(f, "found {found} (expected {expected})"),
            Self::Contradiction { what } => f.write_str(what),
        }
    }
}

/// The kind of a name of which there are dozens.
pub(crate) const METRIC: &str = "metric";

/// The name that is meant, if one is near enough.
pub(crate) fn suggestion<'a>(found: &str, known: &'a [String]) -> Option<&'a str> {
    let near = |name: &String| strsim::normalized_damerau_levenshtein(found, name);
    let best = known.iter().max_by(|a, b| near(a).total_cmp(&near(b)))?;
    (near(best) >= NEAR).then_some(best)
}

/// A name that shares so much with another may be a slip of the fingers.
const NEAR: f64 = 0.6;

/// The names, or the first of them.
fn one_of(names: &[String]) -> String {
    let mut text = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(", …");
    }
    match names {
        [_] => text,
        _ => format!("one of {text}"),
    }
}

/// A list of more names is not read.
const SHOWN: usize = 24;
