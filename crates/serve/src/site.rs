//! Documents on disk: a directory, its regular files, and which of them a page shows.
//!
//! Nothing outside of the directory is served, whatever a path or a link in it says: the kernel resolves the path
//! (`openat2`, `RESOLVE_BENEATH`). Names that begin with a dot are not served.

mod remembered;

use std::{
    fs::File,
    io,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use ackwise_http::getweb;

use crate::references::{self, Wanted};
use remembered::Remembered;

/// A directory whose files are served.
#[derive(Debug)]
pub struct Site {
    root: File,
    remembered: Remembered,
}

/// A file as it was when its path was looked up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Stored {
    /// The path that was asked for, percent-encoded as it was, with its query.
    pub(crate) path: String,
    pub(crate) length: u64,
    /// To the second, as the header fields have it.
    pub(crate) modified: Option<SystemTime>,
    pub(crate) media_type: String,
    /// Device and inode: the same for all paths of a file.
    pub(crate) identity: (u64, u64),
}

/// The files that a page shows, and how long it took to find them.
pub(crate) struct PageFiles {
    /// Their paths on this server, in the page's order.
    pub(crate) paths: Arc<[String]>,
    /// Time to read and parse the page; `None` if it was remembered.
    pub(crate) parsed_in: Option<Duration>,
}

impl Site {
    /// Opens a directory.
    ///
    /// # Errors
    ///
    /// If `directory` is none or cannot be read, or if the system cannot keep paths inside of it (`Unsupported`;
    /// Linux can since 5.6).
    pub fn open(directory: &Path) -> io::Result<Self> {
        let root = File::open(directory)?;
        if !root.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        open_beneath(&root, ".")?; // Whether the system can.
        Ok(Self { root, remembered: Remembered::default() })
    }

    /// Looks `path` up; `None` if there is no regular file to be read there.
    ///
    /// A directory is answered with its `index.html`, if `path` ends with a slash.
    pub(crate) fn find(&self, path: &str) -> Option<Stored> {
        let (_, stored) = self.look_up(path)?;
        Some(stored)
    }

    /// The file behind `stored`, unless it has changed since.
    pub(crate) fn reopen(&self, stored: &Stored) -> Option<File> {
        let (file, now) = self.look_up(&stored.path)?;
        (now == *stored).then_some(file)
    }

    /// The files that `page` shows: what a browser would ask for. Remembered until the file changes.
    pub(crate) fn files_of(&self, page: &Stored) -> PageFiles {
        if !page.media_type.starts_with("text/html") {
            return PageFiles { paths: Arc::default(), parsed_in: None };
        }
        // Under one of its paths: whoever asks can add queries and encode letters without end.
        let Some(path) = canonical(&page.path) else {
            return PageFiles { paths: Arc::default(), parsed_in: None };
        };
        let page = &Stored { path, ..page.clone() };
        if let Some(paths) = self.remembered.get(page) {
            return PageFiles { paths, parsed_in: None };
        }
        let started = Instant::now();
        let html = self.beginning(page).unwrap_or_default();
        let paths: Arc<[String]> = {
            let url = format!("{SERVER}{}", page.path);
            references::of_page(&html, &url, Wanted::Shown).into()
        };
        self.remembered.insert(page, Arc::clone(&paths));
        PageFiles { paths, parsed_in: Some(started.elapsed()) }
    }

    /// The part of a page that is parsed.
    fn beginning(&self, page: &Stored) -> Option<Vec<u8>> {
        use std::io::Read;
        let mut html = Vec::new();
        self.reopen(page)?.take(HTML_LIMIT).read_to_end(&mut html).ok()?;
        Some(html)
    }

    fn look_up(&self, path: &str) -> Option<(File, Stored)> {
        let relative = relative(path)?;
        let file = open_beneath(&self.root, &relative).ok()?;
        let about = file.metadata().ok()?;
        let stored = Stored {
            path: path.to_owned(),
            length: about.len(),
            modified: about.modified().ok().map(whole_seconds),
            media_type: media_type(&relative),
            identity: (about.dev(), about.ino()),
        };
        about.is_file().then_some((file, stored))
    }
}

/// A server does not know all its names, so it has none here: no reference from outside can have this one (RFC 6761,
/// section 6.4).
const SERVER: &str = "http://this-server.invalid";

