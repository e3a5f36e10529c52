//! The options of a TCP socket that can be set for another process, as numbers.

use std::io;

use socket2::Socket;

use super::kernel;

/// An option. Sockets inherit them from the listening socket that accepts them.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum SocketOption {
    /// `TCP_NODELAY` (tcp(7)): 1 turns Nagle's algorithm off.
    NoDelay,
    /// `TCP_NOTSENT_LOWAT`: the socket is writable only while fewer bytes than this wait to be sent. 0
    /// stands for the sysctl `net.ipv4.tcp_notsent_lowat`.
    NotSentLowat,
    /// `SO_SNDBUF` (socket(7)): the limit of the memory of unacknowledged data, as the kernel counts it, which
    /// is twice the number that a program sets. Setting it stops autotuning until [`BufferLock`](Self::BufferLock)
    /// is cleared.
    SendBuffer,
    /// `SO_RCVBUF`, likewise.
    ReceiveBuffer,
    /// `SO_BUF_LOCK` (Linux 5.14): which buffers have a size that was set: 1 the send buffer, 2 the receive
    /// buffer.
    BufferLock,
}

impl SocketOption {
    /// Every option.
    pub const ALL: [Self; 5] = [
        Self::NoDelay,
        Self::NotSentLowat,
        Self::SendBuffer,
        Self::ReceiveBuffer,
        Self::BufferLock,
    ];

    /// Its name in the kernel.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoDelay => "TCP_NODELAY",
            Self::NotSentLowat => "TCP_NOTSENT_LOWAT",
            Self::SendBuffer => "SO_SNDBUF",
            Self::ReceiveBuffer => "SO_RCVBUF",
            Self::BufferLock => "SO_BUF_LOCK",
        }
    }

    /// Whether its value follows measurements, so that it says nothing about who set it.
    #[must_use]
    pub const fn is_set_often(self) -> bool {
        matches!(self, Self::SendBuffer | Self::ReceiveBuffer | Self::BufferLock)
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
            Self::SendBuffer => socket.send_buffer_size().map(saturated),
            Self::ReceiveBuffer => socket.recv_buffer_size().map(saturated),
            Self::BufferLock => kernel::buffer_lock(socket),
        }
    }

    pub(super) fn set(self, socket: &Socket, value: u32) -> io::Result<()> {
        match self {
            Self::NoDelay => socket.set_tcp_nodelay(value != 0),
            Self::NotSentLowat => socket.set_tcp_notsent_lowat(value),
            // The kernel doubles what is set.
            Self::SendBuffer => socket.set_send_buffer_size(value as usize / 2),
            Self::ReceiveBuffer => socket.set_recv_buffer_size(value as usize / 2),
            Self::BufferLock => kernel::set_buffer_lock(socket, value),
        }
    }
}

fn saturated(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}
