//! The files that commands write: whole or not at all, and never through somebody else's link.
//!
//! A file is written under a random name in the target's directory (`O_EXCL`, so that no existing
//! name is opened) and renamed when it is complete. `rename(2)` replaces a symbolic link at the final
//! name, and does not follow it. Pipes, terminals and the like have no place for a file beside them
//! and are written directly. New files have mode 0666 without the bits of the umask.
//!
//! Not here: the directories in front of the name are followed, as by every program.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};
#[cfg(unix)]
use std::{
    thread,
    time::{Duration, Instant},
};

use tempfile::{Builder, TempPath};

/// A file that is being written. Dropped without [`OutputFile::finish`], it leaves nothing.
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// `None` if the target is written directly.
    unfinished: Option<Unfinished>,
}

impl OutputFile {
    /// Begins the file that will be at `path`.
    ///
    /// # Errors
    ///
    /// If the directory takes no file, or `path` is a directory, a block device or a socket.
    pub fn create(path: &Path) -> io::Result<Self> {
        match Kind::of(path)? {
            Kind::StandardOutput => Ok(Self { file: standard_output()?, unfinished: None }),
            Kind::Stream => Ok(Self { file: open_stream(path)?, unfinished: None }),
            Kind::Plain => {
                let (file, unfinished) = Unfinished::beside(path)?;
                Ok(Self { file, unfinished: Some(unfinished) })
            }
        }
    }

    /// Writes all of it, and puts it in its place. A reader that has seen enough of a pipe is a success.
    ///
    /// # Errors
    ///
    /// If it cannot be written. What was at its path is then as before.
    pub fn complete(mut self, bytes: &[u8]) -> io::Result<()> {
        match self.write_all(bytes) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.finish().map(drop),
        }
    }

    /// Writes all of it to disk, and puts it in its place unless a file is there already.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn complete_once(mut self, bytes: &[u8]) -> io::Result<Placed> {
        self.write_all(bytes)?;
        let Some(unfinished) = self.unfinished else { return Ok(Placed::New) };
        self.file.sync_all()?;
        unfinished.finish_once()
    }

    /// Another handle for the same file, for a writer that is given away.
    ///
    /// # Errors
    ///
    /// If the process has too many files.
    pub fn handle(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Lets only its owner read a new file, whatever the umask.
    ///
    /// # Errors
    ///
    /// If its permissions cannot be changed.
    pub fn restrict(&self) -> io::Result<()> {
        match &self.unfinished {
            Some(_) => owner_only(&self.file),
            // A pipe has no copy to be read later, and its permissions are whose it is.
            None => Ok(()),
        }
    }

    /// Puts the file in its place. Returns it open.
    ///
    /// # Errors
    ///
    /// If the name cannot be replaced.
    pub fn finish(self) -> io::Result<File> {
        if let Some(unfinished) = self.unfinished {
            unfinished.finish()?;
        }
        Ok(self.file)
    }
}

/// What [`OutputFile::complete_once`] found in its place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Placed {
    /// Nothing: the file is new.
    New,
    /// A file, which stays.
    Existed,
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Writes a file. A reader that has seen enough of a pipe is a success.
///
/// # Errors
///
/// If it cannot be written. What was at `path` is then as before.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    OutputFile::create(path)?.complete(bytes)
}

/// Whether this is a file, or will be one: another file can be beside it, and a complete one can take
/// its place. Pipes, devices and the system's links to them (`/dev/stdout`, `/dev/fd/3`) are not.
#[must_use]
pub fn is_plain(path: &Path) -> bool {
    matches!(Kind::of(path), Ok(Kind::Plain))
}

/// Removes all files that are not complete: for a process that is about to end without unwinding.
pub fn discard_unfinished() {
    for path in std::mem::take(&mut *unfinished_files()) {
        // Nobody is left to be told.
        let _ = fs::remove_file(path);
    }
}

/// What a path leads to.
enum Kind {
    /// A file, a symbolic link that will be replaced, or nothing yet.
    Plain,
    /// A pipe or a character device.
    Stream,
    /// By this name: opened again, a redirected file would be written from its beginning twice.
    StandardOutput,
}

impl Kind {
    fn of(path: &Path) -> io::Result<Self> {
        if path == Path::new(STANDARD_OUTPUT) {
            return Ok(Self::StandardOutput);
        }
        if is_of_the_system(path) {
            return Ok(Self::Stream);
        }
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Plain),
            Err(error) => Err(error),
            Ok(found) if found.is_file() || found.is_symlink() => Ok(Self::Plain),
            Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if is_stream(&found) => Ok(Self::Stream),
            Ok(_) => Err(io::Error::other("is a block device or a socket (expected a file)")),
        }
    }
}

/// Whether the path is in a directory where the kernel and the system, and nobody else, have links.
fn is_of_the_system(path: &Path) -> bool {
    let directory = path.parent().and_then(|directory| directory.canonicalize().ok());
    directory
        .is_some_and(|directory| directory == Path::new("/dev") || directory.starts_with("/proc"))
}

#[cfg(unix)]
fn is_stream(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_fifo() || found.file_type().is_char_device()
}

