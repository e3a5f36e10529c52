//! Interfaces of a section: what they are, and what they have lost.

use super::{
    super::{Drops, LinkType, Problem, interfaces::Interfaces, order::ByteOrder},
    block::{Options, fixed},
    clock::Clock,
};

/// An interface as its description block has it (section 4.2).
#[derive(Debug)]
pub(super) struct Described {
    /// Its number over all sections and files.
    pub(super) number: u32,
    pub(super) link_type: LinkType,
    /// How much of a packet is captured, in bytes; 0 for all.
    pub(super) snap_length: u32,
    pub(super) clock: Clock,
    /// What its statistics have counted so far in this section.
    counted: Drops,
}

impl Described {
    /// Link type, reserved, snap length, options.
    pub(super) fn read(
        body: &[u8],
        order: ByteOrder,
        interfaces: &mut Interfaces,
    ) -> Result<Self, Problem> {
        let (&[a, b, _, _, e, f, g, h], _) = fixed::<8>(body, "an interface description")?;
        let link_type = LinkType(order.u16([a, b]));
        let (mut name, mut resolution, mut offset) = (None, 6, 0);
        for (code, value) in Options::of(body, 8, order) {
            match (code, value) {
                (option::NAME, value) => name = Some(text(value)),
                (option::RESOLUTION, &[value]) => resolution = value,
                (option::OFFSET, value) => {
                    let value = value.try_into().map(|value| order.u64(value).cast_signed());
                    offset = value.unwrap_or(0);
                }
                _ => {}
            }
        }
        Ok(Self {
            number: interfaces.begin(name, link_type)?,
            link_type,
            snap_length: order.u32([e, f, g, h]),
            clock: Clock::new(resolution, offset),
            counted: Drops::default(),
        })
    }

    /// What has been lost since the statistics were written last.
    pub(super) fn counted_anew(&mut self, counted: Drops) -> Drops {
        let before = std::mem::replace(&mut self.counted, counted);
        Drops {
            by_interface: counted.by_interface.saturating_sub(before.by_interface),
            by_system: counted.by_system.saturating_sub(before.by_system),
            between_packets: 0,
        }
    }
}

/// Of which interface of the section a statistics block is (section 4.6), and what it counts.
pub(super) fn statistics(body: &[u8], order: ByteOrder) -> Result<(u32, Drops), Problem> {
    let (header, _) = fixed::<12>(body, "interface statistics")?;
    let [interface] = order.words(header);
    let mut drops = Drops::default();
    for (code, value) in Options::of(body, 12, order) {
        let Ok(value) = value.try_into().map(|value| order.u64(value)) else { continue };
        match code {
            option::DROPPED_BY_INTERFACE => drops.by_interface = value,
            option::DROPPED_BY_SYSTEM => drops.by_system = value,
            _ => {}
        }
    }
    Ok((interface, drops))
}

fn text(value: &[u8]) -> String {
    let value = &value[..value.len().min(LONGEST_NAME)];
    String::from_utf8_lossy(value).trim_end_matches('\0').to_owned()
}

/// Bytes that are kept of an interface's name: Windows' have about 50.
const LONGEST_NAME: usize = 128;

/// Option codes of the two blocks.
mod option {
    pub(super) const NAME: u16 = 2;
    pub(super) const RESOLUTION: u16 = 9;
    pub(super) const OFFSET: u16 = 14;
    pub(super) const DROPPED_BY_INTERFACE: u16 = 5;
    pub(super) const DROPPED_BY_SYSTEM: u16 = 7;
}
