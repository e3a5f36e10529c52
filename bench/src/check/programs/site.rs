//! What a program serves, its files, and where it listens.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::Context;

/// Where every program listens, on all addresses, and where a server behind a proxy does.
pub(super) const PORT: u16 = 8080;
pub(super) const BEHIND: u16 = 8081;

/// A directory for one program: its documents, its configuration, its log. Gone when dropped.
pub(super) struct Site {
    root: PathBuf,
}

impl Site {
    pub(super) fn new(program: &str) -> anyhow::Result<Self> {
        // Not in target: a program that gives root up must be able to read it.
        let name = format!("ackwise-bench-check-{}-{program}", std::process::id());
        let site = Self { root: std::env::temp_dir().join(name) };
        fs::create_dir_all(site.documents())?;
        for folder in [&site.root, &site.documents()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
        let mut index = "<html><body><img src=\"small.bin\"><img src=\"large.bin\">\n".to_owned();
        index.push_str(&"<p>A paragraph of the page.</p>\n".repeat(INDEX / 32));
        for (name, content) in [
            ("index.html", index.into_bytes()),
            ("small.bin", vec![b'x'; SMALL]),
            ("large.bin", vec![b'x'; LARGE]),
        ] {
            fs::write(site.documents().join(name), content)?;
        }
        Ok(site)
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    pub(super) fn documents(&self) -> PathBuf {
        self.path("documents")
    }

    /// Writes `file`, and says where it is.
    pub(super) fn write(&self, file: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.path(file);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Bytes of the page, which is smaller than an initial window, and of the files that it refers to: one of a single
/// segment, and one that is larger than what send buffers hold. Our choices.
const INDEX: usize = 6_400;
const SMALL: usize = 300;
const LARGE: usize = 1_000_000;
