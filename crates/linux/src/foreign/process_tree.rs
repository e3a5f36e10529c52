//! A process and those that it has started, such as a server's master and its workers.

use std::{
    fs, io,
    os::fd::{AsFd, OwnedFd},
};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A process with its descendants. It stays the same process if it executes another program, and is never a later one
/// with the same ID.
#[derive(Debug)]
pub struct ProcessTree {
    root: u32,
    handle: OwnedFd,
}

impl ProcessTree {
    /// The tree below `root`.
    ///
    /// # Errors
    ///
    /// If there is no such process, or Linux is older than 5.3.
    pub fn of(root: u32) -> io::Result<Self> {
        let id = i32::try_from(root).ok().and_then(Pid::from_raw);
        let id = id.ok_or(io::ErrorKind::NotFound)?;
        Ok(Self { root, handle: pidfd_open(id, PidfdFlags::empty())? })
    }

    /// Whether the first process has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let mut ended = [PollFd::new(self.handle.as_fd(), PollFlags::POLLIN)];
        poll(&mut ended, PollTimeout::ZERO).is_ok_and(|count| count > 0)
    }

    /// The processes that are there now, the first one first. Without `CONFIG_PROC_CHILDREN` in the kernel, it alone.
    #[must_use]
    pub fn members(&self) -> Vec<u32> {
        let mut members = vec![self.root];
        let mut next = 0;
        while let Some(process) = members.get(next).copied() {
            next += 1;
            members.extend(children(process));
            if members.len() > PROCESSES_LIMIT {
                members.truncate(PROCESSES_LIMIT);
                break;
            }
        }
        members
    }
}

/// The children that any thread of `process` has started (proc_pid_task(5)).
fn children(process: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let numbers = lists.flat_map(|list| {
        list.split_whitespace().filter_map(|it| it.parse().ok()).collect::<Vec<_>>()
    });
    numbers.collect()
}

/// Our choice: more workers than any server needs.
const PROCESSES_LIMIT: usize = 4_096;

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
        let tree = ProcessTree::of(shell.id()).unwrap();
        assert!(!tree.has_ended());
        started.reverse();
        assert_eq!(tree.members(), [&[shell.id()], &started[..]].concat());
        for process in [shell.id()].into_iter().chain(started) {
            let id = Pid::from_raw(process.cast_signed()).unwrap();
            rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
        assert!(tree.has_ended());
        assert!(ProcessTree::of(u32::MAX).is_err() && ProcessTree::of(0).is_err());
    }
}
