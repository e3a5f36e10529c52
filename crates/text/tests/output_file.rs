//! Files are whole or not there, and no link that somebody planted is followed.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    fs,
    io::{self, Read, Write},
    os::{
        fd::AsRawFd,
        unix::fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::Path,
    thread,
};

use ackwise_text::output_file::{OutputFile, Placed, is_plain, write};
use nix::{sys::stat::Mode, unistd::mkfifo};

#[test]
fn a_link_at_the_name_is_replaced_and_its_target_is_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let (secret, target) = (directory.path().join("secret"), directory.path().join("report"));
    fs::write(&secret, "secret").unwrap();
    for name in ["report", "report.part", ".report.part"] {
        symlink(&secret, directory.path().join(name)).unwrap();
    }
    write(&target, b"a report").unwrap();
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert!(fs::symlink_metadata(&target).unwrap().is_file());
    assert_eq!(fs::read_to_string(&target).unwrap(), "a report");
    assert_eq!(names(directory.path()), [".report.part", "report", "report.part", "secret"]);
}

#[test]
fn a_second_name_of_a_file_is_replaced_and_the_file_is_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let (secret, target) = (directory.path().join("secret"), directory.path().join("report"));
    fs::write(&secret, "secret").unwrap();
    fs::hard_link(&secret, &target).unwrap();
    write(&target, b"a report").unwrap();
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(fs::metadata(&secret).unwrap().nlink(), 1);
}

#[test]
fn a_new_file_has_the_permissions_that_the_umask_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, any) = (directory.path().join("ours"), directory.path().join("any"));
    write(&ours, b"x").unwrap();
    fs::File::create(&any).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&ours), mode(&any));
}

#[test]
fn a_pipe_is_written_directly() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    assert!(!is_plain(&fifo));
    let reader = thread::spawn({
        let fifo = fifo.clone();
        move || fs::read_to_string(fifo).unwrap()
    });
    write(&fifo, b"a report").unwrap();
    assert_eq!(reader.join().unwrap(), "a report");
    assert_eq!(names(directory.path()), ["fifo"]);
    // What shells make of `>(…)`.
    let (mut reader, writer) = io::pipe().unwrap();
    let name = format!("/dev/fd/{}", writer.as_raw_fd());
    assert!(!is_plain(Path::new(&name)));
    write(Path::new(&name), b"a report").unwrap();
    drop(writer);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "a report");
}

#[test]
fn devices_of_the_system_are_written_directly() {
    for device in ["/dev/null", "/dev/stdout", "/dev/stderr", "/proc/self/fd/1"] {
        assert!(!is_plain(Path::new(device)), "{device}");
    }
    write(Path::new("/dev/null"), b"x").unwrap();
    let full = write(Path::new("/dev/full"), b"x").unwrap_err();
    assert_eq!(full.kind(), io::ErrorKind::StorageFull);
}

#[test]
fn a_link_to_a_device_is_replaced_too() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("report");
    symlink("/dev/full", &target).unwrap();
    write(&target, b"a report").unwrap();
    assert!(fs::symlink_metadata(&target).unwrap().is_file());
}

#[test]
fn a_directory_and_a_missing_directory_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let error = write(directory.path(), b"x").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    let error = write(&directory.path().join("none/report"), b"x").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn what_is_there_stays_if_it_is_to_be_written_once() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("chunk");
    let [first, second, third] = [(); 3].map(|()| OutputFile::create(&target).unwrap());
    assert_eq!(first.complete_once(b"first").unwrap(), Placed::New);
    assert_eq!(second.complete_once(b"second").unwrap(), Placed::Existed);
    assert_eq!(fs::read_to_string(&target).unwrap(), "first");
    // Another process has removed what was unfinished, because the target is there.
    let unfinished = names(directory.path()).into_iter().find(|it| it.ends_with(".part"));
    fs::remove_file(directory.path().join(unfinished.unwrap())).unwrap();
    assert_eq!(third.complete_once(b"third").unwrap(), Placed::Existed);
    assert_eq!(names(directory.path()), ["chunk"]);
    let lost = OutputFile::create(&target).unwrap();
    fs::remove_file(&target).unwrap();
    fs::remove_file(directory.path().join(&names(directory.path())[0])).unwrap();
    assert_eq!(lost.complete_once(b"lost").unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_long_name_is_no_obstacle() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("ü".repeat(127));
    write(&target, b"x").unwrap();
    assert_eq!(fs::read(target).unwrap(), b"x");
}

#[test]
fn an_unfinished_file_leaves_what_was_there() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("report");
    fs::write(&target, "before").unwrap();
    let mut unfinished = OutputFile::create(&target).unwrap();
    unfinished.write_all(b"half").unwrap();
    assert_eq!(names(directory.path()).len(), 2);
    drop(unfinished);
    assert_eq!(names(directory.path()), ["report"]);
    assert_eq!(fs::read_to_string(&target).unwrap(), "before");
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
