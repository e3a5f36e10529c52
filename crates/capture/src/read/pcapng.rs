//! The next-generation format: sections of blocks (draft-ietf-opsawg-pcapng).

use ackwise_tcp::Instant;

use super::{
    Drops, Problem, frame::Record, interfaces::Interfaces, order::ByteOrder, window::ReadBuffer,
};

mod block;
mod clock;
mod interface;
mod packet;

use block::Block;
use interface::Described;
use packet::Packet;

/// Whether a file that begins like this is of this format: with a section header.
pub(super) fn begins(magic: [u8; 4]) -> bool {
    u32::from_be_bytes(magic) == kind::SECTION_HEADER
}

/// The section that is being read.
#[derive(Debug)]
pub(super) struct PcapNg {
    order: ByteOrder,
    interfaces: Vec<Described>,
    /// When the last packet was captured: simple packets do not say it.
    last: Instant,
    /// Blocks without a packet since the last one that has one, which Wireshark numbers
    /// nevertheless.
    numbered: u64,
}

impl Default for PcapNg {
    /// Before the first section header, whose type reads the same in either order.
    fn default() -> Self {
        Self { order: ByteOrder::Little, interfaces: Vec::new(), last: Instant::EPOCH, numbered: 0 }
    }
}

impl PcapNg {
    /// Waits for the next block with a packet in it. `None` at the end.
    pub(super) fn advance(
        &mut self,
        window: &mut ReadBuffer,
        interfaces: &mut Interfaces,
    ) -> Result<Option<Record>, Problem> {
        while !window.begin_record()? {
            if let Some(record) = self.take_next(window, interfaces)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Takes the next block. The packet in it, if there is one, stays in the window.
    fn take_next(
        &mut self,
        window: &mut ReadBuffer,
        interfaces: &mut Interfaces,
    ) -> Result<Option<Record>, Problem> {
        window.note_record();
        let block = Block::begin(window, &mut self.order)?;
        let parse: Parse = match block.kind {
            kind::ENHANCED_PACKET => packet::enhanced,
            kind::SIMPLE_PACKET => packet::simple,
            kind::PACKET => packet::obsolete,
            _ => return self.take(&block, window, interfaces).map(|()| None),
        };
        let packet = parse(block.body(window)?, self.order, &self.interfaces)?;
        self.record(&block, packet, interfaces).map(Some)
    }

    /// The next packet, if it is whole in the window with all blocks before it: nothing is read, and nothing moves there.
    pub(super) fn advance_in_memory(
        &mut self,
        window: &mut ReadBuffer,
        interfaces: &mut Interfaces,
    ) -> Result<Option<Record>, Problem> {
        while block::is_whole_in(window.bytes(), self.order) {
            if let Some(record) = self.take_next(window, interfaces)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// Gives the interfaces back.
    pub(super) fn end(&self, interfaces: &mut Interfaces) {
        for described in &self.interfaces {
            interfaces.end(described.number);
        }
    }

    /// Takes a block without a packet.
    fn take(
        &mut self,
        block: &Block,
        window: &mut ReadBuffer,
        interfaces: &mut Interfaces,
    ) -> Result<(), Problem> {
        match block.kind {
            kind::SECTION_HEADER => {
                block.check_section(window)?;
                self.end(interfaces);
                self.interfaces.clear();
            }
            kind::INTERFACE_DESCRIPTION => {
                let described = Described::read(block.body(window)?, self.order, interfaces)?;
                self.interfaces.push(described);
            }
            kind::INTERFACE_STATISTICS => {
                let statistics = interface::statistics(block.body(window)?, self.order)?;
                self.count(statistics, interfaces);
            }
            kind::DECRYPTION_SECRETS if block.is_readable() => {
                if let Some(lines) = secrets(block.body(window)?, self.order) {
                    interfaces.add_secrets(lines);
                }
            }
            // Names, journals, blocks of somebody's own.
            kind => {
                self.numbered += u64::from(kind::NUMBERED.contains(&kind));
                return block.skip(window);
            }
        }
        window.consume(block.length());
        Ok(())
    }

    fn record(
        &mut self,
        block: &Block,
        packet: Packet,
        interfaces: &mut Interfaces,
    ) -> Result<Record, Problem> {
        let described = self.interfaces.get(packet.interface as usize);
        let Some(described) = described else {
            let (interface, described) = (packet.interface, self.interfaces.len());
            return Err(Problem::UnknownInterface { interface, described });
        };
        if packet.lost_before > 0 {
            let drops = Drops { between_packets: packet.lost_before, ..Drops::default() };
            interfaces.lose(described.number, drops);
        }
        self.last = packet.ticks.map_or(self.last, |ticks| described.clock.instant(ticks));
        Ok(Record {
            at: self.last,
            interface: described.number,
            link_type: described.link_type,
            original_len: packet.original_len,
            direction: packet.direction,
            lost_before: packet.lost_before,
            numbered_before: std::mem::take(&mut self.numbered),
            packet: block::HEADER + packet.bytes.start..block::HEADER + packet.bytes.end,
            whole: block.length(),
        })
    }

    /// Statistics count from the beginning of the section, and may be written more than once.
    fn count(&mut self, (interface, counted): (u32, Drops), interfaces: &mut Interfaces) {
        // A count about nothing harms nobody.
        let Some(described) = self.interfaces.get_mut(interface as usize) else { return };
        interfaces.lose(described.number, described.counted_anew(counted));
    }
}

/// The lines of a key log of TLS in the body of a block (section 4.7); `None` if it is of something else.
fn secrets(body: &[u8], order: ByteOrder) -> Option<&[u8]> {
    const TLS_KEY_LOG: u32 = 0x544c_534b;
    let (kind, body) = body.split_first_chunk()?;
    let (length, body) = body.split_first_chunk()?;
    let lines = body.get(..order.u32(*length) as usize)?;
    (order.u32(*kind) == TLS_KEY_LOG).then_some(lines)
}

/// Reads the packet in the body of a block.
type Parse = fn(&[u8], ByteOrder, &[Described]) -> Result<Packet, Problem>;

/// Block types (section 11.1).
mod kind {
    pub(super) const SECTION_HEADER: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE_DESCRIPTION: u32 = 1;
    /// Obsolete, appendix A.
    pub(super) const PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const INTERFACE_STATISTICS: u32 = 5;
    pub(super) const ENHANCED_PACKET: u32 = 6;
    pub(super) const DECRYPTION_SECRETS: u32 = 10;
    /// What Wireshark takes for a packet of its own: journal entries, custom blocks (to be copied,
    /// and not), and sysdig's events.
    pub(super) const NUMBERED: [u32; 6] = [9, 0x0bad, 0x4000_0bad, 0x204, 0x208, 0x216];
}
