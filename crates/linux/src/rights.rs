//! What this process may do on this host. Asking changes nothing.

use std::io;

use nix::unistd::geteuid;
use rustix::thread::{CapabilitySet, capabilities};

/// A capability that some command needs (capabilities(7)).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Capability {
    /// Packet sockets.
    NetRaw,
    /// TUN devices, congestion controls that are not allowed to all.
    NetAdmin,
    /// Other network namespaces.
    SysAdmin,
    /// Sockets of other users' processes.
    SysPtrace,
    /// eBPF programs.
    Bpf,
    /// eBPF programs that trace.
    Perfmon,
}

impl Capability {
    /// Its name in manuals.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetRaw => "CAP_NET_RAW",
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysPtrace => "CAP_SYS_PTRACE",
            Self::Bpf => "CAP_BPF",
            Self::Perfmon => "CAP_PERFMON",
        }
    }

    const fn bit(self) -> CapabilitySet {
        match self {
            Self::NetRaw => CapabilitySet::NET_RAW,
            Self::NetAdmin => CapabilitySet::NET_ADMIN,
            Self::SysAdmin => CapabilitySet::SYS_ADMIN,
            Self::SysPtrace => CapabilitySet::SYS_PTRACE,
            Self::Bpf => CapabilitySet::BPF,
            Self::Perfmon => CapabilitySet::PERFMON,
        }
    }
}

/// Those of `needed` that this thread lacks.
///
/// # Errors
///
/// If the kernel does not say.
pub fn lacking(needed: &[Capability]) -> io::Result<Vec<Capability>> {
    let held = capabilities(None)?.effective;
    Ok(needed.iter().copied().filter(|it| !held.contains(it.bit())).collect())
}

/// Whether the effective user ID is 0.
#[must_use]
pub fn is_root() -> bool {
    geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_that_gave_all_up_lacks_all() {
        let all = [Capability::NetRaw, Capability::NetAdmin, Capability::SysAdmin];
        let lacking = thread::spawn(move || {
            crate::privileges::give_up().unwrap();
            lacking(&all).unwrap()
        });
        assert_eq!(lacking.join().unwrap(), all);
    }
}
