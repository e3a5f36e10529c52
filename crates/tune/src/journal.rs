//! The old values of one run, in a file of `/run` that outlives it.
//!
//! The file is written before the first change of each kind: to a temporary name, synchronised, renamed. So
//! at any moment it names every socket that may differ from what it was. It is removed when everything is
//! given back. One file for each run; it names the process, so that [`undo`](fn@crate::undo) leaves the runs
//! alone that are still there.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read, Write},
    net::SocketAddr,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use ackwise_linux::foreign::SocketOption;
use nix::fcntl::OFlag;
use serde::{Deserialize, Serialize};

use crate::TuneError;

/// A journal that is being written.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    content: Content,
}

/// A journal's content.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Content {
    version: u32,
    /// The run's process.
    pub(crate) process: u32,
    /// When that process started, in the kernel's ticks since boot: process ids are reused.
    started: u64,
    /// The server's port; `None`: all of a process.
    pub(crate) port: Option<u16>,
    /// Whether sockets of the port may have a congestion control of ours. They are known by its name, so no
    /// record is needed for each.
    #[serde(default)]
    pub(crate) paces: bool,
    pub(crate) records: Vec<Record>,
}

/// An option of a socket, as it was before the run changed it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct Record {
    pub(crate) inode: u32,
    pub(crate) cookie: u64,
    option: String,
    pub(crate) old: u32,
    pub(crate) new: u32,
    pub(crate) local: SocketAddr,
    pub(crate) remote: Option<SocketAddr>,
}

impl Journal {
    /// A journal of this process for `port`, or for all of a process. Nothing is written before the first record.
    pub(crate) fn new(directory: &Path, port: Option<u16>) -> Self {
        let process = std::process::id();
        let started = start_of(process).unwrap_or(0);
        let content =
            Content { version: VERSION, process, started, port, paces: false, records: Vec::new() };
        // A run that was killed may have had the same process id, and its journal still be needed.
        let name = format!("{PREFIX}{process}-{started}-{}{SUFFIX}", port.unwrap_or(0));
        Self { path: directory.join(name), content }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn records(&self) -> &Vec<Record> {
        &self.content.records
    }

    /// Room for further records.
    pub(crate) const fn room(&self) -> usize {
        RECORDS_LIMIT.saturating_sub(self.content.records.len())
    }

    /// Forgets sockets that are gone.
    pub(crate) fn retain(&mut self, mut is_there: impl FnMut(&Record) -> bool) {
        self.content.records.retain(|record| is_there(record));
    }

    /// Adds records, and returns when they are in the file.
    pub(crate) fn add(
        &mut self,
        records: impl IntoIterator<Item = Record>,
    ) -> Result<(), TuneError> {
        let before = self.content.records.len();
        self.content.records.extend(records);
        self.content.records.truncate(RECORDS_LIMIT);
        // What is not in the file is not done.
        write(&self.path, &self.content).inspect_err(|_| self.content.records.truncate(before))
    }

    /// Notes that sockets will get a congestion control of ours, and returns when that is in the file.
    pub(crate) fn add_pacing(&mut self) -> Result<(), TuneError> {
        self.content.paces = true;
        write(&self.path, &self.content)
    }

    /// Removes the file: everything is given back.
    pub(crate) fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Content {
    pub(crate) fn read(path: &Path) -> Result<Self, TuneError> {
        let unreadable = |why: String| TuneError::Unreadable { path: path.to_owned(), why };
        let mut text = String::new();
        let file = open_own(path).map_err(|error| unreadable(error.to_string()))?;
        let read = file.take(SIZE_LIMIT).read_to_string(&mut text);
        read.map_err(|error| unreadable(error.to_string()))?;
        let content: Self =
            serde_json::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
        if content.version != VERSION {
            let why = format!("version {} (expected {VERSION})", content.version);
            return Err(unreadable(why));
        }
        Ok(content)
    }

    /// Whether the run that wrote it still runs.
    pub(crate) fn is_active(&self) -> bool {
        start_of(self.process) == Some(self.started)
    }

    /// Writes what is still to be given back, or removes the file.
    pub(crate) fn rewrite(&self, path: &Path) -> Result<(), TuneError> {
        if !self.records.is_empty() || self.paces {
            return write(path, self);
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(TuneError::Journal { path: path.to_owned(), source: error })
            }
            _ => Ok(()),
        }
    }
}

impl Record {
    pub(crate) fn new(
        (inode, cookie): (u32, u64),
        option: SocketOption,
        (old, new): (u32, u32),
        (local, remote): (SocketAddr, Option<SocketAddr>),
    ) -> Self {
        Self { inode, cookie, option: option.name().to_owned(), old, new, local, remote }
    }

