//! What went over the wire on one connection: the prober's eyes.

use std::{collections::VecDeque, fmt};

use ackwise_tcp::{DropReason, Instant, Segment, policy::AckReason};

/// Whether the segments of a connection are kept for looking at.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Tap {
    /// None.
    #[default]
    Off,
    /// The last ones, up to this number.
    Last(usize),
}

/// Which way a segment went.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Direction {
    /// It arrived.
    In,
    /// We sent it.
    Out,
}

/// A segment on the wire, with its place in the streams.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Traced {
    /// When: for one that arrived, when we were woken; packets that were there together share it.
    pub at: Instant,
    /// Which way.
    pub direction: Direction,
    /// As on the wire.
    pub segment: Segment,
    /// Where its data begins in its sender's stream; `None` for a SYN, and for what lies before it.
    pub offset: Option<u64>,
    /// How far it acknowledges its receiver's stream.
    pub acknowledges: Option<u64>,
    /// Something in it went over the wire before. (Of one that arrived out of order this is assumed:
    /// nothing in it tells a late segment from a repeated one.)
    pub retransmission: bool,
    /// Why our endpoint dropped it, if it did.
    pub dropped: Option<DropReason>,
    /// Why our endpoint sent it, if it carries nothing but an ACK.
    pub ack_reason: Option<AckReason>,
}

/// As tcpdump prints it with relative sequence numbers, `<` being towards us.
impl fmt::Display for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let arrow = match self.direction {
            Direction::In => '<',
            Direction::Out => '>',
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

/// The last segments of a connection, numbered from 0 on.
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

    /// How many segments went over the wire: the number that the next one gets.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.first + self.entries.len() as u64
    }

    /// The segments from number `from` on that are still here, oldest first.
    pub fn since(&self, from: u64) -> impl Iterator<Item = &Traced> {
        let skip = usize::try_from(from.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.entries.iter().skip(skip)
    }

    /// How many segments from number `from` on are here no more: the tap was too small.
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
            direction: Direction::In,
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
