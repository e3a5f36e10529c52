//! Attempts to connect that bring no connection.

use ackwise_cause::{ConnectOutcome, Party};

use super::Ends;

impl Ends {
    /// How the attempt to connect ended, if it brought no connection. A lone SYN may be the end of the capture. A client
    /// resets what answers for an old connection (RFC 9293, section 3.5.2).
    pub(crate) fn connect(&self, closed_first: Option<Party>) -> Option<ConnectOutcome> {
        let [to_server, to_client] = &self.halves;
        let [asked, answered] = [to_server, to_client].map(|it| it.stream.shift().is_some());
        let is_silent = self.halves.iter().all(|it| it.longest_run == 0 && it.fin.is_none());
        if !asked || !is_silent {
            return None;
        }
        let is_open = to_server.pure_acks > 0;
        match (closed_first.filter(|_| self.reset), to_client.packets) {
            (None, 0) if to_server.packets > 1 && !is_open => Some(ConnectOutcome::Unanswered),
            (Some(Party::Server), _) if answered => Some(ConnectOutcome::Reset),
            (Some(Party::Server), _) if !is_open => Some(ConnectOutcome::Refused),
            // RFC 9293, section 3.10.7.1: so answers who has no such connection, and not who ends one.
            (Some(Party::Client), _) if answered && !is_open && self.bare_reset => {
                Some(ConnectOutcome::Abandoned)
            }
            (Some(Party::Client), 1..) if !answered && !is_open => Some(ConnectOutcome::Collided),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ackwise_tcp::{Flags, Segment};

    use super::*;

    /// What was seen of an attempt: SYNs of both ends, packets of both, ACKs of the client, resets, bare ones.
    #[derive(Clone, Copy, Debug)]
    struct Seen {
        asked: bool,
        answered: bool,
        packets: [u32; 2],
        acks: u32,
        reset: Option<Party>,
        bare: bool,
    }

    /// Two SYNs, and nothing else.
    const SYNS: Seen =
        Seen { asked: true, answered: false, packets: [2, 0], acks: 0, reset: None, bare: false };

    fn ends(seen: Seen) -> Ends {
        let mut ends = Ends::default();
        for (half, syn) in ends.halves.iter_mut().zip([seen.asked, seen.answered]) {
            if syn {
                half.stream.place(&Segment { flags: Flags::SYN, ..Segment::default() });
            }
        }
        [ends.halves[0].packets, ends.halves[1].packets] = seen.packets;
        ends.halves[0].pure_acks = seen.acks;
        (ends.reset, ends.bare_reset) = (seen.reset.is_some(), seen.bare);
        ends
    }

    #[test]
    fn an_attempt_ends_as_what_was_answered_and_who_broke_it_off_say() {
        use ConnectOutcome::{Abandoned, Collided, Refused, Reset, Unanswered};
        let [client, server] = [Party::Client, Party::Server].map(Some);
        let answered = Seen { answered: true, packets: [1, 1], ..SYNS };
        let refused = Seen { packets: [1, 1], reset: server, ..SYNS };
        let given_up = Seen { reset: client, bare: true, ..answered };
        let collided = Seen { packets: [1, 1], reset: client, ..SYNS };
        for (why, seen, outcome) in [
            ("no answer", SYNS, Some(Unanswered)),
            ("one SYN may be the last packet", Seen { packets: [1, 0], ..SYNS }, None),
            ("open", Seen { acks: 1, ..SYNS }, None),
            ("no SYN", Seen { asked: false, ..SYNS }, None),
            ("an answer", answered, None),
            ("reset by the server", Seen { reset: server, ..answered }, Some(Reset)),
            ("even if open", Seen { reset: server, acks: 1, ..answered }, Some(Reset)),
            ("refused", refused, Some(Refused)),
            ("open", Seen { acks: 1, ..refused }, None),
            ("given up", given_up, Some(Abandoned)),
            ("by one that acknowledges", Seen { bare: false, ..given_up }, None),
            ("open", Seen { acks: 1, ..given_up }, None),
            ("without an answer", Seen { answered: false, packets: [2, 0], ..given_up }, None),
            ("an old connection answers", collided, Some(Collided)),
            ("nothing does", Seen { packets: [2, 0], ..collided }, None),
            ("open", Seen { acks: 1, ..collided }, None),
            ("the path", Seen { reset: Some(Party::Path), ..refused }, None),
        ] {
            assert_eq!(ends(seen).connect(seen.reset), outcome, "{why}");
        }
        let unbroken = ends(SYNS);
        assert_eq!(unbroken.connect(client), Some(Unanswered), "closed, and not reset");
        for half in 0..2 {
            let mut data = ends(SYNS);
            data.halves[half].longest_run = 1;
            assert_eq!(data.connect(None), None, "data was sent");
            let mut closed = ends(SYNS);
            closed.halves[half].fin = Some(0);
            assert_eq!(closed.connect(None), None, "closed in order");
        }
    }
}
