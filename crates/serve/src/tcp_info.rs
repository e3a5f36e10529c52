//! What the kernel knows of a connection: `TCP_INFO`, as far as Linux 5.4 has it.
//!
//! `libc::tcp_info` grows with the kernel, and an older kernel would fill only a part of it.

use nix::{
    getsockopt_impl, libc,
    sys::socket::{GetSockOpt, sockopt::GetStruct},
};
use std::{io, os::fd::AsFd};

/// The beginning of `struct tcp_info` (include/uapi/linux/tcp.h), by its names.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TcpInfo {
    _states: [u8; 8],
    pub(crate) rto: u32,
    _ato: u32,
    pub(crate) snd_mss: u32,
    _rcv_mss: u32,
    pub(crate) unacked: u32,
    _flight: [u32; 4],
    pub(crate) last_data_sent: u32,
    _last: [u32; 3],
    _pmtu: [u32; 2],
    pub(crate) rtt: u32,
    _rttvar: [u32; 2],
    pub(crate) snd_cwnd: u32,
    _windows: [u32; 4],
    pub(crate) total_retrans: u32,
    _rates: [u64; 2],
    pub(crate) bytes_acked: u64,
    _bytes_received: u64,
    _segs: [u32; 2],
    pub(crate) notsent_bytes: u32,
    pub(crate) min_rtt: u32,
    _data_segs_in: u32,
    pub(crate) data_segs_out: u32,
    _delivery_rate: u64,
    pub(crate) busy_time: u64,
    pub(crate) rwnd_limited: u64,
    pub(crate) sndbuf_limited: u64,
    _delivered: [u32; 2],
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_retrans: u64,
    _events: [u32; 3],
    pub(crate) snd_wnd: u32,
}

impl TcpInfo {
    /// That of a connection.
    ///
    /// # Errors
    ///
    /// If it is no TCP socket.
    pub fn of(stream: &impl AsFd) -> io::Result<Self> {
        Ok(Info.get(stream)?)
    }

    /// How many of the written bytes the peer has not acknowledged, also after an RST; `None` before there is a connection.
    #[must_use]
    pub const fn unacknowledged(&self) -> Option<u64> {
        // The SYN is the first byte that is acknowledged.
        let Some(acknowledged) = self.bytes_acked.checked_sub(1) else { return None };
        let sent = self.bytes_sent.saturating_sub(self.bytes_retrans);
        Some(sent.saturating_sub(acknowledged) + self.notsent_bytes as u64)
    }
}

#[derive(Clone, Copy, Debug)]
struct Info;
getsockopt_impl!(Info, libc::IPPROTO_TCP, libc::TCP_INFO, TcpInfo, GetStruct<TcpInfo>);

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn every_field_is_where_the_kernel_has_it() {
        use libc::tcp_info;
        for (ours, kernels) in [
            (offset_of!(TcpInfo, rto), offset_of!(tcp_info, tcpi_rto)),
            (offset_of!(TcpInfo, snd_mss), offset_of!(tcp_info, tcpi_snd_mss)),
            (offset_of!(TcpInfo, unacked), offset_of!(tcp_info, tcpi_unacked)),
            (offset_of!(TcpInfo, last_data_sent), offset_of!(tcp_info, tcpi_last_data_sent)),
            (offset_of!(TcpInfo, rtt), offset_of!(tcp_info, tcpi_rtt)),
            (offset_of!(TcpInfo, snd_cwnd), offset_of!(tcp_info, tcpi_snd_cwnd)),
            (offset_of!(TcpInfo, total_retrans), offset_of!(tcp_info, tcpi_total_retrans)),
            (offset_of!(TcpInfo, bytes_acked), offset_of!(tcp_info, tcpi_bytes_acked)),
            (offset_of!(TcpInfo, notsent_bytes), offset_of!(tcp_info, tcpi_notsent_bytes)),
            (offset_of!(TcpInfo, min_rtt), offset_of!(tcp_info, tcpi_min_rtt)),
            (offset_of!(TcpInfo, data_segs_out), offset_of!(tcp_info, tcpi_data_segs_out)),
            (offset_of!(TcpInfo, busy_time), offset_of!(tcp_info, tcpi_busy_time)),
            (offset_of!(TcpInfo, rwnd_limited), offset_of!(tcp_info, tcpi_rwnd_limited)),
            (offset_of!(TcpInfo, sndbuf_limited), offset_of!(tcp_info, tcpi_sndbuf_limited)),
            (offset_of!(TcpInfo, bytes_sent), offset_of!(tcp_info, tcpi_bytes_sent)),
            (offset_of!(TcpInfo, bytes_retrans), offset_of!(tcp_info, tcpi_bytes_retrans)),
            (offset_of!(TcpInfo, snd_wnd), offset_of!(tcp_info, tcpi_snd_wnd)),
        ] {
            assert_eq!(ours, kernels);
        }
    }
}
