//! Complaints before the work about files that could not be written after it.

use std::{
    io,
    path::{Path, PathBuf},
};

use ackwise_text::output_file::is_plain;

use super::outcome::Failure;

/// Whether each file of `written` can be there afterwards: none is a directory, and none is a file of `read` or
/// another one of `written`.
pub(crate) fn check<'a>(
    read: impl IntoIterator<Item = &'a Path>,
    written: impl IntoIterator<Item = &'a Path>,
) -> Result<(), Failure> {
    let mut taken: Vec<(&Path, PathBuf, &str)> = Vec::new();
    for path in read.into_iter().filter(|path| path.is_file()) {
        // It may be read through a link, and a link may be replaced.
        let file = path.canonicalize().map_err(|error| unwritable(path, error))?;
        taken.push((path, file, "an input"));
        taken.push((path, place_of(path)?, "an input"));
    }
    for path in written {
        if path.is_dir() {
            return Err(unwritable(path, io::ErrorKind::IsADirectory.into()));
        }
        if !is_plain(path) {
            // What is no file can be written to by several.
            continue;
        }
        let place = place_of(path)?;
        if let Some((other, _, what)) = taken.iter().find(|(_, other, _)| *other == place) {
            let other = match *other == path {
                true => String::new(),
                false => format!(" ({})", other.display()),
            };
            return Err(Failure::Usage(format!(
                "cannot write {}: it is also {what}{other}",
                path.display()
            )));
        }
        taken.push((path, place, "another output"));
    }
    Ok(())
}

/// Where a file is or will be, by whatever directories. What a link at its name leads to is not
/// written.
fn place_of(path: &Path) -> Result<PathBuf, Failure> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let directory = directory.unwrap_or_else(|| Path::new("."));
    let place = directory.canonicalize().map_err(|error| unwritable(path, error))?;
    Ok(place.join(path.file_name().unwrap_or_default()))
}

fn unwritable(path: &Path, error: io::Error) -> Failure {
    Failure::File { path: path.to_owned(), error }
}
