//! Where the built-in servers run.

use std::net::{Ipv4Addr, SocketAddr};

/// Where the built-in servers run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Network {
    /// On this host's loopback, where the kernel's TCP reaches them.
    Host,
    /// In a network namespace of our own, where a TUN device of our own TCP reaches them too.
    Private,
}

impl Network {
    /// Moves this process into a network of its own, for good, if the kernel lets it: with root, or
    /// without where user namespaces are allowed. To be called before any thread is started.
    #[must_use]
    pub fn private() -> Self {
        #[cfg(target_os = "linux")]
        if ackwise_linux::namespace::enter_private_network().is_ok() {
            return Self::Private;
        }
        Self::Host
    }

    /// A free port of the loopback interface; in a network where nobody else is, of all of them.
    #[must_use]
    pub fn bind(self) -> SocketAddr {
        let address = match self {
            Self::Host => Ipv4Addr::LOCALHOST,
            Self::Private => Ipv4Addr::UNSPECIFIED,
        };
        SocketAddr::from((address, 0))
    }
}
