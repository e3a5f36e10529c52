//! IP headers, with IPv6's extensions.

use super::{NotTcp, remaining::Remaining};

/// An IP packet without its header; extensions may follow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Datagram<'a> {
    /// Of the source and of the destination, as numbers.
    pub(super) addresses: [u128; 2],
    pub(super) is_v6: bool,
    pub(super) hop_limit: u8,
    pub(super) identification: u16,
    /// Whether this is the first of several fragments.
    pub(super) fragment: bool,
    pub(super) protocol: u8,
    pub(super) payload: Remaining<'a>,
}

/// Takes the IP header off a packet. The version field decides, whatever the link header said.
#[inline(always)]
pub(super) fn datagram(packet: Remaining<'_>) -> Result<Datagram<'_>, NotTcp> {
    match packet.first()? >> 4 {
        4 => version_4(packet),
        6 => version_6(packet),
        _ => Err(NotTcp::Malformed),
    }
}

/// RFC 791, section 3.1.
#[inline(always)]
fn version_4(packet: Remaining<'_>) -> Result<Datagram<'_>, NotTcp> {
    let (header, _) = packet.take::<20>()?;
    let &[
        first,
        _,
        l0,
        l1,
        i0,
        i1,
        f0,
        f1,
        hop_limit,
        protocol,
        _,
        _,
        s0,
        s1,
        s2,
        s3,
        d0,
        d1,
        d2,
        d3,
    ] = header;
    let header_length = usize::from(first & 0x0f) * 4;
    let total_length = match usize::from(u16::from_be_bytes([l0, l1])) {
        FILLED_IN_LATER => packet.length(),
        length => length,
    };
    if header_length < header.len() || total_length < header_length {
        return Err(NotTcp::Malformed);
    }
    let fragmentation = u16::from_be_bytes([f0, f1]);
    if fragmentation & 0x1fff != 0 {
        return Err(NotTcp::LaterFragment);
    }
    const MORE_FRAGMENTS: u16 = 0x2000;
    Ok(Datagram {
        addresses: [[s0, s1, s2, s3], [d0, d1, d2, d3]].map(|it| u32::from_be_bytes(it).into()),
        is_v6: false,
        hop_limit,
        identification: u16::from_be_bytes([i0, i1]),
        fragment: fragmentation & MORE_FRAGMENTS != 0,
        protocol,
        payload: packet.of_length(total_length).skip(header_length)?,
    })
}

/// RFC 8200, section 3.
fn version_6(packet: Remaining<'_>) -> Result<Datagram<'_>, NotTcp> {
    let (&[_, _, _, _, l0, l1, protocol, hop_limit], rest) = packet.take()?;
    let (source, rest) = rest.take::<16>()?;
    let (destination, rest) = rest.take::<16>()?;
    // A jumbogram (RFC 2675, section 3) has zero as well.
    let payload = match usize::from(u16::from_be_bytes([l0, l1])) {
        FILLED_IN_LATER => rest,
        length => rest.of_length(length),
    };
    Ok(Datagram {
        addresses: [source, destination].map(|it| u128::from_be_bytes(*it)),
        is_v6: true,
        hop_limit,
        identification: 0,
        fragment: false,
        protocol,
        payload,
    })
}

/// Takes extension headers off. RFC 8200, section 4: each names the next one and, except the fragment
/// header, says its own length. IPv4 has only the authentication header.
pub(super) fn pass_extensions(datagram: &mut Datagram<'_>) -> Result<(), NotTcp> {
    for _ in 0..=MAX_EXTENSIONS {
        let length = match datagram.protocol {
            protocol if !datagram.is_v6 && protocol != protocol::AUTHENTICATION => {
                return Ok(());
            }
            protocol::HOP_BY_HOP
            | protocol::ROUTING
            | protocol::DESTINATION_OPTIONS
            | protocol::MOBILITY => {
                let (&[_, words], _) = datagram.payload.take()?;
                (usize::from(words) + 1) * 8
            }
            // RFC 4302, section 2.2: in words of four bytes, minus two.
            protocol::AUTHENTICATION => {
                let (&[_, words], _) = datagram.payload.take()?;
                (usize::from(words) + 2) * 4
            }
            protocol::FRAGMENT => {
                let (&[_, _, high, low, ..], _) = datagram.payload.take::<8>()?;
                let fragmentation = u16::from_be_bytes([high, low]);
                if fragmentation >> 3 != 0 {
                    return Err(NotTcp::LaterFragment);
                }
                datagram.fragment = fragmentation & 1 != 0;
                8
            }
            _ => return Ok(()),
        };
        datagram.protocol = datagram.payload.first()?;
        datagram.payload = datagram.payload.skip(length)?;
    }
    Err(NotTcp::TooDeep)
}

/// How many extension headers one packet has at most: RFC 8200, section 4.1, recommends an order in
/// which none but the destination options occurs twice.
const MAX_EXTENSIONS: usize = 8;

/// A length of zero: the network card will cut this packet into segments and write their lengths
/// (segmentation offload), or it is longer than the field can say (Linux's BIG TCP).
const FILLED_IN_LATER: usize = 0;

/// Protocol numbers, as IANA registers them.
pub(super) mod protocol {
    pub(super) const HOP_BY_HOP: u8 = 0;
    pub(in crate::decode) const IPV4: u8 = 4;
    pub(in crate::decode) const TCP: u8 = 6;
    pub(in crate::decode) const UDP: u8 = 17;
    pub(in crate::decode) const IPV6: u8 = 41;
    pub(in crate::decode) const ICMP: u8 = 1;
    pub(in crate::decode) const ICMP_6: u8 = 58;
    pub(super) const ROUTING: u8 = 43;
    pub(super) const FRAGMENT: u8 = 44;
    pub(in crate::decode) const GRE: u8 = 47;
    pub(super) const AUTHENTICATION: u8 = 51;
    pub(super) const DESTINATION_OPTIONS: u8 = 60;
    pub(super) const MOBILITY: u8 = 135;
}