#[cfg(not(unix))]
fn is_stream(_: &fs::Metadata) -> bool {
    false
}

/// Opens what is there. A link that took its place meanwhile is followed only where the system keeps
/// its own.
fn open_stream(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    if is_of_the_system(path) {
        // `/dev/fd/1` may be a file, to which the shell redirected.
        let truncated = fs::metadata(path).is_ok_and(|found| found.is_file());
        return options.truncate(truncated).open(path);
    }
    let file = open_read_pipe(&mut options, path)?;
    let found = file.metadata()?;
    if !is_stream(&found) {
        return Err(io::Error::other("changed while it was opened (expected a pipe)"));
    }
    only_ours(&found)?;
    Ok(file)
}

/// Opens a pipe that somebody reads, or will soon: who only opens it waits for ever.
#[cfg(unix)]
fn open_read_pipe(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    use std::os::unix::fs::OpenOptionsExt;

    options.custom_flags((OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK).bits());
    let until = Instant::now() + LONGEST_WAIT;
    loop {
        match options.open(path) {
            Err(error) if error.raw_os_error() == Some(NO_READER) && Instant::now() < until => {
                thread::sleep(RETRY);
            }
            Err(error) if error.raw_os_error() == Some(NO_READER) => {
                let seconds = LONGEST_WAIT.as_secs();
                return Err(io::Error::other(format!(
                    "is a pipe that nobody has read from for {seconds} s"
                )));
            }
            opened => {
                let file = opened?;
                fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
                return Ok(file);
            }
        }
    }
}

#[cfg(not(unix))]
fn open_read_pipe(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
}

/// What another user has put there may hold what that user wants us to believe, or show them what we
/// write.
#[cfg(unix)]
fn only_ours(found: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;

    if found.uid() != nix::unistd::geteuid().as_raw() {
        return Err(io::Error::other("belongs to another user (expected a file of your own)"));
    }
    Ok(())
}

#[cfg(not(unix))]
fn only_ours(_: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// ENXIO: the pipe has no reader.
#[cfg(unix)]
const NO_READER: i32 = nix::errno::Errno::ENXIO as i32;

/// How long a reader may take to open its end. Our choice.
#[cfg(unix)]
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How often it is looked for. Our choice.
#[cfg(unix)]
const RETRY: Duration = Duration::from_millis(20);

#[cfg(unix)]
fn standard_output() -> io::Result<File> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn standard_output() -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A file beside its target, under a random name.
#[derive(Debug)]
struct Unfinished {
    /// Removed on drop. `None` once it is complete.
    path: Option<TempPath>,
    target: PathBuf,
}

impl Unfinished {
    fn beside(target: &Path) -> io::Result<(File, Self)> {
        let directory = target.parent().filter(|it| !it.as_os_str().is_empty());
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        // Long names leave no room for a prefix.
        let name: String = name.to_string_lossy().chars().take(NAME_KEPT).collect();
        let mut builder = Builder::new();
        let prefix = format!(".{name}.");
        builder.prefix(&prefix).suffix(".part").rand_bytes(RANDOM);
        like_any_other(&mut builder);
        let directory = directory.unwrap_or_else(|| Path::new("."));
        let file = builder.tempfile_in(directory).map_err(|error| without_name(&error))?;
        let (file, path) = file.into_parts();
        unfinished_files().insert(path.to_path_buf());
        Ok((file, Self { path: Some(path), target: target.to_owned() }))
    }

    fn finish(mut self) -> io::Result<()> {
        let path = self.path.take().expect("only this takes it");
        unfinished_files().remove::<Path>(&path);
        path.persist(&self.target).map_err(|error| error.error)
    }

    fn finish_once(mut self) -> io::Result<Placed> {
        let path = self.path.take().expect("only this takes it");
        unfinished_files().remove::<Path>(&path);
        match path.persist_noclobber(&self.target) {
            Ok(()) => Ok(Placed::New),
            // Who saw the target may have removed what is unfinished beside it.
            Err(_) if self.target.symlink_metadata().is_ok() => Ok(Placed::Existed),
            Err(error) => Err(error.error),
        }
    }
}

/// The system's error alone: `tempfile` adds the random name, which says nothing to a user, and gives the
/// error itself to nobody.
fn without_name(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let system = text.split_once(" at path ").map_or(&*text, |(system, _)| system);
    io::Error::new(error.kind(), system)
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            unfinished_files().remove::<Path>(path);
        }
    }
}

/// The permissions of a file that `open` makes; the umask applies. `tempfile` has 0600 by default.
#[cfg(unix)]
fn like_any_other(builder: &mut Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn like_any_other(_: &mut Builder<'_, '_>) {}

#[cfg(unix)]
fn owner_only(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn owner_only(_: &File) -> io::Result<()> {
    Ok(())
}

fn unfinished_files() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    static FILES: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

const STANDARD_OUTPUT: &str = "/dev/stdout";
/// Characters of the target's name in the name of the unfinished file (our choice: a name has at most
/// 255 bytes).
const NAME_KEPT: usize = 40;
/// Random characters of 62 (our choice: 10^21 names).
const RANDOM: usize = 12;
