//! How to decide between a cause and its rival, where the packets of one capture do not.

use crate::{Cause, Direction, Party};

impl Cause {
    /// What to look at to be sure of a cause, for data that goes in `direction`, as a sentence without a full stop; `rival`
    /// is what else the packets admit. `None` if nothing can be changed anyway.
    ///
    /// ```
    /// use ackwise_cause::{Cause, Direction};
    ///
    /// let check = Cause::IdleRestart.check(Direction::ToClient, None).unwrap();
    /// assert!(check.contains("tcp_slow_start_after_idle"));
    /// assert_eq!(Cause::Propagation.check(Direction::ToClient, None), None);
    /// ```
    #[must_use]
    pub fn check(self, direction: Direction, rival: Option<Self>) -> Option<&'static str> {
        let by = self.party(direction);
        let fits = |row: &&Row| {
            row.cause == self
                && (row.rivals.is_empty() || rival.is_some_and(|it| row.rivals.contains(&it)))
                && (row.by.is_none() || row.by == by)
        };
        CHECKS.iter().find(fits).map(|row| row.text)
    }

    /// The same for a protocol that is not HTTP, which `ackwise check` does not speak.
    ///
    /// ```
    /// use ackwise_cause::{Cause, Direction};
    ///
    /// let check = Cause::CorkTimer.check_without_http(Direction::ToClient, None).unwrap();
    /// assert!(!check.contains("URL"));
    /// ```
    #[must_use]
    pub fn check_without_http(
        self,
        direction: Direction,
        rival: Option<Self>,
    ) -> Option<&'static str> {
        let text = self.check(direction, rival)?;
        Some(match text {
            CORKED => CORKED_WITHOUT_HTTP,
            NAGLE_SERVER | TESTED => NAGLE_WITHOUT_HTTP,
            text => text,
        })
    }
}

/// A check: of a cause, against rivals (any if there are none), where that party can change something (or any).
#[derive(Debug)]
struct Row {
    cause: Cause,
    rivals: &'static [Cause],
    by: Option<Party>,
    text: &'static str,
}

const fn any(cause: Cause, text: &'static str) -> Row {
    Row { cause, rivals: &[], by: None, text }
}

const fn against(cause: Cause, rivals: &'static [Cause], text: &'static str) -> Row {
    Row { cause, rivals, by: None, text }
}

const fn at(cause: Cause, party: Party, text: &'static str) -> Row {
    Row { cause, rivals: &[], by: Some(party), text }
}

use Cause::{
    AcceptQueueFull, ApplicationLimited, CongestionWindow, CorkTimer, H2FlowControl, Handshake,
    HeadOfLine, IdleRestart, LossRecovery, NagleDelayedAck, NagleRtt, Pacing, PathStall,
    Propagation, Queueing, ReceiveWindow, RetransmissionTimeout, SendBuffer, ServerThink,
    ShortInitialSegment, SillyWindow, SlowStart, TlsHandshake, Unknown,
};

/// What is a program's or a path's.
const BOTH_ENDS: &str = "capture at both ends, and join the captures with `ackwise explain --pair`: a segment that left \
                         one end on time and reached the other late was delayed on the path";
const AT_SERVER: &str = "capture at the server as well (`ackwise explain --pair`): the server's own time runs from the \
                         arrival of the request there to the departure of the response";
const CORKED: &str = "run `ackwise check URL`, which tests for a cork, or see whether the program sets TCP_CORK or uses \
                      MSG_MORE (`strace -f -e trace=setsockopt,sendto,sendmsg`)";
const CORKED_WITHOUT_HTTP: &str = "see whether the server sets TCP_CORK or uses MSG_MORE \
                                   (`strace -f -e trace=setsockopt,sendto,sendmsg`)";
const NAGLE_WITHOUT_HTTP: &str =
    "see whether the server sets TCP_NODELAY (`strace -f -e trace=setsockopt`) and when it writes";
const TESTED: &str = "run `ackwise check URL`, which tests for it";
const CORKED_CLIENT: &str = "see whether the client sets TCP_CORK or uses MSG_MORE \
                             (`strace -f -e trace=setsockopt,sendto,sendmsg`)";
const NAGLE_SERVER: &str = "run `ackwise check URL`, which tests for it, or see whether the server sets TCP_NODELAY \
                            (`strace -f -e trace=setsockopt`) and when it writes";
const NAGLE_CLIENT: &str =
    "see whether the client sets TCP_NODELAY (`strace -f -e trace=setsockopt`) and when it writes";
const NOT_READ: &str = "look at Recv-Q of the receiver's socket while it is slow (`ss -tn`): its program has not read the \
                        bytes there";
const WRITES: &str = "compare with the times of its writes (its log, or `strace -f -tt -e trace=write,writev,sendto,sendmsg`)";
const WHOLE: &str =
    "capture whole packets (`-s 0`): they show whether a flow-control window of HTTP/2 was used up";
const LOST: &str =
    "capture at the receiver as well: a lost segment is missing there, a delayed one arrives late";

