//! Gives back what a process needed to open its sockets.
//!
//! Capabilities belong to threads: threads started later have what is left. A root user stays root, and
//! may write files in directories of other users; the user id is not changed, so that files belong to
//! whoever ran the program.

use std::io;

use nix::unistd::geteuid;
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

/// Gives up all capabilities of this thread, except that root may still write anywhere
/// (`CAP_DAC_OVERRIDE`). Sockets and devices that are open stay usable; processes started earlier keep
/// theirs.
///
/// # Errors
///
/// If the kernel refuses, which it has no reason to.
pub fn give_up() -> io::Result<()> {
    keep(if geteuid().is_root() { CapabilitySet::DAC_OVERRIDE } else { CapabilitySet::empty() })
}

/// Gives up all capabilities of this thread, except those that [`foreign`](crate::foreign) needs:
/// `CAP_DAC_READ_SEARCH` to list the descriptors of other users' processes, and `CAP_SYS_PTRACE` to copy
/// them.
///
/// # Errors
///
/// If the kernel refuses, which it has no reason to.
pub fn keep_foreign_sockets() -> io::Result<()> {
    keep(CapabilitySet::DAC_READ_SEARCH | CapabilitySet::SYS_PTRACE)
}

/// As [`keep_foreign_sockets`], and `CAP_NET_ADMIN`, which a congestion control needs that is not in
/// `net.ipv4.tcp_allowed_congestion_control`.
///
/// # Errors
///
/// If the kernel refuses, which it has no reason to.
pub fn keep_foreign_congestion() -> io::Result<()> {
    let sockets = CapabilitySet::DAC_READ_SEARCH | CapabilitySet::SYS_PTRACE;
    keep(sockets | CapabilitySet::NET_ADMIN)
}

fn keep(wanted: CapabilitySet) -> io::Result<()> {
    let kept = capabilities(None)?.permitted & wanted;
    // The ambient set cannot hold what is not permitted (capabilities(7)).
    let sets =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    #[test]
    fn nothing_but_writing_is_left() {
        // Other tests keep theirs.
        let status = thread::spawn(|| {
            give_up().unwrap();
            fs::read_to_string("/proc/thread-self/status").unwrap()
        });
        let status = status.join().unwrap();
        let sets = status.lines().filter_map(|line| line.strip_prefix("Cap")?.split_once(":\t"));
        let known = [0, CapabilitySet::DAC_OVERRIDE.bits()];
        for (name, bits) in sets.filter(|(name, _)| *name != "Bnd") {
            let bits = u64::from_str_radix(bits, 16).unwrap();
            assert!(known.contains(&bits), "{name} {bits:x}");
        }
    }
}
