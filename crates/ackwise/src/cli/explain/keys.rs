//! `--keys FILE…`: the secrets of TLS connections, read before anything else.

use std::{
    fs::File,
    io::{BufRead, BufReader, ErrorKind, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use ackwise_capture::keys::{KeyLog, KeyLogRead};

use super::Failure;

/// Reads key logs to their ends; `None` if none are given.
pub(super) fn read(files: &[PathBuf]) -> Result<Option<Arc<KeyLog>>, Failure> {
    if files.is_empty() {
        return Ok(None);
    }
    let keys = KeyLog::default();
    for file in files {
        let open = |file: &Path| match file.to_str() {
            Some("-") => Ok(Box::new(std::io::stdin()) as Box<dyn Read>),
            _ => File::open(file).map(|it| Box::new(it) as Box<dyn Read>),
        };
        let failed = |error| Failure::Usage(format!("{}: {error}", file.display()));
        let found = add(&keys, BufReader::new(open(file).map_err(failed)?)).map_err(failed)?;
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
    }
    Ok(Some(Arc::new(keys)))
}

/// Adds whole lines, as many at a time as a buffer holds.
fn add(keys: &KeyLog, mut text: impl BufRead) -> std::io::Result<KeyLogRead> {
    /// Longer than any line of a secret. Our choice.
    const LONGEST: u64 = 1 << 12;
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

#[cfg(test)]
mod tests {
    use super::*;

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
