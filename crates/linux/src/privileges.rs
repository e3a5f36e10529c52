//! Gives back what a process needed to open its sockets.
//!
//! Capabilities belong to threads: threads started later have what is left. A root user stays root, and
//! may write files in directories of other users; the user id is not changed, so that files belong to
//! whoever ran the program.
//!
//! Nothing that is given up comes back: `no_new_privs` is set, so that no program started from here gains anything, and
//! where `CAP_SETPCAP` is held, the bounding set is emptied and root's user ID gives no capabilities (`SECBIT_NOROOT`).

use std::io;

use nix::unistd::geteuid;
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, capabilities_secure_bits,
    capability_is_in_bounding_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs,
};

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
    let before = capabilities(None)?;
    set_no_new_privs(true)?;
    if before.effective.contains(CapabilitySet::SETPCAP) {
        give_up_for_good()?;
    }
    let kept = before.permitted & wanted;
    // The ambient set cannot hold what is not permitted (capabilities(7)).
    let sets =
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(set_capabilities(None, sets)?)
}

/// Capabilities that a program has because root starts it (capabilities(7), "Effect of user ID changes").
fn give_up_for_good() -> io::Result<()> {
    let bits = capabilities_secure_bits()?;
    let no_root = CapabilitiesSecureBits::NO_ROOT | CapabilitiesSecureBits::NO_ROOT_LOCKED;
    if !bits.contains(no_root) {
        set_capabilities_secure_bits(bits | no_root)?;
    }
    // EINVAL: the kernel has no further ones.
    for number in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << number);
        match capability_is_in_bounding_set(one) {
            Ok(true) => remove_capability_from_bounding_set(one)?,
            Ok(false) => {}
            Err(_) => break,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{fs, thread};

    use super::*;

    #[test]
    fn nothing_but_writing_is_left() {
        let has_all = capabilities(None).unwrap().effective.contains(CapabilitySet::SETPCAP);
        // Other tests keep theirs.
        let status = thread::spawn(|| {
            give_up().unwrap();
            fs::read_to_string("/proc/thread-self/status").unwrap()
        });
        let status = status.join().unwrap();
        let sets = status.lines().filter_map(|line| line.strip_prefix("Cap")?.split_once(":\t"));
        let known = [0, CapabilitySet::DAC_OVERRIDE.bits()];
        for (name, bits) in sets.filter(|(name, _)| *name != "Bnd" || has_all) {
            let bits = u64::from_str_radix(bits, 16).unwrap();
            assert!(known.contains(&bits) && (name != "Bnd" || bits == 0), "{name} {bits:x}");
        }
        assert!(status.contains("NoNewPrivs:\t1\n"), "{status}");
    }

    /// Otherwise, root's user ID would give every program that is started all of them again.
    #[test]
    fn a_program_that_root_starts_afterwards_has_none() {
        let has_all = capabilities(None).unwrap().effective.contains(CapabilitySet::SETPCAP);
        if !has_all {
            let test = "a_program_that_root_starts_afterwards_has_none";
            return ackwise_testing::skip(test, "CAP_SETPCAP; run as root");
        }
        let output = thread::spawn(|| {
            give_up().unwrap();
            std::process::Command::new("cat").arg("/proc/self/status").output().unwrap()
        });
        let status = String::from_utf8(output.join().unwrap().stdout).unwrap();
        for set in ["CapPrm", "CapEff", "CapBnd"] {
            assert!(status.contains(&format!("{set}:\t0000000000000000\n")), "{status}");
        }
    }
}
