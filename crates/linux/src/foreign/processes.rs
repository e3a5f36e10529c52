//! The processes of a server: one with those that it has started, or all of a control group.

use std::{
    fs, io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// The processes of a server, while they come and go.
#[derive(Debug)]
pub enum Processes {
    /// A process with its descendants, such as a server's master and its workers. It stays the same process if it
    /// executes another program, and is never a later one with the same ID.
    Tree {
        /// The first process.
        root: u32,
        /// That process, whoever has its ID later.
        handle: OwnedFd,
    },
    /// All of a control group and the groups in it, such as those of a systemd unit or a container (cgroups(7)). It
    /// outlives its processes, so a server may restart there.
    ControlGroup(PathBuf),
}

impl Processes {
    /// The tree below `root`.
    ///
    /// # Errors
    ///
    /// If there is no such process, or Linux is older than 5.3.
    pub fn below(root: u32) -> io::Result<Self> {
        let id = i32::try_from(root).ok().and_then(Pid::from_raw);
        let id = id.ok_or(io::ErrorKind::NotFound)?;
        Ok(Self::Tree { root, handle: pidfd_open(id, PidfdFlags::empty())? })
    }

    /// The control group with this directory.
    ///
    /// # Errors
    ///
    /// If that is no control group.
    pub fn of_group(directory: &Path) -> io::Result<Self> {
        fs::read(directory.join(LIST))?;
        Ok(Self::ControlGroup(directory.to_owned()))
    }

    /// Whether none is left: the first process has ended, or the group is empty.
    #[must_use]
    pub fn have_ended(&self) -> bool {
        match self {
            Self::Tree { handle, .. } => {
                let mut ended = [PollFd::new(handle.as_fd(), PollFlags::POLLIN)];
                poll(&mut ended, PollTimeout::ZERO).is_ok_and(|count| count > 0)
            }
            Self::ControlGroup(_) => self.members().is_empty(),
        }
    }

    /// The processes that are there now, the first of a tree first. Without `CONFIG_PROC_CHILDREN` in the kernel, a tree
    /// is its first process alone.
    #[must_use]
    pub fn members(&self) -> Vec<u32> {
        match self {
            Self::Tree { root, .. } => grown(*root, PROCESSES_LIMIT, children),
            Self::ControlGroup(directory) => {
                let groups = grown(directory.clone(), GROUPS_LIMIT, groups_in);
                let lists = groups.iter().filter_map(|it| fs::read_to_string(it.join(LIST)).ok());
                let mut members: Vec<u32> = lists.flat_map(|list| numbers(&list)).collect();
                members.truncate(PROCESSES_LIMIT);
                members
            }
        }
    }
}

/// `first`, what it has, what these have, and so on.
fn grown<T>(first: T, limit: usize, has: impl Fn(&T) -> Vec<T>) -> Vec<T> {
    let mut all = vec![first];
    let mut next = 0;
    while let Some(more) = all.get(next).map(&has) {
        next += 1;
        all.extend(more);
        all.truncate(limit);
    }
    all
}

/// The children that any thread of `process` has started (proc_pid_task(5)).
fn children(process: &u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| numbers(&list)).collect()
}

fn groups_in(group: &PathBuf) -> Vec<PathBuf> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten();
    let directories = entries.filter(|it| it.file_type().is_ok_and(|it| it.is_dir()));
    directories.map(|it| it.path()).collect()
}

/// Those in a list of processes. One of another PID namespace is 0 (cgroups(7)).
fn numbers(list: &str) -> Vec<u32> {
    list.split_whitespace().filter_map(|it| it.parse().ok()).filter(|it| *it != 0).collect()
}

/// Each control group has a list of its processes.
const LIST: &str = "cgroup.procs";

/// Our choice: more workers than any server needs.
const PROCESSES_LIMIT: usize = 4_096;
/// Our choice: more than a unit or a pod has.
const GROUPS_LIMIT: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn a_tree_has_children_of_children_until_its_root_ends() {
        let script = "sh -c 'sleep 60 & echo $! $$; wait' & wait";
        let mut command = Command::new("sh");
        let mut shell = command.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let mut started: Vec<u32> = line.split_whitespace().map(|it| it.parse().unwrap()).collect();
        let tree = Processes::below(shell.id()).unwrap();
        assert!(!tree.have_ended());
        started.reverse();
        assert_eq!(tree.members(), [&[shell.id()], &started[..]].concat());
        for process in [shell.id()].into_iter().chain(started) {
            let id = Pid::from_raw(process.cast_signed()).unwrap();
            rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
        assert!(tree.have_ended());
        assert!(Processes::below(u32::MAX).is_err() && Processes::below(0).is_err());
    }
    #[test]
    fn a_group_has_the_processes_of_the_groups_in_it_and_ends_with_the_last() {
        // A directory with the same files: the kernel's own needs root (crates/ackwise/tests/tune.rs has one).
        let group = std::env::temp_dir().join(format!("ackwise-group-{}", std::process::id()));
        let inner = group.join("inner");
        fs::create_dir_all(&inner).unwrap();
        assert!(Processes::of_group(&group).is_err(), "it has no list");
        fs::write(group.join(LIST), "0\n12\n").unwrap();
        fs::write(inner.join(LIST), "34\n56\n").unwrap();
        let processes = Processes::of_group(&group).unwrap();
        assert_eq!(processes.members(), [12, 34, 56]);
        assert!(!processes.have_ended());
        fs::remove_dir_all(&group).unwrap();
        assert!(processes.have_ended());
    }
}
