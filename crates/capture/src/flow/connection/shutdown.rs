//! What may be the end of a TLS connection waits here for what follows: nobody waits for a close_notify, so it
//! neither ends a response later nor begins an exchange. What turns out to be content is judged as if it had
//! not waited.

use std::iter;

use ackwise_cause::Direction;
use ackwise_tcp::Instant;

use super::ObservedConnection;
use crate::{
    attribution::{Nanos, gap::Gap, sender::Departure},
    conversation::Shutdown,
    flow::packet::Packet,
    results::Results,
};

/// Segments of one direction that may close TLS.
#[derive(Debug)]
pub(super) struct HeldShutdown {
    kind: Shutdown,
    /// What the sender had sent before them.
    before: Option<(Departure, Instant)>,
    /// Both ends had been silent for longer than anything holds the last segment of a message.
    is_idle: bool,
    /// The other end had closed.
    answers_close: bool,
    /// The other end has closed since, and this one had not.
    was_closed: bool,
    /// They are nothing that anybody waited for.
    is_over: bool,
    segments: Vec<HeldSegment>,
}

#[derive(Debug)]
struct HeldSegment {
    gap: Option<Gap>,
    position: u64,
    len: u32,
    bytes: Box<[u8]>,
    at: Instant,
    packet: u64,
}

impl HeldShutdown {
    /// Whether it closes the connection, now that the connection ends.
    ///
    /// An end that closes first sends its FIN with the alert or just behind it. If the other end has closed in between,
    /// the records may be the end of a response that makes the client close; then the reading is right in which nobody
    /// has waited for an idle connection.
    fn closes(&self, direction: Direction) -> bool {
        let is_first = self.answers_close || !self.was_closed;
        matches!(self.kind, Shutdown::Alert | Shutdown::MayBeRefusal)
            || is_first
            || direction == Direction::ToServer
            || self.is_idle
    }

    /// Whether it is content, as more follows from the other end. No request has two bytes.
    fn is_answered(&self, direction: Direction) -> bool {
        match self.kind {
            Shutdown::Alert => false,
            Shutdown::MayBeAlert if direction == Direction::ToServer => self.is_long(),
            Shutdown::MayBeAlert | Shutdown::MayBeRefusal | Shutdown::MayBeGoaway => !self.is_idle,
        }
    }

    /// Whether what the other end sends has crossed it: a request that is refused already.
    fn is_crossed(&self, heard: u64) -> bool {
        let start = self.segments.first().map(|it| it.position);
        self.kind == Shutdown::MayBeRefusal && start.is_some_and(|start| heard <= start)
    }

    /// Whether it is longer than an alert without padding.
    fn is_long(&self) -> bool {
        const ALERT: u32 = 5 + 19;
        self.segments.iter().any(|it| it.len > ALERT)
    }
}

impl ObservedConnection {
    /// What a segment with new data in order may be, if it may close TLS.
    pub(super) fn shutdown_in(&self, seen: &Packet<'_>, direction: Direction) -> Option<Shutdown> {
        let half = self.ends.half(direction);
        let position = half.stream.find(seen.segment)?.start;
        let is_next = position == half.stream.highest()
            && self.reassembly[direction as usize].is_in_order_at(position);
        let len = seen.segment.len;
        is_next.then(|| self.conversation.shutdown(direction, len, seen.payload)).flatten()
    }

    /// A segment comes that may be a `shutdown` as well, or decides what those before it were.
    pub(super) fn decide_shutdowns(
        &mut self,
        seen: &Packet<'_>,
        direction: Direction,
        shutdown: Option<Shutdown>,
        results: &mut Results,
    ) {
        if self.shutdowns.iter().all(Option::is_none) || !self.is_new(seen, direction) {
            return;
        }
        if let Some(held) = &self.shutdowns[direction as usize] {
            let is_alert = shutdown.is_some_and(|it| it != Shutdown::MayBeGoaway);
            let goes_on = held.kind == Shutdown::MayBeGoaway && is_alert;
            if !goes_on {
                // An alert is the last of its direction.
                self.settle_shutdown(direction, held.is_over, results);
                self.shutdowns[direction as usize] = None;
            }
        }
        let other = direction.opposite();
        let heard = self.ends.half(other).stream.acked();
        if let (Some(held), None) = (&self.shutdowns[other as usize], shutdown)
            && !held.is_crossed(heard)
        {
            self.settle_shutdown(other, held.is_over || !held.is_answered(other), results);
        }
    }

