//! Shared by all subcommands and the tests: child processes with limits, installation of programs, counts of code.

pub mod install;
pub mod process;
pub mod ratchet;

use std::path::PathBuf;
use std::{env, io};

/// Makes the root of the repository the current directory, to which all paths are relative.
///
/// The root comes from cargo at run time, so a binary in a shared target directory works with each
/// checkout.
///
/// # Errors
///
/// If that directory does not exist.
pub fn enter_repository() -> io::Result<()> {
    let Some(manifest) = env::var_os("CARGO_MANIFEST_DIR") else { return Ok(()) };
    let mut root = PathBuf::from(manifest);
    root.pop();
    env::set_current_dir(root)
}
