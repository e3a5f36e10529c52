//! `--keys FILE…`: the secrets of TLS connections, read before anything else.

use std::{
    fs::File,
    io::{BufRead, BufReader, ErrorKind, Read},
    os::fd::AsFd,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use ackwise_capture::keys::{KeyLog, KeyLogRead};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::inotify::{AddWatchFlags, InitFlags, Inotify},
};

use super::Failure;

/// Reads key logs; `None` if none are given. If packets come as they are captured (`live`), secrets do, too: a thread
/// reads on until the process ends.
#[expect(clippy::fn_params_excessive_bools, reason = "a fact of the packets")]
pub(super) fn read(files: &[PathBuf], live: bool) -> Result<Option<Arc<KeyLog>>, Failure> {
    if files.is_empty() {
        return Ok(None);
    }
    let keys = Arc::new(KeyLog::default());
    for file in files {
        let failed = |error| Failure::Usage(format!("{}: {error}", file.display()));
        let opened = File::open(file).map_err(failed)?;
        let is_pipe = !opened.metadata().map_err(failed)?.is_file();
        let mut text = BufReader::new(opened);
        if !is_pipe || !live {
            let found = add(&keys, (&mut text).take(MOST_BYTES)).map_err(failed)?;
            if !live {
                check(file, found)?;
                continue;
            }
        }
        keys.expect_more();
        let keys = Arc::clone(&keys);
        let file = (!is_pipe).then(|| file.clone());
        thread::spawn(move || follow(&keys, text, file.as_deref()));
    }
    Ok(Some(keys))
}

/// Reads on in a file that grows, or in a pipe to its end.
fn follow(keys: &KeyLog, mut text: impl BufRead, file: Option<&Path>) {
    let changes = file.and_then(Changes::of);
    let mut line = Vec::new();
    // A line that does not end is as long as it may be.
    while let Ok(length) = text.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
        if line.ends_with(b"\n") || line.len() as u64 >= LONGEST {
            keys.add_text(&line);
            line.clear();
        } else if length == 0 && file.is_none() {
            break;
        } else if length == 0 {
            Changes::wait(changes.as_ref());
        }
    }
    keys.add_text(&line);
}

/// Tells at once that a file has changed: its secrets are needed within a round trip.
struct Changes(Inotify);

impl Changes {
    /// `None` if the system does not tell.
    fn of(file: &Path) -> Option<Self> {
        let inotify = Inotify::init(InitFlags::IN_CLOEXEC | InitFlags::IN_NONBLOCK).ok()?;
        inotify.add_watch(file, AddWatchFlags::IN_MODIFY).ok()?;
        Some(Self(inotify))
    }

    /// Waits for a change; not long, for not every file system tells of what others write.
    fn wait(changes: Option<&Self>) {
        /// In milliseconds. Our choice.
        const AT_MOST: u8 = 50;
        let Some(Self(inotify)) = changes else {
            return thread::sleep(Duration::from_millis(AT_MOST.into()));
        };
        let mut descriptors = [PollFd::new(inotify.as_fd(), PollFlags::POLLIN)];
        let told = poll(&mut descriptors, PollTimeout::from(AT_MOST));
        if matches!(told, Ok(1..)) {
            // It has changed, however often.
            let _ = inotify.read_events();
        }
    }
}

/// A file that is complete has secrets.
fn check(file: &Path, found: KeyLogRead) -> Result<(), Failure> {
    let KeyLogRead { secrets, beyond_limit, other_lines, .. } = found;
    if secrets + beyond_limit == 0 {
        let what = if other_lines > 0 { "no line of it is one" } else { "it is empty" };
        return Err(Failure::Usage(format!(
            "{}: no TLS secrets (expected lines such as `CLIENT_RANDOM …`, as SSLKEYLOGFILE has \
             them; {what})",
            file.display()
        )));
    }
    if beyond_limit > 0 {
        anstream::eprintln!(
            "ackwise: {}: only the first {} secrets are used; {beyond_limit} are not",
            file.display(),
            KeyLog::MOST_SECRETS,
        );
    }
    Ok(())
}

/// Adds whole lines, as many at a time as a buffer holds.
fn add(keys: &KeyLog, mut text: impl BufRead) -> std::io::Result<KeyLogRead> {
    /// What is added at once. Our choice.
    const AT_ONCE: usize = 1 << 16;
    let mut read = KeyLogRead::default();
    let mut lines = Vec::with_capacity(AT_ONCE);
    loop {
        let length = match text.by_ref().take(LONGEST).read_until(b'\n', &mut lines) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            length => length?,
        };
        if length == 0 || lines.len() >= AT_ONCE {
            read.add(keys.add_text(&lines));
            lines.clear();
        }
        if length == 0 {
            return Ok(read);
        }
    }
}

/// The longest key log: of more secrets than are kept. Our choice.
const MOST_BYTES: u64 = 1 << 29;

/// Longer than any line of a secret. Our choice.
const LONGEST: u64 = 1 << 12;

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_pipe_is_read_to_its_end_while_it_is_written() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let keys = KeyLog::default();
        thread::scope(|scope| {
            scope.spawn(|| follow(&keys, BufReader::new(reader), None));
            for piece in ["CLIENT_RANDOM ", &"01".repeat(32), " ", &"02".repeat(48)] {
                writer.write_all(piece.as_bytes()).unwrap();
            }
            drop(writer);
        });
        assert!(!keys.is_empty());
    }

    #[test]
    fn secrets_are_read_whatever_their_number_and_what_stands_between_them() {
        let line = |number: u32| format!("CLIENT_RANDOM {number:064x} {}\n", "ab".repeat(48));
        let mut text: String = (0..1_000).map(line).collect();
        text.push_str(&"x".repeat(100_000));
        text.push('\n');
        text.push_str(line(1_000).trim_end());
        let keys = KeyLog::default();
        let read = add(&keys, text.as_bytes()).unwrap();
        assert_eq!((read.secrets, read.beyond_limit), (1_001, 0));
        assert!(read.other_lines > 0);
    }
}
