//! A port that waits for connections.

use alloc::collections::VecDeque;

use crate::{
    endpoint::{DropReason, ListenDecision, classify_for_listener, refuse},
    segment::Segment,
};

/// A port that waits for connections, and those that nobody has accepted yet, each by a name of the
/// driver's choice.
#[derive(Clone, Debug)]
pub struct Listener<T> {
    backlog: usize,
    /// Connections in the handshake.
    embryonic: usize,
    established: VecDeque<T>,
}

/// What becomes of a segment that belongs to no connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ListenOutcome {
    /// The driver creates an endpoint, hands it the segment, and calls [`Listener::end`] when its
    /// handshake is over.
    Open,
    /// This RST leaves.
    Reset(Segment),
    /// Nothing happens.
    Drop(DropReason),
}

impl<T> Listener<T> {
    /// A listener with at most `backlog` connections that are in the handshake or wait for
    /// [`accept`](Self::accept).
    #[must_use]
    pub const fn new(backlog: usize) -> Self {
        Self { backlog, embryonic: 0, established: VecDeque::new() }
    }

    /// Decides about a segment that belongs to no connection (RFC 9293, section 3.10.7.2). A SYN
    /// beyond the backlog is dropped, and the client retransmits it.
    pub fn handle_segment(&mut self, segment: &Segment) -> ListenOutcome {
        match classify_for_listener(segment) {
            ListenDecision::Opens if self.has_room() => {
                self.embryonic += 1;
                ListenOutcome::Open
            }
            ListenDecision::Opens => ListenOutcome::Drop(DropReason::BacklogFull),
            ListenDecision::Dropped(reason) => ListenOutcome::Drop(reason),
            ListenDecision::Refused => match refuse(segment) {
                Some(reset) => ListenOutcome::Reset(reset),
                None => ListenOutcome::Drop(DropReason::UnacceptableReset),
            },
        }
    }

    /// A handshake has come to its end: with a connection, or without.
    pub fn end(&mut self, connection: Option<T>) {
        self.embryonic = self.embryonic.saturating_sub(1);
        self.established.extend(connection);
    }

    /// The next established connection, oldest first.
    pub fn accept(&mut self) -> Option<T> {
        self.established.pop_front()
    }

    fn has_room(&self) -> bool {
        self.embryonic + self.established.len() < self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, SeqNumber};

    #[test]
    fn a_backlog_counts_handshakes_and_who_was_not_accepted() {
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        let mut listener = Listener::new(2);
        assert_eq!(listener.handle_segment(&syn), ListenOutcome::Open);
        assert_eq!(listener.handle_segment(&syn), ListenOutcome::Open);
        let full = ListenOutcome::Drop(DropReason::BacklogFull);
        assert_eq!(listener.handle_segment(&syn), full);
        listener.end(Some('a'));
        assert_eq!(listener.handle_segment(&syn), full, "it waits to be accepted");
        listener.end(None);
        assert_eq!(listener.handle_segment(&syn), ListenOutcome::Open, "that handshake failed");
        assert_eq!((listener.accept(), listener.accept()), (Some('a'), None));
        assert_eq!(listener.handle_segment(&syn), ListenOutcome::Open);
    }

    #[test]
    fn what_opens_nothing_is_reset_or_dropped() {
        let mut listener = Listener::<()>::new(1);
        let ack = Segment { ack: Some(SeqNumber(7)), ..Segment::default() };
        let reset = Segment { seq: SeqNumber(7), flags: Flags::RST, ..Segment::default() };
        assert_eq!(listener.handle_segment(&ack), ListenOutcome::Reset(reset));
        let fin = Segment { flags: Flags::FIN, ..Segment::default() };
        assert_eq!(listener.handle_segment(&fin), ListenOutcome::Drop(DropReason::NotASyn));
        let dropped = ListenOutcome::Drop(DropReason::UnacceptableReset);
        assert_eq!(listener.handle_segment(&reset), dropped);
        assert!(listener.has_room());
    }
}
