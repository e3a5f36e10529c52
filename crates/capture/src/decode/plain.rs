//! What nearly all segments are in: an Ethernet frame without tags, and IPv4 without options.

use super::{RawSegment, Station, ip::protocol, link::ether_type};
use crate::read::{Frame, LinkType};

/// The segment in `frame`, if nothing about it is unusual: as the other decoders find it together, which
/// ask more questions.
#[inline(always)]
pub(super) fn find<'a>(frame: &Frame<'a>) -> Option<RawSegment<'a>> {
    let headers = frame.bytes.first_chunk::<{ ETHERNET + IP + TCP }>()?;
    let half = |at: usize| u16::from_be_bytes([headers[at], headers[at + 1]]);
    let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
    let is_plain = frame.link_type == LinkType::ETHERNET
        && half(12) == ether_type::IPV4
        && headers[14] == VERSION_4_WITHOUT_OPTIONS
        && headers[23] == protocol::TCP
        && half(20) & FRAGMENT == 0;
    let length = usize::from(half(16)).checked_sub(IP)?;
    let header_length = usize::from(headers[46] >> 4) * 4;
    if !is_plain || header_length < TCP || length < header_length {
        return None;
    }
    let captured = &frame.bytes[ETHERNET + IP..];
    Some(RawSegment {
        number: frame.number,
        at: frame.at,
        interface: frame.interface,
        addresses: [word(26).into(), word(30).into()],
        ports: [half(34), half(36)],
        is_v6: false,
        bytes: &captured[..captured.len().min(length)],
        length: u32::try_from(length).ok()?,
        hop_limit: headers[22],
        identification: half(18),
        fragment: false,
        station: frame.direction.map(|direction| Station { direction, ifindex: None }),
    })
}

/// Bytes of headers.
const ETHERNET: usize = 14;
const IP: usize = 20;
const TCP: usize = 20;
/// RFC 791, section 3.1: the version, and the header's length in words.
const VERSION_4_WITHOUT_OPTIONS: u8 = 0x45;
/// RFC 791, section 3.1: more fragments, or the offset of this one.
const FRAGMENT: u16 = 0x3fff;

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, Instant, Segment};
    use proptest::prelude::*;

    use super::*;
    use crate::frame;

    fn bytes() -> Vec<u8> {
        let [source, destination] = ["10.0.0.2:49152", "10.0.1.3:80"].map(|it| it.parse().unwrap());
        let segment = Segment { flags: Flags::PSH, len: 5, ..Segment::default() };
        let mut packet = Vec::new();
        let header = frame::write(&mut packet, source, destination, &segment, b"hello").unwrap();
        [&header[..], &packet].concat()
    }

    fn as_frame(bytes: &[u8]) -> Frame<'_> {
        Frame {
            number: 1,
            at: Instant::EPOCH,
            interface: 0,
            link_type: LinkType::ETHERNET,
            original_len: 59,
            bytes,
            direction: None,
            lost_before: 0,
        }
    }

    #[test]
    fn a_plain_segment_is_found() {
        assert!(find(&as_frame(&bytes())).is_some());
    }

    proptest! {
        #[test]
        fn whatever_is_changed_the_other_decoders_find_the_same(
            changes in proptest::collection::vec((12_usize..59, any::<u8>()), 0..3),
            captured in prop_oneof![Just(59), 30_usize..59],
        ) {
            let mut bytes = bytes();
            for (at, value) in changes {
                bytes[at] = value;
            }
            let frame = as_frame(&bytes[..captured]);
            if let Some(found) = find(&frame) {
                prop_assert_eq!(Ok(found), RawSegment::find_anywhere(&frame));
            }
        }
    }
}