    pub(super) fn is_new(&self, seen: &Packet<'_>, direction: Direction) -> bool {
        let stream = &self.ends.half(direction).stream;
        stream.find(seen.segment).is_some_and(|bytes| bytes.end > stream.highest())
    }

    /// Puts off what a segment is that may close TLS; `before` it, this was sent.
    pub(super) fn hold_shutdown(
        &mut self,
        kind: Shutdown,
        seen: &Packet<'_>,
        (direction, position): (Direction, u64),
        gap: Option<Gap>,
        before: Option<(Departure, Instant)>,
    ) {
        let (at, len) = (self.last_seen, seen.segment.len);
        self.reassembly[direction as usize].run_on(position, len);
        let (bytes, packet) = (seen.payload.into(), seen.number);
        let segment = HeldSegment { gap, position, len, bytes, at, packet };
        let other = self.ends.half(direction.opposite()).sender.last().map(|it| it.seen);
        let last = before.map(|it| it.0.seen).max(other);
        // Nothing holds the last segment of a message for longer: not a delayed ACK, not the timer of a cork.
        let longest_hold = LONGEST_HOLD + self.ends.distances.whole();
        let is_idle = last.is_none_or(|last| Nanos::between(last, at) > longest_hold);
        let answers_close = self.has_closed(direction.opposite());
        match &mut self.shutdowns[direction as usize] {
            Some(held) => {
                held.kind = kind;
                held.segments.push(segment);
            }
            held @ None => {
                *held = Some(Box::new(HeldShutdown {
                    kind,
                    before,
                    is_idle,
                    answers_close,
                    was_closed: false,
                    is_over: false,
                    segments: iter::once(segment).collect(),
                }));
            }
        }
    }

    /// Whether the end that sends in `direction` has closed, as far as is known.
    fn has_closed(&self, direction: Direction) -> bool {
        let held = self.shutdowns[direction as usize].as_ref();
        self.closed_ends[direction as usize]
            || held.is_some_and(|it| it.kind != Shutdown::MayBeGoaway)
    }

    /// One end closes, or both do.
    pub(super) fn close_shutdowns(&mut self, by: Direction, reset: bool, results: &mut Results) {
        self.closed_ends[by as usize] = true;
        if let Some(held) = &mut self.shutdowns[by.opposite() as usize] {
            held.was_closed |= !self.closed_ends[by.opposite() as usize];
        }
        self.finish_shutdown(by, results);
        if reset {
            self.finish_shutdown(by.opposite(), results);
        }
        self.drop_refused();
    }

    /// A client that is refused has asked nothing: its requests have crossed the alert.
    fn drop_refused(&mut self) {
        if self.conversation.is_refused() {
            while self.open.pop_front().is_some() {
                self.exchanges = self.exchanges.saturating_sub(1);
            }
        }
    }

