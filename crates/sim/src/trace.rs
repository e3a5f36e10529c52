//! A hash of all that happened: two runs that differ anywhere differ here.

use ackwise_tcp::{Instant, Segment};

use crate::observe::Side;

/// What a segment met with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sight {
    Sent,
    Received,
    Dropped,
}

/// Multiplication and rotation, as in FxHash: fast, the same on every machine, and not for keys that
/// somebody chooses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TraceHash(u64);

impl TraceHash {
    #[inline]
    pub(crate) fn see(
        &mut self,
        sight: Sight,
        (connection, from): (u64, Side),
        segment: &Segment,
        now: Instant,
    ) {
        let flags = u64::from(segment.flags.syn)
            | u64::from(segment.flags.fin) << 1
            | u64::from(segment.flags.rst) << 2
            | u64::from(segment.flags.psh) << 3;
        let numbers =
            u64::from(segment.seq.0) << 32 | u64::from(segment.ack.map_or(0, |ack| ack.0));
        let rest = u64::from(segment.len) << 32 | u64::from(segment.window) << 4 | flags;
        let who = connection << 3 | (sight as u64) << 1 | from as u64;
        self.add(now.as_nanos() ^ who.rotate_right(20));
        self.add(numbers ^ rest.rotate_right(16));
    }

    const fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}
