//! Which end of a closed connection waits in TIME-WAIT, and what an RST does to it there.

use crate::segment::TimeWaitHolder;

/// Which end holds TIME-WAIT, as far as this end has a say in it.
///
/// ```
/// use ackwise_tcp::{TimeWaitHolder, Policies, policy::ClosePolicy};
/// let browser = Policies { close: ClosePolicy::Swap, ..Policies::LINUX_6 };
/// let server = Policies { close: ClosePolicy::Negotiated(TimeWaitHolder::Yours), ..Policies::RFC };
/// assert_eq!((browser.close.wish(), server.close.wish()), (None, Some(TimeWaitHolder::Yours)));
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum ClosePolicy {
    /// Who closes first, as in RFC 9293, section 3.6.
    #[default]
    Ordinary,
    /// After a passive close, this end: it takes TIME-WAIT over, and tells the peer by an RST that it
    /// need not wait (Faber, Touch, Yue 1997). The peer need not know of it; one that ignores an RST
    /// in TIME-WAIT waits too. An active close is an ordinary one.
    Swap,
    /// Whom both ends agree on when the connection opens, by an option of their SYNs: the draft's
    /// "cleaner implementation". If the peer does not agree, who closes first.
    Negotiated(TimeWaitHolder),
}

impl ClosePolicy {
    /// What a SYN offers, and what a SYN-ACK accepts.
    #[must_use]
    pub const fn wish(self) -> Option<TimeWaitHolder> {
        match self {
            Self::Negotiated(wish) => Some(wish),
            Self::Ordinary | Self::Swap => None,
        }
    }

    /// What both ends agree on, as this end sees it, after a SYN or SYN-ACK with the option `offered`.
    ///
    /// Two ends that both want to hold it, or both do not, have not agreed: "absent" is always right.
    #[must_use]
    pub fn agree(self, offered: Option<TimeWaitHolder>) -> Option<TimeWaitHolder> {
        let offered = offered.map(TimeWaitHolder::seen_from_the_peer);
        self.wish().filter(|wish| offered == Some(*wish))
    }
}

/// What an exact RST does to a connection in TIME-WAIT.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ResetInTimeWait {
    /// It ends it: RFC 9293, section 3.10.7.4, and Linux with `tcp_rfc1337` = 0, its default.
    #[default]
    Ends,
    /// Nothing: RFC 1337, section 3, fix F1, and Linux with `tcp_rfc1337` = 1.
    Ignored,
}

#[cfg(test)]
mod tests {
    use super::{TimeWaitHolder::*, *};

    #[test]
    fn one_offers_and_the_other_accepts() {
        use ClosePolicy::{Negotiated, Ordinary, Swap};
        #[rustfmt::skip]
        let table = [
            (Negotiated(Mine),  Some(Yours), Some(Mine)),
            (Negotiated(Yours), Some(Mine),  Some(Yours)),
            (Negotiated(Mine),  Some(Mine),  None),
            (Negotiated(Yours), Some(Yours), None),
            (Negotiated(Mine),  None,        None),
            (Negotiated(Yours), None,        None),
            (Ordinary,          Some(Mine),  None),
            (Ordinary,          Some(Yours), None),
            (Swap,              Some(Mine),  None),
            (Swap,              Some(Yours), None),
        ];
        for (policy, offered, agreed) in table {
            assert_eq!(policy.agree(offered), agreed, "{policy:?} offered {offered:?}");
        }
    }
}
