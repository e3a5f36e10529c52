//! Which processes hold a socket, by its inode in `/proc/PID/fd` (proc(5)).
//!
//! Several processes may hold one: workers that inherited a listening socket, or a program that passed a
//! connection on. A process that may not be looked into, or ends meanwhile, is passed over and counted.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// A process's descriptor of a socket.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Holder {
    /// The socket.
    pub inode: u32,
    /// The process.
    pub process: u32,
    /// Its descriptor.
    pub descriptor: i32,
}

/// The holders of some sockets, as they were a moment ago.
#[derive(Clone, Debug, Default)]
pub struct Holders {
    pub(super) by_inode: BTreeMap<u32, Vec<Holder>>,
    closed: usize,
}

impl Holders {
    /// Looks at every process.
    #[must_use]
    pub fn of(inodes: &BTreeSet<u32>) -> Self {
        Self::among(&processes(), inodes)
    }

    /// Looks at these processes only.
    #[must_use]
    pub fn among(processes: &[u32], inodes: &BTreeSet<u32>) -> Self {
        let mut holders = Self::default();
        // Nothing to look for.
        let processes = if inodes.is_empty() { &[] } else { processes };
        for process in processes {
            holders.look_into(*process, |inode| inodes.contains(&inode));
        }
        holders
    }

    /// All sockets of these processes, also those that are not of TCP.
    #[must_use]
    pub fn all_of(processes: &[u32]) -> Self {
        let mut holders = Self::default();
        processes.iter().for_each(|process| holders.look_into(*process, |_| true));
        holders
    }

    /// Adds what another look has found.
    pub fn add(&mut self, other: Self) {
        self.by_inode.extend(other.by_inode);
        self.closed = self.closed.max(other.closed);
    }

    /// The holders of one socket, in the order of their process ids.
    #[must_use]
    pub fn of_inode(&self, inode: u32) -> &[Holder] {
        self.by_inode.get(&inode).map_or(&[], Vec::as_slice)
    }

    /// The processes that hold one socket, in ascending order.
    #[must_use]
    pub fn processes(&self, inode: u32) -> Vec<u32> {
        let mut processes: Vec<_> = self.of_inode(inode).iter().map(|it| it.process).collect();
        processes.sort_unstable();
        processes.dedup();
        processes
    }

    /// The processes that hold any of the sockets, in ascending order.
    #[must_use]
    pub fn all_processes(&self) -> Vec<u32> {
        let all: BTreeSet<_> = self.by_inode.values().flatten().map(|it| it.process).collect();
        all.into_iter().collect()
    }

    /// How many processes could not be looked into for want of permission.
    #[must_use]
    pub const fn closed(&self) -> usize {
        self.closed
    }

    pub(super) fn look_into(&mut self, process: u32, is_wanted: impl Fn(u32) -> bool) {
        let entries = match fs::read_dir(format!("/proc/{process}/fd")) {
            Ok(entries) => entries,
            Err(error) => {
                // Anything else means that the process has ended.
                self.closed += usize::from(error.kind() == std::io::ErrorKind::PermissionDenied);
                return;
            }
        };
        for entry in entries.flatten() {
            let link = fs::read_link(entry.path()).ok();
            let inode = link.as_deref().and_then(|link| socket_inode(link.to_str()?));
            let descriptor = entry.file_name().to_str().and_then(|name| name.parse().ok());
            if let (Some(inode), Some(descriptor)) = (inode, descriptor)
                && is_wanted(inode)
            {
                let holder = Holder { inode, process, descriptor };
                self.by_inode.entry(inode).or_default().push(holder);
            }
        }
    }
}

/// Every process that this one sees, in ascending order.
pub(super) fn processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut processes: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    processes.sort_unstable();
    processes
}

/// The users with whose rights these processes open and accept sockets (`fsuid`, credentials(7)).
#[must_use]
pub fn users_of(processes: &[u32]) -> BTreeSet<u32> {
    let user = |process: &u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
        users.split_whitespace().nth(3)?.parse().ok()
    };
    processes.iter().filter_map(user).collect()
}

/// The inode in `socket:[4711]`.
fn socket_inode(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_have_an_inode_here() {
        assert_eq!(socket_inode("socket:[4711]"), Some(4_711));
        for other in ["/dev/null", "pipe:[1]", "socket:[]", "socket:[x]", "socket:[99999999999]"] {
            assert_eq!(socket_inode(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_that_is_gone_holds_nothing() {
        let holders = Holders::among(&[u32::MAX], &BTreeSet::from([1]));
        assert_eq!((holders.of_inode(1), holders.closed()), (&[][..], 0));
        assert!(processes().contains(&std::process::id()));
        let own = nix::unistd::geteuid().as_raw();
        assert_eq!(users_of(&[u32::MAX, std::process::id()]), BTreeSet::from([own]));
    }
}
