//! Errors of packet sockets.

use std::{env, io};

use nix::{errno::Errno, net::if_::if_nameindex};

/// Why a packet socket could not be opened. The message includes advice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PacketSocketError {
    /// CAP_NET_RAW is missing.
    #[error(
        "cannot capture: CAP_NET_RAW is missing (use sudo, or let a group capture: sudo chgrp GROUP \
         {program} && sudo chmod 750 {program} && sudo setcap cap_net_raw=ep {program}; its members can \
         then read and forge all traffic of this host)"
    )]
    NotAllowed {
        /// Path of this program, for `setcap`.
        program: String,
    },
    /// There is no interface with this name.
    #[error("unknown interface \"{name}\" (expected one of {})", known.join(", "))]
    NoInterface {
        /// The name.
        name: String,
        /// The existing interfaces.
        known: Vec<String>,
    },
    /// Another error of the kernel.
    #[error("cannot capture: {0}")]
    System(#[source] io::Error),
}

impl PacketSocketError {
    pub(super) fn no_interface(name: &str) -> Self {
        let known = if_nameindex()
            .map(|all| all.iter().map(|it| it.name().to_string_lossy().into_owned()).collect());
        Self::NoInterface { name: name.to_owned(), known: known.unwrap_or_default() }
    }

    pub(super) fn of_socket(errno: Errno) -> Self {
        match errno {
            Errno::EPERM | Errno::EACCES => {
                let program = env::current_exe().map(|it| it.display().to_string());
                Self::NotAllowed { program: program.unwrap_or_else(|_| "ackwise".to_owned()) }
            }
            other => Self::System(other.into()),
        }
    }
}

impl From<Errno> for PacketSocketError {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

impl From<io::Error> for PacketSocketError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
