//! How exchanges and attempts to connect ended: facts, whatever the reason.

use std::time::Duration;

use ackwise_cause::{Direction, Outcome, Party};
use ackwise_tcp::Instant;

use crate::conversation::StreamEnd;

/// How an exchange ended, and who ended it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Ending {
    /// How.
    pub outcome: Outcome,
    /// Who closed or reset the connection; `None` if nobody was seen to.
    pub by: Option<Party>,
    /// How the request stands to the server's FIN; `None` if there is none, or if it answers the request.
    pub close: Option<CloseOrder>,
    /// The error code of the HTTP/2 frame that ended it (RFC 9113, section 7).
    pub code: Option<u32>,
    /// When the request, or the rest of it, was sent for the second time, if no copy was acknowledged: the client waited
    /// for as long. A kernel repeats it for a program that has given up, too.
    pub sent_again: Option<Instant>,
    /// The client's own deadline (`grpc-timeout`), if an end cancelled the call when that was over.
    pub deadline: Option<Duration>,
}

impl Ending {
    /// Of a stream of HTTP/2 whose connection goes on.
    pub(crate) const fn of_stream(
        end: StreamEnd,
        progress: Progress,
        over: Option<Duration>,
    ) -> Self {
        let outcome = match (end.by, progress) {
            (Party::Client | Party::Path, _) => Outcome::Abandoned,
            (Party::Server, _) if end.is_unprocessed => Outcome::Unprocessed,
            (Party::Server, Progress::Answering) => Outcome::Truncated,
            (Party::Server, _) => Outcome::Reset,
        };
        let deadline = match end.code {
            Some(CANCEL) => over,
            _ => None,
        };
        Self { outcome, by: Some(end.by), close: None, code: end.code, sent_again: None, deadline }
    }
}

/// RFC 9113, section 7: "the stream is no longer needed".
const CANCEL: u32 = 8;

/// When a gRPC call has to be over, as its client says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    timeout: Duration,
    at: Instant,
}

impl Deadline {
    /// Of a request that was seen at `asked`.
    pub(crate) fn new(timeout: Duration, asked: Instant) -> Self {
        /// No call lasts so long; `grpc-timeout` may say 11,000 years. Our choice.
        const MOST: Duration = Duration::from_secs(366 * 24 * 3600);
        Self { timeout, at: asked + timeout.min(MOST) }
    }

    /// The timeout, if it was over at `now`.
    ///
    /// A client sets its timer before it writes the request, and may round what it sends up: gRPC's C core to two
    /// digits or three (`timeout_encoding.cc`), which is 1 % at most. The time to write is our choice: a busy event loop
    /// takes as long.
    pub(crate) fn over(self, now: Instant) -> Option<Duration> {
        const TO_WRITE: Duration = Duration::from_millis(10);
        let early = self.timeout / 100 + TO_WRITE.min(self.timeout / 10);
        (now + early >= self.at).then_some(self.timeout)
    }
}

/// How a request stands to the FIN of the server that did not answer it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CloseOrder {
    /// Neither acknowledges the other: they were on their way at the same time.
    Crossed,
    /// The request acknowledges the FIN: the client knew.
    Ignored,
}

/// No full segment gets through in one direction, and smaller ones do (RFC 2923, section 2.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct BlackHole {
    /// Of the data.
    pub direction: Direction,
    /// Bytes of data of a segment that does not get through.
    pub size: u32,
    /// How often such a segment was sent; `None` if it was captured behind the place where it got lost.
    pub sends: Option<u8>,
    /// Bytes of the largest segment that got through meanwhile, if any did.
    pub passes: Option<u32>,
    /// When such a segment was sent again, or the first seemed to be missing behind that place.
    pub since: Instant,
}

/// How far an exchange was when it ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Progress {
    /// Its request had not ended.
    Asking,
    /// It had, and no response had begun.
    Waiting,
    Answering,
}

/// What is known of a connection when an exchange on it ends without its response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConnectionEnd {
    /// Whose FIN or RST it is; `None` at the end of the capture.
    pub by: Option<Party>,
    /// It is an RST.
    pub by_rst: bool,
    /// Who sent the first FIN or RST.
    pub closed_first: Option<Party>,
    pub close: Option<CloseOrder>,
    /// The request was sent again several times, and never acknowledged.
    pub unheard: bool,
}

