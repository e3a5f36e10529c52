//! What ICMP says of a TCP segment that did not get through (RFC 792; RFC 4443, section 3).

use std::net::SocketAddr;

use ackwise_tcp::Instant;

use super::{NotTcp, address, ip, link, remaining::Remaining};
use crate::read::Frame;

/// An error of ICMP, with the ends of the segment that it is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct IcmpError {
    /// The packet's number.
    pub number: u64,
    /// When it was captured.
    pub at: Instant,
    /// Sender and receiver of the segment.
    pub ends: [SocketAddr; 2],
    /// What is wrong.
    pub reason: IcmpReason,
}

/// Why a segment did not get through.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum IcmpReason {
    /// It was too large for a link with this MTU; 0 if an old router does not say.
    TooBig {
        /// In bytes.
        mtu: u32,
    },
    /// Nobody is there, or somebody forbids it.
    Unreachable {
        /// The code, of ICMP or ICMPv6.
        code: u8,
    },
}

impl IcmpError {
    /// Finds one in a frame.
    ///
    /// # Errors
    ///
    /// If there is none, or the segment that it is about is no TCP.
    pub fn find(frame: &Frame<'_>) -> Result<Self, NotTcp> {
        let (packet, _) = link::packet(frame)?;
        let mut datagram = ip::datagram(packet)?;
        ip::pass_extensions(&mut datagram)?;
        let (&[kind, code, _, _, m0, m1, m2, m3], quoted) = datagram.payload.take()?;
        let reason = match (datagram.protocol, kind, code) {
            // RFC 1191, section 4.
            (ip::protocol::ICMP, 3, 4) => {
                IcmpReason::TooBig { mtu: u16::from_be_bytes([m2, m3]).into() }
            }
            (ip::protocol::ICMP, 3, code) | (ip::protocol::ICMP_6, 1, code) => {
                IcmpReason::Unreachable { code }
            }
            (ip::protocol::ICMP_6, 2, _) => {
                IcmpReason::TooBig { mtu: u32::from_be_bytes([m0, m1, m2, m3]) }
            }
            _ => return Err(NotTcp::OtherProtocol),
        };
        Ok(Self { number: frame.number, at: frame.at, ends: ends(quoted)?, reason })
    }
}

/// The ends of a segment of which the first bytes are quoted.
fn ends(quoted: Remaining<'_>) -> Result<[SocketAddr; 2], NotTcp> {
    let mut datagram = ip::datagram(quoted)?;
    ip::pass_extensions(&mut datagram)?;
    if datagram.protocol != ip::protocol::TCP {
        return Err(NotTcp::OtherProtocol);
    }
    let (&[s0, s1, d0, d1], _) = datagram.payload.take()?;
    let [source, destination] = datagram.addresses.map(|it| address(it, datagram.is_v6));
    let ports = [u16::from_be_bytes([s0, s1]), u16::from_be_bytes([d0, d1])];
    Ok([SocketAddr::new(source, ports[0]), SocketAddr::new(destination, ports[1])])
}