/// Bytes of a page that are searched for references (our choice: pages are seldom longer, and what comes after
/// them is asked for with GET).
const HTML_LIMIT: u64 = 1 << 20;

/// The file name, relative to the directory, that `path` stands for; `None` if it cannot be one.
fn relative(path: &str) -> Option<String> {
    let path = path.split(['?', '#']).next()?;
    if !getweb::is_path(path) {
        return None;
    }
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
    let mut name = decoded.trim_start_matches('/').to_owned();
    if name.is_empty() || name.ends_with('/') {
        name.push_str("index.html");
    }
    let served = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains('\0');
    name.split('/').all(served).then_some(name)
}

/// The one path of all those that stand for the same name.
fn canonical(path: &str) -> Option<String> {
    let encoded = percent_encoding::utf8_percent_encode(&relative(path)?, NAME_ENCODED).to_string();
    Some(format!("/{encoded}"))
}

/// RFC 3986, section 2.3: what is never encoded is not reserved. And the slash.
const NAME_ENCODED: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

fn media_type(name: &str) -> String {
    let guess = mime_guess::from_path(name).first_or_octet_stream();
    // A parser that guesses would guess from the first bytes; the files of today are UTF-8.
    if guess.type_() == mime_guess::mime::TEXT {
        format!("{guess}; charset=utf-8")
    } else {
        guess.to_string()
    }
}

fn whole_seconds(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs())
}

/// Opens what is at `name` below `root`. Does not wait for a writer if it is a FIFO.
#[cfg(target_os = "linux")]
fn open_beneath(root: &File, name: &str) -> io::Result<File> {
    use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};

    let how = OpenHow::new()
        .flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    Ok(openat2(root, name, how)?.into())
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(_: &File, _: &str) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    fn site(files: &[(&str, &str)]) -> (tempfile::TempDir, Site) {
        let directory = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = directory.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let site = Site::open(directory.path()).unwrap();
        (directory, site)
    }

    #[test]
    fn paths_become_files_below_the_directory_only() {
        let (directory, site) = site(&[
            ("index.html", "front"),
            ("a b/index.html", "below"),
            ("style.css", "css"),
            (".secret", "no"),
            ("a b/.git/config", "no"),
        ]);
        symlink("/etc/passwd", directory.path().join("out")).unwrap();
        symlink("style.css", directory.path().join("in.css")).unwrap();
        let status =
            std::process::Command::new("mkfifo").arg(directory.path().join("pipe")).status();
        assert!(status.unwrap().success());
        let table = [
            ("/", Some("text/html; charset=utf-8")),
            ("/index.html?x=/../..", Some("text/html; charset=utf-8")),
            ("/a%20b/", Some("text/html; charset=utf-8")),
            ("//style.css", Some("text/css; charset=utf-8")),
            ("/in.css", Some("text/css; charset=utf-8")),
            ("/a%20b", None),
            ("/a b/", None),
            ("/out", None),
            ("/pipe", None),
            ("/.secret", None),
            ("/a%20b/.git/config", None),
            ("/a%20b/../style.css", None),
            ("/%2e%2e/etc/passwd", None),
            ("/style.css%00.html", None),
            ("/style.css/", None),
            ("/%ff", None),
            ("style.css", None),
            ("*", None),
        ];
        for (path, expected) in table {
            let found = site.find(path).map(|stored| stored.media_type);
            assert_eq!(found.as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn a_page_is_parsed_once_until_it_changes() {
        let (directory, site) = site(&[("p.html", "<img src=a.gif>"), ("a.gif", "GIF")]);
        let page = site.find("/p.html").unwrap();
        let first = site.files_of(&page);
        assert_eq!(
            (&first.paths[..], first.parsed_in.is_some()),
            (&["/a.gif".to_owned()][..], true)
        );
        assert_eq!(site.files_of(&page).parsed_in, None);

        fs::write(directory.path().join("p.html"), "<img src=b.gif> and more").unwrap();
        assert!(site.reopen(&page).is_none(), "it is another file now");
        let page = site.find("/p.html").unwrap();
        assert_eq!(site.files_of(&page).paths[..], ["/b.gif".to_owned()]);
    }

    #[test]
    fn a_file_is_no_site() {
        let (directory, _) = site(&[("a", "")]);
        let error = Site::open(&directory.path().join("a")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
    }
}
