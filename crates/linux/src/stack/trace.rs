//! The segments on the wire of one connection, for `check`.

use std::{collections::VecDeque, fmt};

use ackwise_tcp::{DropReason, Instant, Segment, policy::AckReason};

/// Whether a connection's segments are recorded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Tap {
    /// None.
    #[default]
    Off,
    /// The last segments, up to this number.
    Last(usize),
}

/// The direction of a segment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WireDirection {
    /// Received.
    In,
    /// Sent.
    Out,
}

/// A segment on the wire, with its offsets in the streams.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Traced {
    /// Time. For a received segment, the time of the wake-up, which packets handled together share.
    pub at: Instant,
    /// The segment's direction.
    pub direction: WireDirection,
    /// The segment as on the wire.
    pub segment: Segment,
    /// Offset of its data in the sender's stream; `None` for a SYN, and before the stream's start.
    pub offset: Option<u64>,
    /// Offset up to which it acknowledges the receiver's stream.
    pub acknowledges: Option<u64>,
    /// Whether part of it was on the wire before. (Assumed for a segment received out of order: a
    /// late segment cannot be distinguished from a retransmission.)
    pub retransmission: bool,
    /// Why the local endpoint dropped it, if it did.
    pub dropped: Option<DropReason>,
    /// Why the local endpoint sent it, if it is a bare ACK.
    pub ack_reason: Option<AckReason>,
}

/// Formats like tcpdump with relative sequence numbers; `<` marks received segments.
impl fmt::Display for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = match self.direction {
            WireDirection::In => '<',
            WireDirection::Out => '>',
        };
        let Segment { seq, ack, flags, window, options: _, time_wait_holder: _, len } =
            self.segment;
        write!(f, "{} {arrow} Flags [", self.at)?;
        for (set, letter) in [
            (flags.syn, 'S'),
            (flags.fin, 'F'),
            (flags.rst, 'R'),
            (flags.psh, 'P'),
            (flags.urg, 'U'),
            (ack.is_some(), '.'),
        ] {
            if set {
                write!(f, "{letter}")?;
            }
        }
        match self.offset {
            Some(offset) if len > 0 => {
                write!(f, "], seq {}:{}", offset + 1, offset + 1 + u64::from(len))?;
            }
            Some(offset) => write!(f, "], seq {}", offset + 1)?,
            None => write!(f, "], seq {}", seq.0)?,
        }
        match (self.acknowledges, ack) {
            (Some(offset), _) => write!(f, ", ack {}", offset + 1)?,
            (None, Some(number)) => write!(f, ", ack {}", number.0)?,
            (None, None) => {}
        }
        write!(f, ", win {window}, length {len}")?;
        f.write_str(if self.retransmission { " (repeated)" } else { "" })?;
        if let Some(reason) = self.dropped {
            write!(f, " (dropped: {})", reason.name())?;
        }
        Ok(())
    }
}

/// The last segments of a connection, numbered from 0.
#[derive(Clone, Debug)]
pub struct Trace {
    limit: usize,
    first: u64,
    entries: VecDeque<Traced>,
}

impl Trace {
    pub(super) fn new(tap: Tap) -> Option<Self> {
        match tap {
            Tap::Off => None,
            Tap::Last(limit) => Some(Self { limit, first: 0, entries: VecDeque::new() }),
        }
    }

    pub(super) fn record(&mut self, entry: Traced) {
        self.entries.push_back(entry);
        while self.entries.len() > self.limit {
            self.entries.pop_front();
            self.first += 1;
        }
    }

    /// Number of segments so far, which is the next segment's number.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// The recorded segments from number `from` on, oldest first.
    pub fn since(&self, from: u64) -> impl Iterator<Item = &Traced> {
        let skip = usize::try_from(from.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.entries.iter().skip(skip)
    }

    /// Number of segments from number `from` on that are no longer recorded, because the tap was
    /// too small.
    #[must_use]
    pub fn lost_since(&self, from: u64) -> u64 {
        self.first.saturating_sub(from)
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, SeqNumber};

    use super::*;

    fn entry(offset: u64) -> Traced {
        Traced {
            at: Instant::from_nanos(40_123_456),
            direction: WireDirection::In,
            segment: Segment {
                seq: SeqNumber(7_000),
                ack: Some(SeqNumber(9)),
                flags: Flags::PSH,
                window: 502,
                len: 100,
                ..Segment::default()
            },
            offset: Some(offset),
            acknowledges: Some(226),
            retransmission: false,
            dropped: None,
            ack_reason: None,
        }
    }

    #[test]
    fn a_line_reads_as_tcpdump_s() {
        assert_eq!(
            entry(0).to_string(),
            "0.040123 < Flags [P.], seq 1:101, ack 227, win 502, length 100"
        );
    }

    #[test]
    fn a_reader_that_is_too_slow_learns_what_it_missed() {
        let mut trace = Trace::new(Tap::Last(2)).unwrap();
        (0..5).for_each(|offset| trace.record(entry(offset)));
        assert_eq!((trace.recorded(), trace.lost_since(1)), (5, 2));
        let offsets: Vec<_> = trace.since(1).filter_map(|entry| entry.offset).collect();
        assert_eq!(offsets, [3, 4]);
        assert_eq!(trace.since(5).count(), 0);
    }
}
