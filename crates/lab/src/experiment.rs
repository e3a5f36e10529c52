//! Experiment files: what is run, as TOML that a person writes, and the cases that it means.
//!
//! `docs/experiments.md` describes the format, `docs/keys.md` its keys. Reading is strict: a key that nobody asked for, a number
//! without a unit, a value out of range or a name that nothing has is an [`ExperimentError`], which
//! says where it stands, what was found and what was expected.
//!
//! Not here: running ([`run`](crate::run)), and what the words mean, which the crates say that the
//! values come from.
//!
//! | module | one idea |
//! | --- | --- |
//! | `document`, `place` | TOML in which everything knows where it was written |
//! | `reader` | takes a table apart, and complains about what is left |
//! | `quantity` | numbers with units |
//! | `path` | sets a value: for `--set` and for the grid |
//! | `grid`, `case` | all combinations of values |
//! | `group` | one description for many nodes |
//! | `topology`, `link`, `tcp`, `table` | nodes and links |
//! | `application`, `behaviour`, `pages`, `distribution` | who talks to whom, and about what |
//! | `scenario` | all of it together |
//! | `draft`, `load` | files to which options may still add |
//! | `keys` | all keys, found by asking the reader: for people, and for editors |
//! | `built_in` | experiments that come with the program |

mod application;
mod behaviour;
mod built_in;
mod case;
mod distribution;
mod document;
mod draft;
mod error;
mod grid;
mod group;
mod keys;
mod link;
mod load;
mod pages;
mod path;
mod place;
pub(crate) mod quantity;
mod reader;
mod scenario;
mod table;
mod tcp;
#[cfg(test)]
mod tests;
mod topology;

#[cfg(feature = "parquet")]
use std::collections::BTreeMap;
use std::{collections::BTreeSet, num::NonZeroU64};

pub use built_in::{built_in, built_in_names};
pub use case::{Case, CaseValue, Labels};
pub use draft::Draft;
pub use error::{ExperimentError, Problem};
pub use keys::{file_schema, key_names, keys_page};
pub use load::LoadError;
pub use place::Place;

use ackwise_link::Seed;
use document::{Item, Table, Value};
use path::Path;
use reader::Field;

use crate::measures::{matches, names};

/// An experiment: one or more cases, each to be run with each seed.
#[derive(Clone, Debug)]
pub struct Experiment {
    name: String,
    document: Item,
    hash: String,
    title: Option<String>,
    seeds: Vec<u64>,
    show: Vec<String>,
    counted: Vec<String>,
    cases: Vec<Case>,
}

impl Experiment {
    /// Reads an experiment. `name` is the file's, for messages.
    ///
    /// ```
    /// use ackwise_lab::experiment::Experiment;
    ///
    /// let text = r#"
    ///     duration = "1 s"
    ///     host.client = {}
    ///     host.server = {}
    ///     link.wire = { ends = ["client", "server"], rate = "10 Mb/s", delay = "1 ms" }
    ///     application.web = { kind = "web", client = "client", server = "server",
    ///         workload = "heidemann", transfer = "persistent" }
    ///     [grid]
    ///     "link.wire.delay" = ["1 ms", "50 ms"]
    /// "#;
    /// let experiment = Experiment::parse("two.toml", text)?;
    /// assert_eq!(experiment.cases().len(), 2);
    ///
    /// let error = Experiment::parse("two.toml", &text.replace("rate", "rat")).unwrap_err();
    /// assert!(error.to_string().starts_with("two.toml:5:"), "{error}");
    /// # Ok::<(), ackwise_lab::experiment::ExperimentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, in any of the cases.
    pub fn parse(name: &str, text: &str) -> Result<Self, ExperimentError> {
        Draft::parse(name, text)?.experiment([], &[])
    }

    /// This experiment with one value set, or replaced: `--set path=value`.
    ///
    /// # Errors
    ///
    /// A setting without `=`, a path that leads nowhere or that the grid varies, and whatever
    /// [`parse`](Self::parse) would say about such a file.
    pub fn with_set(&self, setting: &str) -> Result<Self, ExperimentError> {
        self.with_all_set(std::iter::once(setting))
    }

    /// This experiment with several values set, in order. What is wrong after the first may be right
    /// after the last.
    ///
    /// # Errors
    ///
    /// As [`with_set`](Self::with_set).
    pub fn with_all_set<'a>(
        &self,
        settings: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, ExperimentError> {
        let draft = Draft { name: self.name.clone(), document: self.document.clone() };
        draft.experiment(settings, &[])
    }

