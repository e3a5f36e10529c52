//! The TCP header, whole or without some of its options.

use ackwise_tcp::{
    Flags, Options, Segment, SeqNumber, TimeWaitHolder, Timestamps, wire::OptionList,
};

use super::{NotTcp, RawSegment, Seen, Station, ip::Datagram};
use crate::read::{Frame, LARGEST_PACKET};

/// The segment in `datagram`.
#[inline(always)]
pub(super) fn find<'a>(
    frame: &Frame<'a>,
    datagram: &Datagram<'a>,
    station: Option<Station>,
) -> Result<RawSegment<'a>, NotTcp> {
    let (header, rest) = datagram.payload.take::<FIXED_HEADER>()?;
    let &[s0, s1, d0, d1, _, _, _, _, _, _, _, _, words, ..] = header;
    let options_length = options_length(words).ok_or(NotTcp::Malformed)?;
    let len = rest.length().checked_sub(options_length).ok_or(NotTcp::Malformed)?;
    if len > LARGEST_PACKET {
        return Err(NotTcp::Malformed);
    }
    Ok(RawSegment {
        number: frame.number,
        at: frame.at,
        interface: frame.interface,
        addresses: datagram.addresses,
        ports: [[s0, s1], [d0, d1]].map(u16::from_be_bytes),
        is_v6: datagram.is_v6,
        bytes: datagram.payload.captured(),
        length: u32::try_from(FIXED_HEADER + rest.length()).map_err(|_| NotTcp::Malformed)?,
        hop_limit: datagram.hop_limit,
        identification: datagram.identification,
        fragment: datagram.fragment,
        station,
    })
}

/// The segment with its header's fields.
#[inline(always)]
pub(super) fn decode<'a>(raw: &RawSegment<'a>) -> Seen<'a> {
    let &RawSegment {
        number,
        at,
        interface,
        addresses: _,
        ports: _,
        is_v6: _,
        bytes,
        length,
        hop_limit,
        identification,
        fragment,
        station,
    } = raw;
    let [source, destination] = raw.ends();
    let Decoded { segment, payload, options_cut } = segment(bytes, length);
    Seen {
        number,
        at,
        interface,
        source,
        destination,
        segment,
        payload,
        hop_limit,
        identification,
        fragment,
        options_cut,
        station,
    }
}

/// What a TCP header says, and the data behind it.
pub(crate) struct Decoded<'a> {
    pub(crate) segment: Segment,
    pub(crate) payload: &'a [u8],
    /// Whether the options were cut off.
    options_cut: bool,
}

/// The segment at the beginning of `bytes`, of `length` bytes on the wire.
#[inline(always)]
pub(crate) fn segment(bytes: &[u8], length: u32) -> Decoded<'_> {
    let (header, rest) = bytes.split_first_chunk::<FIXED_HEADER>().expect("it was found whole");
    let &[_, _, _, _, q0, q1, q2, q3, a0, a1, a2, a3, words, flags, w0, w1, ..] = header;
    let options_length = options_length(words).expect("it was checked when it was found");
    let (options, payload) = rest.split_at(options_length.min(rest.len()));
    let (understood, time_wait_holder) = understood(options);
    let ack = SeqNumber(u32::from_be_bytes([a0, a1, a2, a3]));
    #[expect(clippy::cast_possible_truncation, reason = "no header has more than 60 bytes")]
    let header_length = (FIXED_HEADER + options_length) as u32;
    let segment = Segment {
        seq: SeqNumber(u32::from_be_bytes([q0, q1, q2, q3])),
        ack: (flags & flag::ACK != 0).then_some(ack),
        flags: control_bits(flags),
        window: u16::from_be_bytes([w0, w1]),
        options: understood,
        time_wait_holder,
        len: length - header_length,
    };
    Decoded { segment, payload, options_cut: options.len() < options_length }
}

/// Bytes of options, by the byte with the header's length in words; `None` if it is too short.
fn options_length(words: u8) -> Option<usize> {
    (usize::from(words >> 4) * 4).checked_sub(FIXED_HEADER)
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
