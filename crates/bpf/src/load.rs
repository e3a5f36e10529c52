//! Loads an object, and says why the kernel refuses.

use std::io;

/// Why a program of this crate could not be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BpfError {
    /// The feature `libbpf` is off.
    #[error("this program was built without eBPF (expected `--features ebpf`)")]
    NotBuilt,
    /// The kernel does not describe its types.
    #[error("this kernel has no BTF (expected {KERNEL_TYPES}, from CONFIG_DEBUG_INFO_BTF)")]
    NoBtf,
    /// A capability is missing.
    #[error(
        "the kernel does not allow eBPF (expected root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN)"
    )]
    Denied,
    /// A congestion control with this name is registered.
    #[error(
        "a congestion control named {0} is registered already (expected none: only one run at a time can pace)"
    )]
    NameTaken(&'static str),
    /// Anything else, such as a kernel whose functions differ.
    #[error("the kernel does not accept {program}: {source} (expected Linux 6.4 or later)")]
    Refused {
        /// What was to be loaded.
        program: &'static str,
        /// Why.
        source: io::Error,
    },
}

#[cfg(feature = "libbpf")]
pub(crate) use with_libbpf::{failed, open};

#[cfg(feature = "libbpf")]
mod with_libbpf {
    use std::path::Path;

    use libbpf_rs::{Error, ErrorKind, ObjectBuilder, OpenObject};
    use rustix::thread::CapabilitySet;

    use super::{BpfError, KERNEL_TYPES};

    /// Opens an object. libbpf's own messages are not shown: the error has the reason.
    pub(crate) fn open(program: &'static str, object: &[u8]) -> Result<OpenObject, BpfError> {
        if !Path::new(KERNEL_TYPES).exists() {
            return Err(BpfError::NoBtf);
        }
        libbpf_rs::set_print(None);
        ObjectBuilder::default().open_memory(object).map_err(|error| failed(program, &error))
    }

    pub(crate) fn failed(program: &'static str, error: &Error) -> BpfError {
        // The verifier, too, refuses with this kind of error.
        let is_allowed = rustix::thread::capabilities(None).is_ok_and(|has| {
            let wanted = CapabilitySet::BPF | CapabilitySet::PERFMON | CapabilitySet::NET_ADMIN;
            has.effective.contains(wanted) || has.effective.contains(CapabilitySet::SYS_ADMIN)
        });
        if error.kind() == ErrorKind::PermissionDenied && !is_allowed {
            return BpfError::Denied;
        }
        BpfError::Refused { program, source: std::io::Error::other(error.to_string()) }
    }
}

const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
