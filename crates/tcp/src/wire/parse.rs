//! Bytes to a segment.

use core::net::{IpAddr, SocketAddr};

use etherparse::{
    IpNumber, IpSlice, LenSource, TcpHeader, TcpSlice,
    checksum::Sum16BitWords,
    err::{
        Layer, LenError,
        ip::{HeaderError, HeadersError, SliceError},
        tcp,
    },
};

use crate::{
    segment::{Flags, Segment},
    seq::SeqNumber,
    wire::{ChecksumOf, Checksums, OptionList, Packet, ParseError},
};

/// Reads an IP packet with a TCP segment in it, checksums included.
///
/// Bytes after the length that the IP header gives are left alone: links pad short packets.
///
/// # Errors
///
/// See [`ParseError`]. A malformed *option* is none: [`OptionList::understood`] says why.
pub fn parse(bytes: &[u8]) -> Result<Packet<'_>, ParseError> {
    parse_with(bytes, Checksums::Verify)
}

/// As [`parse`], with a choice about the checksums.
///
/// # Errors
///
/// See [`ParseError`].
pub fn parse_with(bytes: &[u8], checksums: Checksums) -> Result<Packet<'_>, ParseError> {
    let ip = IpSlice::from_slice(bytes).map_err(ip_error)?;
    let payload = ip.payload();
    if payload.fragmented {
        return Err(ParseError::Fragment);
    }
    if payload.ip_number != IpNumber::TCP {
        return Err(ParseError::NotTcp { protocol: payload.ip_number.0 });
    }
    if payload.len_source == LenSource::Slice {
        // An IPv6 payload length of zero: a jumbogram, or nothing at all.
        return Err(ParseError::TotalLength { claimed: IPV6_HEADER, found: bytes.len() });
    }
    let tcp =
        TcpSlice::from_slice(payload.payload).map_err(|error| tcp_error(error, payload.payload))?;
    if checksums == Checksums::Verify {
        verify_ip(&ip)?;
        verify_tcp(&ip, &tcp)?;
    }
    let bytes = payload.payload;
    let (header, data) = bytes.split_at(tcp.header_len());
    let options = OptionList::new(&header[TcpHeader::MIN_LEN..]);
    Ok(Packet {
        source: SocketAddr::new(ip.source_addr(), tcp.source_port()),
        destination: SocketAddr::new(ip.destination_addr(), tcp.destination_port()),
        segment: segment(&tcp, options, data),
        options,
        payload: data,
    })
}

fn segment(tcp: &TcpSlice<'_>, options: OptionList<'_>, data: &[u8]) -> Segment {
    let (options, time_wait_holder) = options.understood();
    Segment {
        seq: SeqNumber(tcp.sequence_number()),
        ack: tcp.ack().then(|| SeqNumber(tcp.acknowledgment_number())),
        flags: Flags {
            syn: tcp.syn(),
            fin: tcp.fin(),
            rst: tcp.rst(),
            psh: tcp.psh(),
            urg: tcp.urg(),
        },
        window: tcp.window_size(),
        options,
        time_wait_holder,
        len: u32::try_from(data.len()).expect("an IP packet has less than 65536 bytes"),
    }
}

/// RFC 9293, section 3.1: the sum over everything, checksum included, is all ones; so 0 and 0xffff
/// are the same number here, which a comparison of the two fields would miss.
fn verify_ip(ip: &IpSlice<'_>) -> Result<(), ParseError> {
    let Some(ip) = ip.ipv4() else { return Ok(()) };
    let header = ip.header();
    if Sum16BitWords::new().add_slice(header.slice()).ones_complement() == 0 {
        return Ok(());
    }
    Err(ParseError::Checksum {
        header: ChecksumOf::Ipv4,
        found: header.header_checksum(),
        expected: header.to_header().calc_header_checksum(),
    })
}

fn verify_tcp(ip: &IpSlice<'_>, tcp: &TcpSlice<'_>) -> Result<(), ParseError> {
    let length = u32::try_from(tcp.slice().len()).expect("an IP packet has less than 65536 bytes");
    let mut sum = Sum16BitWords::new();
    sum = match (ip.source_addr(), ip.destination_addr()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            sum.add_4bytes(source.octets()).add_4bytes(destination.octets())
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            sum.add_16bytes(source.octets()).add_16bytes(destination.octets())
        }
        _ => unreachable!("both addresses come from one IP header"),
    };
    sum = sum.add_4bytes(length.to_be_bytes()).add_2bytes([0, IpNumber::TCP.0]);
    if sum.clone().add_slice(tcp.slice()).ones_complement() == 0 {
        return Ok(());
    }
    let expected =
        sum.add_slice(&tcp.slice()[..CHECKSUM_AT]).add_slice(&tcp.slice()[CHECKSUM_AT + 2..]);
    Err(ParseError::Checksum {
        header: ChecksumOf::Tcp,
        found: tcp.checksum(),
        expected: u16::from_be_bytes(expected.ones_complement().to_ne_bytes()),
    })
}

fn ip_error(error: SliceError) -> ParseError {
    match error {
        SliceError::Len(LenError { required_len, len, layer, len_source, .. }) => {
            match (layer, len_source) {
                // The header claims less than itself.
                (Layer::Ipv4Packet, LenSource::Ipv4HeaderTotalLen) => {
                    ParseError::TotalLength { claimed: len, found: required_len }
                }
                (Layer::Ipv4Packet | Layer::Ipv6Packet, _) => {
                    ParseError::TotalLength { claimed: required_len, found: len }
                }
                _ => ParseError::Truncated { needed: required_len, found: len },
            }
        }
        SliceError::IpHeaders(HeadersError::Ip(HeaderError::UnsupportedIpVersion {
            version_number,
        })) => ParseError::Version { version: version_number },
        SliceError::IpHeaders(HeadersError::Ip(
            HeaderError::Ipv4HeaderLengthSmallerThanHeader { ihl },
        )) => ParseError::HeaderLength { words: ihl },
        SliceError::IpHeaders(HeadersError::Ipv4Ext(_) | HeadersError::Ipv6Ext(_)) => {
            ParseError::Extension
        }
    }
}

fn tcp_error(error: tcp::HeaderSliceError, bytes: &[u8]) -> ParseError {
    match error {
        tcp::HeaderSliceError::Content(tcp::HeaderError::DataOffsetTooSmall { data_offset }) => {
            ParseError::DataOffsetTooSmall { words: data_offset }
        }
        tcp::HeaderSliceError::Len(_) => match bytes.get(DATA_OFFSET_AT) {
            Some(byte) if bytes.len() >= TcpHeader::MIN_LEN => {
                ParseError::DataOffsetTooLarge { words: byte >> 4, found: bytes.len() }
            }
            _ => ParseError::Truncated { needed: TcpHeader::MIN_LEN, found: bytes.len() },
        },
    }
}

const IPV6_HEADER: usize = etherparse::Ipv6Header::LEN;
/// Where the data offset stands in the TCP header.
const DATA_OFFSET_AT: usize = 12;
/// Where the checksum stands in the TCP header.
const CHECKSUM_AT: usize = 16;
