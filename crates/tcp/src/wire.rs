//! Bytes to segments and back: IP packets as a TUN device gives and takes them.
//!
//! [`parse_too_big`] reads what routers say of packets that were too large.
//!
//! Headers are read and written with `etherparse`, the option list with our own [`OptionList`].
//! What is *not* here: fragments (refused: path MTU discovery keeps TCP from needing them),
//! jumbograms, ECN (a [`Segment`] has no such bits) and the urgent pointer, which the endpoint
//! ignores; it is written as zero.
//!
//! ```
//! use ackwise_tcp::{Flags, Segment, SeqNumber, wire};
//! let (client, server) = ("198.18.0.1:49152".parse()?, "198.18.0.2:80".parse()?);
//! let segment = Segment { seq: SeqNumber(1), flags: Flags::PSH, len: 5, ..Segment::default() };
//! let mut buffer = Vec::new();
//! wire::write(&mut buffer, client, server, &segment, b"hello")?;
//! let packet = wire::parse(&buffer)?;
//! assert_eq!((packet.source, packet.segment, packet.payload), (client, segment, &b"hello"[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::net::SocketAddr;

use crate::segment::Segment;

mod error;
mod options;
mod parse;
mod too_big;
mod write;

pub use error::{ChecksumOf, ParseError, WriteError};
pub use options::{OptionList, TcpOption};
pub use parse::{parse, parse_with};
pub use too_big::{TooBig, parse_too_big, write_too_big};
pub use write::write;

/// One TCP segment in its IP packet.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Packet<'a> {
    /// Who sent it.
    pub source: SocketAddr,
    /// Whom it is for.
    pub destination: SocketAddr,
    /// The header; options that an endpoint understands are read already.
    pub segment: Segment,
    /// All options, the unknown ones and the experiments too.
    pub options: OptionList<'a>,
    /// The data: `segment.len` bytes.
    pub payload: &'a [u8],
}

/// Whether checksums count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Checksums {
    /// A wrong one is an error: RFC 9293, section 3.1: "the receiver MUST check it" (MUST-3).
    #[default]
    Verify,
    /// They are not looked at: a capture taken where the network card computes them shows rubbish.
    Ignore,
}

#[cfg(test)]
mod tests;
