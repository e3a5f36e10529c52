//! Tunnels: IP packets and Ethernet frames inside IP packets.

use super::{
    NotTcp,
    ip::{Datagram, protocol},
    link::{self, ether_type},
    remaining::Remaining,
};

/// The IP packet in `datagram`, or `None` if TCP is in it.
pub(super) fn inner<'a>(datagram: &Datagram<'a>) -> Result<Option<Remaining<'a>>, NotTcp> {
    let payload = datagram.payload;
    match datagram.protocol {
        protocol::TCP => Ok(None),
        protocol::IPV4 | protocol::IPV6 => Ok(Some(payload)),
        protocol::GRE => gre(payload).map(Some),
        protocol::UDP => udp(payload).map(Some),
        _ => Err(NotTcp::OtherProtocol),
    }
}

/// Tunnels over UDP, told by the destination's port alone: the source's is a hash of the flow
/// inside.
fn udp(payload: Remaining<'_>) -> Result<Remaining<'_>, NotTcp> {
    let (&[_, _, d0, d1, ..], payload) = payload.take::<8>()?;
    match u16::from_be_bytes([d0, d1]) {
        port::VXLAN | port::VXLAN_LINUX => vxlan(payload),
        port::GENEVE => geneve(payload),
        _ => Err(NotTcp::Udp),
    }
}

/// RFC 7348, section 5: "the I flag MUST be set to 1 for a valid VXLAN Network ID (VNI)". Anything
/// else on that port is UDP of somebody's own.
fn vxlan(payload: Remaining<'_>) -> Result<Remaining<'_>, NotTcp> {
    const VALID_VNI: u8 = 0x08;
    let (&[flags, ..], frame) = payload.take::<8>()?;
    if flags & VALID_VNI == 0 {
        return Err(NotTcp::Udp);
    }
    link::ethernet(frame)
}

/// RFC 8926, section 3.4: version and length of the options in words, flags, type, VNI.
fn geneve(payload: Remaining<'_>) -> Result<Remaining<'_>, NotTcp> {
    let (&[version_and_length, _, high, low, ..], rest) = payload.take::<8>()?;
    if version_and_length >> 6 != 0 {
        return Err(NotTcp::Udp);
    }
    let rest = rest.skip(usize::from(version_and_length & 0x3f) * 4)?;
    frame_or_packet(u16::from_be_bytes([high, low]), rest)
}

/// RFC 2784 and RFC 2890: flags say which of three words follow the type. NVGRE (RFC 7637) is this
/// with a key and Ethernet inside; ERSPAN, what switches mirror with, puts a header of its own
/// between.
fn gre(payload: Remaining<'_>) -> Result<Remaining<'_>, NotTcp> {
    const CHECKSUM: u8 = 0x80;
    const ROUTING: u8 = 0x40;
    const KEY: u8 = 0x20;
    const SEQUENCE: u8 = 0x10;
    let (&[flags, version, high, low], rest) = payload.take()?;
    // Source routes are gone since RFC 2784; version 1 is PPTP's (RFC 2637), with PPP inside.
    if flags & ROUTING != 0 || version & 0x07 != 0 {
        return Err(NotTcp::OtherProtocol);
    }
    let words = [CHECKSUM, KEY, SEQUENCE].into_iter().filter(|flag| flags & flag != 0).count();
    let rest = rest.skip(words * 4)?;
    match u16::from_be_bytes([high, low]) {
        // Of type I there is no header, and no sequence number either.
        ERSPAN_2 if flags & SEQUENCE == 0 => link::ethernet(rest),
        ERSPAN_2 => link::ethernet(rest.skip(8)?),
        ERSPAN_3 => erspan_3(rest),
        ether_type => frame_or_packet(ether_type, rest),
    }
}

/// draft-foschiano-erspan-03, section 4.3: twelve bytes, and eight more if the last bit says so.
fn erspan_3(rest: Remaining<'_>) -> Result<Remaining<'_>, NotTcp> {
    const SUBHEADER: u8 = 0x01;
    let (&[.., flags], rest) = rest.take::<12>()?;
    link::ethernet(if flags & SUBHEADER == 0 { rest } else { rest.skip(8)? })
}

fn frame_or_packet(kind: u16, rest: Remaining<'_>) -> Result<Remaining<'_>, NotTcp> {
    match kind {
        ether_type::TRANSPARENT_ETHERNET => link::ethernet(rest),
        ether_type::IPV4 | ether_type::IPV6 => Ok(rest),
        _ => Err(NotTcp::NotIp),
    }
}

const ERSPAN_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;

mod port {
    pub(super) const VXLAN: u16 = 4789;
    /// What Linux used before the standard, and flannel still does.
    pub(super) const VXLAN_LINUX: u16 = 8472;
    pub(super) const GENEVE: u16 = 6081;
}
