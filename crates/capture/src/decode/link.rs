//! Link headers: from a frame to the IP packet in it.

use super::{NotTcp, Station, remaining::Remaining};
use crate::read::{Frame, HostDirection, LinkType};

/// The IP packet in `frame`, and where the capturing host saw it, if the link header says so.
#[inline(always)]
pub(super) fn packet<'a>(frame: &Frame<'a>) -> Result<(Remaining<'a>, Option<Station>), NotTcp> {
    let bytes = Remaining::new(frame.bytes, frame.original_len as usize);
    let known = frame.direction.map(|direction| Station { direction, ifindex: None });
    match frame.link_type {
        LinkType::ETHERNET => Ok((ethernet(bytes)?, known)),
        LinkType::LINUX_SLL => cooked(bytes),
        LinkType::LINUX_SLL2 => cooked_2(bytes),
        LinkType::RAW
        | LinkType::RAW_BSD
        | LinkType::RAW_OPENBSD
        | LinkType::IPV4
        | LinkType::IPV6 => Ok((bytes, known)),
        LinkType::NULL | LinkType::LOOP => Ok((loopback(bytes)?, known)),
        _ => Err(NotTcp::UnknownLink),
    }
}

/// The IP packet in an Ethernet frame.
#[inline(always)]
pub(super) fn ethernet(frame: Remaining<'_>) -> Result<Remaining<'_>, NotTcp> {
    let (header, payload) = frame.take::<14>()?;
    let &[.., high, low] = header;
    of_type(u16::from_be_bytes([high, low]), payload)
}

/// The IP packet in a payload that is announced as being of `ether_type`, VLAN tags taken off.
#[inline(always)]
pub(super) fn of_type(
    mut ether_type: u16,
    mut payload: Remaining<'_>,
) -> Result<Remaining<'_>, NotTcp> {
    for _ in 0..=MAX_VLAN_TAGS {
        match ether_type {
            ether_type::IPV4 | ether_type::IPV6 => return Ok(payload),
            ether_type::VLAN | ether_type::PROVIDER_VLAN | ether_type::OLD_QINQ => {
                let (&[_, _, high, low], rest) = payload.take()?;
                (ether_type, payload) = (u16::from_be_bytes([high, low]), rest);
            }
            _ => return Err(NotTcp::NotIp),
        }
    }
    Err(NotTcp::TooDeep)
}

/// `LINKTYPE_LINUX_SLL`: packet type, kind of device, length of the link address, that address,
/// type.
fn cooked(frame: Remaining<'_>) -> Result<(Remaining<'_>, Option<Station>), NotTcp> {
    let (&[_, packet_type, .., high, low], payload) = frame.take::<16>()?;
    let station = Station { direction: cooked_direction(packet_type), ifindex: None };
    Ok((of_type(u16::from_be_bytes([high, low]), payload)?, Some(station)))
}

/// `LINKTYPE_LINUX_SLL2`: type, reserved, interface, kind of device, packet type, link address.
fn cooked_2(frame: Remaining<'_>) -> Result<(Remaining<'_>, Option<Station>), NotTcp> {
    let (&[high, low, _, _, a, b, c, d, _, _, packet_type, ..], payload) = frame.take::<20>()?;
    let ifindex = Some(u32::from_be_bytes([a, b, c, d]));
    let station = Station { direction: cooked_direction(packet_type), ifindex };
    Ok((of_type(u16::from_be_bytes([high, low]), payload)?, Some(station)))
}

/// Packet types as in Linux's `if_packet.h`: 0 to 2 are for this host, by unicast, broadcast and
/// multicast; 3 is from somebody else to somebody else; 4 was sent by this host.
const fn cooked_direction(packet_type: u8) -> HostDirection {
    match packet_type {
        0..=2 => HostDirection::Received,
        4 => HostDirection::Sent,
        _ => HostDirection::Passing,
    }
}

/// `LINKTYPE_NULL` and `LINKTYPE_LOOP`: an address family, in either byte order, since the former
/// is written in that of the capturing host.
fn loopback(frame: Remaining<'_>) -> Result<Remaining<'_>, NotTcp> {
    let (header, payload) = frame.take::<4>()?;
    let (&[0, 0, 0, family] | &[family, 0, 0, 0]) = header else { return Err(NotTcp::NotIp) };
    match family {
        address_family::INET
        | address_family::INET6_LINUX
        | address_family::INET6_WINDOWS
        | address_family::INET6_NETBSD
        | address_family::INET6_FREEBSD
        | address_family::INET6_DARWIN => Ok(payload),
        _ => Err(NotTcp::NotIp),
    }
}

/// How many VLAN tags are taken off a frame: two are QinQ, four have been seen at providers.
const MAX_VLAN_TAGS: usize = 4;

/// Ether types, as IEEE registers them.
pub(super) mod ether_type {
    pub(in crate::decode) const IPV4: u16 = 0x0800;
    pub(in crate::decode) const IPV6: u16 = 0x86dd;
    /// IEEE 802.1Q.
    pub(super) const VLAN: u16 = 0x8100;
    /// IEEE 802.1ad, QinQ.
    pub(super) const PROVIDER_VLAN: u16 = 0x88a8;
    /// What switches used for QinQ before there was a standard.
    pub(super) const OLD_QINQ: u16 = 0x9100;
    /// An Ethernet frame inside GRE or Geneve.
    pub(in crate::decode) const TRANSPARENT_ETHERNET: u16 = 0x6558;
}

/// Address families: every system has its own number for IPv6.
mod address_family {
    pub(super) const INET: u8 = 2;
    pub(super) const INET6_LINUX: u8 = 10;
    pub(super) const INET6_WINDOWS: u8 = 23;
    pub(super) const INET6_NETBSD: u8 = 24;
    pub(super) const INET6_FREEBSD: u8 = 28;
    pub(super) const INET6_DARWIN: u8 = 30;
}
