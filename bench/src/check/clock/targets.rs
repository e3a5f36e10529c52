//! The targets, which are data, and how one starts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use ackwise_linux::Namespace;
use anyhow::{Context, bail};
use serde::Deserialize;

use crate::program::{POLL_INTERVAL, START_LIMIT, listens};

/// A server, or a proxy with the server behind it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) name: String,
    /// Who has it: a Debian package, or `pip:`, `npm:`, `maven:` or `go:` and a name.
    pub(super) package: String,
    version: String,
    start: String,
    pub(super) protocols: Vec<Protocol>,
    #[serde(default)]
    tls: bool,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// What it is asked in.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Protocol {
    H1,
    H2,
    Grpc,
}

impl Display for Protocol {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::H1 => "h1",
            Self::H2 => "h2",
            Self::Grpc => "grpc",
        })
    }
}

#[derive(Deserialize)]
struct List {
    target: Vec<Target>,
}

/// All targets.
pub(super) fn all() -> anyhow::Result<Vec<Target>> {
    let list: List = toml::from_str(include_str!("../../../programs.toml"))?;
    Ok(list.target)
}

impl Target {
    pub(super) fn url(&self, port: u16) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://127.0.0.1:{port}{}", self.path.as_deref().unwrap_or("/"))
    }
}

/// Where targets find their packages, and a folder for the files of one at a time. Gone when dropped.
pub(super) struct Folders {
    packages: PathBuf,
    folder: PathBuf,
}

/// A target that accepts connections. Ended with all that it started when dropped.
pub(super) struct Running {
    unshare: Child,
    pub(super) port: u16,
}

impl Folders {
    pub(super) fn new() -> anyhow::Result<Self> {
        let packages = std::env::var_os(PACKAGES).map_or_else(|| INSTALLED.into(), PathBuf::from);
        let packages = std::path::absolute(packages)?;
        // Not in target: a program that gives root up must be able to read it.
        let folder = std::env::temp_dir().join(format!("ackwise-clock-{}", std::process::id()));
        Ok(Self { packages, folder })
    }

    /// The first line of its version; `None` if it is not installed.
    pub(super) fn version(&self, target: &Target) -> anyhow::Result<Option<String>> {
        let output = self.shell(&target.version).output()?;
        let line = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or("").to_owned();
        Ok(output.status.success().then(|| line.chars().take(VERSION).collect()))
    }

    /// Starts `target` on `host`, and waits until it listens.
    pub(super) fn start(&self, target: &Target, host: &Namespace) -> anyhow::Result<Running> {
        // The one before ends a moment after `unshare`.
        host.run(|| (0..FREE_LIMIT).any(|_| is_free(PORT) && is_free(BEHIND)))?;
        self.write(target)?;
        let mut command = self.shell(&self.filled(&target.start));
        let log = File::create(self.folder.join("log"))?;
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let inside = host.enter()?;
        let running =
            Running { unshare: command.spawn().context("cannot start unshare")?, port: PORT };
        drop(inside);
        let behind = target.start.contains("{back}").then_some(BEHIND);
        for port in behind.into_iter().chain([PORT]) {
            if !host.run(|| listens(port))? {
                let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                bail!("it does not listen on port {port}: {}", log.lines().last().unwrap_or(""));
            }
        }
        Ok(running)
    }

    /// A shell in a process namespace, with which all its children end.
    fn shell(&self, text: &str) -> Command {
        let packages = self.packages.display();
        let mut path = OsString::from(format!("{packages}/venv/bin:"));
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new("unshare");
        command.args(["--fork", "--pid", "--kill-child=KILL", "sh", "-c", text]);
        command.current_dir(SOURCES).env("PATH", path).env("PACKAGES", &self.packages);
        command.env("NODE_PATH", format!("{packages}/node_modules"));
        command.env("CLASSPATH", format!("{packages}/jars/*:{packages}/classes"));
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }

    fn write(&self, target: &Target) -> anyhow::Result<()> {
        let _ = fs::remove_dir_all(&self.folder);
        fs::create_dir_all(&self.folder)?;
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        for (name, text) in [
            ("index.html", "x".repeat(BODY)),
            ("both.pem", format!("{key}{certificate}")),
            ("cert.pem", certificate),
            ("key.pem", key),
        ] {
            fs::write(self.folder.join(name), text)?;
        }
        for (name, text) in &target.files {
            fs::write(self.folder.join(name), self.filled(text))?;
        }
        Ok(())
    }

    fn filled(&self, text: &str) -> String {
        fill(text, &self.folder)
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // `--kill-child` ends the namespace's first process, and the kernel all others in it.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

fn fill(text: &str, folder: &Path) -> String {
    text.replace("{port}", &PORT.to_string())
        .replace("{back}", &BEHIND.to_string())
        .replace("{dir}", &folder.display().to_string())
}

/// Whether nothing listens; if something does, a moment later.
fn is_free(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let free = TcpStream::connect_timeout(&address, START_LIMIT).is_err();
    if !free {
        thread::sleep(POLL_INTERVAL);
    }
    free
}

/// Where the scripts are, and where `install.sh` there puts packages, relative to the root of the repository.
pub(super) const SOURCES: &str = "bench/programs";
const INSTALLED: &str = "target/bench/programs";

/// The variable that names another place for packages.
const PACKAGES: &str = "ACKWISE_PROGRAMS";

const PORT: u16 = 8080;
const BEHIND: u16 = 8081;

/// Bytes of the page: one segment, as most stalls need. Our choice.
const BODY: usize = 300;

/// Columns of a version.
const VERSION: usize = 24;

/// Looks at a port that is still in use: 4 s.
const FREE_LIMIT: u32 = 200;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_target_listens_where_it_is_asked_and_has_a_name_of_its_own() {
        let all = all().unwrap();
        let names: BTreeSet<_> = all.iter().map(|it| &it.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.len() >= 60, "{}", all.len());
        for it in &all {
            let texts: String = it.files.values().chain([&it.start]).cloned().collect();
            assert!(texts.contains("{port}") && !it.protocols.is_empty(), "{}", it.name);
        }
    }

    #[test]
    fn a_target_is_asked_over_tls_if_it_says_so() {
        let text = "name='a'\npackage='b'\nversion='c'\nstart='d {port}'\nprotocols=['h1','grpc']\ntls=true\n";
        let target: Target = toml::from_str(text).unwrap();
        assert_eq!(target.url(1), "https://127.0.0.1:1/");
        assert_eq!(fill(&target.start, Path::new("/x")), "d 8080");
    }
}
