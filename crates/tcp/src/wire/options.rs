//! The option list of the TCP header: an iterator that survives what it does not know, and a writer.

use crate::{
    segment::{Options, SackBlocks, TimeWaitHolder, Timestamps, WindowShift},
    seq::SeqNumber,
    wire::ParseError,
};

/// One TCP option. End-of-list and no-operation never appear: they only pad.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum TcpOption<'a> {
    /// Maximum segment size (RFC 9293, section 3.7.1), as it stands there: zero too.
    Mss(u16),
    /// Window scale (RFC 7323, section 2), as it stands there: more than 14 too.
    WindowScale(u8),
    /// SACK-permitted (RFC 2018, section 2).
    SackPermitted,
    /// SACK blocks (RFC 2018, section 3).
    Sack(SackBlocks),
    /// Timestamps (RFC 7323, section 3).
    Timestamps(Timestamps),
    /// Who holds TIME-WAIT: kind 254, length 7, the four bytes `TWNG` as an ExID of 32 bits (RFC
    /// 6994; ours, not registered), and 1 for [`TimeWaitHolder::Mine`] or 2 for [`TimeWaitHolder::Yours`]. Any other value
    /// is an [`Experimental`](Self::Experimental) that is not interpreted.
    TimeWait(TimeWaitHolder),
    /// An experiment (RFC 6994).
    Experimental {
        /// 253 or 254.
        kind: u8,
        /// The experiment's identifier; of one with 32 bits the first 16.
        exid: u16,
        /// What follows those 16 bits.
        data: &'a [u8],
    },
    /// Any other.
    Unknown {
        /// Its kind.
        kind: u8,
        /// What follows the length.
        data: &'a [u8],
    },
}

/// Walks the options of a TCP header.
///
/// RFC 9293, section 3.1: "A TCP implementation MUST (MUST-6) ignore without error any TCP Option it
/// does not implement, assuming that the option has a length field": unknown kinds are yielded, and
/// skipped by their length. An option with a length of 0 or 1, or one that runs past the end, is an
/// error and the last item: the next one may begin anywhere. A known kind of a wrong length
/// is an error too, but the walk goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OptionList<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> OptionList<'a> {
    /// The bytes between the fixed TCP header and the data.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// What an endpoint understands of the list: the standard options, and who holds TIME-WAIT.
    ///
    /// Malformed options are left out, the well-formed ones before them are kept: RFC 9293, section
    /// 3.1: "TCP implementations MUST be prepared to handle an illegal option length (e.g., zero)"
    /// (MUST-7). Of the "suggested procedure" there, "to reset the connection", we depart on purpose,
    /// as Linux and BSD do: whoever could inject one segment could end the connection. Of an option
    /// that comes twice the last one counts.
    #[must_use]
    pub fn understood(self) -> (Options, Option<TimeWaitHolder>) {
        let mut options = Options::NONE;
        let mut time_wait_holder = None;
        for option in self.flatten() {
            match option {
                TcpOption::Mss(mss) => options.mss = Some(mss),
                TcpOption::WindowScale(shift) => {
                    options.window_scale = Some(WindowShift::new(shift))
                }
                TcpOption::SackPermitted => options.sack_permitted = true,
                TcpOption::Sack(blocks) => options.sack = blocks,
                TcpOption::Timestamps(timestamps) => options.timestamps = Some(timestamps),
                TcpOption::TimeWait(holder) => time_wait_holder = Some(holder),
                TcpOption::Experimental { .. } | TcpOption::Unknown { .. } => {}
            }
        }
        (options, time_wait_holder)
    }

    /// Takes the next option, having skipped padding.
    fn advance(&mut self) -> Option<Result<RawOption<'a>, ParseError>> {
        while self.bytes.get(self.at) == Some(&kind::NO_OPERATION) {
            self.at += 1;
        }
        let at = self.at;
        // Whatever goes wrong below ends the walk.
        self.at = self.bytes.len();
        let kind = *self.bytes.get(at)?;
        if kind == kind::END_OF_LIST {
            return None;
        }
        let Some(&length) = self.bytes.get(at + 1) else {
            return Some(Err(ParseError::OptionOverrun { kind, at }));
        };
        if length < HEADER {
            return Some(Err(ParseError::OptionLength { kind, length, at }));
        }
        let end = at + usize::from(length);
        let Some(data) = self.bytes.get(at + usize::from(HEADER)..end) else {
            return Some(Err(ParseError::OptionOverrun { kind, at }));
        };
        self.at = end;
        Some(Ok(RawOption { kind, length, data, at }))
    }
}

impl<'a> Iterator for OptionList<'a> {
    type Item = Result<TcpOption<'a>, ParseError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.advance()?.and_then(|option| {
            let RawOption { kind, length, data: _, at } = option;
            option.interpret().ok_or(ParseError::OptionLength { kind, length, at })
        }))
    }
}

/// An option as kind and length delimit it.
struct RawOption<'a> {
    kind: u8,
    length: u8,
    data: &'a [u8],
    at: usize,
}

