//! Whether an RST was sent on the way, by a firewall or a balancer: it took fewer hops than what its end sends.

use ackwise_cause::Direction;
use ackwise_tcp::Flags;

/// The hop limits (TTL, RFC 791) of an end's packets as they were captured.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct HopLimits {
    /// Of its SYN; `None` if that was not captured.
    pub syn: Option<u8>,
    /// Of its RST, if it did not close before.
    pub rst: Option<u8>,
    closes: bool,
}

impl HopLimits {
    /// Notes a packet of one of two ends.
    #[inline]
    pub(crate) fn note(ends: &mut [Self; 2], direction: Direction, flags: Flags, hop_limit: u8) {
        if flags.syn || flags.rst || flags.fin {
            ends[direction as usize].note_one(flags, hop_limit);
        }
    }

    #[cold]
    fn note_one(&mut self, flags: Flags, hop_limit: u8) {
        if flags.rst && !self.closes {
            self.rst.get_or_insert(hop_limit);
        } else if flags.syn {
            self.syn.get_or_insert(hop_limit);
        }
        self.closes |= flags.fin;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_rst_that_closes_counts() {
        let [syn, fin, rst] = [
            Flags { syn: true, ..Flags::NONE },
            Flags { fin: true, ..Flags::NONE },
            Flags { rst: true, ..Flags::NONE },
        ];
        for (packets, expected) in [
            (&[(syn, 60), (rst, 62)][..], (Some(60), Some(62))),
            (&[(syn, 60), (rst, 62), (rst, 61)], (Some(60), Some(62))),
            (&[(syn, 60), (fin, 60), (rst, 62)], (Some(60), None)),
            (&[(Flags::NONE, 60), (rst, 62)], (None, Some(62))),
        ] {
            let mut ends = [HopLimits::default(); 2];
            for &(flags, hop_limit) in packets {
                HopLimits::note(&mut ends, Direction::ToClient, flags, hop_limit);
            }
            let [client, server] = ends;
            assert_eq!((server.syn, server.rst), expected, "{packets:?}");
            assert_eq!(client, HopLimits::default());
        }
    }
}