#[rustfmt::skip]
const CHECKS: &[Row] = &[
    any(Handshake, BOTH_ENDS),
    any(TlsHandshake, BOTH_ENDS),
    any(AcceptQueueFull, "see whether `nstat -az TcpExtListenOverflows` counts at the server, and `ss -lnt` shows Recv-Q above \
                          Send-Q"),

    against(ServerThink, &[CorkTimer], CORKED),
    against(ServerThink, &[NagleDelayedAck, NagleRtt], NAGLE_SERVER),
    against(ServerThink, &[SillyWindow, ReceiveWindow], NOT_READ),
    any(ServerThink, AT_SERVER),

    against(PathStall, &[ServerThink, ApplicationLimited], BOTH_ENDS),
    against(PathStall, &[RetransmissionTimeout, LossRecovery], LOST),
    any(PathStall, BOTH_ENDS),
    against(Queueing, &[Propagation], "measure the round trip while nothing else uses the path (`ping`): queueing changes with \
                                       the load, distance does not"),
    any(Queueing, BOTH_ENDS),

    at(ShortInitialSegment, Party::Server, TESTED),
    any(ShortInitialSegment, NAGLE_CLIENT),
    against(NagleDelayedAck, &[RetransmissionTimeout, LossRecovery], LOST),
    at(NagleDelayedAck, Party::Server, NAGLE_SERVER),
    any(NagleDelayedAck, NAGLE_CLIENT),
    at(NagleRtt, Party::Server, NAGLE_SERVER),
    any(NagleRtt, NAGLE_CLIENT),
    at(CorkTimer, Party::Server, CORKED),
    any(CorkTimer, CORKED_CLIENT),

    any(SillyWindow, NOT_READ),
    any(ReceiveWindow, NOT_READ),
    against(SlowStart, &[ApplicationLimited, SendBuffer], WRITES),
    against(SlowStart, &[H2FlowControl], WHOLE),
    any(SlowStart, "look at cwnd and ssthresh of the sender's socket while it sends (`ss -ti`)"),
    against(IdleRestart, &[H2FlowControl], WHOLE),
    any(IdleRestart, "read `sysctl net.ipv4.tcp_slow_start_after_idle` at the sender: if it is 0, the window is not reduced"),
    against(SendBuffer, &[ApplicationLimited, ServerThink], WRITES),
    any(SendBuffer, "look at the sender's socket while it sends (`ss -tmi`): the buffer is full if its bytes (w) reach its \
                     limit (tb)"),
    any(H2FlowControl, "capture whole packets (`-s 0`), and compare with the windows that the receiver sets \
                        (SETTINGS_INITIAL_WINDOW_SIZE, and WINDOW_UPDATE of the connection)"),
    any(HeadOfLine, "see whether the client sends requests before it has the previous response"),

    any(LossRecovery, LOST),
    any(RetransmissionTimeout, LOST),

    against(ApplicationLimited, &[PathStall, Queueing, Propagation], BOTH_ENDS),
    against(ApplicationLimited, &[CorkTimer], CORKED),
    against(ApplicationLimited, &[H2FlowControl], WHOLE),
    against(ApplicationLimited, &[SlowStart, CongestionWindow, Pacing], "look at cwnd, pacing and notsent of the sender's \
                                  socket while it sends (`ss -ti`)"),
    any(ApplicationLimited, WRITES),
    any(Unknown, "capture whole packets (`-s 0`) of both directions, from before the connections begin"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_changed_can_be_checked_whatever_its_rival() {
        for cause in Cause::ALL {
            for direction in [Direction::ToServer, Direction::ToClient] {
                for rival in Cause::ALL.map(Some).into_iter().chain([None]) {
                    let check = cause.check(direction, rival);
                    if cause.remedy(direction).is_some() {
                        assert!(check.is_some(), "{cause} {direction:?} {rival:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_check_of_a_server_is_not_for_a_client() {
        for cause in [ShortInitialSegment, NagleDelayedAck, NagleRtt, CorkTimer] {
            let at = |direction| cause.check(direction, None).unwrap();
            assert!(at(Direction::ToClient).contains("ackwise check URL"), "{cause}");
            assert!(!at(Direction::ToServer).contains("ackwise check URL"), "{cause}");
        }
    }

    #[test]
    fn the_rival_decides_what_to_look_at() {
        let check = |rival| ServerThink.check(Direction::ToClient, rival).unwrap();
        assert_eq!(check(Some(CorkTimer)), CORKED);
        assert_eq!(check(Some(Queueing)), AT_SERVER);
        assert_eq!(check(None), AT_SERVER);
        let paused = |rival| ApplicationLimited.check(Direction::ToClient, Some(rival)).unwrap();
        assert_eq!(paused(PathStall), BOTH_ENDS);
        assert_eq!(paused(ServerThink), WRITES);
    }

    #[test]
    fn each_row_is_reached() {
        for (place, row) in CHECKS.iter().enumerate() {
            let earlier = CHECKS[..place].iter().filter(|it| it.cause == row.cause);
            for other in earlier {
                let covers = other.rivals.is_empty() && (other.by.is_none() || other.by == row.by);
                assert!(!covers, "{row:?} stands behind {other:?}");
            }
        }
    }
}