    /// The capture ends, or the connection.
    pub(super) fn finish_shutdowns(&mut self, results: &mut Results) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let is_open = !self.closed_ends[direction as usize];
            if let Some(held) = &mut self.shutdowns[direction as usize] {
                held.was_closed |= is_open;
            }
            self.finish_shutdown(direction, results);
        }
        self.drop_refused();
    }

    /// Nothing more comes in `direction`.
    fn finish_shutdown(&mut self, direction: Direction, results: &mut Results) {
        if let Some(held) = &self.shutdowns[direction as usize] {
            self.settle_shutdown(direction, held.is_over || held.closes(direction), results);
        }
    }

    /// Decides that what waits in `direction` closes the connection, or else is content.
    fn settle_shutdown(&mut self, direction: Direction, closes: bool, results: &mut Results) {
        let Some(held) = &mut self.shutdowns[direction as usize] else { return };
        let segments = std::mem::take(&mut held.segments);
        if closes {
            held.is_over = true;
            if let Some(last) = segments.last() {
                let end = last.position + u64::from(last.len);
                self.conversation.pass_over(direction, end);
                // Who closes an idle session refuses nobody.
                if held.kind == Shutdown::MayBeRefusal && !held.is_idle {
                    self.conversation.handle_refusal();
                }
            }
            return;
        }
        self.shutdowns[direction as usize] = None;
        for HeldSegment { gap, position, len, bytes, at, packet } in segments {
            if let Some(gap) = gap {
                self.settle(&gap, direction, true);
            }
            self.conversation.handle_content(direction, position, len, &bytes);
            self.handle_events(at, packet, results);
        }
    }

    /// The last that was sent in `direction` before what closes the connection, and when links were done with it.
    pub(super) fn last_sent(&self, direction: Direction) -> Option<(&Departure, Instant)> {
        let sender = &self.ends.half(direction).sender;
        match &self.shutdowns[direction as usize] {
            Some(held) => held.before.as_ref().map(|(last, free_at)| (last, *free_at)),
            None => sender.last().map(|last| (last, sender.free_at())),
        }
    }

    /// The same, without what was sent again.
    pub(super) fn last_new(&self, direction: Direction) -> Option<(Departure, Instant)> {
        match &self.shutdowns[direction as usize] {
            Some(held) => held.before,
            None => self.ends.half(direction).sender.last_new(),
        }
    }
}