    /// `None` for an option of a later version.
    pub(crate) fn option(&self) -> Option<SocketOption> {
        SocketOption::named(&self.option)
    }
}

/// The process of a run that tunes one of the sockets with these cookies now.
pub(crate) fn other_run(directory: &Path, cookies: &BTreeSet<u64>) -> Option<u32> {
    let contents = all(directory).ok()?.into_iter().filter_map(|path| Content::read(&path).ok());
    let mut others = contents.filter(|it| it.process != std::process::id() && it.is_active());
    let is_of = |it: &Content| it.records.iter().any(|record| cookies.contains(&record.cookie));
    others.find(is_of).map(|it| it.process)
}

/// The journals in a directory, in the order of their names.
pub(crate) fn all(directory: &Path) -> Result<Vec<PathBuf>, TuneError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(TuneError::Unreadable { path: directory.into(), why: error.to_string() });
        }
    };
    let is_journal = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
    };
    let mut paths: Vec<_> = entries.flatten().map(|it| it.path()).filter(is_journal).collect();
    paths.sort();
    Ok(paths)
}

/// Removes what runs that were killed while they wrote have left behind. What such a file announces was not done.
pub(crate) fn remove_unfinished(directory: &Path) {
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|it| it.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let inner = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(UNFINISHED));
        let process = inner.and_then(|inner| inner.split('-').next()?.parse().ok());
        if process.is_some_and(|process| start_of(process).is_none()) {
            let _ = fs::remove_file(path);
        }
    }
}

fn write(path: &Path, content: &Content) -> Result<(), TuneError> {
    let text = serde_json::to_string(content).expect("a journal has strings for keys");
    replace(path, text.as_bytes())
        .map_err(|source| TuneError::Journal { path: path.to_owned(), source })
}

/// Opens a file that only this user can have written: what it says is done to other programs' sockets.
fn open_own(path: &Path) -> io::Result<File> {
    if let Some(directory) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        check_directory(directory)?;
    }
    let flags = (OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() || !is_own(&about) || about.nlink() != 1 {
        return Err(io::Error::other("not a file that only this user can write"));
    }
    Ok(file)
}

fn check_directory(directory: &Path) -> io::Result<()> {
    match is_own(&fs::metadata(directory)?) {
        true => Ok(()),
        false => Err(io::Error::other("its directory can be changed by other users")),
    }
}

fn is_own(about: &fs::Metadata) -> bool {
    about.uid() == nix::unistd::geteuid().as_raw() && about.mode() & 0o022 == 0
}

/// Replaces the file in one step: after a crash it has the old content or the new one.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or_else(|| Path::new("/"));
    DirBuilder::new().mode(0o700).recursive(true).create(directory)?;
    check_directory(directory)?;
    let unfinished = path.with_extension("new");
    // A run that was killed between the two steps, and had the same process id.
    let _ = fs::remove_file(&unfinished);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    File::open(directory)?.sync_all()
}

