//! The part of `struct tcp_info` (`include/uapi/linux/tcp.h`) that decisions about other programs'
//! connections need.
//!
//! Read by offset: the library's own structure wants the fields of one kernel version, and older kernels
//! send fewer.

use std::{io, os::fd::AsFd};

use nix::{
    getsockopt_impl, libc,
    sys::socket::{GetSockOpt, sockopt::GetStruct},
};

/// What the kernel knows about one connection.
///
/// The times since an event are counted in milliseconds, but move in ticks of the kernel's clock: 4 ms with
/// `CONFIG_HZ=250`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct TcpInfo {
    /// The retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// Largest segment that this end sends, in bytes.
    pub snd_mss: u32,
    /// Segments sent and not yet acknowledged.
    pub unacked: u32,
    /// Milliseconds since this end last sent data.
    pub last_data_sent_ms: u32,
    /// Milliseconds since this end last received data.
    pub last_data_recv_ms: u32,
    /// Milliseconds since this end last received an ACK.
    pub last_ack_recv_ms: u32,
    /// The smoothed round-trip time, in microseconds.
    pub rtt_us: u32,
    /// Congestion window, in segments.
    pub snd_cwnd: u32,
    /// The round trip as the receiver of data estimates it, in microseconds; 0 if it does not know.
    pub rcv_rtt_us: u32,
    /// Segments retransmitted, ever.
    pub total_retrans: u32,
    /// Bytes that the peer has acknowledged.
    pub bytes_acked: u64,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// Bytes that wait for their first transmission.
    pub notsent_bytes: u32,
    /// The least round-trip time of some minutes, in microseconds; `u32::MAX` before the first.
    pub min_rtt_us: u32,
    /// Segments with data that have arrived, ever, in order or not.
    pub data_segs_in: u32,
    /// Segments with data that were sent, ever, with retransmissions.
    pub data_segs_out: u32,
    /// The most recent rate at which data was delivered to the peer, in bytes per second.
    pub delivery_rate: u64,
    /// Time for which the connection had data to send, in microseconds.
    pub busy_us: u64,
    /// The part of it for which the peer's window was closed, in microseconds.
    pub window_limited_us: u64,
    /// The part of it for which only the send buffer's size kept it from sending, in microseconds.
    pub send_buffer_limited_us: u64,
    /// Bytes of data sent, retransmissions included; `None` before Linux 4.19.
    pub bytes_sent: Option<u64>,
    /// Bytes of data retransmitted; `None` before Linux 4.19.
    pub bytes_retrans: Option<u64>,
    /// The peer's window, in bytes; `None` before Linux 5.4.
    pub snd_wnd: Option<u32>,
}

impl TcpInfo {
    /// That of a socket of this process.
    ///
    /// # Errors
    ///
    /// If it is no TCP socket.
    pub fn of(socket: &impl AsFd) -> io::Result<Self> {
        Self::read(&Info.get(socket)?).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    /// How many of the written bytes the peer has not acknowledged, also after an RST; `None` before there is a
    /// connection.
    #[must_use]
    pub fn unacknowledged(&self) -> Option<u64> {
        // The SYN is the first byte that is acknowledged.
        let acknowledged = self.bytes_acked.checked_sub(1)?;
        let sent = self.bytes_sent?.saturating_sub(self.bytes_retrans?);
        Some(sent.saturating_sub(acknowledged) + u64::from(self.notsent_bytes))
    }

    /// `None` if the kernel sent fewer fields than Linux 4.10 does.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let small = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let large = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(Self {
            rto_us: small(8)?,
            snd_mss: small(16)?,
            unacked: small(24)?,
            last_data_sent_ms: small(44)?,
            last_data_recv_ms: small(52)?,
            last_ack_recv_ms: small(56)?,
            rtt_us: small(68)?,
            snd_cwnd: small(80)?,
            rcv_rtt_us: small(92)?,
            total_retrans: small(100)?,
            bytes_acked: large(120)?,
            bytes_received: large(128)?,
            notsent_bytes: small(144)?,
            min_rtt_us: small(148)?,
            data_segs_in: small(152)?,
            data_segs_out: small(156)?,
            delivery_rate: large(160)?,
            busy_us: large(168)?,
            window_limited_us: large(176)?,
            send_buffer_limited_us: large(184)?,
            bytes_sent: large(200),
            bytes_retrans: large(208),
            snd_wnd: small(228),
        })
    }
}

/// `TCP_INFO` as far as Linux 5.4 has it.
#[derive(Clone, Copy, Debug)]
struct Info;
getsockopt_impl!(Info, libc::IPPROTO_TCP, libc::TCP_INFO, [u8; 232], GetStruct<[u8; 232]>);

/// The name of a congestion control (`INET_DIAG_CONG`).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CongestionName([u8; Self::LONGEST]);

impl CongestionName {
    /// `TCP_CA_NAME_MAX`, the null byte included.
    const LONGEST: usize = 16;

