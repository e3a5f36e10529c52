//! A sysctl that several processes need: which value it had before the first of them, and how many there
//! are.
//!
//! The value is in a file of [`RUN_DIRECTORY`], one for each network namespace and sysctl. The count is
//! that of the shared locks on the file, which the keepers hold and the kernel releases, however they
//! end. Keepers and processes look at the file only while they hold the lock of the directory.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use super::HostChangeError;

/// A sysctl's file. The directory is locked until this is dropped.
pub(super) struct SharedSwitch {
    file: PathBuf,
    _lock: File,
}

impl SharedSwitch {
    /// Waits until no other process makes or undoes a change.
    pub(super) fn lock(interface: &str, name: &str) -> Result<Self, HostChangeError> {
        let failed = |source| HostChangeError::Shared { path: RUN_DIRECTORY.into(), source };
        let directory = Path::new(RUN_DIRECTORY);
        let made = DirBuilder::new().mode(0o700).recursive(true).create(directory);
        let lock = made.and_then(|()| locked(&Self::lock_file())).map_err(failed)?;
        // Each thread may be in a namespace of its own.
        let namespace = fs::metadata("/proc/thread-self/ns/net").map_err(failed)?.ino();
        let file = directory.join(format!("{namespace}-{interface}-{name}"));
        Ok(Self { file, _lock: lock })
    }

    pub(super) fn lock_file() -> PathBuf {
        Path::new(RUN_DIRECTORY).join("lock")
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Whether another run has set it, and perhaps was killed together with its keeper.
    pub(super) fn is_in_use(&self) -> bool {
        fs::metadata(&self.file).is_ok_and(|it| it.len() > 0)
    }

    /// Notes what the last keeper restores.
    pub(super) fn record(&self, value: &str) -> Result<(), HostChangeError> {
        let failed = |source| HostChangeError::Shared { path: self.file.clone(), source };
        fs::write(&self.file, format!("{value}\n")).map_err(failed)
    }
}

fn locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Where runs share what they know of each other. Only root can write there, and a restart empties it.
pub const RUN_DIRECTORY: &str = "/run/ackwise";
/// Maximum wait for another run (our choice; it takes some milliseconds).
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(2);
