//! What the emulator's log says of a TCP packet.

use std::net::{Ipv4Addr, SocketAddrV4};

/// The fields of a TCP packet's headers that the benchmarks read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Header {
    pub(crate) from: SocketAddrV4,
    pub(crate) to: SocketAddrV4,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) window: u16,
    /// Of a SYN: the shift of the window.
    pub(crate) scale: u8,
    /// Bytes of data.
    pub(crate) len: u32,
}

impl Header {
    /// Reads the headers of an IPv4 packet of `length` bytes. `None` if it is not TCP, or is cut off.
    pub(crate) fn parse(headers: &[u8], length: usize) -> Option<Self> {
        const TCP: u8 = 6;
        if *headers.get(9)? != TCP {
            return None;
        }
        let ip_len = usize::from(headers[0] & 15) * 4;
        let tcp = headers.get(ip_len..)?;
        let word = |at: usize| Some(u16::from_be_bytes(tcp.get(at..at + 2)?.try_into().ok()?));
        let long = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
        let address = |at: usize| -> Option<Ipv4Addr> {
            Some(Ipv4Addr::from(<[u8; 4]>::try_from(headers.get(at..at + 4)?).ok()?))
        };
        let tcp_len = usize::from(*tcp.get(12)? >> 4) * 4;
        Some(Self {
            from: SocketAddrV4::new(address(12)?, word(0)?),
            to: SocketAddrV4::new(address(16)?, word(2)?),
            seq: long(4)?,
            ack: long(8)?,
            syn: *tcp.get(13)? & 2 != 0,
            fin: *tcp.get(13)? & 1 != 0,
            window: word(14)?,
            scale: window_scale(tcp.get(20..tcp_len)?),
            len: u32::try_from(length.checked_sub(ip_len + tcp_len)?).ok()?,
        })
    }
}

/// RFC 7323, section 2.2: kind 3.
fn window_scale(mut options: &[u8]) -> u8 {
    while let [kind, rest @ ..] = options {
        options = match (kind, rest) {
            (0, _) => break,
            (1, _) => rest,
            (3, [3, shift, ..]) => return *shift,
            (_, [len, ..]) if *len >= 2 => options.get(usize::from(*len)..).unwrap_or_default(),
            _ => break,
        };
    }
    0
}
