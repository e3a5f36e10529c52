//! The paper's arguments as experiments: each file's cases are the lines of a table.

use ackwise_sim::Nobody;

use super::measures::{
    client_memory, client_time_wait, connection_rate, entries_per_lookup, file_rate, refused,
    server_memory,
};
use crate::{
    ReproduceError,
    file::{File, experiment_file},
    runner::{self, Outcome},
    study::{self, Measure},
    table::ComparisonTable,
};

/// An experiment about an argument.
struct Study {
    id: &'static str,
    title: &'static str,
    file: File,
    measures: &'static [Measure<Nobody>],
}

/// What a study gave.
pub(super) struct Studied {
    outcomes: Vec<Outcome<Nobody>>,
    pub(super) table: ComparisonTable,
}

/// All of them.
pub(super) struct Studies {
    pub(super) findings: Studied,
    pub(super) small: Studied,
    pub(super) limit: Studied,
    pub(super) share: Studied,
    pub(super) rst_lost: Studied,
}

impl Studies {
    pub(super) fn run() -> Result<Self, ReproduceError> {
        Ok(Self {
            findings: FINDINGS.run()?,
            small: SMALL.run()?,
            limit: LIMIT.run()?,
            share: SHARE.run()?,
            rst_lost: RST_LOST.run()?,
        })
    }

    pub(super) fn into_tables(self) -> [ComparisonTable; 5] {
        let Self { findings, small, limit, share, rst_lost } = self;
        [findings, small, limit, share, rst_lost].map(|studied| studied.table)
    }
}

impl Study {
    fn run(&self) -> Result<Studied, ReproduceError> {
        let outcomes = runner::run(self.file, |_| Nobody)?;
        let table = study::table((self.id, self.title), self.file, self.measures, &outcomes);
        Ok(Studied { table, outcomes })
    }
}

impl Studied {
    /// What `measure` gives in the case of this name.
    pub(super) fn value(
        &self,
        measure: fn(&Outcome<Nobody>) -> Option<f64>,
        case: &str,
    ) -> Result<f64, ReproduceError> {
        let named = |outcome: &&Outcome<Nobody>| {
            outcome.labels.iter().any(|(_, value)| value.to_string() == case)
        };
        let found = self.outcomes.iter().find(named).and_then(measure);
        found.ok_or_else(|| ReproduceError::NoCase { case: case.to_owned() })
    }
}

const FINDINGS: Study = Study {
    id: "faber1997_findings",
    title: "One table's fit applied to another table",
    file: experiment_file!("faber_findings.toml"),
    measures: &[
        ("connection_rate", connection_rate),
        ("tcb_memory", server_memory),
        ("entries_per_lookup", entries_per_lookup),
    ],
};

const SMALL: Study = Study {
    id: "faber1997_small",
    title: "The paper's proposals against running out of memory, with Table 3's files",
    file: experiment_file!("faber_small.toml"),
    measures: &[
        ("file_rate", file_rate),
        ("connection_rate", connection_rate),
        ("tcb_memory", server_memory),
        ("refused", refused),
    ],
};

const LIMIT: Study = Study {
    id: "faber1997_limit",
    title: "Clients that arrive at a steady rate: when the server runs out of memory",
    file: experiment_file!("faber_limit.toml"),
    measures: &[
        ("connection_rate", connection_rate),
        ("tcb_memory", server_memory),
        ("refused", refused),
    ],
};

const SHARE: Study = Study {
    id: "faber1997_share",
    title: "Table 2 with some clients modified, and with more client hosts",
    file: experiment_file!("faber_share.toml"),
    measures: &[
        ("connection_rate", connection_rate),
        ("tcb_memory", server_memory),
        ("client_time_wait", client_time_wait),
        ("refused", refused),
    ],
};

const RST_LOST: Study = Study {
    id: "faber1997_rst_lost",
    title: "What both ends hold after a connection whose RST is lost, in KiB",
    file: experiment_file!("faber_rst_lost.toml"),
    measures: &[("server_kib", server_memory), ("client_kib", client_memory)],
};
