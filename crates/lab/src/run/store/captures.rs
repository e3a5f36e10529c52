//! A directory with the exchanges of captures, a Parquet file for each, that any number of processes fill.
//!
//! The name of a file is that of its capture's content ([`CaptureKey`]): one that has changed has another name, and the
//! file of its earlier content is removed once the new one is there. As with rows, a file appears whole or not at all
//! and never changes, and reading a capture twice is harmless.
//!
//! Not here: reading captures.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use ackwise_link::Seed;
use ackwise_report::columns::{Column, Values, read, write};
use serde::{Deserialize, Serialize};

use super::{
    StoreError, builds,
    directory::{self, PARQUET},
    plan_file::{self, Planned, difference, refused},
};

/// The content of a file or an object, as far as its file system tells it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileStamp {
    /// Its absolute path, or its URL.
    pub path: String,
    /// Its size, in bytes.
    pub size: i64,
    /// When it was written last, in nanoseconds since 1970; `None` of an object.
    pub modified_ns: Option<i64>,
    /// The ETag of an object, which changes with its content.
    pub etag: Option<String>,
}

/// A capture, and what decides about its exchanges besides the store's plan.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CaptureKey {
    /// The capture.
    pub capture: FileStamp,
    /// Files of TLS secrets.
    pub secrets: Vec<FileStamp>,
}

impl CaptureKey {
    /// The name of its file: that of the capture, and that of the content.
    fn file(&self) -> String {
        let Seed(content) = Seed(0).named(&format!("{self:?}"));
        format!("{}{:012x}{PARQUET}", self.begin(), content >> 16)
    }

    /// What the names of all contents of this capture begin with.
    fn begin(&self) -> String {
        let Seed(path) = Seed(0).named(&self.capture.path);
        format!("{path:016x}-")
    }
}

/// A store of captures' exchanges.
#[derive(Debug)]
pub struct CaptureStore {
    directory: PathBuf,
}

