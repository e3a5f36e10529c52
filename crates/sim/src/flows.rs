//! What a NAT or a stateful firewall on a link remembers: which flows pass it, and since when each has been idle.
//!
//! Not here: a NAT's addresses and ports, and its shorter timeouts for connections that open or close (RFC 5382,
//! REQ-5): one timeout counts for all.

use std::{collections::BTreeMap, time::Duration};

use ackwise_tcp::{Instant, Segment};

/// The flows of one link, in both directions. There are at most as many as connections have places.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    forgets_after: Duration,
    /// By the connection's place: when a packet last passed.
    seen: BTreeMap<u32, Instant>,
}

impl Flows {
    pub(crate) const fn new(forgets_after: Duration) -> Self {
        Self { forgets_after, seen: BTreeMap::new() }
    }

    /// Whether a segment of a connection passes. Packets of both directions keep a flow (RFC 4787, REQ-6, asks for the
    /// outbound ones at least), and a SYN begins it anew.
    pub(crate) fn pass(&mut self, connection: u32, segment: &Segment, now: Instant) -> bool {
        let opens = segment.flags.syn && segment.ack.is_none();
        let seen = self.seen.get(&connection);
        let known = seen.is_some_and(|&seen| now.since(seen) < self.forgets_after);
        if opens || known {
            self.seen.insert(connection, now);
        } else {
            self.seen.remove(&connection);
        }
        opens || known
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, SeqNumber};

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn segment(syn: bool, ack: bool) -> Segment {
        Segment {
            flags: Flags { syn, ..Flags::default() },
            ack: ack.then_some(SeqNumber(1)),
            ..Segment::default()
        }
    }

    #[test]
    fn an_idle_flow_is_forgotten_at_the_limit_and_only_a_syn_brings_it_back() {
        // Idle since 1,000 ms, or never seen.
        let never = None;
        for (idle, syn, ack, passes) in [
            (Some(0), false, true, true),
            (Some(4_999), false, true, true),
            (Some(5_000), false, true, false),
            (Some(90_000), false, true, false),
            (never, false, true, false),
            (Some(4_999), true, true, true),
            (Some(5_000), true, true, false),
            (never, true, true, false),
            (Some(4_999), true, false, true),
            (Some(5_000), true, false, true),
            (never, true, false, true),
        ] {
            let mut flows = Flows::new(Duration::from_secs(5));
            let mut now = at(1_000);
            if let Some(idle) = idle {
                assert!(flows.pass(7, &segment(true, false), now));
                now = at(1_000 + idle);
            }
            let case = format!("idle {idle:?}, SYN {syn}, ACK {ack}");
            assert_eq!(flows.pass(7, &segment(syn, ack), now), passes, "{case}");
            // What passes keeps the flow; what is dropped does not, and other flows do neither.
            assert!(flows.pass(8, &segment(true, false), now), "{case}");
            assert_eq!(flows.pass(7, &segment(false, true), now), passes, "{case}");
        }
    }
}
