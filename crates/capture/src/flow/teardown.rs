//! Whether a connection may be over, by its headers alone: nobody has looked at its streams.

use ackwise_cause::Direction;
use ackwise_tcp::{Segment, SeqNumber};

/// What the ends have said of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Teardown {
    reset: bool,
    /// What acknowledges the FIN, by the direction of the data.
    fins: [Option<SeqNumber>; 2],
    /// The highest number that was acknowledged.
    acked: [Option<SeqNumber>; 2],
}

impl Teardown {
    #[inline]
    pub(super) fn note(&mut self, segment: &Segment, direction: Direction) {
        self.reset |= segment.flags.rst;
        if segment.flags.fin {
            // An old duplicate may come from another connection: then this one is judged early.
            let (fin, end) = (&mut self.fins[direction as usize], segment.seq + segment.len + 1);
            *fin = fin.filter(|it| it.precedes(end)).or(Some(end));
        }
        if let Some(ack) = segment.ack {
            let acked = &mut self.acked[direction.opposite() as usize];
            *acked = acked.filter(|it| ack.precedes(*it)).or(Some(ack));
        }
    }

    /// It is, unless what the ends have said is not plausible.
    #[inline]
    pub(super) fn may_be_over(&self) -> bool {
        let is_acknowledged = |(fin, acked): (&Option<SeqNumber>, _)| match (fin, acked) {
            (Some(end), Some(acked)) => !SeqNumber::precedes(acked, *end),
            _ => false,
        };
        self.reset || self.fins.iter().zip(self.acked).all(is_acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::Flags;

    use super::*;

    #[test]
    fn both_ends_have_closed_and_know_it_of_each_other() {
        use Direction::{ToClient as S, ToServer as C};
        let (fin, rst, none) = (Flags::FIN, Flags::RST, Flags::NONE);
        // Numbers go round in between: the last byte of each end is at 0.
        let last = u32::MAX;
        for (why, segments, expected) in [
            ("nothing", &[][..], false),
            ("one FIN", &[(S, last, Some(9), fin)], false),
            ("one that is known", &[(S, last, Some(9), fin), (C, 9, Some(0), none)], false),
            ("two", &[(S, last, Some(9), fin), (C, 9, Some(0), fin)], false),
            (
                "both known",
                &[(S, last, Some(9), fin), (C, 9, Some(0), fin), (S, 0, Some(10), none)],
                true,
            ),
            (
                "at once",
                &[(S, last, Some(9), fin), (C, 9, Some(last), fin), (S, 0, Some(10), none)],
                false,
            ),
            (
                "at once, and known",
                &[
                    (S, last, Some(9), fin),
                    (C, 9, Some(last), fin),
                    (S, 0, Some(10), none),
                    (C, 10, Some(0), none),
                    (S, 0, Some(9), none),
                ],
                true,
            ),
            (
                "known before it was seen",
                &[(C, 9, Some(0), fin), (S, 0, Some(10), none), (S, last, Some(9), fin)],
                true,
            ),
            (
                "an old duplicate after it, and that is known",
                &[
                    (S, last, Some(9), fin),
                    (S, last - 9, Some(9), fin),
                    (C, 9, Some(last - 8), fin),
                    (S, 0, Some(10), none),
                ],
                true,
            ),
            ("an RST", &[(C, 9, None, rst)], true),
            ("an RST, and more", &[(C, 9, None, rst), (S, last, Some(9), none)], true),
        ] {
            let mut teardown = Teardown::default();
            for &(direction, seq, ack, flags) in segments {
                let (seq, ack) = (SeqNumber(seq), ack.map(SeqNumber));
                teardown.note(&Segment { seq, ack, flags, ..Segment::default() }, direction);
            }
            assert_eq!(teardown.may_be_over(), expected, "{why}");
        }
    }
}
