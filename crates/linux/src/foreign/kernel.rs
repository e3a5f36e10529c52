//! An option that the libraries have no function for: which of a socket's buffers have a size that was set.

use std::io;

use nix::{
    getsockopt_impl, setsockopt_impl,
    sys::socket::{
        GetSockOpt, SetSockOpt,
        sockopt::{GetStruct, SetStruct},
    },
};
use socket2::Socket;

#[derive(Clone, Copy, Debug)]
struct BufferLock;

setsockopt_impl!(BufferLock, libc::SOL_SOCKET, libc::SO_BUF_LOCK, u32, SetStruct<u32>);
getsockopt_impl!(BufferLock, libc::SOL_SOCKET, libc::SO_BUF_LOCK, u32, GetStruct<u32>);

/// `SO_BUF_LOCK` (Linux 5.14): `SOCK_SNDBUF_LOCK` 1, `SOCK_RCVBUF_LOCK` 2.
pub(super) fn buffer_lock(socket: &Socket) -> io::Result<u32> {
    Ok(BufferLock.get(socket)?)
}

pub(super) fn set_buffer_lock(socket: &Socket, value: u32) -> io::Result<()> {
    Ok(BufferLock.set(socket, &value)?)
}
