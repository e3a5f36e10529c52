//! Who waits in TIME-WAIT after a connection, and by which rule: the order of the FINs, what both ends agreed in
//! their SYNs, a CLIENT_CLOSE.
//!
//! Not here: the swap, which an RST after both FINs shows (`flow`).

use ackwise_cause::{Direction, Party};
use ackwise_tcp::{Segment, TimeWaitHolder};

/// Why an end held TIME-WAIT.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum TimeWaitRule {
    /// It sent the first FIN.
    ClosedFirst,
    /// The client sent the first FIN, with or after a CLIENT_CLOSE request.
    ClientClose,
    /// It closed second, and took TIME-WAIT over with an RST.
    Swap,
    /// It closed second, and both ends had agreed on it by a TCP option in their SYNs.
    Negotiated,
}

impl TimeWaitRule {
    /// Every rule.
    pub const ALL: [Self; 4] = [Self::ClosedFirst, Self::ClientClose, Self::Swap, Self::Negotiated];

    /// As the reports name it: `closed-first`, `client-close`, `swap`, `negotiated`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClosedFirst => "closed-first",
            Self::ClientClose => "client-close",
            Self::Swap => "swap",
            Self::Negotiated => "negotiated",
        }
    }
}

/// What both ends said about the end of their connection.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Closing {
    /// The option for TIME-WAIT in the client's SYN and in the server's SYN-ACK, as they sent it.
    pub offers: [Option<TimeWaitHolder>; 2],
    /// Whose FIN had the option with "mine": the client's, the server's.
    promised: [bool; 2],
    /// The client sent a CLIENT_CLOSE request.
    pub client_close: bool,
    /// Number of GETWEB requests.
    pub getwebs: u32,
}

impl Closing {
    /// What a segment says about it.
    pub(crate) fn handle_segment(&mut self, segment: &Segment, direction: Direction) {
        let end = direction as usize;
        if segment.flags.syn {
            self.offers[end] = segment.time_wait_holder;
        }
        if segment.flags.fin {
            self.promised[end] |= segment.time_wait_holder == Some(TimeWaitHolder::Mine);
        }
    }

    /// What a request says about it.
    pub(crate) fn handle_request(&mut self, kind: RequestKind) {
        match kind {
            RequestKind::ClientClose => self.client_close = true,
            RequestKind::GetWeb => self.getwebs = self.getwebs.saturating_add(1),
            RequestKind::Other => {}
        }
    }

    /// The end that both agreed on. Its FIN confirms it: without that, the other end waits as usual
    /// (docs/time-wait.md).
    #[must_use]
    pub fn agreed(&self) -> Option<Party> {
        use TimeWaitHolder::{Mine, Yours};
        let (holder, end) = match self.offers {
            [Some(Mine), Some(Yours)] => (Party::Client, Direction::ToServer),
            [Some(Yours), Some(Mine)] => (Party::Server, Direction::ToClient),
            _ => return None,
        };
        self.promised[end as usize].then_some(holder)
    }

    /// Who holds TIME-WAIT after both ends have closed, `first` before the other.
    pub(crate) fn holder(&self, first: Party) -> (Party, TimeWaitRule) {
        match self.agreed() {
            Some(holder) if holder != first => (holder, TimeWaitRule::Negotiated),
            _ if first == Party::Client && self.client_close => (first, TimeWaitRule::ClientClose),
            _ => (first, TimeWaitRule::ClosedFirst),
        }
    }
}

/// The two methods of the papers, which no registry has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RequestKind {
    ClientClose,
    GetWeb,
    Other,
}

impl RequestKind {
    /// CLIENT_CLOSE is about no resource, so its target is `*` (`ackwise_http::client_close`).
    pub(crate) fn of(method: Option<&str>, path: Option<&str>) -> Self {
        match (method, path) {
            (Some("CLIENT_CLOSE"), Some("*")) => Self::ClientClose,
            (Some("GETWEB"), _) => Self::GetWeb,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TimeWaitHolder::{Mine, Yours};

    #[test]
    fn only_opposite_options_and_a_promise_make_an_agreement() {
        let closing =
            |offers, promised| Closing { offers, promised, ..Closing::default() }.agreed();
        let both = [true, true];
        for (offers, expected) in [
            ([Some(Mine), Some(Yours)], Some(Party::Client)),
            ([Some(Yours), Some(Mine)], Some(Party::Server)),
            ([Some(Mine), Some(Mine)], None),
            ([Some(Yours), Some(Yours)], None),
            ([Some(Mine), None], None),
            ([None, Some(Yours)], None),
            ([None, None], None),
        ] {
            assert_eq!(closing(offers, both), expected, "{offers:?}");
            assert_eq!(closing(offers, [false; 2]), None, "{offers:?} without a promise");
        }
        assert_eq!(closing([Some(Mine), Some(Yours)], [false, true]), None, "the other end's FIN");
    }

    #[test]
    fn an_agreement_counts_whoever_closes_first() {
        let agreed = Closing {
            offers: [Some(Mine), Some(Yours)],
            promised: [true, false],
            ..Closing::default()
        };
        assert_eq!(agreed.holder(Party::Server), (Party::Client, TimeWaitRule::Negotiated));
        assert_eq!(agreed.holder(Party::Client), (Party::Client, TimeWaitRule::ClosedFirst));
        let told = Closing { client_close: true, ..Closing::default() };
        assert_eq!(told.holder(Party::Client), (Party::Client, TimeWaitRule::ClientClose));
        assert_eq!(told.holder(Party::Server), (Party::Server, TimeWaitRule::ClosedFirst));
    }

    #[test]
    fn a_method_is_not_enough_for_a_client_close() {
        let kind = |method, path| RequestKind::of(Some(method), Some(path));
        assert_eq!(kind("CLIENT_CLOSE", "*"), RequestKind::ClientClose);
        assert_eq!(kind("CLIENT_CLOSE", "/"), RequestKind::Other);
        assert_eq!(kind("GETWEB", "/p"), RequestKind::GetWeb);
        assert_eq!(RequestKind::of(None, None), RequestKind::Other);
    }
}
