//! A running program, its files, and what it serves.

use std::fmt;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ackwise_linux::Namespace;
use anyhow::{Context, bail};

use super::server::{Process, Program};

/// Where every program listens, on all addresses, and where a server behind a proxy does.
pub(super) const PORT: u16 = 8080;
pub(super) const BEHIND: u16 = 8081;

/// A program, or what builds it, is not installed.
#[derive(Debug)]
pub(super) struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// Where `program` of the Debian package `package` is.
pub(super) fn find(program: &str, package: &str) -> Result<PathBuf, Missing> {
    // Debian's own first: another one, from a version manager, need not behave like it.
    let path = std::env::var_os("PATH").unwrap_or_default();
    ["/usr/sbin", "/usr/bin"]
        .into_iter()
        .map(PathBuf::from)
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| Missing(format!("{program} (Debian package {package})")))
}

/// A directory for one program: its documents, its configuration, its log. Gone when dropped.
pub(super) struct Site {
    root: PathBuf,
}

impl Site {
    fn new(program: &str) -> anyhow::Result<Self> {
        // Not in target: a program that gives root up must be able to read it.
        let name = format!("ackwise-bench-check-{}-{program}", std::process::id());
        let site = Self { root: std::env::temp_dir().join(name) };
        fs::create_dir_all(site.documents())?;
        for folder in [&site.root, &site.documents()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
        }
        let mut index = "<html><body><img src=\"small.bin\"><img src=\"large.bin\">\n".to_owned();
        index.push_str(&"<p>A paragraph of the page.</p>\n".repeat(INDEX / 32));
        for (name, content) in [
            ("index.html", index.into_bytes()),
            ("small.bin", vec![b'x'; SMALL]),
            ("large.bin", vec![b'x'; LARGE]),
        ] {
            fs::write(site.documents().join(name), content)?;
        }
        Ok(site)
    }

    pub(super) fn path(&self, file: &str) -> PathBuf {
        self.root.join(file)
    }

    pub(super) fn documents(&self) -> PathBuf {
        self.path("documents")
    }

    /// Writes `file`, and says where it is.
    pub(super) fn write(&self, file: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.path(file);
        fs::write(&path, text).with_context(|| path.display().to_string())?;
        Ok(path)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// A program that accepts connections. Ended when dropped, and by the kernel when this process is.
pub(super) struct Running {
    processes: Vec<Child>,
    _site: Site,
}

impl Running {
    /// Starts `program` on `host`, and waits until it listens.
    pub(super) fn start(program: &Program, host: &Namespace) -> anyhow::Result<Self> {
        let site = Site::new(program.name)?;
        let processes = (program.processes)(&site)?;
        let log = site.path("log");
        let mut running = Self { processes: Vec::new(), _site: site };
        for Process { port, command } in processes {
            running.processes.push(spawn(&command, host, &log)?);
            let listens = host.run(|| wait_until_it_listens(port))?;
            if !listens {
                let log = fs::read_to_string(&log).unwrap_or_default();
                bail!("it does not listen on port {port}:\n{log}");
            }
        }
        Ok(running)
    }
}

/// From this very thread, whose end ends the program.
fn spawn(command: &Command, host: &Namespace, log: &Path) -> anyhow::Result<Child> {
    let log = File::options().create(true).append(true).open(log)?;
    let mut guarded = Command::new(find("setpriv", "util-linux")?);
    guarded.args(["--pdeathsig", "TERM", "--"]).arg(command.get_program());
    guarded.args(command.get_args()).stdin(Stdio::null());
    guarded.stdout(log.try_clone()?).stderr(log);
    if let Some(directory) = command.get_current_dir() {
        guarded.current_dir(directory);
    }
    let _inside = host.enter()?;
    guarded.spawn().context("cannot start setpriv")
}

fn wait_until_it_listens(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let deadline = Instant::now() + START_LIMIT;
    while TcpStream::connect_timeout(&address, START_LIMIT).is_err() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(POLL_INTERVAL);
    }
    true
}

impl Drop for Running {
    fn drop(&mut self) {
        use nix::sys::signal::{Signal, kill};
        use nix::unistd::Pid;
        for mut process in self.processes.drain(..).rev() {
            // TERM, so that masters end their workers.
            if let Ok(id) = i32::try_from(process.id()) {
                let _ = kill(Pid::from_raw(id), Signal::SIGTERM);
            }
            let deadline = Instant::now() + STOP_LIMIT;
            while matches!(process.try_wait(), Ok(None)) && Instant::now() < deadline {
                thread::sleep(POLL_INTERVAL);
            }
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Bytes of the page, which is smaller than an initial window, and of the files that it refers to: one of a single
/// segment, and one that is larger than what send buffers hold. Our choices.
const INDEX: usize = 6_400;
const SMALL: usize = 300;
const LARGE: usize = 1_000_000;

/// A Java virtual machine on a busy machine takes seconds.
const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
