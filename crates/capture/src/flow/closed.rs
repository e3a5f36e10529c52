//! A connection that is over: its late segments say nothing new, with one exception.

use std::net::SocketAddr;

use ackwise_tcp::{Segment, SeqNumber};

use crate::{decode::Seen, results::Results};

/// What is remembered of it beside its result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Closed {
    /// Where its result is, if it is listed.
    pub result: Option<usize>,
    /// What would hand TIME-WAIT over.
    pub swap: Option<Swap>,
}

/// An RST that does not break a connection off.
///
/// Faber, Touch and Yue 1997: who closes second may answer the last acknowledgement with an RST, which
/// frees the other end from TIME-WAIT, and take that upon itself. Linux believes it if its sequence
/// number is exactly SND.NXT.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Swap {
    /// Who closed second.
    pub from: SocketAddr,
    pub seq: SeqNumber,
}

impl Swap {
    pub(crate) fn is_done_by(&self, source: SocketAddr, segment: &Segment) -> bool {
        segment.flags.rst && segment.seq == self.seq && source == self.from
    }
}

impl Closed {
    /// Takes a late segment.
    pub(crate) fn handle(&self, seen: &Seen<'_>, results: &mut Results) {
        if let Some(result) = self.result
            && self.swap.is_some_and(|swap| swap.is_done_by(seen.source, &seen.segment))
        {
            results.swap_time_wait(result);
        }
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::Flags;

    use super::*;

    #[test]
    fn time_wait_is_handed_over_by_the_rst_of_the_end_that_closed_second() {
        let [client, server] = ["10.0.0.1:5000", "10.0.0.2:80"].map(|it| it.parse().unwrap());
        let swap = Swap { from: server, seq: SeqNumber(500) };
        for (why, source, seq, flags, is_done) in [
            ("just behind its FIN", server, 500, Flags::RST, true),
            ("by the other end", client, 500, Flags::RST, false),
            ("of earlier data", server, 499, Flags::RST, false),
            ("an ACK", server, 500, Flags::NONE, false),
        ] {
            let segment = Segment { seq: SeqNumber(seq), flags, ..Segment::default() };
            assert_eq!(swap.is_done_by(source, &segment), is_done, "{why}");
        }
    }
}
