//! A segment as an endpoint sees it: header fields and a length, without ports and without bytes.

use crate::seq::SeqNumber;

/// The control bits that matter to an endpoint. ACK is the presence of [`Segment::ack`].
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Flags {
    /// Synchronise sequence numbers.
    pub syn: bool,
    /// No more data from the sender.
    pub fin: bool,
    /// Reset the connection.
    pub rst: bool,
    /// Push.
    pub psh: bool,
    /// The urgent pointer is significant. The endpoint ignores it and says so.
    pub urg: bool,
}

impl Flags {
    /// No control bit set.
    pub const NONE: Self = Self { syn: false, fin: false, rst: false, psh: false, urg: false };
    /// SYN alone.
    pub const SYN: Self = Self { syn: true, ..Self::NONE };
    /// FIN alone.
    pub const FIN: Self = Self { fin: true, ..Self::NONE };
    /// RST alone.
    pub const RST: Self = Self { rst: true, ..Self::NONE };
    /// PSH alone.
    pub const PSH: Self = Self { psh: true, ..Self::NONE };
}

/// The timestamps option (RFC 7323, section 3).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the value being echoed; zero without ACK.
    pub echo: u32,
}

impl Timestamps {
    /// What the option takes of each segment, padding included (RFC 7323, appendix A).
    pub const WIRE_BYTES: u16 = 12;
}

/// By how many bits the windows of an end are shifted (RFC 7323, section 2): 14 at most.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct WindowShift(u8);

impl WindowShift {
    /// Windows count bytes.
    pub const NONE: Self = Self(0);
    /// The largest shift.
    pub const MAX: Self = Self(14);

    /// The shift that an option with the value `shift` means. RFC 7323, section 2.3: "If a Window
    /// Scale option is received with a shift.cnt value larger than 14, the TCP SHOULD log the error but
    /// MUST use 14 instead of the specified value."
    #[must_use]
    pub const fn new(shift: u8) -> Self {
        if shift > Self::MAX.0 { Self::MAX } else { Self(shift) }
    }

    /// Bits, 0 to 14.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The bytes that `window` means in a header.
    #[must_use]
    pub const fn bytes(self, window: u16) -> u32 {
        (window as u32) << self.0
    }
}

/// Up to four SACK blocks (RFC 2018, section 3), most recent first.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct SackBlocks {
    blocks: [(SeqNumber, SeqNumber); Self::MAX],
    len: u8,
}

impl SackBlocks {
    /// As many as fit into the 40 bytes of options.
    pub const MAX: usize = 4;

    /// Adds the block `[left, right)`; a fifth one is dropped, as it would not fit on the wire.
    pub fn push(&mut self, left: SeqNumber, right: SeqNumber) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = (left, right);
            self.len += 1;
        }
    }

    /// The blocks as `(left, right)`, `right` being the first number not covered.
    pub fn iter(&self) -> impl Iterator<Item = (SeqNumber, SeqNumber)> + '_ {
        self.blocks.iter().take(usize::from(self.len)).copied()
    }

    /// Whether there is no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of blocks, at most [`SackBlocks::MAX`].
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }
}

/// Which end holds TIME-WAIT, as the end that says it sees it: what ends with
/// [`ClosePolicy::Negotiated`](crate::policy::ClosePolicy::Negotiated) offer in their SYNs, and the
/// holder repeats in its FIN.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum TimeWaitHolder {
    /// I hold it, whoever closes first.
    Mine,
    /// You do.
    Yours,
}

impl TimeWaitHolder {
    /// What the option takes of a segment that carries it, padding included.
    pub(crate) const WIRE_BYTES: u16 = 8;

    /// The same end, as the other one sees it.
    #[must_use]
    pub const fn seen_from_the_peer(self) -> Self {
        match self {
            Self::Mine => Self::Yours,
            Self::Yours => Self::Mine,
        }
    }
}

/// The standard options that an endpoint understands. Absent ones are `None`, `false` or empty.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Options {
    /// Maximum segment size (RFC 9293, section 3.7.1); on SYN only.
    pub mss: Option<u16>,
    /// Window scale shift (RFC 7323, section 2); on SYN only.
    pub window_scale: Option<WindowShift>,
    /// SACK-permitted (RFC 2018, section 2); on SYN only.
    pub sack_permitted: bool,
    /// Timestamps (RFC 7323, section 3).
    pub timestamps: Option<Timestamps>,
    /// SACK blocks (RFC 2018, section 3).
    pub sack: SackBlocks,
}

impl Options {
    /// No option at all.
    pub const NONE: Self = Self {
        mss: None,
        window_scale: None,
        sack_permitted: false,
        timestamps: None,
        sack: SackBlocks { blocks: [(SeqNumber(0), SeqNumber(0)); SackBlocks::MAX], len: 0 },
    };

    /// Bytes on the wire beside `others` bytes of other options.
    #[inline]
    const fn wire_length(&self, others: u32) -> u32 {
        let Self { mss, window_scale, sack_permitted, timestamps, sack } = self;
        let fixed = others
            + 4 * mss.is_some() as u32
            + 4 * window_scale.is_some() as u32
            + match (sack_permitted, timestamps.is_some()) {
                (false, false) => 0,
                (true, false) => 4,
                (_, true) => Timestamps::WIRE_BYTES as u32,
            };
        if sack.is_empty() {
            return fixed;
        }
        let fitting = (36 - fixed) / 8;
        let blocks = if (sack.len as u32) < fitting { sack.len as u32 } else { fitting };
        fixed + if blocks == 0 { 0 } else { 4 + 8 * blocks }
    }
}

/// One segment, without ports and bytes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Segment {
    /// SEG.SEQ: of the SYN if there is one, else of the first byte of data.
    pub seq: SeqNumber,
    /// SEG.ACK, if the ACK bit is set.
    pub ack: Option<SeqNumber>,
    /// The other control bits.
    pub flags: Flags,
    /// SEG.WND as it stands in the header: not scaled.
    pub window: u16,
    /// The standard options.
    pub options: Options,
    /// Who holds TIME-WAIT: an experimental option ([`wire::TcpOption`](crate::wire::TcpOption) has
    /// its layout). Only an end that negotiates it sends it, and only on SYN and FIN.
    pub time_wait_holder: Option<TimeWaitHolder>,
    /// Bytes of data. SYN and FIN are not counted here, see [`Segment::sequence_length`].
    pub len: u32,
}

impl Segment {
    /// SEG.LEN: "the number of octets occupied by the data in the segment (counting SYN and FIN)"
    /// (RFC 9293, section 3.4).
    #[must_use]
    pub const fn sequence_length(&self) -> u32 {
        self.len + self.flags.syn as u32 + self.flags.fin as u32
    }

    /// Bytes of all options on the wire, padding included: as [`wire::write`](crate::wire::write)
    /// orders them, at most 40.
    #[must_use]
    #[inline]
    pub const fn options_length(&self) -> u32 {
        let holder = if self.time_wait_holder.is_some() { TimeWaitHolder::WIRE_BYTES } else { 0 };
        self.options.wire_length(holder as u32)
    }

    /// The first sequence number after this segment.
    #[must_use]
    pub fn end(&self) -> SeqNumber {
        self.seq + self.sequence_length()
    }

    /// The sequence number of the first byte of data.
    #[must_use]
    pub fn data_start(&self) -> SeqNumber {
        self.seq + u32::from(self.flags.syn)
    }
}
