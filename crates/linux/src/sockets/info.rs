//! The part of `struct tcp_info` (`include/uapi/linux/tcp.h`) that decisions about other programs'
//! connections need.
//!
//! Read by offset: the library's own structure wants the fields of one kernel version, and older kernels
//! send fewer.

/// What the kernel knows about one connection.
///
/// The times since an event are counted in milliseconds, but move in ticks of the kernel's clock: 4 ms with
/// `CONFIG_HZ=250`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct TcpInfo {
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
    /// Congestion window, in segments.
    pub snd_cwnd: u32,
    /// Bytes that the peer has acknowledged.
    pub bytes_acked: u64,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// Bytes that wait for their first transmission.
    pub notsent_bytes: u32,
    /// The peer's window, in bytes; `None` before Linux 5.4.
    pub snd_wnd: Option<u32>,
}

impl TcpInfo {
    /// `None` if the kernel sent fewer fields than Linux 4.6 does.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let small = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let large = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(Self {
            snd_mss: small(16)?,
            unacked: small(24)?,
            last_data_sent_ms: small(44)?,
            last_data_recv_ms: small(52)?,
            last_ack_recv_ms: small(56)?,
            snd_cwnd: small(80)?,
            bytes_acked: large(120)?,
            bytes_received: large(128)?,
            notsent_bytes: small(144)?,
            snd_wnd: small(228),
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
    use crate::sockets::{Query, SocketTable};

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
    }

    #[test]
    fn fewer_fields_are_no_panic() {
        assert_eq!(TcpInfo::read(&[0; 147]), None);
        assert_eq!(TcpInfo::read(&[0; 160]).unwrap().snd_wnd, None);
        assert_eq!(TcpInfo::read(&[0; 232]).unwrap().snd_wnd, Some(0));
    }
}
