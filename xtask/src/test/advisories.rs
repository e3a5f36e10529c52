//! RustSec's advisories. Their database is on a server that not every machine reaches: then the step is
//! not run, and the summary says why.

use std::{process::Command, time::Duration};

use xtask::{
    install,
    process::{self, End, Output},
};

/// What the step runs.
pub(crate) const CHECK: &[&str] = &["deny", "check", "advisories"];

/// Fetches the database. Returns why there is none.
pub(crate) fn missing_database() -> Option<String> {
    let mut fetch = Command::new("cargo");
    fetch.args(["deny", "fetch", "db"]).env("PATH", install::path());
    match process::run(&mut fetch, Output::Discard, FETCH_LIMIT) {
        Ok(End::Succeeded) => None,
        _ => Some("cargo deny fetch db failed: it needs github.com/rustsec/advisory-db".to_owned()),
    }
}

const FETCH_LIMIT: Duration = Duration::from_secs(120);
