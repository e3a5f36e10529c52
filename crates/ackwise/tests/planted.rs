//! Every file that a command writes, in a directory where somebody has planted links: no link is
//! followed, and nothing unfinished is left. As root, the directory belongs to another user.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::{
    env, fs,
    io::Read,
    os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, geteuid},
};

#[test]
fn no_command_writes_through_a_planted_link() {
    let capture = Directory::new();
    let capture_file = capture.path("capture.pcap");
    let made = capture.run(&["run", "stalls", "--case", "1", "--pcap", "capture.pcap"]);
    assert!(made.status.success(), "{made:?}");
    let capture_file = capture_file.to_str().unwrap();
    let record = ["run", "stalls", "--case", "1"];
    let rows = ["run", "stalls"];
    let explain = ["explain", capture_file];
    for (command, option) in [
        (&explain[..], &["--html"][..]),
        (&explain, &["--save-stripped"]),
        (&explain, &["--export", "0"]),
        (&record, &["--html"]),
        (&record, &["--pcap"]),
        (&record, &["--time-sequence"]),
        (&rows, &["--csv"]),
        (&rows, &["--html"]),
    ] {
        let directory = Directory::planted();
        let output = directory.run(&[command, option, &["out"]].concat());
        assert!(output.status.success(), "{option:?}: {output:?}");
        directory.assert_untouched();
        let written = fs::symlink_metadata(directory.path("out")).unwrap();
        assert!(written.is_file() && written.len() > 0, "{option:?}");
        assert_eq!(written.permissions().mode() & 0o777, 0o640, "{option:?}: the umask is 027");
        assert_eq!(directory.names(), ["out", "out.part"], "{option:?}");
    }
}

/// As root: who else could make a file of another user?
#[test]
fn a_pipe_of_another_user_is_refused() {
    if !geteuid().is_root() {
        return;
    }
    let directory = Directory::new();
    let pipe = directory.path("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::from_bits_truncate(0o666)).unwrap();
    chown(&pipe, Some(NOBODY), None).unwrap();
    let _reader = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let output = directory.run(&["run", "stalls", "--html", "pipe"]);
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(complaint.contains("pipe: belongs to another user"), "{complaint}");
    assert_eq!(output.status.code(), Some(2), "{complaint}");
}

#[test]
fn a_pipe_that_nobody_reads_is_given_up_after_five_seconds() {
    let directory = Directory::new();
    let made = directory.run(&["run", "stalls", "--case", "1", "--pcap", "capture.pcap"]);
    assert!(made.status.success(), "{made:?}");
    assert!(directory.command("mkfifo", &["pipe"]).status().unwrap().success());
    for option in ["--html", "--save-stripped"] {
        let begun = Instant::now();
        let output = directory.run(&["explain", "capture.pcap", option, "pipe"]);
        let (complaint, time) = (String::from_utf8(output.stderr).unwrap(), begun.elapsed());
        assert_eq!(output.status.code(), Some(2), "{option}: {complaint}");
        assert!(complaint.contains("pipe"), "{option}: {complaint}");
        // The rest is for a machine with other work.
        let expected = Duration::from_secs(5)..Duration::from_secs(30);
        assert!(expected.contains(&time), "{option}: {time:?}");
    }
    assert_eq!(directory.names(), ["capture.pcap", "pipe"]);
}

#[test]
fn an_error_leaves_the_file_as_it_was() {
    let directory = Directory::new();
    fs::write(directory.path("out"), "before").unwrap();
    // The largest file has one block. Without a handler, the signal would end the process.
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} run stalls --case 1 --pcap out",
        env!("CARGO_BIN_EXE_ackwise")
    );
    let output = directory.command("sh", &["-c", &script]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(directory.names(), ["out"]);
    assert_eq!(fs::read_to_string(directory.path("out")).unwrap(), "before");
}

#[test]
fn an_interrupt_leaves_the_file_as_it_was_and_a_second_one_too() {
    for signals in [1, 2] {
        let directory = Directory::new();
        fs::write(directory.path("out"), "before").unwrap();
        let arguments = ["run", "dumbbell", "--case", "1", "--set", "duration=9000s"];
        let mut child = directory
            .command(env!("CARGO_BIN_EXE_ackwise"), &[&arguments[..], &["--pcap", "out"]].concat())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_until("the recording has begun", || directory.names().len() == 2);
        for _ in 0..signals {
            kill(Pid::from_raw(child.id().try_into().unwrap()), Signal::SIGINT).unwrap();
        }
        assert_eq!(exit_code(&mut child), Some(130));
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert_eq!(directory.names(), ["out"], "{complaint}");
        assert_eq!(fs::read_to_string(directory.path("out")).unwrap(), "before");
    }
}

fn exit_code(child: &mut Child) -> Option<i32> {
    wait_until("the command ends", || child.try_wait().unwrap().is_some());
    child.wait().unwrap().code()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A directory, and a secret elsewhere; removed in the end.
struct Directory {
    root: PathBuf,
    secret: PathBuf,
}

impl Directory {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = env::temp_dir().join(format!("ackwise-planted-{}-{count}", std::process::id()));
        fs::create_dir_all(root.join("theirs")).unwrap();
        let secret = root.join("secret");
        fs::write(&secret, "secret").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        Self { root, secret }
    }

    /// With links at the final name and at the one that unfinished files once had.
    fn planted() -> Self {
        let directory = Self::new();
        for name in ["out", "out.part"] {
            symlink(&directory.secret, directory.path(name)).unwrap();
        }
        if geteuid().is_root() {
            chown(directory.root.join("theirs"), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        directory
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.join("theirs").join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let script = r#"umask 027; exec "$0" "$@""#;
        let arguments = [&["-c", script, env!("CARGO_BIN_EXE_ackwise")], arguments].concat();
        self.command("sh", &arguments).output().unwrap()
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.root.join("theirs"));
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.join("theirs")).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn assert_untouched(&self) {
        let metadata = fs::metadata(&self.secret).unwrap();
        assert_eq!((metadata.mode() & 0o777, metadata.uid()), (0o600, geteuid().as_raw()));
        assert_eq!(fs::read_to_string(&self.secret).unwrap(), "secret");
        assert_eq!(fs::read_link(self.path("out.part")).unwrap(), self.secret);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

const NOBODY: u32 = 65_534;
/// Our choice; a busy machine needs a few seconds.
const PATIENCE: Duration = Duration::from_secs(60);
