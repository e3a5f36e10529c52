//! Who is at fault: the peer whose bytes make no sense, or the caller who asked for the impossible.

use core::{error::Error, fmt};

/// Why bytes could not be read as a TCP segment in an IP packet. The sender is at fault, or the
/// packet is simply not for TCP; never the caller.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum ParseError {
    /// The buffer, or the length that the layer below gives, ends before the header does.
    Truncated {
        /// Bytes that the header needs.
        needed: usize,
        /// Bytes that are there.
        found: usize,
    },
    /// Neither IPv4 nor IPv6.
    Version {
        /// The version field.
        version: u8,
    },
    /// The header length of IPv4 is smaller than the fixed header.
    HeaderLength {
        /// The IHL field, in words of four bytes.
        words: u8,
    },
    /// The packet claims to be longer than the buffer (or shorter than its own header).
    TotalLength {
        /// What the IP header claims, in bytes.
        claimed: usize,
        /// What there is, in bytes.
        found: usize,
    },
    /// The chain of IPv6 extension headers, or an authentication header, is malformed.
    Extension,
    /// A fragment.
    Fragment,
    /// Something else than TCP.
    NotTcp {
        /// The protocol number.
        protocol: u8,
    },
    /// The data offset points into the fixed header (RFC 9293, section 3.1).
    DataOffsetTooSmall {
        /// In words of four bytes; five is the minimum.
        words: u8,
    },
    /// The data offset points behind the end of the packet.
    DataOffsetTooLarge {
        /// In words of four bytes.
        words: u8,
        /// Bytes of header and data together.
        found: usize,
    },
    /// A checksum is wrong.
    Checksum {
        /// In which header.
        header: ChecksumOf,
        /// As it stands in the header.
        found: u16,
        /// As it ought to be.
        expected: u16,
    },
    /// An option's length is 0 or 1, or not one that its kind can have.
    OptionLength {
        /// The option's kind.
        kind: u8,
        /// The length field.
        length: u8,
        /// Where in the option list the option begins.
        at: usize,
    },
    /// An option runs past the end of the option list.
    OptionOverrun {
        /// The option's kind.
        kind: u8,
        /// Where in the option list the option begins.
        at: usize,
    },
}

/// Which header a wrong checksum stands in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ChecksumOf {
    /// The IPv4 header.
    Ipv4,
    /// The TCP header; it covers the data and the addresses.
    Tcp,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Truncated { needed, found } => {
                write!(f, "header needs {needed} bytes, has {found}")
            }
            Self::Version { version } => write!(f, "ip version {version}, neither 4 nor 6"),
            Self::HeaderLength { words } => {
                write!(f, "ipv4 header length of {words} words, minimum is 5")
            }
            Self::TotalLength { claimed, found } => {
                write!(f, "ip header claims {claimed} bytes, there are {found}")
            }
            Self::Extension => write!(f, "malformed ip extension header"),
            Self::Fragment => write!(f, "ip fragment"),
            Self::NotTcp { protocol } => write!(f, "ip protocol {protocol}, tcp is 6"),
            Self::DataOffsetTooSmall { words } => {
                write!(f, "data offset of {words} words, minimum is 5")
            }
            Self::DataOffsetTooLarge { words, found } => {
                write!(f, "data offset of {words} words in a segment of {found} bytes")
            }
            Self::Checksum { header, found, expected } => {
                write!(f, "{header} checksum {found:#06x}, ought to be {expected:#06x}")
            }
            Self::OptionLength { kind, length, at } => {
                write!(f, "option {kind} at {at} has illegal length {length}")
            }
            Self::OptionOverrun { kind, at } => {
                write!(f, "option {kind} at {at} runs past the option list")
            }
        }
    }
}

impl Error for ParseError {}

impl fmt::Display for ChecksumOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "ipv4",
            Self::Tcp => "tcp",
        })
    }
}

/// Why a segment cannot be written. The caller is at fault.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum WriteError {
    /// One address is of IPv4 and the other of IPv6.
    MixedFamilies,
    /// `segment.len` is not the length of the payload.
    PayloadLength {
        /// What the segment says, in bytes.
        segment: u32,
        /// The payload's length in bytes.
        payload: usize,
    },
    /// The packet would be longer than an IP header can say.
    TooLong {
        /// Its length in bytes.
        bytes: usize,
    },
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MixedFamilies => write!(f, "one address is of ipv4, the other of ipv6"),
            Self::PayloadLength { segment, payload } => {
                write!(f, "segment of {segment} bytes with a payload of {payload}")
            }
            Self::TooLong { bytes } => {
                write!(f, "packet of {bytes} bytes, the maximum is {}", u16::MAX)
            }
        }
    }
}

impl Error for WriteError {}
