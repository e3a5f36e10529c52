//! Takes system calls from a thread that reads what strangers sent, and from the threads that it starts (seccomp(2)).
//!
//! A list of what is denied, with an error instead of a signal, and not of what is allowed: what memory allocation, threads
//! and clocks call differs between C libraries and their versions, and a call that was forgotten would end the program
//! in the field. Denied are the calls that reach beyond what is open: files, peers, programs, other processes, the
//! kernel's rarer interfaces. docs/decisions/confinement.md.

use std::{collections::BTreeMap, env::consts::ARCH, io};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

/// What a thread may still do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Confinement {
    /// Use what is open.
    OpensNothing,
    /// Open files of any kind and use other processes' descriptors, but reach no peer and start no program.
    StartsNothing,
}

impl Confinement {
    /// Confines this thread, and those that it starts later.
    ///
    /// # Errors
    ///
    /// If the kernel has no seccomp filters, or the machine is none of x86-64, ARM64 and RISC-V: the thread is then not
    /// confined.
    pub fn apply(self) -> io::Result<()> {
        apply_filter(&self.program()?).map_err(io::Error::other)
    }

    fn program(self) -> io::Result<BpfProgram> {
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        let always = BEYOND.iter().chain(if self == Self::StartsNothing { &[] } else { OTHERS });
        rules.extend(always.map(|call| (*call, Vec::new())));
        match self {
            Self::StartsNothing => {}
            Self::OpensNothing => rules.extend(OPENING.iter().map(|call| (*call, Vec::new()))),
        }
        let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
        let machine = TargetArch::try_from(ARCH).map_err(io::Error::other)?;
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, machine);
        filter.and_then(BpfProgram::try_from).map_err(io::Error::other)
    }
}

/// Peers, programs, and the kernel's interfaces that nothing here uses.
const BEYOND: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_open_by_handle_at,
    // Its requests are made by the kernel, past this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
];

/// What `tune` needs: other processes' descriptors, its journal, eBPF.
const OTHERS: &[i64] = &[
    libc::SYS_kill,
    libc::SYS_bpf,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    libc::SYS_truncate,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
];

/// The calls that open files.
const OPENING: &[i64] = &[
    libc::SYS_openat,
    libc::SYS_openat2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
];

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
mod tests {
    use std::{
        fs::{self, File, OpenOptions},
        net::{TcpListener, TcpStream},
        process::Command,
        thread,
    };

    use super::*;

    /// Which of these a confined thread, and one that it starts, can do: open to read, to write, connect, listen, execute.
    fn possible(confinement: Confinement) -> [bool; 5] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let path =
            std::env::temp_dir().join(format!("ackwise-{confinement:?}-{}", std::process::id()));
        fs::write(&path, "x").unwrap();
        let written = path.clone();
        let tries = move || {
            [
                File::open("/etc/hostname").or_else(|_| File::open("/proc/self/status")).is_ok(),
                OpenOptions::new().append(true).open(&written).is_ok(),
                TcpStream::connect(address).is_ok(),
                TcpListener::bind("127.0.0.1:0").is_ok(),
                Command::new("true").status().is_ok(),
            ]
        };
        let (here, there) = thread::spawn(move || {
            confinement.apply().unwrap();
            // Memory and threads are there as before.
            let memory = vec![1_u8; 100_000_000];
            assert_eq!(memory.iter().map(|byte| u64::from(*byte)).sum::<u64>(), 100_000_000);
            (tries(), thread::spawn(tries).join().unwrap())
        })
        .join()
        .unwrap();
        fs::remove_file(path).unwrap();
        assert_eq!(here, there);
        here
    }

    #[test]
    fn a_confined_thread_and_those_it_starts_reach_nothing_beyond() {
        assert_eq!(possible(Confinement::OpensNothing), [false; 5]);
        assert_eq!(possible(Confinement::StartsNothing), [true, true, false, false, false]);
        // This thread is not concerned.
        assert!(TcpListener::bind("127.0.0.1:0").is_ok());
    }
}
