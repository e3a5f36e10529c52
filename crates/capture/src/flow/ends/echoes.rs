//! What the timestamps that segments echo (RFC 7323) show of the path, and of the capture.

use ackwise_cause::Direction;
use ackwise_tcp::{Instant, Segment, Timestamps};

use super::{Ends, Half};
use crate::attribution::{Nanos, clock::is_later};

impl Half {
    /// Remembers the latest timestamp.
    #[inline]
    pub(super) fn hear_timestamp(&mut self, timestamps: Option<Timestamps>, now: Instant) {
        let Some(Timestamps { value, .. }) = timestamps else { return };
        if self.latest.is_some_and(|latest| !is_later(value, latest)) {
            return;
        }
        let before = self.latest.replace(value);
        // Of the first, an earlier packet that was not captured may have had the same.
        self.timed = self.timed.or_else(|| before.map(|_| (value, now)));
    }
}

impl Ends {
    /// RFC 7323, section 4.3: an end echoes the timestamp of a packet that it has received. If that is later
    /// than all that were captured, the capture lacks the packet. If not, the packet that was first seen with it was
    /// there and back since: a round trip takes no longer.
    pub(super) fn compare_echo(&mut self, segment: &Segment, direction: Direction, now: Instant) {
        let Some(Timestamps { echo, .. }) = segment.options.timestamps else { return };
        self.halves[direction as usize].hear_timestamp(segment.options.timestamps, now);
        let other = &mut self.halves[direction.opposite() as usize];
        // What breaks a connection off may echo anything.
        let echoes = segment.ack.is_some() && !segment.flags.syn && !segment.flags.rst;
        if !echoes {
            return;
        }
        if let Some((timed, seen)) = other.timed.take_if(|(timed, _)| !is_later(*timed, echo))
            && timed == echo
        {
            self.distances.limit(direction.opposite(), Nanos::between(seen, now));
        }
        if other.latest.is_some_and(|latest| is_later(echo, latest)) {
            other.latest = Some(echo);
            other.unheard += 1;
            self.halves[direction as usize].sender.miss_ack();
        }
    }

    /// The timestamp of a segment, if whatever its receiver sends after it echoes that or a later one. RFC 7323, section
    /// 4.3: it does so with a segment that begins no later than what the receiver had acknowledged.
    pub(super) fn stamp_to_echo(&self, segment: &Segment, direction: Direction) -> Option<u32> {
        let stream = &self.half(direction).stream;
        let begins = stream.find(segment).map(|bytes| bytes.start);
        let counts = begins.is_some_and(|begins| begins <= stream.acked());
        segment.options.timestamps.map(|it| it.value).filter(|_| counts)
    }
}

/// The timestamp that it echoes. Linux takes 0 for none, too (`rcv_tsecr`).
pub(super) fn echo_of(segment: &Segment) -> Option<u32> {
    segment.options.timestamps.map(|it| it.echo).filter(|&echo| echo > 0)
}
