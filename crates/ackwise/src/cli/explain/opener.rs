//! Opens capture files for a thread that reads them and may open nothing.

use std::{
    collections::HashSet,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

/// Starts a thread that opens any of `files`, and nothing else, and reads nothing. What is returned asks it.
pub(super) fn start(
    files: &[PathBuf],
) -> impl FnMut(&Path) -> io::Result<File> + Send + 'static + use<> {
    let (ask, asked) = mpsc::channel::<PathBuf>();
    let (answer, answers) = mpsc::channel();
    let files: HashSet<_> = files.iter().cloned().collect();
    thread::spawn(move || {
        for file in asked {
            let opened = match files.contains(&file) {
                true => File::open(&file),
                false => Err(io::ErrorKind::PermissionDenied.into()),
            };
            // Nobody waits for it if the reading has ended.
            let _ = answer.send(opened);
        }
    });
    move |file| {
        let gone = || io::Error::other("the thread that opens files has ended");
        ask.send(file.to_owned()).map_err(|_| gone())?;
        answers.recv().map_err(|_| gone())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_what_the_user_named_and_nothing_else() {
        let named = std::env::current_exe().unwrap();
        let mut open = start(std::slice::from_ref(&named));
        assert!(open(&named).is_ok());
        let other = open(Path::new("/proc/self/status")).unwrap_err();
        assert_eq!(other.kind(), io::ErrorKind::PermissionDenied);
        assert!(open(&named).is_ok());
    }
}
