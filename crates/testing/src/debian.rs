//! Debian's programs: where they are, how Apache is configured, how they are ended.

use std::{
    fmt,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// A program that is not installed, and the package that has it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct NotInstalled<'a> {
    /// The program's file.
    pub program: &'a str,
    /// Debian's package.
    pub package: &'a str,
}

impl fmt::Display for NotInstalled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; apt-get install {}", self.program, self.package)
    }
}

impl std::error::Error for NotInstalled<'_> {}

/// The path of `program`, which the Debian package `package` has.
///
/// Debian's own come before those in `PATH`: another Python, from a version manager, need not behave like it.
///
/// # Errors
///
/// If it is not installed.
pub fn find<'a>(program: &'a str, package: &'a str) -> Result<PathBuf, NotInstalled<'a>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    ["/usr/sbin", "/usr/bin"]
        .into_iter()
        .map(PathBuf::from)
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
        .ok_or(NotInstalled { program, package })
}

/// The smallest configuration with which Apache serves `documents` on all addresses of `port`; it keeps its own files
/// in `root`. `more` is added at the end, one directive in each line.
#[must_use]
pub fn apache_configuration(root: &Path, documents: &Path, port: u16, more: &[&str]) -> String {
    let (root, documents) = (root.display(), documents.display());
    let mut text = format!(
        "ServerRoot {root}
DefaultRuntimeDir {root}
PidFile pid
LoadModule mpm_event_module {APACHE_MODULES}/mod_mpm_event.so
LoadModule authz_core_module {APACHE_MODULES}/mod_authz_core.so
ErrorLog /dev/stderr
ServerName localhost
User www-data
Group www-data
Listen {port}
DocumentRoot {documents}
"
    );
    for directive in more {
        text.push_str(directive);
        text.push('\n');
    }
    text
}

/// Apache in the foreground, with the configuration in the file `configuration`.
///
/// # Errors
///
/// If it is not installed.
pub fn apache(configuration: &Path) -> Result<Command, NotInstalled<'static>> {
    let mut command = Command::new(find("apache2", "apache2-bin")?);
    // When it ends, it ends its whole process group, which would be the caller's.
    command.process_group(0).arg("-DFOREGROUND").arg("-f").arg(configuration);
    Ok(command)
}

/// Ends a server: by SIGTERM, so that nginx and Apache end their workers too, and by SIGKILL if it takes longer than
/// five seconds.
pub fn end(server: &mut Child) {
    // It may have ended.
    let _ = kill_process(Pid::from_child(server), Signal::TERM);
    let deadline = Instant::now() + STOP_LIMIT;
    while matches!(server.try_wait(), Ok(None)) && Instant::now() < deadline {
        thread::sleep(POLL_INTERVAL);
    }
    let _ = server.kill();
    let _ = server.wait();
}

/// Where Debian installs Apache's modules, which `LoadModule` in [`apache_configuration`]'s `more` may name.
pub const APACHE_MODULES: &str = "/usr/lib/apache2/modules";
/// Our choice.
const STOP_LIMIT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        assert!(find("sh", "dash").unwrap().is_file());
        let missing = find("no-such-program", "no-such-package").unwrap_err();
        assert_eq!(missing.to_string(), "no-such-program; apt-get install no-such-package");
    }

    #[test]
    fn a_program_that_ignores_nothing_ends_on_the_first_signal() {
        let mut server = Command::new("sleep").arg("60").spawn().unwrap();
        let began = Instant::now();
        end(&mut server);
        assert!(server.try_wait().unwrap().is_some() && began.elapsed() < STOP_LIMIT);
    }
}
