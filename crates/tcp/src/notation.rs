//! Segments as lines of text, as tcpdump and packetdrill write them.
//!
//! A trace and a test script are the same language, so that a failing run can be pasted back as a
//! test. A segment reads `P. 1:501(500) ack 1 win 512 <TS val 7 ecr 3>`: control bits (`F`, `S`, `R`,
//! `P`, `U`, `.` for ACK; `-` for none), sequence numbers and bytes of data, acknowledgement,
//! window *as it stands in the header*, options. Sequence numbers count from the initial one of the
//! end that they belong to: the SYN is 0, the first byte of data 1.
//!
//! ```
//! use ackwise_tcp::{Flags, Segment, SeqNumber, notation::{Isns, Pattern}};
//! let isns = Isns { sender: SeqNumber(7000), receiver: SeqNumber(u32::MAX) };
//! let segment = Segment {
//!     seq: SeqNumber(7001),
//!     ack: Some(SeqNumber(0)),
//!     flags: Flags::PSH,
//!     window: 512,
//!     len: 500,
//!     ..Segment::default()
//! };
//! let line = isns.relative(&segment).to_string();
//! assert_eq!(line, "P. 1:501(500) ack 1 win 512");
//! assert!(line.parse::<Pattern>()?.matches(&segment, isns));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use core::fmt;

use crate::{
    segment::{Options, SackBlocks, Segment, TimeWaitHolder},
    seq::SeqNumber,
};

mod names;
mod pattern;
mod trace;

pub use pattern::{NotationError, Pattern};
pub use trace::{Call, Trace, TraceEvent};

/// The initial sequence numbers that a line of text counts from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Isns {
    /// Of the end that sends the segment: for `SEG.SEQ`.
    pub sender: SeqNumber,
    /// Of the end that receives it: for `SEG.ACK` and SACK blocks. Zero while it is unknown.
    pub receiver: SeqNumber,
}

impl Isns {
    /// The same connection, seen from segments that go the other way.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self { sender: self.receiver, receiver: self.sender }
    }

    /// `segment`, ready to be printed.
    #[must_use]
    pub const fn relative(self, segment: &Segment) -> Relative {
        Relative { segment: *segment, isns: self }
    }
}

/// A segment, printed relative to the initial sequence numbers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Relative {
    /// The segment, with absolute numbers.
    pub segment: Segment,
    /// What its printed numbers count from.
    pub isns: Isns,
}

impl fmt::Display for Relative {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { segment, isns } = self;
        let Segment { seq, ack, flags: _, window, options, time_wait_holder, len } = segment;
        let seq = seq.distance_from(isns.sender);
        write_flags(segment, f)?;
        write!(f, " {seq}:{}({len})", seq.wrapping_add(*len))?;
        if let Some(ack) = ack {
            write!(f, " ack {}", ack.distance_from(isns.receiver))?;
        }
        write!(f, " win {window}")?;
        write_options(options, *time_wait_holder, isns.receiver, f)
    }
}

fn write_flags(segment: &Segment, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let set = flag_letters(segment).into_iter().filter(|(set, _)| *set);
    let mut any = false;
    for (_, letter) in set {
        any = true;
        write!(f, "{letter}")?;
    }
    if any { Ok(()) } else { f.write_str("-") }
}

fn flag_letters(segment: &Segment) -> [(bool, char); 6] {
    let flags = segment.flags;
    [
        (flags.fin, 'F'),
        (flags.syn, 'S'),
        (flags.rst, 'R'),
        (flags.psh, 'P'),
        (flags.urg, 'U'),
        (segment.ack.is_some(), '.'),
    ]
}

fn write_options(
    options: &Options,
    time_wait_holder: Option<TimeWaitHolder>,
    receiver: SeqNumber,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if *options == Options::NONE && time_wait_holder.is_none() {
        return Ok(());
    }
    let Options { mss, window_scale, sack_permitted, timestamps, sack } = options;
    let mut list = List { f, begun: false };
    if let Some(mss) = mss {
        list.item(format_args!("mss {mss}"))?;
    }
    if *sack_permitted {
        list.item(format_args!("sackOK"))?;
    }
    if let Some(timestamps) = timestamps {
        list.item(format_args!("TS val {} ecr {}", timestamps.value, timestamps.echo))?;
    }
    if let Some(shift) = window_scale {
        list.item(format_args!("wscale {}", shift.get()))?;
    }
    if let Some(holder) = time_wait_holder {
        list.item(format_args!("TW {}", holder.name()))?;
    }
    if !sack.is_empty() {
        list.item(format_args!("sack{}", Blocks { sack, receiver }))?;
    }
    f.write_str(">")
}

/// Puts `<` before the first item and commas between the others.
struct List<'a, 'f> {
    f: &'a mut fmt::Formatter<'f>,
    begun: bool,
}

impl List<'_, '_> {
    fn item(&mut self, item: fmt::Arguments<'_>) -> fmt::Result {
        self.f.write_str(if self.begun { "," } else { " <" })?;
        self.begun = true;
        self.f.write_fmt(item)
    }
}

struct Blocks<'a> {
    sack: &'a SackBlocks,
    receiver: SeqNumber,
}

impl fmt::Display for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (left, right) in self.sack.iter() {
            let left = left.distance_from(self.receiver);
            write!(f, " {left}:{}", right.distance_from(self.receiver))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