impl CaptureStore {
    /// Opens the store in this directory, or begins one if it is empty or does not exist. `filter` is that of all
    /// captures.
    ///
    /// # Errors
    ///
    /// A directory that is no store, or that of another build or filter.
    pub fn open(directory: &Path, filter: Option<&str>) -> Result<Self, StoreError> {
        directory::make(directory)?;
        let plan = match plan_file::read(directory)? {
            Some(plan) => plan,
            None => {
                directory::expect_empty(directory)?;
                plan_file::write(Plan::of(filter), directory)?
            }
        };
        plan.expect(filter, directory)?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// Opens the store that another process has begun in this directory.
    ///
    /// # Errors
    ///
    /// A directory without a plan, and as [`Self::open`].
    pub fn join(directory: &Path, filter: Option<&str>) -> Result<Self, StoreError> {
        let plan: Option<Plan> = plan_file::read(directory)?;
        let plan = plan.ok_or_else(|| StoreError::NoPlan(directory.to_owned()))?;
        plan.expect(filter, directory)?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// The places in `keys` of captures that are not there, each with the files of its earlier contents, which
    /// [`Self::write`] replaces. Removes those of captures that are there, and what killed processes have left.
    ///
    /// # Errors
    ///
    /// A directory that cannot be read, or has a Parquet file that is not of a capture.
    pub fn missing(&self, keys: &[CaptureKey]) -> Result<Vec<(usize, Vec<String>)>, StoreError> {
        let files: Vec<String> = keys.iter().map(CaptureKey::file).collect();
        let own: BTreeSet<&str> = files.iter().map(String::as_str).collect();
        let begins: BTreeSet<String> = keys.iter().map(CaptureKey::begin).collect();
        let mut present = BTreeSet::new();
        let mut earlier = BTreeMap::<String, Vec<String>>::new();
        for name in directory::names(&self.directory)? {
            let part_of = directory::part_of(&name);
            let whole = part_of.unwrap_or(&name);
            if !is_of_a_capture(whole) {
                if name.ends_with(PARQUET) && !name.starts_with('.') {
                    return Err(StoreError::Foreign(self.directory.join(name)));
                }
            } else if begins.contains(&whole[..BEGIN]) && !own.contains(whole) {
                if part_of.is_some() {
                    self.remove(&name);
                } else {
                    earlier.entry(whole[..BEGIN].to_owned()).or_default().push(name);
                }
            } else {
                present.insert(name);
            }
        }
        // What killed processes have left.
        let is_left =
            |name: &&String| directory::part_of(name).is_some_and(|it| present.contains(it));
        present.iter().filter(is_left).for_each(|name| self.remove(name));
        let mut missing = Vec::new();
        for (place, key) in keys.iter().enumerate() {
            let earlier = earlier.get(&key.begin()).map_or(&[][..], Vec::as_slice);
            if present.contains(&files[place]) {
                earlier.iter().for_each(|name| self.remove(name));
            } else {
                missing.push((place, earlier.to_vec()));
            }
        }
        Ok(missing)
    }

    /// Whether the exchanges of this capture are there.
    #[must_use]
    pub fn has(&self, key: &CaptureKey) -> bool {
        self.path_of(key).exists()
    }

    /// Writes the exchanges of a capture, unless they are there, and then removes the files `earlier`.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn write(
        &self,
        key: &CaptureKey,
        exchanges: Vec<Column>,
        earlier: &[String],
    ) -> Result<(), StoreError> {
        let path = self.path_of(key);
        let file = directory::begin(path.clone())?;
        let rows = exchanges.first().map_or(0, rows_of);
        let columns: Vec<Column> =
            origin(&key.capture, rows).into_iter().chain(exchanges).collect();
        let bytes = write(&columns).map_err(|error| StoreError::Exchanges {
            path: path.clone(),
            what: error.to_string(),
        })?;
        file.complete_once(&bytes).map_err(|error| StoreError::Io { path, error })?;
        earlier.iter().for_each(|name| self.remove(name));
        Ok(())
    }

    /// The exchanges of a capture, if they are there.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or is not of this capture.
    pub fn read(&self, key: &CaptureKey) -> Result<Option<Vec<Column>>, StoreError> {
        let path = self.path_of(key);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| StoreError::Io { path: path.clone(), error })?,
        };
        let mut columns = read(file).map_err(|error| StoreError::Exchanges {
            path: path.clone(),
            what: error.to_string(),
        })?;
        let rows = columns.first().map_or(0, rows_of);
        let expected = origin(&key.capture, rows);
        if !columns.starts_with(&expected) {
            let what = format!("is not of {}", key.capture.path);
            return Err(StoreError::Exchanges { path, what });
        }
        Ok(Some(columns.split_off(expected.len())))
    }

    fn path_of(&self, key: &CaptureKey) -> PathBuf {
        self.directory.join(key.file())
    }

    /// Unless a process is writing it.
    fn remove(&self, name: &str) {
        let path = self.directory.join(name);
        if !directory::is_locked(&path) {
            // Another process may have done it.
            let _ = fs::remove_file(path);
        }
    }
}

/// The columns that say which capture exchanges are of.
fn origin(capture: &FileStamp, rows: usize) -> [Column; 4] {
    let whole = |name, value| Column::integers(name, std::iter::repeat_n(value, rows));
    let text = |name, value| Column::texts(name, std::iter::repeat_n(value, rows));
    [
        text("path", Some(&*capture.path)),
        whole("size", Some(capture.size)),
        whole("modified_ns", capture.modified_ns),
        text("etag", capture.etag.as_deref()),
    ]
}

fn rows_of(column: &Column) -> usize {
    match &column.values {
        Values::Integers(values) => values.len(),
        Values::Numbers(values) => values.len(),
        Values::Texts(values) => values.len(),
        Values::Flags(values) => values.len(),
    }
}

