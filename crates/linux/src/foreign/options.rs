//! The options of a TCP socket that can be set for another process, as numbers.

use std::io;

use socket2::Socket;

/// An option. Sockets inherit both from the listening socket that accepts them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SocketOption {
    /// `TCP_NODELAY` (tcp(7)): 1 turns Nagle's algorithm off.
    NoDelay,
    /// `TCP_NOTSENT_LOWAT`: the socket is writable only while fewer bytes than this wait to be sent. 0
    /// stands for the sysctl `net.ipv4.tcp_notsent_lowat`.
    NotSentLowat,
}

impl SocketOption {
    /// Every option.
    pub const ALL: [Self; 2] = [Self::NoDelay, Self::NotSentLowat];

    /// Its name in the kernel.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoDelay => "TCP_NODELAY",
            Self::NotSentLowat => "TCP_NOTSENT_LOWAT",
        }
    }

    /// The option with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|option| option.name() == name)
    }

    pub(super) fn read(self, socket: &Socket) -> io::Result<u32> {
        match self {
            Self::NoDelay => socket.tcp_nodelay().map(u32::from),
            Self::NotSentLowat => socket.tcp_notsent_lowat(),
        }
    }

    pub(super) fn set(self, socket: &Socket, value: u32) -> io::Result<()> {
        match self {
            Self::NoDelay => socket.set_tcp_nodelay(value != 0),
            Self::NotSentLowat => socket.set_tcp_notsent_lowat(value),
        }
    }
}
