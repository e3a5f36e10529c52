//! A frame as a capture holds it.

use std::ops::Range;

use ackwise_tcp::Instant;

/// One captured frame, in the buffer it was read into.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Frame<'a> {
    /// As Wireshark counts: from 1 over the whole capture.
    pub number: u64,
    /// When it was captured: nanoseconds since the Unix epoch.
    pub at: Instant,
    /// Where it was captured: an index over all sections and files; 0 when there is one.
    pub interface: u32,
    /// What kind of header it begins with.
    pub link_type: LinkType,
    /// Bytes that it had on the wire.
    pub original_len: u32,
    /// Those of them that were captured.
    pub bytes: &'a [u8],
    /// Which way it passed the capturing host, where the file says so.
    pub direction: Option<HostDirection>,
    /// How many packets the capture itself lost on this interface since the one before, where the
    /// file says so.
    pub lost_before: u64,
}

/// A packet that is in the window.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) at: Instant,
    pub(super) interface: u32,
    pub(super) link_type: LinkType,
    pub(super) original_len: u32,
    pub(super) direction: Option<HostDirection>,
    pub(super) lost_before: u64,
    /// What has a number of its own before this packet, but is none.
    pub(super) numbered_before: u64,
    /// Where in the window the bytes of the packet are.
    pub(super) packet: Range<usize>,
    /// How many bytes the record has: what to consume when it is no longer the current one.
    pub(super) whole: usize,
}

impl Record {
    /// The packet, in the window that begins with this.
    #[inline(always)]
    pub(super) fn frame<'a>(&self, number: u64, window: &'a [u8]) -> Option<Frame<'a>> {
        let &Self { at, interface, link_type, original_len, direction, lost_before, .. } = self;
        let bytes = window.get(self.packet.clone())?;
        Some(Frame {
            number,
            at,
            interface,
            link_type,
            original_len,
            bytes,
            direction,
            lost_before,
        })
    }
}

/// Which way a packet went, as the capturing host saw it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostDirection {
    /// To this host.
    Received,
    /// From this host.
    Sent,
    /// From somebody else to somebody else.
    Passing,
}

/// What a frame begins with, by the numbers that <https://www.tcpdump.org/linktypes.html> lists.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: an address family in the byte order of the host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// IP without a link header, as some BSDs number it.
    pub const RAW_BSD: Self = Self(12);
    /// IP without a link header, as OpenBSD numbers it.
    pub const RAW_OPENBSD: Self = Self(14);
    /// IP without a link header.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: an address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// IPv4 without a link header.
    pub const IPV4: Self = Self(228);
    /// IPv6 without a link header.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2: with the interface.
    pub const LINUX_SLL2: Self = Self(276);
}

/// The longest packet that is read, in bytes: twice what segmentation offload hands a network card
/// at most (Linux's BIG TCP), link header included.
pub const LARGEST_PACKET: usize = 1 << 20;
