//! What all chores need: children that end, and programs that are there.

pub mod install;
pub mod process;

use std::path::PathBuf;
use std::{env, io};

/// Makes the root of the repository the current directory: all paths of the chores start there.
///
/// Cargo says at run time where it is, so a binary from a shared target directory works on each checkout.
///
/// # Errors
///
/// If that directory is gone.
pub fn enter_repository() -> io::Result<()> {
    let Some(manifest) = env::var_os("CARGO_MANIFEST_DIR") else { return Ok(()) };
    let mut root = PathBuf::from(manifest);
    root.pop();
    env::set_current_dir(root)
}
