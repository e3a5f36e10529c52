//! The TCP header, whole or without some of its options.

use std::net::SocketAddr;

use ackwise_tcp::{
    Flags, Options, Segment, SeqNumber, TimeWaitHolder, Timestamps, wire::OptionList,
};

use super::{NotTcp, Seen, Station, ip::Datagram};
use crate::read::{Frame, LARGEST_PACKET};

/// The segment in `datagram`.
#[inline(always)]
pub(super) fn segment<'a>(
    frame: &Frame<'a>,
    datagram: &Datagram<'a>,
    station: Option<Station>,
) -> Result<Seen<'a>, NotTcp> {
    let (header, rest) = datagram.payload.take::<FIXED_HEADER>()?;
    let &[s0, s1, d0, d1, q0, q1, q2, q3, a0, a1, a2, a3, words, flags, w0, w1, ..] = header;
    let options_length = (usize::from(words >> 4) * 4).checked_sub(FIXED_HEADER);
    let options_length = options_length.ok_or(NotTcp::Malformed)?;
    let len = rest.length().checked_sub(options_length).ok_or(NotTcp::Malformed)?;
    if len > LARGEST_PACKET {
        return Err(NotTcp::Malformed);
    }
    let captured = rest.captured();
    let (options, payload) = captured.split_at(options_length.min(captured.len()));
    let (understood, time_wait_holder) = understood(options);
    let ack = SeqNumber(u32::from_be_bytes([a0, a1, a2, a3]));
    Ok(Seen {
        number: frame.number,
        at: frame.at,
        interface: frame.interface,
        source: SocketAddr::new(datagram.source, u16::from_be_bytes([s0, s1])),
        destination: SocketAddr::new(datagram.destination, u16::from_be_bytes([d0, d1])),
        segment: Segment {
            seq: SeqNumber(u32::from_be_bytes([q0, q1, q2, q3])),
            ack: (flags & flag::ACK != 0).then_some(ack),
            flags: control_bits(flags),
            window: u16::from_be_bytes([w0, w1]),
            options: understood,
            time_wait_holder,
            len: u32::try_from(len).map_err(|_| NotTcp::Malformed)?,
        },
        payload,
        hop_limit: datagram.hop_limit,
        identification: datagram.identification,
        fragment: datagram.fragment,
        options_cut: options.len() < options_length,
        station,
    })
}

/// The options of a list. That of nearly all segments is short-circuited: "NOP, NOP, timestamps",
/// as RFC 7323, appendix A, recommends it.
fn understood(list: &[u8]) -> (Options, Option<TimeWaitHolder>) {
    match *list {
        [1, 1, 8, 10, a, b, c, d, e, f, g, h] => {
            let value = u32::from_be_bytes([a, b, c, d]);
            let echo = u32::from_be_bytes([e, f, g, h]);
            let timestamps = Some(Timestamps { value, echo });
            (Options { timestamps, ..Options::NONE }, None)
        }
        _ => OptionList::new(list).understood(),
    }
}

const fn control_bits(flags: u8) -> Flags {
    Flags {
        syn: flags & flag::SYN != 0,
        fin: flags & flag::FIN != 0,
        rst: flags & flag::RST != 0,
        psh: flags & flag::PSH != 0,
        urg: flags & flag::URG != 0,
    }
}

/// Bytes of a TCP header without options.
const FIXED_HEADER: usize = 20;

/// Control bits (RFC 9293, section 3.1).
mod flag {
    pub(super) const FIN: u8 = 0x01;
    pub(super) const SYN: u8 = 0x02;
    pub(super) const RST: u8 = 0x04;
    pub(super) const PSH: u8 = 0x08;
    pub(super) const ACK: u8 = 0x10;
    pub(super) const URG: u8 = 0x20;
}
