//! `plan.json`: what a store is of, and how its rows are divided.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    num::NonZeroUsize,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use ackwise_text::{OutputFile, escape};
use serde::{Deserialize, Serialize};

use super::{
    super::{
        chunks::Chunks,
        row::VERSION,
        work::{On, RunAllError},
    },
    StoreError,
    files::PLAN,
};
use crate::experiment::Experiment;

/// What all processes that work on a store agree on.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    format: String,
    /// Version and sources of the program.
    build: String,
    /// The name that the first process used; another name is no other experiment.
    experiment: String,
    hash: String,
    /// What the hash is of, so that a difference has a name.
    settings: BTreeMap<String, String>,
    seeds: Vec<u64>,
    /// Who plays the rows.
    on: String,
    rows: usize,
    rows_per_chunk: NonZeroUsize,
}

impl Plan {
    /// Plans a new store.
    pub(super) fn first(
        experiment: &Experiment,
        on: On,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, RunAllError> {
        Ok(Self::with(experiment, on, Chunks::by_pilot(experiment, on, stop)?.rows_per_chunk()))
    }

    fn with(experiment: &Experiment, on: On, rows_per_chunk: NonZeroUsize) -> Self {
        Self {
            format: FORMAT.to_owned(),
            build: format!("{VERSION}, sources {}", env!("ACKWISE_SOURCES")),
            experiment: experiment.name().to_owned(),
            hash: experiment.hash().to_owned(),
            settings: experiment.settings(),
            seeds: experiment.seeds().to_vec(),
            on: on.describe(),
            rows: experiment.cases().len() * experiment.seeds().len(),
            rows_per_chunk,
        }
    }

    /// The plan in this directory, if there is one.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, StoreError> {
        let path = directory.join(PLAN);
        let mut text = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
        match read {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::Io { path, error }),
            Ok(_) => {}
        }
        let plan = serde_json::from_slice(&text).map_err(|error| error.to_string());
        let plan = plan.and_then(|plan: Self| match plan.format == FORMAT {
            true => Ok(plan),
            false => Err(format!("format {:?} (expected {FORMAT:?})", plan.format)),
        });
        plan.map(Some).map_err(|what| StoreError::Plan { path, what })
    }

    /// Writes the plan, unless another process was earlier: then that one's counts.
    pub(super) fn write(self, directory: &Path) -> Result<Self, StoreError> {
        let path = directory.join(PLAN);
        let text = serde_json::to_string_pretty(&self).expect("all keys of a plan are text") + "\n";
        let written = OutputFile::create(&path).and_then(|it| it.complete_once(text.as_bytes()));
        written.map_err(|error| StoreError::Io { path: path.clone(), error })?;
        Ok(Self::read(directory)?.unwrap_or(self))
    }

    /// The chunks, if this is a plan for the experiment and this program.
    pub(super) fn chunks_for(
        &self,
        directory: &Path,
        experiment: &Experiment,
        on: On,
    ) -> Result<Chunks, StoreError> {
        let own = Self::with(experiment, on, self.rows_per_chunk);
        let Some((of, what)) = self.difference(&own) else {
            return Ok(Chunks::new(self.rows, self.rows_per_chunk));
        };
        let what = escape::line(&what).into_owned();
        Err(StoreError::Other { directory: directory.to_owned(), of, what })
    }

    /// The first difference to what this process would do, and of what it is.
    fn difference(&self, own: &Self) -> Option<(&'static str, String)> {
        let differs = |name: &str, stored: &str, own: &str| {
            Some(format!("{name} is {} (the store has {})", cut(own), cut(stored)))
                .filter(|_| stored != own)
        };
        if let Some(what) = differs("build", &self.build, &own.build) {
            return Some(("build", what));
        }
        let settings = own.settings.keys().chain(self.settings.keys()).find_map(|key| {
            let value = |settings: &BTreeMap<String, String>| {
                settings.get(key).map_or_else(|| "no value".to_owned(), Clone::clone)
            };
            differs(key, &value(&self.settings), &value(&own.settings))
        });
        let [stored, seeds] = [self, own].map(|plan| format!("{:?}", plan.seeds));
        let what = settings
            .or_else(|| differs("hash (the order of keys)", &self.hash, &own.hash))
            .or_else(|| differs("seeds", &stored, &seeds))
            .or_else(|| differs("--on", &self.on, &own.on))
            .or_else(|| differs("rows", &self.rows.to_string(), &own.rows.to_string()));
        what.map(|what| ("experiment", what))
    }
}

/// As much of a value as a message can have.
fn cut(value: &str) -> String {
    match value.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

const FORMAT: &str = "ackwise-store 1";
/// As for experiment files, whose values a plan repeats.
const MOST_BYTES: u64 = 1 << 25;
/// Characters (our choice: two values fit on two lines of a terminal).
const MOST_SHOWN: usize = 60;
