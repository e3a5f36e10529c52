//! `TCP_CONGESTION` of another process's socket. Sockets inherit it from the listening socket that accepts
//! them, unless their route has a congestion control of its own (ip-route(8), `congctl`).
//!
//! A name that is not in `net.ipv4.tcp_allowed_congestion_control` needs `CAP_NET_ADMIN`.

use std::io;

use super::{CopyError, ForeignSocket, Holder, Holders};

impl ForeignSocket {
    /// The name of the socket's congestion control.
    ///
    /// # Errors
    ///
    /// If it is no TCP socket.
    pub fn congestion(&self) -> io::Result<String> {
        let name = self.copy.tcp_congestion()?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Ok(String::from_utf8_lossy(&name[..end]).into_owned())
    }

    /// Gives the socket another congestion control. Its window stays as it is.
    ///
    /// # Errors
    ///
    /// If there is none of this name, the route forbids it (`congctl lock`), or a permission is missing.
    pub fn set_congestion(&self, name: &str) -> io::Result<()> {
        self.copy.set_tcp_congestion(name.as_bytes())
    }

    /// The socket's own port; `None` if it is no IP socket.
    #[must_use]
    pub fn local_port(&self) -> Option<u16> {
        self.copy.local_addr().ok()?.as_socket().map(|address| address.port())
    }

    /// Copies whatever socket a process has at a descriptor. The caller finds out which it is.
    ///
    /// # Errors
    ///
    /// If there is none any more, or the kernel refuses.
    pub fn copy_any(holder: Holder) -> Result<Self, CopyError> {
        Self::copy_of(holder)
    }
}

impl Holders {
    /// One holder of each socket that any process has. Processes that may not be looked into are counted.
    #[must_use]
    pub fn of_every_socket() -> Self {
        let mut holders = Self::default();
        for process in super::holders::processes() {
            holders.look_into(process, |_| true);
        }
        holders
    }

    /// One holder of each socket.
    pub fn first_of_each(&self) -> impl Iterator<Item = Holder> {
        self.by_inode.values().filter_map(|all| all.first().copied())
    }
}
