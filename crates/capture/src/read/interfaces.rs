//! One number for each interface, over all sections and files.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Add,
};

use super::{LinkType, MOST_INTERFACES, Problem};

/// An interface that packets were captured on.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Interface {
    /// Its name on the capturing host, if the file says it.
    pub name: Option<String>,
    /// What its frames begin with.
    pub link_type: LinkType,
    /// What the capture lost on it, as far as the file says.
    pub drops: Drops,
}

/// Packets that a capture itself lost, as far as its files say: pcapng can, pcap cannot.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Drops {
    /// By the interface: `isb_ifdrop` of the interface statistics.
    pub by_interface: u64,
    /// By the operating system: `isb_osdrop`.
    pub by_system: u64,
    /// Between one packet and the next: the sum of `epb_dropcount`.
    pub between_packets: u64,
}

impl Drops {
    /// How many packets were lost altogether. Statistics and the packets' own counts are two
    /// records of the same losses, so the larger one counts.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.by_interface.saturating_add(self.by_system).max(self.between_packets)
    }
}

impl Add for Drops {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            by_interface: self.by_interface.saturating_add(other.by_interface),
            by_system: self.by_system.saturating_add(other.by_system),
            between_packets: self.between_packets.saturating_add(other.between_packets),
        }
    }
}

/// All interfaces so far.
///
/// `tcpdump -C` and `dumpcap -b` begin a new file every so often, and each describes the same
/// interfaces again. So an interface gets the number of one of the same name and link type whose
/// file or section has ended, and a number of its own beside those that have not.
#[derive(Debug, Default)]
pub(super) struct Interfaces {
    all: Vec<Interface>,
    /// What was lost on all of them.
    drops: Drops,
    /// The numbers of those that nobody is using, by what they are known by.
    free: BTreeMap<(Option<String>, LinkType), BTreeSet<u32>>,
    /// TLS secrets of sections, until somebody takes them.
    secrets: Vec<u8>,
}

impl Interfaces {
    pub(super) fn all(&self) -> &[Interface] {
        &self.all
    }

    /// The number of an interface that a file or section has begun to use.
    pub(super) fn begin(
        &mut self,
        name: Option<String>,
        link_type: LinkType,
    ) -> Result<u32, Problem> {
        let key = (name, link_type);
        if let Some(number) = self.free.get_mut(&key).and_then(BTreeSet::pop_first) {
            return Ok(number);
        }
        if self.all.len() >= MOST_INTERFACES {
            return Err(Problem::TooManyInterfaces);
        }
        let number = u32::try_from(self.all.len()).map_err(|_| Problem::TooManyInterfaces)?;
        self.all.push(Interface { name: key.0, link_type, drops: Drops::default() });
        Ok(number)
    }

    /// The file or section that used this interface has ended.
    pub(super) fn end(&mut self, number: u32) {
        let Interface { name, link_type, drops: _ } = &self.all[number as usize];
        self.free.entry((name.clone(), *link_type)).or_default().insert(number);
    }

    /// Packets lost on an interface, beside those known already.
    pub(super) fn lose(&mut self, number: u32, drops: Drops) {
        let interface = &mut self.all[number as usize];
        interface.drops = interface.drops + drops;
        self.drops = self.drops + drops;
    }

    /// Lines of a key log.
    pub(super) fn add_secrets(&mut self, lines: &[u8]) {
        /// The most that wait. Our choice: more than a block of packets has beside them.
        const MOST: usize = 1 << 24;
        if self.secrets.len() + lines.len() < MOST {
            self.secrets.extend_from_slice(lines);
            self.secrets.push(b'\n');
        }
    }

    /// The lines since the last call.
    pub(super) fn take_secrets(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.secrets)
    }

    /// Packets lost on all interfaces, as far as known by now.
    pub(super) const fn drops(&self) -> Drops {
        self.drops
    }
}