impl ConnectionEnd {
    pub(crate) const fn ending(&self, progress: Progress) -> Ending {
        use Outcome::{Abandoned, ClosedUnanswered, CutOff, Open, Reset, Silent, Truncated};
        use Party::{Client, Server};
        let closed = self.close.is_some();
        let (outcome, by) = match (self.by, progress) {
            (Some(Server), Progress::Answering) => (Truncated, Some(Server)),
            (Some(Client), Progress::Answering) => (Abandoned, Some(Client)),
            // A FIN that is in no order with the request acknowledges part of it or all.
            (Some(Server), Progress::Waiting) if self.is_clients() => (Abandoned, Some(Client)),
            (Some(Server), Progress::Waiting) if closed || !self.by_rst => {
                (ClosedUnanswered, Some(Server))
            }
            (_, Progress::Waiting | Progress::Asking) if closed => (ClosedUnanswered, Some(Server)),
            (Some(Server), Progress::Waiting) => (Reset, Some(Server)),
            (Some(Client), Progress::Waiting) => (Abandoned, Some(Client)),
            (Some(_), Progress::Asking) if self.is_clients() => (CutOff, Some(Client)),
            (by @ Some(_), Progress::Asking) => (CutOff, by),
            (None, Progress::Asking | Progress::Waiting) if self.unheard => (Silent, None),
            (None | Some(Party::Path), _) => (Open, None),
        };
        let (code, sent_again, deadline) = (None, None, None);
        Ending { outcome, by, close: self.close, code, sent_again, deadline }
    }

    /// The client closed the connection, and the server only followed.
    const fn is_clients(&self) -> bool {
        matches!(self.closed_first, Some(Party::Client))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use CloseOrder::{Crossed, Ignored};
    use Party::{Client, Server};
    use Progress::{Answering, Asking, Waiting};

    /// Who ends the connection, by an RST or not, after whom, and how the request stands to the server's FIN.
    type End = (Option<Party>, bool, Option<Party>, Option<CloseOrder>);

    #[test]
    fn the_last_that_is_seen_tells_how_an_exchange_ended() {
        for (end, [asking, waiting, answering]) in [
            // The capture ends.
            ((None, false, None, None), ["open", "open", "open"]),
            ((None, false, Some(Client), None), ["open", "open", "open"]),
            // The server closes, having acknowledged the request.
            (
                (Some(Server), false, Some(Server), None),
                ["request-cut-off", "closed-unanswered", "truncated"],
            ),
            ((Some(Server), true, Some(Server), None), ["request-cut-off", "reset", "truncated"]),
            // It closes while the request is on its way, or has before the client asks; what ends it then, is no matter.
            (
                (Some(Server), false, Some(Server), Some(Crossed)),
                ["closed-unanswered", "closed-unanswered", "truncated"],
            ),
            (
                (Some(Server), true, Some(Server), Some(Ignored)),
                ["closed-unanswered", "closed-unanswered", "truncated"],
            ),
            (
                (None, false, Some(Server), Some(Crossed)),
                ["closed-unanswered", "closed-unanswered", "open"],
            ),
            (
                (Some(Client), true, Some(Server), Some(Crossed)),
                ["closed-unanswered", "closed-unanswered", "abandoned"],
            ),
            // The client gives up.
            (
                (Some(Client), true, Some(Client), None),
                ["request-cut-off", "abandoned", "abandoned"],
            ),
            (
                (Some(Server), false, Some(Client), None),
                ["request-cut-off", "abandoned", "truncated"],
            ),
        ] {
            let (by, by_rst, closed_first, close): End = end;
            let end = ConnectionEnd { by, by_rst, closed_first, close, unheard: false };
            let names = [Asking, Waiting, Answering].map(|it| end.ending(it).outcome.name());
            assert_eq!(names, [asking, waiting, answering], "{end:?}");
        }
    }

    #[test]
    fn silence_is_told_from_a_capture_that_ends() {
        let end = |unheard| ConnectionEnd {
            by: None,
            by_rst: false,
            closed_first: None,
            close: None,
            unheard,
        };
        assert_eq!(end(true).ending(Waiting).outcome, Outcome::Silent);
        assert_eq!(end(false).ending(Waiting).outcome, Outcome::Open);
        assert_eq!(end(true).ending(Answering).outcome, Outcome::Open);
    }
}