    /// Reads a string with its null byte.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let name = bytes.split(|byte| *byte == 0).next()?;
        let mut kept = [0; Self::LONGEST];
        kept.get_mut(..name.len())?.copy_from_slice(name);
        let is_name = |byte: &u8| byte.is_ascii_graphic();
        (!name.is_empty() && name.iter().all(is_name)).then_some(Self(kept))
    }

    /// As in `net.ipv4.tcp_congestion_control`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let name = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        str::from_utf8(name).unwrap_or_default()
    }
}

/// The memory of a socket's buffers (`INET_DIAG_SKMEMINFO`), in bytes as the kernel counts them: with its
/// bookkeeping.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Memory {
    /// What arrived and was not read.
    pub received: u32,
    /// The limit of that, `sk_rcvbuf`.
    pub receive_buffer: u32,
    /// The limit of what waits to be acknowledged, `sk_sndbuf`.
    pub send_buffer: u32,
    /// What waits to be sent or acknowledged, `sk_wmem_queued`.
    pub queued: u32,
    /// Of a listener: SYNs and connections that it dropped, ever, for a full queue or lack of memory
    /// (`tcp_listendrop`). 0 before Linux 4.7.
    pub drops: u32,
}

impl Memory {
    /// `None` if the kernel sent less than it does since Linux 3.2.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let at = |index: usize| Some(u32::from_ne_bytes(*bytes.get(4 * index..)?.first_chunk()?));
        Some(Self {
            received: at(0)?,
            receive_buffer: at(1)?,
            send_buffer: at(3)?,
            queued: at(5)?,
            drops: at(8).unwrap_or(0),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        thread,
        time::Duration,
    };

    use ackwise_tcp::State;

    use super::*;
    use crate::sockets::{Query, SocketTable, TcpSocket};

    #[test]
    fn what_the_peer_has_not_acknowledged_is_what_it_does_not_take() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[0; 700]).unwrap();
        server.read_exact(&mut [0; 700]).unwrap();
        assert_eq!(TcpInfo::of(&client).unwrap().unacknowledged(), Some(0));
        client.set_nonblocking(true).unwrap();
        while client.write(&[0; 1 << 16]).is_ok() {}
        let info = TcpInfo::of(&client).unwrap();
        let waiting = info.unacknowledged().unwrap();
        assert!(waiting >= u64::from(info.notsent_bytes) && waiting > 0, "{info:?}");
        assert!(TcpInfo::of(&std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }

    #[test]
    fn the_kernel_s_own_numbers_are_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[0; 700]).unwrap();
        server.read_exact(&mut [0; 600]).unwrap();
        server.write_all(&[0; 5_000]).unwrap();
        client.read_exact(&mut [0; 5_000]).unwrap();
        thread::sleep(Duration::from_millis(60));
        client.write_all(&[0; 11]).unwrap();
        let mut seen = Vec::new();
        let query = Query::local_port(port).in_states(&[State::Established]).with_info();
        SocketTable::here().unwrap().each(query, |socket| seen.push(*socket)).unwrap();
        let [socket] = seen[..] else { panic!("one connection: {seen:?}") };
        let info = socket.info.expect("it was asked for");
        assert_eq!((info.bytes_received, info.bytes_acked), (711, 5_000), "{info:?}");
        assert_eq!((info.unacked, info.notsent_bytes, socket.receive_queue), (0, 0, 111));
        assert!((56..5_000).contains(&info.last_data_sent_ms), "{info:?}");
        assert!(info.last_data_recv_ms < info.last_data_sent_ms, "{info:?}");
        assert!(info.snd_cwnd >= 10 && info.snd_mss > 500, "{info:?}");
        assert!(info.snd_wnd.is_some_and(|window| window > 10_000), "{info:?}");
        assert_ne!(socket.inode, 0);
        assert!(
            (1..100_000).contains(&info.min_rtt_us) && info.rtt_us >= info.min_rtt_us,
            "{info:?}"
        );
        assert_eq!((info.data_segs_in, info.total_retrans), (2, 0), "{info:?}");
        assert!(info.data_segs_out >= 1 && info.rto_us >= 200_000, "{info:?}");

        // The same socket alone, with the memory of its buffers.
        let mut table = SocketTable::here().unwrap();
        let query = Query::local_port(port).with_info().with_memory();
        let alone = table.one(&socket, query).unwrap().expect("it is open");
        let memory = alone.memory.expect("it was asked for");
        assert!(memory.send_buffer > 4_000 && memory.receive_buffer > 4_000, "{memory:?}");
        assert!(memory.received >= 111 && memory.queued == 0, "{memory:?}");
        let info = alone.info.expect("it was asked for");
        assert_eq!((alone.cookie, info.bytes_received), (socket.cookie, 711));
        let other = TcpSocket { cookie: socket.cookie + 1, ..socket };
        assert_eq!(table.one(&other, query).unwrap(), None);
        drop((client, server));
    }

    #[test]
    fn fewer_fields_are_no_panic() {
        assert_eq!(TcpInfo::read(&[0; 191]), None);
        assert_eq!(TcpInfo::read(&[0; 192]).unwrap().snd_wnd, None);
        assert_eq!(Memory::read(&[0; 23]), None);
        assert_eq!(Memory::read(&[0; 36]), Some(Memory::default()));
        assert_eq!(TcpInfo::read(&[0; 232]).unwrap().snd_wnd, Some(0));
    }
}
