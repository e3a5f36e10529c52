//! Changes to the host's network. Only if the caller has permission from the user.
//!
//! Two kinds of servers are unreachable from a TUN device without changes: one that listens on
//! 127.0.0.1 only, and one on another host. Each needs a packet-filter rule and a sysctl. Every
//! change is announced before it is made, and undone however the process ends:
//!
//! - only root may make them. The capabilities of a file (`setcap`) are not enough: they do not reach the
//!   processes that undo changes, and they would let any user change the host;
//! - rules are in a separate table with `flags owner`: the kernel removes it with the `nft` process
//!   that created it, which exits when its input, a pipe from this process, closes;
//! - sysctls of the device are removed with the device;
//! - a sysctl of another interface is restored by a shell that waits for the end of such a pipe. The
//!   shells of several processes hold a shared lock on one file in [`RUN_DIRECTORY`]; the last one, who
//!   can lock it alone, restores the value in it.
//!
//! Drop, Ctrl-C, a panic and `SIGKILL` therefore have the same effect. If the *shell* itself is
//! killed, its sysctl is not restored. A host firewall that drops forwarded packets is not changed;
//! the server is then unreachable.

use std::{
    fmt, fs, io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
    path::PathBuf,
};

use nix::{ifaddrs::getifaddrs, unistd::geteuid};

use crate::TunDevice;
use keeper::Keeper;
use shared::SharedSwitch;

mod keeper;
mod programs;
mod rules;
mod shared;

pub use shared::RUN_DIRECTORY;

/// The programs that changes need and that are not installed.
#[must_use]
pub fn missing_programs() -> Vec<&'static str> {
    programs::missing(&["nft", "flock", "sh"])
}

/// Changes that last until this is dropped, or the process ends.
#[derive(Debug)]
#[must_use = "dropping it undoes the changes"]
pub struct HostChanges {
    // Dropped in this order.
    _keepers: Vec<Keeper>,
}

impl HostChanges {
    /// Makes servers on `127.0.0.1:port` reachable for the device's stack, at the host's end of the
    /// device and the same port.
    ///
    /// # Errors
    ///
    /// If a change cannot be made. Earlier changes are undone.
    pub fn reach_loopback(
        device: &TunDevice,
        port: u16,
        announce: impl FnMut(&Change),
    ) -> Result<Self, HostChangeError> {
        let mut making = Making::begin(announce)?;
        making.switch_of_device(device, "route_localnet")?;
        making.rules(&rules::to_loopback(device, port), device)?;
        Ok(Self { _keepers: making.keepers })
    }

    /// Makes `target` on another host reachable for the device's stack. It sees connections from
    /// this host.
    ///
    /// # Errors
    ///
    /// If a change cannot be made, or the target has an IPv6 address. Earlier changes are undone.
    pub fn reach_remote(
        device: &TunDevice,
        target: SocketAddr,
        announce: impl FnMut(&Change),
    ) -> Result<Self, HostChangeError> {
        let SocketAddr::V4(target) = target else {
            return Err(HostChangeError::Version6(target));
        };
        let mut making = Making::begin(announce)?;
        let uplink = interface_towards(target)?;
        making.switch_of_device(device, "forwarding")?;
        making.switch_elsewhere(&uplink, "forwarding")?;
        making.rules(&rules::to_remote(device, target), device)?;
        Ok(Self { _keepers: making.keepers })
    }
}

/// A change that is about to be made.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// A sysctl is set to 1.
    Switch {
        /// Its name, such as `net.ipv4.conf.eth0.forwarding`.
        name: String,
    },
    /// A table is added to the packet filter.
    Table {
        /// Its rules in `nft` syntax.
        rules: String,
    },
}

/// Formats the equivalent command.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch { name } => write!(f, "sysctl {name}=1"),
            Self::Table { rules } => write!(f, "nft '{rules}'"),
        }
    }
}

