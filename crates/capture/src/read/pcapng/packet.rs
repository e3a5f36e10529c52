//! The three blocks with a packet in them.

use std::ops::Range;

use super::{
    super::{HostDirection, LARGEST_PACKET, Problem, order::ByteOrder},
    block::{Options, fixed},
    interface::Described,
};

/// What a block says of its packet.
#[derive(Debug)]
pub(super) struct Packet {
    /// As the section counts them.
    pub(super) interface: u32,
    /// When, as the interface counts; simple packets do not say.
    pub(super) ticks: Option<u64>,
    pub(super) original_len: u32,
    /// Where in the body its bytes are.
    pub(super) bytes: Range<usize>,
    pub(super) direction: Option<HostDirection>,
    pub(super) lost_before: u64,
}

/// Section 4.3: interface, time stamp, both lengths, the packet, options.
pub(super) fn enhanced(body: &[u8], order: ByteOrder, _: &[Described]) -> Result<Packet, Problem> {
    const FIXED: usize = 20;
    let (header, rest) = fixed::<FIXED>(body, "an enhanced packet")?;
    let [interface, high, low, captured, original_len] = order.words(header);
    let bytes = FIXED..FIXED + captured_length(captured, rest.len())?;
    let options = Options::of(body, bytes.end.next_multiple_of(4), order);
    let (mut direction, mut lost_before) = (None, 0);
    for (code, value) in options {
        match code {
            option::FLAGS => direction = value.try_into().ok().and_then(|f| way(order.u32(f))),
            option::DROP_COUNT => lost_before = value.try_into().map_or(0, |n| order.u64(n)),
            _ => {}
        }
    }
    let ticks = Some(u64::from(high) << 32 | u64::from(low));
    Ok(Packet { interface, ticks, original_len, bytes, direction, lost_before })
}

/// Section 4.4: the original length and the packet, of the section's first interface.
pub(super) fn simple(
    body: &[u8],
    order: ByteOrder,
    interfaces: &[Described],
) -> Result<Packet, Problem> {
    const FIXED: usize = 4;
    let (header, rest) = fixed::<FIXED>(body, "a simple packet")?;
    let original_len = order.u32(*header);
    let snap_length = interfaces.first().map_or(0, |interface| interface.snap_length);
    let captured = if snap_length == 0 { original_len } else { original_len.min(snap_length) };
    let bytes = FIXED..FIXED + captured_length(captured, rest.len())?;
    Ok(Packet { interface: 0, ticks: None, original_len, bytes, direction: None, lost_before: 0 })
}

/// Appendix A: as the enhanced packet, but interface and losses have two bytes each.
pub(super) fn obsolete(body: &[u8], order: ByteOrder, _: &[Described]) -> Result<Packet, Problem> {
    const FIXED: usize = 20;
    /// "The value of 0xFFFF is reserved for those systems in which this information is not
    /// available".
    const NOT_AVAILABLE: u16 = 0xffff;
    let (header, rest) = fixed::<FIXED>(body, "a packet block")?;
    let [_, high, low, captured, original_len] = order.words(header);
    let &[a, b, c, d, ..] = header;
    let bytes = FIXED..FIXED + captured_length(captured, rest.len())?;
    let lost_before = match order.u16([c, d]) {
        NOT_AVAILABLE => 0,
        lost => u64::from(lost),
    };
    Ok(Packet {
        interface: u32::from(order.u16([a, b])),
        ticks: Some(u64::from(high) << 32 | u64::from(low)),
        original_len,
        bytes,
        direction: None,
        lost_before,
    })
}

/// How many bytes of a packet are in the `room` behind the header.
fn captured_length(claimed: u32, room: usize) -> Result<usize, Problem> {
    let most = room.min(LARGEST_PACKET);
    match claimed as usize {
        captured if captured <= most => Ok(captured),
        _ => {
            let (claimed, most) = (u64::from(claimed), most as u64);
            Err(Problem::Length { what: "a packet", claimed, least: 0, most })
        }
    }
}

/// `epb_flags`: "Bits 0-1: Inbound / Outbound packet (00 = information not available, 01 = inbound,
/// 10 = outbound)", then how it was addressed, of which 100 is "promiscuous".
const fn way(flags: u32) -> Option<HostDirection> {
    const PROMISCUOUS: u32 = 0b100;
    match (flags & 0b11, flags >> 2 & 0b111) {
        (_, PROMISCUOUS) => Some(HostDirection::Passing),
        (0b01, _) => Some(HostDirection::Received),
        (0b10, _) => Some(HostDirection::Sent),
        _ => None,
    }
}

/// Option codes of the enhanced packet block.
mod option {
    pub(super) const FLAGS: u16 = 2;
    pub(super) const DROP_COUNT: u16 = 4;
}
