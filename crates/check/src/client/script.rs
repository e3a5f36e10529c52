//! What the server does in each check, as a pure decision.

use std::time::Duration;

/// The server's part in a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Script {
    /// Delays ACKs, and answers each request.
    DelaysAcks,
    /// Acknowledges at once, answers each request, and keeps its connections.
    Plain,
    /// Does not send 100 (Continue) for [`PATIENCE`].
    WithholdsContinue,
    /// Closes the connection when a second request arrives on it, once in a run.
    ClosesReused,
    /// Gives the first request a large response.
    SendsLarge,
    /// Answers 413 to a head that announces content, and reads on slowly.
    RefusesUploads,
}

/// A moment at which it acts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Moment {
    /// The head is complete, and content is to follow.
    Head,
    /// Nothing of the content has arrived for [`PATIENCE`] after the head.
    NoContent,
    /// The request is complete.
    Whole,
}

/// What is known of the request at that moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Facts {
    pub(crate) expects: bool,
    /// Its number on the connection, from 0.
    pub(crate) number: usize,
    /// Whether the script has done what is to be done once in a run.
    pub(crate) is_done: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Act {
    Wait,
    /// Sends 100 (Continue).
    Continue,
    /// Sends 200.
    Answer,
    /// Sends 200 with a large content.
    AnswerAtLength,
    /// Sends 413, and reads on: after a FIN in HTTP/1, after RST_STREAM in HTTP/2.
    Refuse,
    /// Closes as a server whose close has crossed the request: with a FIN and an RST in HTTP/1, with GOAWAY in HTTP/2.
    Close,
}

impl Script {
    pub(crate) const fn act(self, moment: Moment, facts: Facts) -> Act {
        match (self, moment) {
            (Self::ClosesReused, Moment::Whole) if facts.number > 0 && !facts.is_done => Act::Close,
            (Self::SendsLarge, Moment::Whole) if !facts.is_done => Act::AnswerAtLength,
            (_, Moment::Whole) => Act::Answer,
            (Self::RefusesUploads, Moment::Head) => Act::Refuse,
            (Self::WithholdsContinue, Moment::Head) => Act::Wait,
            (_, Moment::Head | Moment::NoContent) if facts.expects => Act::Continue,
            (_, Moment::Head | Moment::NoContent) => Act::Wait,
        }
    }

    /// The ACK delay of the request with this number, of all in this check: at most `longest`.
    ///
    /// The longest comes first, so that a client that only thinks between its writes is acquitted by its first
    /// request; the last of three measures what remains if the ACK is not delayed.
    pub(crate) fn delay(self, number: usize, longest: Duration) -> Duration {
        match (self, number % DELAYS) {
            (Self::DelaysAcks, 0) => longest,
            (Self::DelaysAcks, 1) => SHORT_DELAY.min(longest / 2),
            _ => Duration::ZERO,
        }
    }
}

/// How many different delays there are.
pub(crate) const DELAYS: usize = 3;

/// As long as Linux delays an ACK (`TCP_DELACK_MIN`).
pub(crate) const SHORT_DELAY: Duration = Duration::from_millis(40);

/// How long a client may wait for a 100 (Continue). Our choice: five times as long as curl waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// What Nagle's algorithm held leaves as soon as the ACK arrives. Our choice: a busy machine takes longer, which
/// acquits.
pub(crate) const FOLLOWS: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_script_departs_from_a_plain_server_at_one_moment() {
        use Script::*;
        let facts = Facts { expects: false, number: 0, is_done: false };
        let expects = Facts { expects: true, ..facts };
        let second = Facts { number: 1, ..facts };
        let closed = Facts { is_done: true, ..second };
        for (script, moment, facts, act) in [
            (Plain, Moment::Head, facts, Act::Wait),
            (Plain, Moment::Head, expects, Act::Continue),
            (Plain, Moment::Whole, second, Act::Answer),
            (DelaysAcks, Moment::Head, expects, Act::Continue),
            (WithholdsContinue, Moment::Head, expects, Act::Wait),
            (WithholdsContinue, Moment::NoContent, expects, Act::Continue),
            (WithholdsContinue, Moment::NoContent, facts, Act::Wait),
            (ClosesReused, Moment::Whole, facts, Act::Answer),
            (ClosesReused, Moment::Whole, second, Act::Close),
            (ClosesReused, Moment::Whole, closed, Act::Answer),
            (SendsLarge, Moment::Whole, facts, Act::AnswerAtLength),
            (SendsLarge, Moment::Whole, closed, Act::Answer),
            (RefusesUploads, Moment::Head, facts, Act::Refuse),
            (RefusesUploads, Moment::Head, expects, Act::Refuse),
            (RefusesUploads, Moment::Whole, facts, Act::Answer),
        ] {
            assert_eq!(script.act(moment, facts), act, "{script:?} {moment:?} {facts:?}");
        }
    }

    #[test]
    fn three_requests_have_three_delays() {
        let ms = Duration::from_millis;
        let delays = |longest| [0, 1, 2, 3].map(|n| Script::DelaysAcks.delay(n, longest));
        assert_eq!(delays(ms(120)), [ms(120), ms(40), ms(0), ms(120)]);
        assert_eq!(delays(ms(30)), [ms(30), ms(15), ms(0), ms(30)]);
        assert_eq!(Script::Plain.delay(0, ms(120)), ms(0));
    }
}
