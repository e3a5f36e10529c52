//! The plan of a store of rows: what it is of, and how its rows are divided.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use serde::{Deserialize, Serialize};

use super::{
    super::{
        chunks::Chunks,
        work::{On, RunAllError},
    },
    StoreError, builds,
    plan_file::{Planned, difference, refused},
};
use crate::experiment::Experiment;

/// Which rows.
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

impl Planned for Plan {
    const FORMAT: &'static str = "ackwise-store 1";
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
            format: Self::FORMAT.to_owned(),
            build: builds::of_rows(),
            experiment: experiment.name().to_owned(),
            hash: experiment.hash().to_owned(),
            settings: experiment.settings(),
            seeds: experiment.seeds().to_vec(),
            on: on.describe(),
            rows: experiment.cases().len() * experiment.seeds().len(),
            rows_per_chunk,
        }
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
        Err(refused(directory, of, &what))
    }

    /// The first difference to what this process would do, and of what it is.
    fn difference(&self, own: &Self) -> Option<(&'static str, String)> {
        if let Some(what) = difference("build", &self.build, &own.build) {
            return Some(("build", what));
        }
        let settings = own.settings.keys().chain(self.settings.keys()).find_map(|key| {
            let value = |settings: &BTreeMap<String, String>| {
                settings.get(key).map_or_else(|| "no value".to_owned(), Clone::clone)
            };
            difference(key, &value(&self.settings), &value(&own.settings))
        });
        let [stored, seeds] = [self, own].map(|plan| format!("{:?}", plan.seeds));
        let what = settings
            .or_else(|| difference("hash (the order of keys)", &self.hash, &own.hash))
            .or_else(|| difference("seeds", &stored, &seeds))
            .or_else(|| difference("--on", &self.on, &own.on))
            .or_else(|| difference("rows", &self.rows.to_string(), &own.rows.to_string()));
        what.map(|what| ("experiment", what))
    }
}
