//! The language of wire scripts, and who runs them.
//!
//! ```text
//! # What the script shows, and the sentence of the standard that says so.
//! policies RFC hold=off iw=1          the preset, and what differs from it (`settings.rs`)
//! config mss=1000 receive_buffer=4000
//! ip 6                                IPv4 unless this stands here
//! listener full                       the listener has no room, so that it answers with SYN cookies
//!
//! 0.000  listen                       a call by the application
//! +0.010 < S 0:0(0) win 65535         a segment arrives, 10 ms after the line before
//! +0     > S. 0:0(0) ack 1            exactly this segment leaves, and nothing before it
//! +0.010 < . ack 1                    no sequence number: what comes next; no window: as before
//!        event connected              no time: at the same time
//!        write 500
//!        > P. 1:501(500) ack 1
//!        wait application             why nothing more is sent (`reason`: why it is in TIME-WAIT)
//!        mtu 1280 of 1                a router reports an MTU for the packet that began there
//!        set send_buffer 9000         the application changes an option, or the driver `path_mtu`
//!        because delayed              why the ACK left that the line before expects
//!        dropped outside-window       why the segment was dropped that arrived last
//!        nothing until 1.030          absolute
//! 1.030  > P. 1:501(500) ack 1
//! ```
//!
//! Segments are written as `ackwise_tcp::notation` writes them; `>` leaves our endpoint, `<` arrives
//! at it. Of a segment that is expected, control bits, numbers and the time are always compared (to
//! the microsecond), window and options only if they are given. A segment that leaves and is not
//! expected is a failure. Initial sequence numbers are such that both wrap around soon.

mod host;
mod run;
mod settings;
mod text;

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Runs every script of one folder and reports all that fail.
pub(crate) fn run_folder(mechanism: &str) {
    let folder = root().join(mechanism);
    let mut scripts = files(&folder);
    scripts.retain(|path| path.extension().is_some_and(|extension| extension == "script"));
    assert!(!scripts.is_empty(), "{} has no scripts", folder.display());
    let failures: Vec<String> = scripts.iter().filter_map(|path| run_file(path).err()).collect();
    assert!(
        failures.is_empty(),
        "{} of {} scripts failed\n\n{}",
        failures.len(),
        scripts.len(),
        failures.join("\n\n")
    );
}

/// The names of all folders, in order.
pub(crate) fn folders() -> Vec<String> {
    let names = files(&root()).into_iter().filter(|path| path.is_dir());
    names.filter_map(|path| Some(path.file_name()?.to_str()?.to_owned())).collect()
}

/// Runs the text of one script.
pub(crate) fn run_text(source: &str) -> Result<(), String> {
    let script = text::parse(source).map_err(|error| error.to_string())?;
    run::run(&script).map(drop).map_err(|failure| failure.to_string())
}

/// What happened when a script ran that holds, in its own notation.
pub(crate) fn trace_of(source: &str) -> String {
    let script = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    run::run(&script).unwrap_or_else(|failure| panic!("{failure}")).to_string()
}

fn run_file(path: &Path) -> Result<(), String> {
    let shown = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(path).display();
    let source = fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
    run_text(&source).map_err(|failure| format!("{shown}:{failure}"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}
