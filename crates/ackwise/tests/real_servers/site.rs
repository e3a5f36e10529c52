//! What a server serves, and where it keeps its files.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process,
};

/// A directory for one server: its documents, its configuration, its log. Gone when dropped.
pub(crate) struct Site {
    root: PathBuf,
}

impl Site {
    /// A directory that a server can still read when it has given root up.
    pub(crate) fn new(test: &str) -> Self {
        sweep();
        let test = test.replace("::", "-");
        // Not cargo's own directory: the way there may be closed to other users.
        let root = std::env::temp_dir().join(format!("{PREFIX}{}-{test}", process::id()));
        let site = Self { root };
        fs::create_dir_all(site.documents()).expect("the temporary directory can be written");
        for folder in [&site.root, &site.documents()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        for bytes in DOCUMENTS {
            let content = vec![b'x'; bytes];
            fs::write(site.documents().join(bytes.to_string()), content).expect("it is ours");
        }
        site
    }

    /// The path of `file`, which need not exist.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    /// The root of the documents; each is named for its size.
    pub(crate) fn documents(&self) -> PathBuf {
        self.path("documents")
    }

    /// Writes `file`, and says where it is.
    pub(crate) fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.path(file);
        fs::write(&path, text).expect("it is ours");
        path
    }

    /// What `file` holds, if it exists.
    pub(crate) fn read(&self, file: &str) -> String {
        fs::read(self.path(file))
            .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // It lies in the directory for temporary files, and the next run sweeps.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Removes what runs that were killed have left.
fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split('-').next());
        if owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Heidemann's (1996), small ones, and one that is longer than an initial window.
const DOCUMENTS: [usize; 7] = [6651, 3883, 1866, 500, 300, 200, 65_536];

const PREFIX: &str = "ackwise-real-servers-";
