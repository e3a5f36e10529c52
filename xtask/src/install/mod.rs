//! Installs what the tests need, and says what.
//!
//! Idempotent: it looks first, and what is there stays as it is. What cannot be had is not an error
//! here: a test or a step that misses something skips itself by name.

mod debian;
pub mod needs;
mod rust;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use self::needs::{Need, Package, Tool};
pub use self::rust::forget_toolchain;

/// Makes sure of `need`.
///
/// # Errors
///
/// Why it is missing, and how to get it. The caller skips what needs it.
pub fn provide(need: Need) -> anyhow::Result<()> {
    // Two steps may run side by side; what changes the same place waits for its turn.
    let place = match need {
        Need::DebianPackages | Need::Tool(_) => &HERE,
        Need::Component(_) | Need::Nightly => &RUSTUP,
    };
    let _turn = place.lock().unwrap_or_else(PoisonError::into_inner);
    match need {
        Need::DebianPackages => debian::provide(needs::DEBIAN),
        Need::Tool(tool) => tools::provide(tool),
        Need::Component(component) => rust::provide_component(component),
        Need::Nightly => rust::provide_nightly(),
    }
}

/// Makes sure of Debian packages that only one benchmark needs.
///
/// # Errors
///
/// Which ones are missing and cannot be installed here.
pub fn provide_packages(packages: &[Package]) -> anyhow::Result<()> {
    if packages.is_empty() { Ok(()) } else { debian::provide(packages) }
}

/// `PATH` for children: our own tools first, and the places where Debian keeps servers, which an
/// ordinary user's `PATH` leaves out.
pub fn path() -> std::ffi::OsString {
    let current = env::var_os("PATH").unwrap_or_default();
    let current: Vec<PathBuf> = env::split_paths(&current).collect();
    let mut all = vec![env::current_dir().unwrap_or_default().join(tools::BIN)];
    all.extend(current);
    for place in ["/usr/local/sbin", "/usr/sbin", "/sbin"] {
        if !all.iter().any(|known| known == Path::new(place)) {
            all.push(PathBuf::from(place));
        }
    }
    env::join_paths(all).unwrap_or_default()
}

/// Where `command` is in our [`path`], if anywhere.
fn find(command: &str) -> Option<PathBuf> {
    env::split_paths(&path())
        .map(|directory| directory.join(command))
        .find(|file| fs::metadata(file).is_ok_and(|data| data.is_file()))
}

/// Says what is about to be installed.
fn announce(what: &str) {
    println!("installing {what}");
}

/// Debian's packages and `.venv`, which is made with one of them.
static HERE: Mutex<()> = Mutex::new(());

/// The toolchains.
static RUSTUP: Mutex<()> = Mutex::new(());
