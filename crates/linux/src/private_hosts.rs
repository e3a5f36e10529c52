//! A private `/etc/hosts`, for names that mean something only to this process and what it starts.
//!
//! Not here: names that are looked up otherwise than in that file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    net::IpAddr,
    os::unix::fs::OpenOptionsExt,
    process,
};

use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};

/// What this process sees as `/etc/hosts`. The kernel removes it with the process.
#[derive(Debug)]
pub struct PrivateHosts {
    file: File,
}

impl PrivateHosts {
    /// Moves the calling thread, and what it starts afterwards, into a mount namespace of its own, with an empty file in
    /// place of `/etc/hosts`. Call it after [`enter_private_network`](crate::namespace::enter_private_network), which
    /// grants the permission, and before any thread is started.
    ///
    /// # Errors
    ///
    /// If the kernel refuses, or there is no `/etc/hosts`.
    pub fn mount() -> io::Result<Self> {
        unshare(CloneFlags::CLONE_NEWNS)?;
        let nothing = None::<&str>;
        // Nothing that is mounted here may appear outside.
        mount(nothing, "/", nothing, MsFlags::MS_SLAVE | MsFlags::MS_REC, nothing)?;
        let path = std::env::temp_dir().join(format!("ackwise-hosts-{}", process::id()));
        let file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(&path)?;
        let mounted = mount(Some(&path), HOSTS, nothing, MsFlags::MS_BIND, nothing);
        fs::remove_file(&path)?;
        mounted?;
        Ok(Self { file })
    }

    /// Adds names.
    ///
    /// # Errors
    ///
    /// If the file system is full.
    pub fn add(&self, entries: &[(IpAddr, &str)]) -> io::Result<()> {
        let lines: String =
            entries.iter().map(|(address, name)| format!("{address} {name}\n")).collect();
        (&self.file).write_all(lines.as_bytes())
    }
}

const HOSTS: &str = "/etc/hosts";
