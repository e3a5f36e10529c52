//! A port that waits for connections.

use alloc::collections::VecDeque;

use super::cookies::{Cookie, SynCookies};
use crate::{
    endpoint::{DropReason, ListenDecision, classify_for_listener, refuse},
    segment::Segment,
    units::Instant,
    wire::Packet,
};

/// A port that waits for connections, and those that nobody has accepted yet, each by a name of the
/// driver's choice.
#[derive(Clone, Debug)]
pub struct Listener<T> {
    backlog: usize,
    cookies: Option<SynCookies>,
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
    /// The driver sends [`Cookie::syn_ack`], and keeps nothing.
    Answer(Cookie),
    /// The same as [`Open`](Self::Open), but the endpoint goes through [`Cookie::resume`] before the segment.
    Resume(Cookie),
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
        Self { backlog, cookies: None, embryonic: 0, established: VecDeque::new() }
    }

    /// Answers SYNs beyond the backlog with cookies, as Linux does by default. Those that come back may wait for
    /// [`accept`](Self::accept) beside the connections in the handshake: at most `backlog` of each.
    #[must_use]
    pub fn with_cookies(self, cookies: SynCookies) -> Self {
        Self { cookies: Some(cookies), ..self }
    }

    /// Decides about a segment that belongs to no connection (RFC 9293, section 3.10.7.2). A SYN
    /// beyond the backlog is answered by a cookie, or dropped, and the client retransmits it.
    pub fn handle_packet(&mut self, packet: &Packet<'_>, now: Instant) -> ListenOutcome {
        match classify_for_listener(&packet.segment) {
            ListenDecision::Opens if self.has_room() => {
                self.embryonic += 1;
                ListenOutcome::Open
            }
            ListenDecision::Opens => self.handle_syn_without_room(packet, now),
            ListenDecision::Dropped(reason) => ListenOutcome::Drop(reason),
            ListenDecision::Refused => self.handle_ack(packet, now),
        }
    }

    /// Whether a SYN would open a connection.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.embryonic + self.established.len() < self.backlog
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

    /// A SYN is dropped where its ACK would be, too (Linux `sk_acceptq_is_full` in `tcp_conn_request`).
    fn handle_syn_without_room(&mut self, packet: &Packet<'_>, now: Instant) -> ListenOutcome {
        let accepts = self.accepts_cookies();
        match self.cookies.as_mut().filter(|_| accepts) {
            Some(cookies) => ListenOutcome::Answer(cookies.issue(packet, now)),
            None => ListenOutcome::Drop(DropReason::BacklogFull),
        }
    }

    /// An ACK brings a cookie back, or belongs to a connection that is gone.
    fn handle_ack(&mut self, packet: &Packet<'_>, now: Instant) -> ListenOutcome {
        let cookie = self.cookies.as_ref().and_then(|cookies| cookies.check(packet, now));
        match cookie {
            Some(cookie) if self.accepts_cookies() => {
                self.embryonic += 1;
                ListenOutcome::Resume(cookie)
            }
            // The client has its SYN-ACK, so it sends its request again.
            Some(_) => ListenOutcome::Drop(DropReason::BacklogFull),
            None => match refuse(&packet.segment) {
                Some(reset) => ListenOutcome::Reset(reset),
                None => ListenOutcome::Drop(DropReason::UnacceptableReset),
            },
        }
    }

    /// Whether there is room for a connection that is not in the handshake any more.
    fn accepts_cookies(&self) -> bool {
        self.established.len() < self.backlog
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, SeqNumber, driver::CookieSecret, policy::Offer, wire::OptionList};

    const NOW: Instant = Instant::EPOCH;

    fn from(port: u16, segment: Segment) -> Packet<'static> {
        let (source, destination) = (([192, 0, 2, 1], port).into(), ([192, 0, 2, 2], 80).into());
        Packet { source, destination, segment, options: OptionList::new(&[]), payload: &[] }
    }

    fn syn(port: u16) -> Packet<'static> {
        from(port, Segment { flags: Flags::SYN, ..Segment::default() })
    }

    #[test]
    fn a_backlog_counts_handshakes_and_who_was_not_accepted() {
        let mut listener = Listener::new(2);
        let arrive = |listener: &mut Listener<char>| listener.handle_packet(&syn(1), NOW);
        assert_eq!(arrive(&mut listener), ListenOutcome::Open);
        assert_eq!(arrive(&mut listener), ListenOutcome::Open);
        let full = ListenOutcome::Drop(DropReason::BacklogFull);
        assert_eq!(arrive(&mut listener), full);
        listener.end(Some('a'));
        assert_eq!(arrive(&mut listener), full, "it waits to be accepted");
        listener.end(None);
        assert_eq!(arrive(&mut listener), ListenOutcome::Open, "that handshake failed");
        assert_eq!((listener.accept(), listener.accept()), (Some('a'), None));
        assert_eq!(arrive(&mut listener), ListenOutcome::Open);
    }

    #[test]
    fn cookies_come_back_while_handshakes_fill_the_backlog_and_until_the_queue_is_full() {
        let cookies = SynCookies::new(CookieSecret::new([1; 16]), Offer::NONE);
        let mut listener = Listener::new(2).with_cookies(cookies);
        let answered =
            |listener: &mut Listener<u16>, port| match listener.handle_packet(&syn(port), NOW) {
                ListenOutcome::Answer(cookie) => cookie.initial_sequence() + 1,
                outcome => panic!("{outcome:?}"),
            };
        let back = |port, ack| {
            from(port, Segment { seq: SeqNumber(1), ack: Some(ack), ..Segment::default() })
        };
        for port in [1, 2] {
            assert_eq!(
                listener.handle_packet(&syn(port), NOW),
                ListenOutcome::Open,
                "no cookie yet"
            );
        }
        let acks = [3, 4, 5].map(|port| (port, answered(&mut listener, port)));
        for (port, ack) in acks.into_iter().take(2) {
            let outcome = listener.handle_packet(&back(port, ack), NOW);
            assert!(matches!(outcome, ListenOutcome::Resume(_)), "{outcome:?}");
            listener.end(Some(port));
        }
        let (port, ack) = acks[2];
        let full = ListenOutcome::Drop(DropReason::BacklogFull);
        assert_eq!(listener.handle_packet(&back(port, ack), NOW), full, "valid, but no room");
        assert_eq!(listener.handle_packet(&syn(6), NOW), full, "its ACK would be dropped, too");
        assert_eq!(listener.accept(), Some(3));
        let outcome = listener.handle_packet(&back(port, ack), NOW);
        assert!(matches!(outcome, ListenOutcome::Resume(_)), "the same again: {outcome:?}");
    }

    #[test]
    fn what_opens_nothing_is_reset_or_dropped() {
        let mut listener = Listener::<()>::new(1);
        let mut arrive = |segment| listener.handle_packet(&from(1, segment), NOW);
        let ack = Segment { ack: Some(SeqNumber(7)), ..Segment::default() };
        let reset = Segment { seq: SeqNumber(7), flags: Flags::RST, ..Segment::default() };
        assert_eq!(arrive(ack), ListenOutcome::Reset(reset));
        let fin = Segment { flags: Flags::FIN, ..Segment::default() };
        assert_eq!(arrive(fin), ListenOutcome::Drop(DropReason::NotASyn));
        let dropped = ListenOutcome::Drop(DropReason::UnacceptableReset);
        assert_eq!(arrive(reset), dropped);
        assert!(listener.has_room());
    }
}
