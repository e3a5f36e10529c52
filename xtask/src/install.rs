//! Installs the tests' dependencies and announces each.
//!
//! Idempotent: it checks first, and does not change existing installations. A missing dependency is
//! not an error here: tests and steps that need it are skipped by name.

mod debian;
pub mod needs;
mod rust;
mod tools;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use self::needs::{Need, Package, Tool};
pub use self::rust::forget_toolchain;

/// Installs `need` if it is missing.
///
/// # Errors
///
/// If it cannot be installed; the message says how to install it. The caller skips what needs it.
pub fn provide(need: Need) -> anyhow::Result<()> {
    // Steps may run concurrently; installations into the same place are serialised.
    let place = match need {
        Need::DebianPackages | Need::Tool(_) | Need::PythonPackages => &HERE,
        Need::Component(_) | Need::Nightly => &RUSTUP,
    };
    let _turn = place.lock().unwrap_or_else(PoisonError::into_inner);
    match need {
        Need::DebianPackages => debian::provide(needs::DEBIAN),
        Need::Tool(tool) => tools::provide(tool),
        Need::PythonPackages => tools::provide_python(needs::PYTHON),
        Need::Component(component) => rust::provide_component(component),
        Need::Nightly => rust::provide_nightly(),
    }
}

/// Installs Debian packages that only one benchmark needs, if they are missing.
///
/// # Errors
///
/// If some are missing and cannot be installed.
pub fn provide_packages(packages: &[Package]) -> anyhow::Result<()> {
    if packages.is_empty() { Ok(()) } else { debian::provide(packages) }
}

/// `PATH` for children: the repository's tools first, and Debian's directories for servers, which
/// are not in a normal user's `PATH`.
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

/// Finds `command` in [`path`].
fn find(command: &str) -> Option<PathBuf> {
    env::split_paths(&path())
        .map(|directory| directory.join(command))
        .find(|file| fs::metadata(file).is_ok_and(|data| data.is_file()))
}

/// Announces an installation.
fn announce(what: &str) {
    println!("installing {what}");
}

/// Debian's packages and `.venv`, which is created with one of them.
static HERE: Mutex<()> = Mutex::new(());

/// Rust's toolchains.
static RUSTUP: Mutex<()> = Mutex::new(());
