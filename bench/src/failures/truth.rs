//! What the programs of a case did, by their own clocks: `truth.json`. No packet is read for it.

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::kind::{Family, Kind};
use crate::witness::clock::{Clock, Nanos};

/// Of one case.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Truth {
    pub(super) name: String,
    pub(super) family: Family,
    pub(super) seed: u64,
    pub(super) rtt_ms: f64,
    /// Exchanges that ended well, by their clients.
    pub(super) answered: u32,
    pub(super) failed: Vec<Failed>,
    /// What each program did, for readers.
    pub(super) diary: Vec<Note>,
}

/// Something that failed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Failed {
    pub(super) kind: Kind,
    /// The client's port.
    pub(super) port: u16,
    /// Which exchange of the connection; `None` if there was none.
    pub(super) number: Option<u32>,
    pub(super) client: At,
    pub(super) server: At,
}

/// What can be known of a failure from the packets at one end, by who provoked it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub(super) struct At {
    pub(super) knowable: bool,
    /// Other kinds that are no mistake here.
    pub(super) also: Vec<String>,
    /// How long it took for the program at this end, if it knows.
    pub(super) ms: Option<f64>,
}

impl At {
    pub(super) fn known() -> Self {
        Self { knowable: true, ..Self::default() }
    }

    pub(super) fn hidden() -> Self {
        Self::default()
    }

    pub(super) fn or(mut self, kind: &str) -> Self {
        self.also.push(kind.to_owned());
        self
    }

    #[expect(clippy::cast_precision_loss, reason = "a run is short")]
    pub(super) fn lasted(mut self, from: Nanos, until: Nanos) -> Self {
        self.ms = Some(until.saturating_sub(from) as f64 / 1e6);
        self
    }
}

/// One line of a diary.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Note {
    /// By CLOCK_MONOTONIC.
    pub(super) at_ns: Nanos,
    pub(super) end: String,
    /// The client's port; 0 if there is none yet.
    pub(super) port: u16,
    pub(super) what: String,
}

/// What both ends of a case write down.
#[derive(Debug)]
pub(super) struct Diary {
    pub(super) clock: Clock,
    notes: Mutex<Vec<Note>>,
}

impl Diary {
    pub(super) fn new(clock: Clock) -> Self {
        Self { clock, notes: Mutex::default() }
    }

    /// Writes what was done now, and returns when that is.
    pub(super) fn note(&self, end: &str, port: u16, what: impl Into<String>) -> Nanos {
        let at_ns = self.clock.now();
        let note = Note { at_ns, end: end.to_owned(), port, what: what.into() };
        self.notes.lock().expect("nobody panics while noting").push(note);
        at_ns
    }

    pub(super) fn take(&self) -> Vec<Note> {
        let mut notes = std::mem::take(&mut *self.notes.lock().expect("nobody panics"));
        notes.sort_by_key(|it| it.at_ns);
        notes
    }
}

impl Truth {
    pub(super) fn read(folder: &Path) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE);
        fs::write(&path, serde_json::to_string_pretty(self)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

pub(super) const FILE: &str = "truth.json";