/// Why a change could not be made. The host's settings are at fault, not the caller.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostChangeError {
    /// The user is not root.
    #[error(
        "cannot change this host: not root (expected sudo; capabilities of the program's file are \
         not enough)"
    )]
    NotRoot,
    /// IPv6 addresses cannot be translated.
    #[error("cannot reach {0} from the TUN device: only IPv4 addresses are translated")]
    Version6(SocketAddr),
    /// The host has no route to the target.
    #[error("cannot reach {target}: no route: {source}")]
    NoRoute {
        /// The target.
        target: SocketAddrV4,
        /// The kernel's error.
        source: io::Error,
    },
    /// A sysctl could not be read or set.
    #[error("cannot set {path}: {source}")]
    Switch {
        /// Its path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A process that undoes changes could not be started.
    #[error(
        "cannot start `{program}`: {source} (expected in {}; Debian packages: nftables, dash, util-linux)",
        programs::DIRECTORIES.join(", ")
    )]
    Keeper {
        /// The program.
        program: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The file that runs share could not be used.
    #[error("cannot share changes with other runs: {path}: {source}")]
    Shared {
        /// Its path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The rules were rejected.
    #[error(
        "cannot add the nft table: {0} (expected root, Linux 5.12 and nftables 0.9.9 or later)"
    )]
    Rules(String),
}

/// The changes made so far.
struct Making<A> {
    announce: A,
    keepers: Vec<Keeper>,
}

impl<A: FnMut(&Change)> Making<A> {
    fn begin(announce: A) -> Result<Self, HostChangeError> {
        match geteuid().is_root() {
            true => Ok(Self { announce, keepers: Vec::new() }),
            false => Err(HostChangeError::NotRoot),
        }
    }

    fn switch_of_device(
        &mut self,
        device: &TunDevice,
        name: &'static str,
    ) -> Result<(), HostChangeError> {
        let switch = Switch { interface: device.name().to_owned(), name };
        (self.announce)(&switch.change());
        switch.set()
    }

    /// Sets a sysctl of an existing interface. If another run has set it, this one only keeps it set.
    fn switch_elsewhere(
        &mut self,
        interface: &str,
        name: &'static str,
    ) -> Result<(), HostChangeError> {
        let switch = Switch { interface: interface.to_owned(), name };
        let shared = SharedSwitch::lock(interface, name)?;
        let value = switch.read()?;
        if value == "1" && !shared.is_in_use() {
            // So the administrator wants it.
            return Ok(());
        }
        // The keeper must run before there is something to restore.
        self.keepers.push(Keeper::of_switch(&shared, &switch.path())?);
        if value != "1" {
            (self.announce)(&switch.change());
            shared.record(&value)?;
            switch.set()?;
        }
        Ok(())
    }

    fn rules(
        &mut self,
        table: &rules::NftTable,
        device: &TunDevice,
    ) -> Result<(), HostChangeError> {
        (self.announce)(&Change::Table { rules: table.rules.clone() });
        debug_assert!(table.name.ends_with(device.name()));
        self.keepers.push(Keeper::of_table(table)?);
        Ok(())
    }
}

/// A per-interface sysctl.
struct Switch {
    interface: String,
    name: &'static str,
}

impl Switch {
    fn path(&self) -> PathBuf {
        ["/proc/sys/net/ipv4/conf", &self.interface, self.name].iter().collect()
    }

    fn change(&self) -> Change {
        Change::Switch { name: format!("net.ipv4.conf.{}.{}", self.interface, self.name) }
    }

    fn read(&self) -> Result<String, HostChangeError> {
        let value = fs::read_to_string(self.path()).map_err(|source| self.failed(source))?;
        Ok(value.trim().to_owned())
    }

    fn set(&self) -> Result<(), HostChangeError> {
        fs::write(self.path(), "1").map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> HostChangeError {
        HostChangeError::Switch { path: self.path(), source }
    }
}

/// The interface that the host would use for `target`. Nothing is sent.
fn interface_towards(target: SocketAddrV4) -> Result<String, HostChangeError> {
    let no_route = |source| HostChangeError::NoRoute { target, source };
    let local = || -> io::Result<Ipv4Addr> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.connect(target)?;
        match socket.local_addr()? {
            SocketAddr::V4(local) => Ok(*local.ip()),
            SocketAddr::V6(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    };
    let local = local().map_err(no_route)?;
    getifaddrs()
        .map_err(|errno| no_route(errno.into()))?
        .find(|it| it.address.and_then(|at| Some(at.as_sockaddr_in()?.ip())) == Some(local))
        .map(|interface| interface.interface_name)
        .ok_or_else(|| no_route(io::ErrorKind::AddrNotAvailable.into()))
}