/// When a process started: field 22 of `/proc/PID/stat` (proc(5)). The name before may contain anything.
fn start_of(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

const PREFIX: &str = "tune-";
const SUFFIX: &str = ".json";
/// Of a file that is being written.
const UNFINISHED: &str = ".new";
const VERSION: u32 = 1;
/// Largest number of changes that a run keeps at one time (our choice: 10 MB of memory and file). Further
/// sockets stay as they are.
pub(crate) const RECORDS_LIMIT: usize = 50_000;
/// Largest journal that is read: a record takes less than 400 bytes.
const SIZE_LIMIT: u64 = 400 * RECORDS_LIMIT as u64;

#[cfg(test)]
mod tests {
    use std::{
        os::unix::fs::{PermissionsExt, symlink},
        process::id,
    };

    use super::*;

    fn record(inode: u32) -> Record {
        let local = SocketAddr::from(([127, 0, 0, 1], 80));
        Record::new((inode, 7), SocketOption::NoDelay, (0, 1), (local, None))
    }

    fn directory(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("ackwise-journal-{name}-{}", id()))
    }

    #[test]
    fn what_was_written_is_read_by_others_and_the_run_is_known_to_be_there() {
        let directory = directory("read");
        let mut journal = Journal::new(&directory.join("deeper"), Some(80));
        assert!(all(&directory.join("deeper")).unwrap().is_empty());
        journal.add([record(1), record(2)]).unwrap();
        let [path] = &all(&directory.join("deeper")).unwrap()[..] else { panic!("one journal") };
        let mut content = Content::read(path).unwrap();
        assert_eq!(content, journal.content);
        assert_eq!(content.records[0].option(), Some(SocketOption::NoDelay));
        assert!(content.is_active());
        // Another program that begins now would be refused; this one has these records itself.
        let [mine, others] =
            [1, 8].map(|cookie| other_run(&directory.join("deeper"), &[cookie].into()));
        assert_eq!((mine, others), (None, None));
        content.started += 1; // Another process has the id by now.
        assert!(!content.is_active());

        content.records.truncate(1);
        content.rewrite(path).unwrap();
        assert_eq!(Content::read(path).unwrap().records, [record(1)]);
        content.records.clear();
        content.rewrite(path).unwrap();
        assert!(!path.exists());
        content.rewrite(path).unwrap();
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn records_that_could_not_be_written_are_not_kept() {
        let file = directory("no-directory");
        fs::write(&file, "").unwrap();
        let mut journal = Journal::new(&file, Some(80));
        let refused = journal.add([record(1)]).unwrap_err().to_string();
        assert!(refused.starts_with("cannot write"), "{refused}");
        assert!(journal.records().is_empty());
        fs::remove_file(&file).unwrap();
    }

    #[test]
    fn what_a_killed_run_was_writing_is_removed() {
        let directory = directory("unfinished");
        fs::create_dir_all(&directory).unwrap();
        // No process has the first id; the second one is there, and writes.
        let names = [format!("tune-{}-80.new", u32::MAX), format!("tune-{}-80.new", id())];
        let others = ["tune-x-80.new", "tune-4294967295-80.json", "lock"];
        for name in names.iter().map(String::as_str).chain(others) {
            fs::write(directory.join(name), "").unwrap();
        }
        remove_unfinished(&directory);
        assert_eq!(names.map(|name| directory.join(name).exists()), [false, true]);
        assert!(others.iter().all(|name| directory.join(name).exists()));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn records_have_a_limit_that_the_largest_ones_fit_into() {
        let mut journal = Journal::new(&directory("limit"), Some(80));
        let address = "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff%4294967295]:65535".parse().unwrap();
        let largest = Record::new(
            (u32::MAX, u64::MAX),
            SocketOption::NotSentLowat,
            (u32::MAX, u32::MAX),
            (address, Some(address)),
        );
        assert!(serde_json::to_string(&largest).unwrap().len() < 390);
        journal.content.records = vec![record(1); RECORDS_LIMIT - 1];
        assert_eq!(journal.room(), 1);
        journal.retain(|record| record.inode != 1);
        assert_eq!((journal.room(), journal.records().len()), (RECORDS_LIMIT, 0));
    }

    #[test]
    fn what_is_no_journal_is_refused_with_its_name() {
        let directory = directory("bad");
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("journal");
        for (text, why) in [("", "EOF"), ("{}", "missing field"), ("[", "EOF")] {
            fs::write(&path, text).unwrap();
            let refused = Content::read(&path).unwrap_err().to_string();
            assert!(refused.contains(why) && refused.contains("ackwise-journal-bad"), "{refused}");
        }
        let later = r#"{"version":2,"process":1,"started":1,"port":1,"records":[]}"#;
        fs::write(&path, later).unwrap();
        assert!(Content::read(&path).unwrap_err().to_string().contains("version 2 (expected 1)"));
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_journal_that_somebody_else_can_have_written_is_refused() {
        let directory = directory("forged");
        fs::create_dir_all(&directory).unwrap();
        let mut journal = Journal::new(&directory, Some(80));
        journal.add([record(1)]).unwrap();
        let path = journal.path().to_owned();
        let refusal = |path: &Path| Content::read(path).unwrap_err().to_string();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let [link, second, pipe] =
            ["tune-1-80.json", "tune-2-80.json", "tune-3-80.json"].map(|it| directory.join(it));
        symlink(&path, &link).unwrap();
        assert!(refusal(&link).contains("symbolic link"), "{}", refusal(&link));
        fs::hard_link(&path, &second).unwrap();
        assert!(refusal(&path).contains("only this user"));
        fs::remove_file(&second).unwrap();
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(refusal(&pipe).contains("only this user"), "it does not wait for a writer");
        mode(&path, 0o666);
        assert!(refusal(&path).contains("only this user"));
        mode(&path, 0o600);
        mode(&directory, 0o777);
        assert!(refusal(&path).contains("directory"));
        let refused = journal.add([record(2)]).unwrap_err().to_string();
        assert!(refused.contains("directory"), "{refused}");
        mode(&directory, 0o700);
        assert_eq!(Content::read(&path).unwrap().records, [record(1)]);
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
            assert!(refusal(&path).contains("only this user"));
        }
        fs::remove_dir_all(directory).unwrap();
    }

    /// Process ids are reused: a later run may get that of a killed one, for the same port.
    #[test]
    fn a_run_with_the_process_id_of_a_killed_one_keeps_that_one_s_journal() {
        let directory = directory("reused");
        let mut killed = Journal::new(&directory, Some(80));
        killed.content.started -= 1;
        killed.path = directory.join(format!("tune-{}-{}-80.json", id(), killed.content.started));
        killed.add([record(1)]).unwrap();
        let mut later = Journal::new(&directory, Some(80));
        later.add([record(2)]).unwrap();
        let records: Vec<_> = all(&directory)
            .unwrap()
            .iter()
            .map(|path| Content::read(path).unwrap())
            .map(|it| (it.is_active(), it.records))
            .collect();
        assert_eq!(records, [(false, vec![record(1)]), (true, vec![record(2)])]);
        fs::remove_dir_all(directory).unwrap();
    }
}
