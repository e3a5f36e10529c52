//! `ackwise load --json`, as a user starts it.

use std::{
    fmt,
    process::{Command, Output},
};

use ackwise_linux::Namespace;
use serde_json::Value;

use crate::{network::PORT, schema};

/// What the program printed, and its exit code.
pub(crate) struct Loaded {
    pub(crate) exit_code: Option<i32>,
    pub(crate) complaints: String,
    document: Value,
}

/// The command, to be started on some host.
pub(crate) fn command(host: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ackwise"));
    let url = format!("http://{host}:{PORT}/300");
    command.args(["load", &url, "--json"]).args(arguments);
    command
}

/// Loads the server that `on` knows as `host`.
pub(crate) fn load(on: &Namespace, host: &str, arguments: &[&str]) -> Loaded {
    Loaded::read(&on.run(|| command(host, arguments).output().unwrap()).unwrap())
}

/// The same from the server's own host.
pub(crate) fn load_loopback(on: &Namespace, arguments: &[&str]) -> Loaded {
    load(on, "127.0.0.1", arguments)
}

impl Loaded {
    pub(crate) fn read(output: &Output) -> Self {
        Self {
            exit_code: output.status.code(),
            complaints: String::from_utf8_lossy(&output.stderr).into_owned(),
            document: match output.status.code() {
                Some(0 | 1) => schema::keeping_to("load", &output.stdout),
                _ => serde_json::from_slice(&output.stdout).unwrap_or(Value::Null),
            },
        }
    }

    /// What `pointer` (RFC 6901) leads to.
    pub(crate) fn value(&self, pointer: &str) -> &Value {
        self.document.pointer(pointer).unwrap_or(&Value::Null)
    }

    pub(crate) fn number(&self, pointer: &str) -> u64 {
        let number = self.value(pointer).as_u64();
        number.unwrap_or_else(|| panic!("{pointer} is no number: {self}"))
    }

    /// How many requests failed in this way.
    pub(crate) fn failed(&self, kind: &str) -> u64 {
        let rows = self.value("/failures").as_array().into_iter().flatten();
        rows.filter(|row| row["kind"] == kind).filter_map(|row| row["count"].as_u64()).sum()
    }

    /// In TIME-WAIT at the server, and at the client.
    pub(crate) fn held(&self) -> [u64; 2] {
        ["/time_wait/server", "/time_wait/client"].map(|end| self.number(end))
    }

    pub(crate) fn summary(&self) -> &str {
        self.value("/summary").as_str().unwrap_or_default()
    }

    /// Whether a note has these words.
    pub(crate) fn notes(&self, words: &str) -> bool {
        let notes = self.value("/notes").as_array().into_iter().flatten();
        notes.filter_map(Value::as_str).any(|note| note.contains(words))
    }

    /// Every request was answered.
    #[track_caller]
    pub(crate) fn assert_whole(&self, requests: u64) {
        let counts = ["/requests", "/failed"].map(|count| self.number(count));
        assert_eq!((counts, self.exit_code), ([requests, 0], Some(0)), "{self}");
    }
}

impl fmt::Display for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exit_code, complaints, document } = self;
        write!(f, "exit code {exit_code:?}, {complaints}{document:#}")
    }
}
