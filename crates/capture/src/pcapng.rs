//! A pcapng file (draft-ietf-opsawg-pcapng), little-endian, of packets with any link headers.

use std::{
    fmt,
    io::{self, Write},
};

use ackwise_tcp::Instant;

use crate::{
    decode::Station,
    keys::KeyLogLines,
    read::{Drops, HostDirection, LinkType, MOST_INTERFACES},
};

/// What is known of a packet beside its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) at: Instant,
    pub(crate) interface: u32,
    pub(crate) link_type: LinkType,
    pub(crate) station: Option<Station>,
    pub(crate) lost_before: u64,
}

/// Where packets were captured, and what they begin with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Origin {
    interface: u32,
    ifindex: Option<u32>,
    link_type: LinkType,
}

impl Origin {
    /// For what is said of no packet.
    const UNKNOWN: Self = Self { interface: 0, ifindex: None, link_type: LinkType::RAW };
}

/// A packet to be written.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) packet: Packet,
    pub(crate) bytes: Vec<u8>,
    /// Bytes that it had on the wire.
    pub(crate) original_len: u32,
}

/// The file, as far as it is written.
pub(crate) struct File<W> {
    output: W,
    /// The place in this list is the number of the interface.
    interfaces: Vec<Origin>,
    block: Vec<u8>,
}

impl<W: Write> File<W> {
    pub(crate) fn new(output: W) -> io::Result<Self> {
        let mut file = Self { output, interfaces: Vec::new(), block: Vec::new() };
        file.block.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        file.block.extend([1, 0, 0, 0]); // Version 1.0.
        file.block.extend([0xff; 8]); // Of unknown length.
        file.put(SECTION_HEADER)?;
        Ok(file)
    }

    /// Writes secrets of TLS, for the packets that come next (section 4.7).
    pub(crate) fn write_secrets(&mut self, lines: &KeyLogLines) -> io::Result<()> {
        let text = lines.text().as_bytes();
        let length = u32::try_from(text.len()).map_err(io::Error::other)?;
        for field in [TLS_KEY_LOG, length] {
            self.block.extend(field.to_le_bytes());
        }
        self.block.extend(text);
        self.pad();
        self.put(DECRYPTION_SECRETS)
    }

    pub(crate) fn write(&mut self, ready: &Ready) -> io::Result<()> {
        self.write_bytes(&ready.packet, &ready.bytes, ready.original_len)
    }

    /// Writes a packet of which `bytes` were captured.
    pub(crate) fn write_bytes(
        &mut self,
        packet: &Packet,
        bytes: &[u8],
        original_len: u32,
    ) -> io::Result<()> {
        let Packet { at, interface, link_type, station, lost_before } = *packet;
        let ifindex = station.and_then(|station| station.ifindex);
        let interface = self.interface(Origin { interface, ifindex, link_type })?;
        let nanos = at.as_nanos();
        let captured = u32::try_from(bytes.len()).map_err(io::Error::other)?;
        for field in [interface, high(nanos), low(nanos), captured, original_len] {
            self.block.extend(field.to_le_bytes());
        }
        self.block.extend(bytes);
        self.pad();
        if let Some(station) = station {
            let direction: u32 = match station.direction {
                HostDirection::Passing => 0,
                HostDirection::Received => 1,
                HostDirection::Sent => 2,
            };
            self.option(2, &direction.to_le_bytes());
        }
        if lost_before > 0 {
            self.option(4, &lost_before.to_le_bytes());
        }
        self.put(ENHANCED_PACKET)
    }

    /// Writes what the capture has lost, and flushes the output.
    pub(crate) fn finish(mut self, drops: Drops) -> io::Result<W> {
        let Drops { by_interface, by_system, between_packets: _ } = drops;
        if by_interface > 0 || by_system > 0 {
            self.interface(self.interfaces.first().copied().unwrap_or(Origin::UNKNOWN))?;
            self.block.extend([0; 4 + 8]); // The first interface, at an unknown time.
            self.option(5, &by_interface.to_le_bytes());
            self.option(7, &by_system.to_le_bytes());
            self.put(INTERFACE_STATISTICS)?;
        }
        self.output.flush()?;
        Ok(self.output)
    }

    /// The number of an interface, which is described when it is first heard of.
    fn interface(&mut self, place: Origin) -> io::Result<u32> {
        let known = self.interfaces.iter().position(|it| *it == place);
        let number = match known {
            Some(number) => number,
            // More than this nobody has. What is left is taken together.
            None if self.interfaces.len() == MOST_INTERFACES => MOST_INTERFACES - 1,
            None => {
                self.block.extend(place.link_type.0.to_le_bytes());
                self.block.extend([0; 2 + 4]); // Reserved; no snap length.
                self.option(9, &[9]); // Nanoseconds.
                self.put(INTERFACE_DESCRIPTION)?;
                self.interfaces.push(place);
                self.interfaces.len() - 1
            }
        };
        u32::try_from(number).map_err(io::Error::other)
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        self.block.extend(code.to_le_bytes());
        self.block.extend(u16::try_from(value.len()).unwrap_or(0).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes the block whose body is there.
    fn put(&mut self, kind: u32) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + 12).map_err(io::Error::other)?;
        self.output.write_all(&kind.to_le_bytes())?;
        self.output.write_all(&length.to_le_bytes())?;
        self.output.write_all(&self.block)?;
        self.output.write_all(&length.to_le_bytes())?;
        self.block.clear();
        Ok(())
    }
}

impl<W> fmt::Debug for File<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("interfaces", &self.interfaces).finish_non_exhaustive()
    }
}

const fn high(nanos: u64) -> u32 {
    (nanos >> 32) as u32
}

#[expect(clippy::cast_possible_truncation, reason = "the lower half is what is wanted")]
const fn low(nanos: u64) -> u32 {
    nanos as u32
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const DECRYPTION_SECRETS: u32 = 10;
/// The kind of secrets: a TLS key log.
const TLS_KEY_LOG: u32 = 0x544c_534b;