    fn read(Draft { name, document }: Draft) -> Result<Self, ExperimentError> {
        let whole = Field { item: &document, path: String::new() };
        let mut reader = whole.table("a table")?;
        let title = reader.optional("title").map(|field| field.text("text").map(str::to_owned));
        let title = title.transpose()?;
        let seeds = reader.or_with("seeds", vec![1], seeds)?;
        let grid = reader.optional("grid");
        let show = reader.optional("show");
        let mut cases = Vec::new();
        let mut counted = Vec::new();
        let combinations = grid::combinations(grid.as_ref())?;
        for combination in &combinations {
            let scenario = scenario::scenario(&with(&document, &combination.set)?)?;
            counted = scenario.counted;
            cases.push(Case { labels: combination.labels.clone(), scenario: scenario.scenario });
        }
        if let Some(first) = combinations.first() {
            check_overridden(&document, &first.set)?;
        }
        let show = show.as_ref().map(|field| shown(field, &cases)).transpose()?;
        let show = show.unwrap_or_default();
        let hash = hash(&document);
        Ok(Self { name, hash, title, seeds, show, counted, cases, document })
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the file says that it shows.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// All cases, in the order of the grid, the last axis fastest.
    #[must_use]
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Each case is run once with each of these.
    #[must_use]
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// The measures that tables show, as [`parse`](Self::parse) found them: names, or beginnings of
    /// names that end in `*`. Empty if the file does not say.
    #[must_use]
    pub fn show(&self) -> &[String] {
        &self.show
    }

    /// The hosts and links that are many of one kind, which tables leave out unless asked: `host.c1`,
    /// `link.access1`.
    #[must_use]
    pub fn counted(&self) -> &[String] {
        &self.counted
    }

    /// A name for what the experiment says, in 16 hexadecimal digits: the same for files that differ in
    /// comments, spaces, title, shown measures and seeds only. (FNV-1a; it is no seal.)
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

impl Experiment {
    /// What decides about the rows, by path: all that the hash is of.
    #[cfg(feature = "parquet")]
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = BTreeMap::new();
        if let Value::Table(table) = &self.document.value {
            table
                .entries
                .iter()
                .filter(|it| decides(it))
                .for_each(|it| flatten(it, "", &mut settings));
        }
        settings
    }
}

/// All values below an entry, each by its path.
#[cfg(feature = "parquet")]
fn flatten(entry: &document::Entry, above: &str, settings: &mut BTreeMap<String, String>) {
    let path = reader::join(above, &entry.key);
    match &entry.item.value {
        Value::Table(table) if !table.entries.is_empty() => {
            table.entries.iter().for_each(|it| flatten(it, &path, settings));
        }
        _ => {
            settings.insert(path, entry.item.to_string());
        }
    }
}

/// A document with some values set.
fn with(document: &Item, values: &[(Path, Item)]) -> Result<Item, ExperimentError> {
    let mut own = document.clone();
    if let Value::Table(table) = &mut own.value {
        for (path, item) in values {
            path.set(table, item.clone())?;
        }
    }
    Ok(own)
}

/// Whether each value of the file that every case replaces is one that could stand there. That it
/// contradicts values of a case, or needs others, is no mistake: it is never used with them.
fn check_overridden(document: &Item, values: &[(Path, Item)]) -> Result<(), ExperimentError> {
    let Value::Table(table) = &document.value else { return Ok(()) };
    for (path, _) in values {
        let Some(base) = path.find(table) else { continue };
        let mut values = values.to_vec();
        values.push((path.clone(), base.clone()));
        let error = scenario::scenario(&with(document, &values)?).err();
        let wrong = error.filter(|error| {
            matches!(error.problem(), Problem::Wrong { .. } | Problem::Unknown { .. })
        });
        if let Some(error) = wrong {
            return Err(error);
        }
    }
    Ok(())
}

fn hash(document: &Item) -> String {
    let Value::Table(table) = &document.value else { return String::new() };
    let entries = table.entries.iter().filter(|it| decides(it)).cloned().collect();
    let Seed(hash) = Seed(0).named(&Table { entries }.to_string());
    format!("{hash:016x}")
}

/// Whether a key of the top has to do with what a case of it does.
fn decides(entry: &document::Entry) -> bool {
    !["title", "show", "seeds"].contains(&&*entry.key)
}

/// `seeds = 5` are the seeds 1 to 5; a list says which.
fn seeds(field: Field<'_>) -> Result<Vec<u64>, ExperimentError> {
    if let Value::Integer(_) = field.item.value {
        let count: NonZeroU64 =
            NonZeroU64::new(field.integer(1..=MAX_SEEDS)?).expect("the range begins at 1");
        return Ok((1..=count.get()).collect());
    }
    let list = field.list("how many seeds, or a list of them")?;
    let seeds = list.iter().map(|field| field.integer(0..=i64::MAX.cast_unsigned()));
    let mut seeds: Vec<u64> = seeds.collect::<Result<_, _>>()?;
    let count = seeds.len();
    seeds.sort_unstable();
    seeds.dedup();
    match seeds.len() {
        0 => Err(field.wrong("at least one seed")),
        distinct if distinct < count => Err(field.contradiction("a seed occurs twice")),
        _ => Ok(seeds),
    }
}

/// The measures to show; each must be one that a case has.
fn shown(field: &Field<'_>, cases: &[Case]) -> Result<Vec<String>, ExperimentError> {
    let mut known: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for name in cases.iter().flat_map(|case| names(&case.scenario)) {
        if seen.insert(name.clone()) {
            known.push(name);
        }
    }
    let mut shown = Vec::new();
    for field in field.list("a list of metrics, such as \"web.rate_mean\", \"link.*\"")? {
        let pattern = field.text("the name of a metric")?;
        if !known.iter().any(|name| matches(pattern, name)) {
            return Err(field.unknown(error::METRIC, pattern, known.iter().map(String::as_str)));
        }
        shown.push(pattern.to_owned());
    }
    Ok(shown)
}

/// More runs of the same case are a mistake.
const MAX_SEEDS: u64 = 10_000;
