//! The classic format: a header, then record after record (draft-ietf-opsawg-pcap).

use ackwise_tcp::Instant;

use super::{
    LARGEST_PACKET, LinkType, Problem, frame::Record, interfaces::Interfaces, order::ByteOrder,
    window::ReadBuffer,
};

/// What the first four bytes of a file say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Variant {
    order: ByteOrder,
    nanos_per_tick: u64,
    record_header: usize,
}

impl Variant {
    /// `None` if they are not those of this format.
    pub(super) const fn of(magic: [u8; 4]) -> Option<Self> {
        let (order, nanos_per_tick, record_header) = match u32::from_be_bytes(magic) {
            0xa1b2_c3d4 => (ByteOrder::Big, MICROSECOND, RECORD_HEADER),
            0xd4c3_b2a1 => (ByteOrder::Little, MICROSECOND, RECORD_HEADER),
            0xa1b2_3c4d => (ByteOrder::Big, NANOSECOND, RECORD_HEADER),
            0x4d3c_b2a1 => (ByteOrder::Little, NANOSECOND, RECORD_HEADER),
            // What Red Hat's tcpdump once wrote: interface and protocol behind the lengths.
            0xa1b2_cd34 => (ByteOrder::Big, MICROSECOND, LONG_RECORD_HEADER),
            0x34cd_b2a1 => (ByteOrder::Little, MICROSECOND, LONG_RECORD_HEADER),
            _ => return None,
        };
        Some(Self { order, nanos_per_tick, record_header })
    }
}

/// What the header of a file says of its records.
#[derive(Debug)]
pub(super) struct Pcap {
    variant: Variant,
    link_type: LinkType,
    interface: u32,
}

impl Pcap {
    /// Takes the header off a file.
    pub(super) fn begin(
        variant: Variant,
        window: &mut ReadBuffer,
        interfaces: &mut Interfaces,
    ) -> Result<Self, Problem> {
        let Variant { order, .. } = variant;
        let header = window.need(FILE_HEADER, "a file header")?;
        let [_, _, _, _, _, link] = order.words(header);
        let &[_, _, _, _, a, b, c, d, ..] = header else { unreachable!("24 bytes are there") };
        let (major, minor) = (order.u16([a, b]), order.u16([c, d]));
        if major != MAJOR_VERSION {
            return Err(Problem::Version { expected: "2", major, minor });
        }
        // Section 4: the other half says whether frames end with a checksum, and is reserved.
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is what counts")]
        let link_type = LinkType(link as u16);
        let interface = interfaces.begin(None, link_type)?;
        window.consume(FILE_HEADER);
        Ok(Self { variant, link_type, interface })
    }

    /// Waits for the next record. `None` at the end.
    pub(super) fn advance(&self, window: &mut ReadBuffer) -> Result<Option<Record>, Problem> {
        let Variant { order, record_header, .. } = self.variant;
        if window.begin_record()? {
            return Ok(None);
        }
        let header = order.words(window.need(record_header, "a record header")?);
        let [_, _, captured, _] = header;
        if captured as usize > LARGEST_PACKET {
            let (claimed, most) = (u64::from(captured), LARGEST_PACKET as u64);
            return Err(Problem::Length { what: "a packet", claimed, least: 0, most });
        }
        let record = self.record(header);
        window.need(record.whole, "a record")?;
        Ok(Some(record))
    }

    /// The record at the beginning of `bytes`; `None` if it is not whole there, or wrong.
    #[inline(always)]
    pub(super) fn record_in(&self, bytes: &[u8]) -> Option<Record> {
        let Variant { order, record_header, .. } = self.variant;
        let header = bytes.get(..record_header)?;
        let header = order.words(header);
        let record = self.record(header);
        (record.whole <= bytes.len() && header[2] as usize <= LARGEST_PACKET).then_some(record)
    }

    /// What a record's header says: seconds, ticks, both lengths.
    #[inline(always)]
    fn record(&self, [seconds, ticks, captured, original_len]: [u32; 4]) -> Record {
        let Variant { nanos_per_tick, record_header, .. } = self.variant;
        let whole = record_header + captured as usize;
        let nanos = u64::from(seconds) * NANOS_PER_SECOND + u64::from(ticks) * nanos_per_tick;
        Record {
            at: Instant::from_nanos(nanos),
            interface: self.interface,
            link_type: self.link_type,
            original_len,
            direction: None,
            lost_before: 0,
            numbered_before: 0,
            packet: record_header..whole,
            whole,
        }
    }

    /// Gives the interface back.
    pub(super) fn end(&self, interfaces: &mut Interfaces) {
        interfaces.end(self.interface);
    }
}

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const LONG_RECORD_HEADER: usize = 24;
const MAJOR_VERSION: u16 = 2;
const MICROSECOND: u64 = 1_000;
const NANOSECOND: u64 = 1;
const NANOS_PER_SECOND: u64 = 1_000_000_000;