impl<'a> RawOption<'a> {
    /// What it says, or `None` if its kind cannot have data of this length.
    fn interpret(&self) -> Option<TcpOption<'a>> {
        Some(match (self.kind, self.data) {
            (kind::MSS, data) => TcpOption::Mss(u16::from_be_bytes(data.try_into().ok()?)),
            (kind::WINDOW_SCALE, &[shift]) => TcpOption::WindowScale(shift),
            (kind::SACK_PERMITTED, []) => TcpOption::SackPermitted,
            (kind::WINDOW_SCALE | kind::SACK_PERMITTED, _) => return None,
            (kind::SACK, data) => TcpOption::Sack(sack_blocks(data)?),
            (kind::TIMESTAMPS, data) => {
                let (value, echo) = two_words(data.try_into().ok()?);
                TcpOption::Timestamps(Timestamps { value, echo })
            }
            (kind::EXPERIMENT_2, &[b'T', b'W', b'N', b'G', MINE]) => {
                TcpOption::TimeWait(TimeWaitHolder::Mine)
            }
            (kind::EXPERIMENT_2, &[b'T', b'W', b'N', b'G', YOURS]) => {
                TcpOption::TimeWait(TimeWaitHolder::Yours)
            }
            (kind @ (kind::EXPERIMENT_1 | kind::EXPERIMENT_2), &[high, low, ref data @ ..]) => {
                TcpOption::Experimental { kind, exid: u16::from_be_bytes([high, low]), data }
            }
            (kind, data) => TcpOption::Unknown { kind, data },
        })
    }
}

fn sack_blocks(data: &[u8]) -> Option<SackBlocks> {
    let (edges, rest) = data.as_chunks::<8>();
    if edges.is_empty() || !rest.is_empty() {
        return None;
    }
    let mut blocks = SackBlocks::default();
    for &edge in edges {
        let (left, right) = two_words(edge);
        blocks.push(SeqNumber(left), SeqNumber(right));
    }
    Some(blocks)
}

const fn two_words(bytes: [u8; 8]) -> (u32, u32) {
    let both = u64::from_be_bytes(bytes);
    #[expect(clippy::cast_possible_truncation, reason = "the halves of 64 bits have 32 each")]
    let words = ((both >> 32) as u32, both as u32);
    words
}

/// An option list ready to be written.
pub(super) struct WrittenOptions {
    bytes: [u8; SPACE],
    len: usize,
}

impl WrittenOptions {
    /// Orders and pads the options as Linux does (`net/ipv4/tcp_output.c`, `tcp_options_write`): MSS;
    /// SACK-permitted and timestamps in three words, or either with two NOPs; NOP and window scale;
    /// NOP, NOP and as many SACK blocks as still fit: four alone, three beside timestamps. Before them,
    /// NOP and the holder of TIME-WAIT, an option that Linux has not.
    pub(super) fn new(options: &Options, time_wait_holder: Option<TimeWaitHolder>) -> Self {
        let Options { mss, window_scale, sack_permitted, timestamps, sack } = *options;
        let mut list = Self { bytes: [0; SPACE], len: 0 };
        if let Some(mss) = mss {
            list.push(&[kind::MSS, 4]);
            list.push(&mss.to_be_bytes());
        }
        if sack_permitted || timestamps.is_some() {
            let with_timestamps = sack_permitted && timestamps.is_some();
            list.push(if with_timestamps { &[] } else { &[kind::NO_OPERATION; 2] });
        }
        if sack_permitted {
            list.push(&[kind::SACK_PERMITTED, 2]);
        }
        if let Some(Timestamps { value, echo }) = timestamps {
            list.push(&[kind::TIMESTAMPS, 10]);
            list.push(&value.to_be_bytes());
            list.push(&echo.to_be_bytes());
        }
        if let Some(shift) = window_scale {
            list.push(&[kind::NO_OPERATION, kind::WINDOW_SCALE, 3, shift.get()]);
        }
        if let Some(holder) = time_wait_holder {
            let value = if holder == TimeWaitHolder::Mine { MINE } else { YOURS };
            list.push(&[kind::NO_OPERATION, kind::EXPERIMENT_2, 7]);
            list.push(&[b'T', b'W', b'N', b'G', value]);
        }
        list.push_sack(&sack);
        list
    }

    /// The list: a multiple of four bytes, at most 40.
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push_sack(&mut self, sack: &SackBlocks) {
        let fitting = (SPACE - self.len).saturating_sub(SACK_HEADER) / SACK_BLOCK;
        let count = sack.len().min(fitting);
        if count == 0 {
            return;
        }
        let length = u8::try_from(SACK_BLOCK * count).expect("four blocks have 32 bytes");
        self.push(&[kind::NO_OPERATION, kind::NO_OPERATION, kind::SACK, HEADER + length]);
        for (left, right) in sack.iter().take(count) {
            self.push(&left.0.to_be_bytes());
            self.push(&right.0.to_be_bytes());
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// The values of [`TcpOption::TimeWait`].
const MINE: u8 = 1;
const YOURS: u8 = 2;
/// What a data offset of 15 words leaves for options.
const SPACE: usize = 40;
/// Kind and length.
const HEADER: u8 = 2;
/// Two NOPs, kind and length.
const SACK_HEADER: usize = 4;
/// Two edges.
const SACK_BLOCK: usize = 8;

/// Option kinds, as IANA registers them.
mod kind {
    pub(super) const END_OF_LIST: u8 = 0;
    pub(super) const NO_OPERATION: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const EXPERIMENT_1: u8 = 253;
    pub(super) const EXPERIMENT_2: u8 = 254;
}
