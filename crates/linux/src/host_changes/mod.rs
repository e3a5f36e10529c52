//! Changes to the network outside a namespace of our own. Only for a caller that was told to.
//!
//! Two things cannot be reached from a TUN device as the host is: a server that listens on 127.0.0.1
//! only, and a host elsewhere. Each needs a rule of the packet filter and a switch of the kernel. Every
//! change is announced before it is made, and undone whatever happens to us:
//!
//! - rules stand in a table of their own with `flags owner`: the kernel removes it with the `nft` process
//!   that made it, and that one ends when its input does, which is a pipe from us;
//! - switches of the device go with the device;
//! - a switch of another interface is put back by a shell that waits for the end of such a pipe.
//!
//! So drop, Ctrl-C, a panic and `SIGKILL` take the same way. Not undone is what a killed *shell* had to
//! put back. A firewall of the host that drops what is forwarded is left alone: then nothing is reached.

use std::{
    fmt, fs, io,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket},
    path::PathBuf,
};

use nix::ifaddrs::getifaddrs;

use crate::TunDevice;
use keeper::Keeper;

mod keeper;
mod rules;

/// Changes that hold until this is dropped, or the process ends.
#[derive(Debug)]
#[must_use = "dropping it undoes the changes"]
pub struct HostChanges {
    // Undone in this order.
    _keepers: Vec<Keeper>,
}

impl HostChanges {
    /// Lets the device's stack reach servers on `127.0.0.1:port`: they answer at the host's end of the
    /// device, on the same port.
    ///
    /// # Errors
    ///
    /// If a change cannot be made. Those before it are undone.
    pub fn reach_loopback(
        device: &TunDevice,
        port: u16,
        announce: impl FnMut(&Change),
    ) -> Result<Self, HostChangeError> {
        let mut making = Making { announce, keepers: Vec::new() };
        making.switch_of_device(device, "route_localnet")?;
        making.rules(&rules::to_loopback(device, port), device)?;
        Ok(Self { _keepers: making.keepers })
    }

    /// Lets the device's stack reach `target` on another host: it sees connections from this one.
    ///
    /// # Errors
    ///
    /// If a change cannot be made, or the target has an IPv6 address. Changes before it are undone.
    pub fn reach_remote(
        device: &TunDevice,
        target: SocketAddr,
        announce: impl FnMut(&Change),
    ) -> Result<Self, HostChangeError> {
        let SocketAddr::V4(target) = target else {
            return Err(HostChangeError::Version6(target));
        };
        let uplink = interface_towards(target)?;
        let mut making = Making { announce, keepers: Vec::new() };
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
    /// A switch of the kernel, as `sysctl` names it, is set to 1.
    Switch {
        /// Such as `net.ipv4.conf.eth0.forwarding`.
        name: String,
    },
    /// A table is added to the packet filter.
    Table {
        /// As `nft` reads it.
        rules: String,
    },
}

/// The command that would do the same.
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
    /// There is no translation of IPv6 addresses here.
    #[error("cannot reach {0} from the TUN device: only IPv4 addresses are translated")]
    Version6(SocketAddr),
    /// The host itself has no way to the target.
    #[error("cannot reach {target}: no route: {source}")]
    NoRoute {
        /// Where to.
        target: SocketAddrV4,
        /// What the kernel says.
        source: io::Error,
    },
    /// A switch could not be read or set.
    #[error("cannot set {path}: {source} (run as root, or grant CAP_NET_ADMIN)")]
    Switch {
        /// Where it stands.
        path: PathBuf,
        /// What the kernel says.
        source: io::Error,
    },
    /// A process that undoes changes could not be started.
    #[error("cannot start `{program}`: {source} (install it; Debian packages: nftables, dash)")]
    Keeper {
        /// Which one.
        program: &'static str,
        /// What the kernel says.
        source: io::Error,
    },
    /// The rules were refused.
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
    fn switch_of_device(
        &mut self,
        device: &TunDevice,
        name: &'static str,
    ) -> Result<(), HostChangeError> {
        let switch = Switch { interface: device.name().to_owned(), name };
        (self.announce)(&switch.change());
        switch.set()
    }

    /// Sets a switch of an interface that is not ours, if it is not set.
    fn switch_elsewhere(
        &mut self,
        interface: &str,
        name: &'static str,
    ) -> Result<(), HostChangeError> {
        let switch = Switch { interface: interface.to_owned(), name };
        let before = switch.read()?;
        if before == "1" {
            return Ok(());
        }
        (self.announce)(&switch.change());
        // Whoever puts it back is there before there is something to put back.
        self.keepers.push(Keeper::of_switch(&switch.path(), &before)?);
        switch.set()
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

/// A switch that each interface has.
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

/// The interface that the host itself would use. Nothing is sent.
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