fn is_of_a_capture(name: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    let names = name.strip_suffix(PARQUET).and_then(|it| it.split_once('-'));
    names.is_some_and(|(capture, content)| {
        capture.len() + 1 == BEGIN && content.len() == CONTENT && is_hex(capture) && is_hex(content)
    })
}

/// The length of [`CaptureKey::begin`].
const BEGIN: usize = 17;
/// Digits of the content. Our choice: with the rest of the name, no more than an unfinished file keeps.
const CONTENT: usize = 12;

/// What all captures of a store have in common.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    format: String,
    /// Version and sources of the program.
    build: String,
    filter: Option<String>,
}

impl Planned for Plan {
    const FORMAT: &'static str = "ackwise-captures 2";
}

impl Plan {
    fn of(filter: Option<&str>) -> Self {
        Self {
            format: Self::FORMAT.to_owned(),
            build: builds::of_exchanges(),
            filter: filter.map(str::to_owned),
        }
    }

    fn expect(&self, filter: Option<&str>, directory: &Path) -> Result<(), StoreError> {
        let own = Self::of(filter);
        let [stored_filter, own_filter] =
            [self, &own].map(|plan| plan.filter.as_deref().unwrap_or("no filter"));
        if let Some(what) = difference("build", &self.build, &own.build) {
            return Err(refused(directory, "build", &what));
        }
        match difference("filter", stored_filter, own_filter) {
            Some(what) => Err(refused(directory, "filter", &what)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(path: &str, size: i64) -> CaptureKey {
        let modified_ns = Some(1_700_000_000_000);
        let capture = FileStamp { path: path.to_owned(), size, modified_ns, etag: None };
        CaptureKey { capture, secrets: Vec::new() }
    }

    fn exchanges(values: &[f64]) -> Vec<Column> {
        let durations = Column::numbers("duration_ms", values.iter().map(|it| Some(*it)));
        vec![durations, Column::texts("cause", values.iter().map(|_| None::<String>))]
    }

    fn parquet_files(directory: &Path) -> usize {
        directory::names(directory).unwrap().iter().filter(|it| it.ends_with(PARQUET)).count()
    }

    #[test]
    fn what_is_written_is_read_and_no_longer_missing() {
        let scratch = tempfile::tempdir().unwrap();
        let store = CaptureStore::open(scratch.path(), None).unwrap();
        let keys = [key("/a.pcap", 5), key("/b.pcap", 5), key("/c.pcap", 5)];
        let none = Vec::<String>::new;
        assert_eq!(store.missing(&keys).unwrap(), [(0, none()), (1, none()), (2, none())]);
        store.write(&keys[0], exchanges(&[1.5, 2.0]), &[]).unwrap();
        store.write(&keys[2], exchanges(&[]), &[]).unwrap();
        assert_eq!(store.missing(&keys).unwrap(), [(1, none())]);
        let again = CaptureStore::join(scratch.path(), None).unwrap();
        assert_eq!(again.read(&keys[0]).unwrap(), Some(exchanges(&[1.5, 2.0])));
        assert_eq!(again.read(&keys[1]).unwrap(), None);
        assert_eq!(again.read(&keys[2]).unwrap(), Some(exchanges(&[])));
        // That it is there is success, and the first one counts.
        store.write(&keys[0], exchanges(&[9.0]), &[]).unwrap();
        assert_eq!(store.read(&keys[0]).unwrap(), Some(exchanges(&[1.5, 2.0])));
    }

    #[test]
    fn another_content_replaces_the_file_of_its_capture_and_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let store = CaptureStore::open(scratch.path(), None).unwrap();
        let (a, b) = (key("/a.pcap", 5), key("/b.pcap", 5));
        store.write(&a, exchanges(&[1.0]), &[]).unwrap();
        store.write(&b, exchanges(&[2.0]), &[]).unwrap();
        let mut with_secrets = a.clone();
        with_secrets.secrets.push(a.capture.clone());
        let mut touched = a.clone();
        touched.capture.modified_ns = Some(1);
        let mut object = a.clone();
        object.capture.etag = Some("1b2cf5".to_owned());
        for changed in [key("/a.pcap", 6), with_secrets, touched, object] {
            assert!(!store.has(&changed));
            let missing = store.missing(std::slice::from_ref(&changed)).unwrap();
            let [(0, earlier)] = &missing[..] else { panic!("{missing:?}") };
            assert_eq!(
                (earlier.len(), parquet_files(scratch.path())),
                (1, 2),
                "it is kept until then"
            );
            store.write(&changed, exchanges(&[3.0]), earlier).unwrap();
            assert!(store.has(&changed) && store.has(&b));
            assert_eq!(parquet_files(scratch.path()), 2, "its earlier content is removed");
        }
        // A process has ended between the two.
        store.write(&a, exchanges(&[1.0]), &[]).unwrap();
        assert_eq!(parquet_files(scratch.path()), 3);
        assert!(store.missing(&[a, b]).unwrap().is_empty());
        assert_eq!(parquet_files(scratch.path()), 2);
    }

    #[test]
    fn what_is_not_of_this_store_is_refused() {
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path();
        let no_plan = CaptureStore::join(directory, None).unwrap_err().to_string();
        assert!(no_plan.contains("no plan.json"), "{no_plan}");
        let store = CaptureStore::open(directory, Some("tcp port 80")).unwrap();
        let refused = CaptureStore::open(directory, None).unwrap_err().to_string();
        let expected = "another filter: filter is no filter (the store has tcp port 80)";
        assert!(refused.contains(expected), "{refused}");
        fs::write(directory.join("other.parquet"), "").unwrap();
        let refused = store.missing(&[]).unwrap_err().to_string();
        assert!(refused.contains("other.parquet is not one of its chunks"), "{refused}");
        let plan = directory.join(directory::PLAN);
        let text = fs::read_to_string(&plan).unwrap();
        fs::write(&plan, text.replace("0.", "9.")).unwrap();
        let refused = CaptureStore::open(directory, Some("tcp port 80")).unwrap_err().to_string();
        assert!(refused.contains("another build: build is 0."), "{refused}");
        fs::write(&plan, r#"{ "format": "ackwise-store 1", "seeds": [] }"#).unwrap();
        let refused = CaptureStore::open(directory, None).unwrap_err().to_string();
        assert!(refused.contains(r#"format "ackwise-store 1" (expected"#), "{refused}");
    }

    #[test]
    fn a_file_of_another_capture_or_a_damaged_one_is_refused_by_name() {
        let scratch = tempfile::tempdir().unwrap();
        let store = CaptureStore::open(scratch.path(), None).unwrap();
        let (a, b) = (key("/a.pcap", 5), key("/b.pcap", 5));
        store.write(&a, exchanges(&[1.0]), &[]).unwrap();
        fs::copy(store.path_of(&a), store.path_of(&b)).unwrap();
        let refused = store.read(&b).unwrap_err().to_string();
        assert!(refused.contains("is not of /b.pcap") && refused.contains(&b.file()), "{refused}");
        fs::write(store.path_of(&b), "half").unwrap();
        assert!(store.read(&b).unwrap_err().to_string().contains(&b.file()));
    }

    #[test]
    fn what_killed_processes_have_left_is_removed_and_what_is_being_written_is_not() {
        let scratch = tempfile::tempdir().unwrap();
        let store = CaptureStore::open(scratch.path(), None).unwrap();
        let a = key("/a.pcap", 5);
        store.write(&a, exchanges(&[1.0]), &[]).unwrap();
        let left = scratch.path().join(format!(".{}.abcdefghijkl.part", a.file()));
        fs::write(&left, "half").unwrap();
        let begun = directory::begin(store.path_of(&a)).unwrap();
        assert_eq!(directory::names(scratch.path()).unwrap().len(), 4);
        store.missing(std::slice::from_ref(&a)).unwrap();
        assert!(!left.exists());
        assert_eq!(directory::names(scratch.path()).unwrap().len(), 3);
        drop(begun);
    }
}
