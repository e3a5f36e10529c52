//! The files tracked by git.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// A tracked file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    /// `None` for images, captures and other files that are not text.
    pub(crate) fn text(&self) -> Option<&str> {
        if self.bytes.contains(&0) { None } else { std::str::from_utf8(&self.bytes).ok() }
    }

    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// Read at run time: a binary in a target directory shared by two checkouts would otherwise check
/// the one it was built for.
pub(crate) fn root() -> PathBuf {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for tests");
    let mut root = PathBuf::from(manifest);
    root.pop();
    root
}

/// All tracked files, except those deleted but not yet committed.
pub(crate) fn files() -> Vec<File> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    let output = output.expect("git is needed to know which files belong to the repository");
    assert!(output.status.success(), "git: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).expect("file names are UTF-8");
    names.split_terminator('\0').filter_map(read).collect()
}

fn read(name: &str) -> Option<File> {
    match fs::read(root().join(name)) {
        Ok(bytes) => Some(File { path: name.to_owned(), bytes }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => panic!("{name}: {error}"),
    }
}

/// Fails with all complaints, not only the first.
pub(crate) fn assert_none(complaints: &[String], rule: &str) {
    assert!(complaints.is_empty(), "{rule}\n  {}", complaints.join("\n  "));
}
