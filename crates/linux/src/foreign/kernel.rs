//! Options that the libraries have no function for: how a socket's buffers are locked, and `TCP_INFO` of a
//! socket that is not in the kernel's table any more.

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

#[derive(Clone, Copy, Debug)]
struct RawTcpInfo;

setsockopt_impl!(BufferLock, libc::SOL_SOCKET, libc::SO_BUF_LOCK, u32, SetStruct<u32>);
getsockopt_impl!(BufferLock, libc::SOL_SOCKET, libc::SO_BUF_LOCK, u32, GetStruct<u32>);
getsockopt_impl!(RawTcpInfo, libc::IPPROTO_TCP, libc::TCP_INFO, [u8; INFO], GetStruct<[u8; INFO]>);

/// `SO_BUF_LOCK` (Linux 5.14): `SOCK_SNDBUF_LOCK` 1, `SOCK_RCVBUF_LOCK` 2.
pub(super) fn buffer_lock(socket: &Socket) -> io::Result<u32> {
    Ok(BufferLock.get(socket)?)
}

pub(super) fn set_buffer_lock(socket: &Socket, value: u32) -> io::Result<()> {
    Ok(BufferLock.set(socket, &value)?)
}

/// The state, in the kernel's numbering, and the segments with data that have arrived.
pub(super) fn state_and_data_segments(socket: &Socket) -> io::Result<(u8, u32)> {
    let info = RawTcpInfo.get(socket)?;
    let segments = info[152..156].first_chunk().copied().unwrap_or_default();
    Ok((info[0], u32::from_ne_bytes(segments)))
}

/// Up to `tcpi_data_segs_in` (Linux 4.6) and the field after it.
const INFO: usize = 160;