/// The longest that a TCP holds the last segment of a message, without a round trip: for a delayed ACK (200 ms; Linux
/// waits for 40) or in a cork (200 ms, `tcp_cork` in tcp(7)), and ticks of the timers. Servers keep idle connections
/// for seconds.
const LONGEST_HOLD: Nanos = Nanos::from_millis(250);

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, Segment, SeqNumber};

    use super::*;
    use Direction::{ToClient, ToServer};

    /// What may be an alert, with this many bytes.
    fn held(kind: Shutdown, len: u32) -> HeldShutdown {
        let (at, bytes) = (Instant::EPOCH, Box::default());
        let segment = HeldSegment { gap: None, position: 100, len, bytes, at, packet: 1 };
        HeldShutdown {
            kind,
            before: None,
            is_idle: false,
            answers_close: false,
            was_closed: true,
            is_over: false,
            segments: vec![segment],
        }
    }

    #[test]
    fn the_end_of_a_connection_makes_it_its_close_or_not() {
        let of = |kind| held(kind, 24);
        let may_be = || of(Shutdown::MayBeAlert);
        for (why, held, direction, closes) in [
            ("the client has closed before", may_be(), ToClient, false),
            ("an alert by its length", of(Shutdown::Alert), ToClient, true),
            ("one that refuses", of(Shutdown::MayBeRefusal), ToClient, true),
            ("a GOAWAY", of(Shutdown::MayBeGoaway), ToClient, false),
            ("no request is so short", may_be(), ToServer, true),
            ("it was idle", HeldShutdown { is_idle: true, ..may_be() }, ToClient, true),
            ("it answers", HeldShutdown { answers_close: true, ..may_be() }, ToClient, true),
            ("it was first", HeldShutdown { was_closed: false, ..may_be() }, ToClient, true),
        ] {
            assert_eq!(held.closes(direction), closes, "{why}");
        }
    }

    #[test]
    fn what_is_answered_is_content_unless_it_is_an_alert_by_its_length() {
        use Shutdown::{Alert, MayBeAlert, MayBeGoaway, MayBeRefusal};
        let idle = |held| HeldShutdown { is_idle: true, ..held };
        for (held, direction, is_answered) in [
            (held(Alert, 25), ToServer, false),
            (held(Alert, 25), ToClient, false),
            // TLS 1.3: five bytes of header, two of the alert, one of its type and 16 of the seal.
            (held(MayBeAlert, 24), ToServer, false),
            (held(MayBeAlert, 25), ToServer, true),
            (idle(held(MayBeAlert, 25)), ToServer, true),
            (held(MayBeAlert, 24), ToClient, true),
            (idle(held(MayBeAlert, 24)), ToClient, false),
            (held(MayBeRefusal, 24), ToClient, true),
            (idle(held(MayBeGoaway, 24)), ToClient, false),
        ] {
            assert_eq!(held.is_answered(direction), is_answered, "{held:?} {direction:?}");
        }
    }

    #[test]
    fn a_request_that_the_client_sent_before_it_heard_of_the_refusal_has_crossed_it() {
        for (kind, heard, crossed) in [
            (Shutdown::MayBeRefusal, 100, true),
            (Shutdown::MayBeRefusal, 101, false),
            (Shutdown::MayBeAlert, 100, false),
        ] {
            assert_eq!(held(kind, 24).is_crossed(heard), crossed, "{kind:?} {heard}");
        }
        let empty = HeldShutdown { segments: Vec::new(), ..held(Shutdown::MayBeRefusal, 24) };
        assert!(!empty.is_crossed(0));
    }

    #[test]
    fn an_end_has_closed_by_a_fin_or_by_what_may_be_an_alert() {
        use Shutdown::{MayBeAlert, MayBeGoaway};
        for (closed, kind, has_closed) in [
            (false, None, false),
            (true, None, true),
            (false, Some(MayBeAlert), true),
            (false, Some(MayBeGoaway), false),
            (true, Some(MayBeGoaway), true),
        ] {
            let mut it = ObservedConnection::default();
            it.closed_ends[ToClient as usize] = closed;
            it.shutdowns[ToClient as usize] = kind.map(|it| Box::new(held(it, 24)));
            assert_eq!(it.has_closed(ToClient), has_closed, "{closed} {kind:?}");
            assert!(!it.has_closed(ToServer));
        }
    }

    /// One end sends the next 10 bytes, which may be a `shutdown` as well. What waited then of both ends, and still does.
    fn waits(
        held: [Option<HeldShutdown>; 2],
        by: Direction,
        shutdown: Option<Shutdown>,
    ) -> [bool; 2] {
        let mut it = ObservedConnection::default();
        for half in &mut it.ends.halves {
            half.stream.place(&Segment { flags: Flags::SYN, ..Segment::default() });
        }
        it.shutdowns = held.map(|it| it.map(Box::new));
        let segment = Segment { seq: SeqNumber(1), len: 10, ..Segment::default() };
        let seen = Packet {
            number: 9,
            at: Instant::EPOCH,
            interface: 0,
            identification: 0,
            hop_limit: 64,
            segment: &segment,
            payload: &[0; 10],
        };
        it.decide_shutdowns(&seen, by, shutdown, &mut Results::default());
        it.shutdowns.map(|it| it.is_some())
    }

    #[test]
    fn what_follows_decides_whether_it_was_the_last() {
        use Shutdown::{MayBeAlert, MayBeGoaway};
        let waiting = |kind| HeldShutdown { segments: Vec::new(), ..held(kind, 24) };
        for (kind, next, goes_on) in [
            (MayBeGoaway, Some(MayBeAlert), true),
            (MayBeGoaway, Some(MayBeGoaway), false),
            (MayBeGoaway, None, false),
            (MayBeAlert, Some(MayBeAlert), false),
        ] {
            let waits = waits([None, Some(waiting(kind))], ToClient, next);
            assert_eq!(waits, [false, goes_on], "{kind:?} {next:?}");
        }
        let over = |held| HeldShutdown { is_over: true, ..held };
        let idle = |held| HeldShutdown { is_idle: true, ..held };
        // The client sends on behind what the server may have closed with.
        for (why, held, next, stays) in [
            ("it is answered", waiting(MayBeAlert), None, false),
            ("it has closed an idle connection", idle(waiting(MayBeAlert)), None, true),
            ("it was known to close it", over(waiting(MayBeAlert)), None, true),
            ("the client closes as well", waiting(MayBeAlert), Some(MayBeAlert), true),
        ] {
            assert_eq!(waits([None, Some(held)], ToServer, next), [false, stays], "{why}");
        }
    }
}
