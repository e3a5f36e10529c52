//! The rules that decide, by name.
//!
//! A verdict carries the name of the rule that gave it its cause, so that it can be traced, and a rule switched off
//! to see what it is worth (`cargo xtask bench truth --rules`).

use std::fmt;

/// What a rule does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum RuleKind {
    /// It names the cause of some time.
    Row,
    /// It names what the capture does not show: that limits confidence and names a rival.
    Doubt,
}

impl RuleKind {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Doubt => "doubt",
        }
    }
}

macro_rules! rules {
    ($($kind:ident $variant:ident $name:literal $text:literal)*) => {
        /// A rule of attribution.
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = $text] $variant,)*
        }

        impl Rule {
            /// All of them, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name in reports, such as `nagle-held`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it concludes from what, and by which mechanism.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// What it does.
            #[must_use]
            pub const fn kind(self) -> RuleKind {
                match self { $(Self::$variant => RuleKind::$kind,)* }
            }
        }
    };
}

rules! {
    // Where data is, whatever its sender waits for.
    Row LinkBusy "link-busy"
        "A link of known rate was still busy with earlier data."
    Row OnItsWay "on-its-way"
        "Data or its ACK was in transit for the shortest round trip that the path has shown."
    Row HeldByPath "held-by-path"
        "By its timestamp, a segment left earlier than the path delivered it, or waited in a queue (RFC 7323; RFC 6817, section 2.1)."
    Row PathSilent "path-silent"
        "An ACK came later than any receiver delays it, or all data in transit arrived at once, and none of it had been lost."
    Row LateOrLost "late-or-lost"
        "A segment came late: the path held it, or lost a first copy before the vantage point."
    Row Unread "unread"
        "Two full segments or more had arrived, and their ACK left late or shrank the window: the receiver's program did not read."
    Row Refused "refused"
        "The server's host had a SYN, or the first data, and took only a later copy: its accept queue was full (Linux: tcp_conn_request, tcp_v4_syn_recv_sock)."
    Row CaptureGap "capture-gap"
        "The capture lacks packets that would show the cause."

    Row BothClocks "both-clocks"
        "Two captures show how long packets were on their way (`--pair`)."

    // What an acknowledgement released.
    Row ClosedWindow "closed-window"
        "The receive window had no room until an acknowledgement opened it (RFC 9293, section 3.8.6)."
    Row SillyWindow "silly-window"
        "The receive window had room for less than a segment (RFC 9293, section 3.8.6.2.1)."
    Row FillsWindow "fills-window"
        "While the window had no room, a timer sent a segment that fills it to its last byte, or retransmitted data that had arrived."
    Row FlowControlled "flow-controlled"
        "A flow-control window of HTTP/2 was used up (RFC 9113, section 5.2); under TLS, records as long as WINDOW_UPDATE ended pauses."
    Row SameBuffer "same-buffer"
        "The same amount was outstanding at earlier waits after which all written data had left: a full send buffer."
    Row NagleHeld "nagle-held"
        "A small segment left on the ACK of the data before it (RFC 896), and its program does not write that late by itself."
    Row FirstWindow "first-window"
        "A full segment left on the first ACK, and never more than one was outstanding: an initial window of one."
    Row RoomInWindow "room-in-window"
        "The congestion window had room, or the ACK was too small to wake a blocked program: the program or the send buffer held it."
    Row EmptiedBuffer "emptied-buffer"
        "At this wait and at the one before, all written data had already left: a full send buffer."
    Row AfterIdle "after-idle"
        "The sender had been idle, and less was outstanding than the earlier window allowed."
    Row WindowFull "window-full"
        "More data was ready, and left on an ACK: the congestion window was full (RFC 5681)."

    // What nothing released.
    Row LostBefore "lost-before"
        "The numbers of the sender's packets show that one is missing before this one, which came as late as a retransmission timer sends."
    Row Corked "corked"
        "A small segment, apparently not the end of a write, left when the timer of a cork expires."
    Row Paced "paced"
        "A full segment was ready, no window was full, and nothing released it: its sender spreads them."
    Row Written "written"
        "Nothing held it: its program wrote it at that time."

    // Repairs of losses.
    Row AckRepair "ack-repair"
        "A retransmission, or data that fills a hole, left on an ACK or before any timer expires (RFC 5681, RFC 8985), or followed such a repair."
    Row TimerRepair "timer-repair"
        "A retransmission, or data that fills a hole, left when only a timer sends (RFC 6298; RFC 8985, section 7)."

    // The first byte of a response.
    Row Thinks "thinks"
        "The server had the request, and nothing shows that its answer was ready."
    Row HeldAnswer "held-answer"
        "An ACK that came after the request released the first bytes of the response."
    Row UnheardRequest "unheard-request"
        "For longer than any receiver delays an ACK, nothing shows that the request had arrived."
    Row VaryingPath "varying-path"
        "Timestamps show that the path delays responses by as much as this one, and nothing limits the delay of the request."
    Row InOrder "in-order"
        "Responses of a connection come in the order of its requests (RFC 9112, section 9.3)."

    // Set-up and end of an exchange.
    Row SetUp "set-up"
        "The connection was being set up: TCP's handshake or TLS's."
    Row Unanswered "unanswered"
        "Only the end of the connection, or of the capture, showed that no more came."

    // Doubts. Of two that are as strict, the first names the rival.
    Doubt MayBeWindow "may-be-window"
        "A congestion window may have held it, or flow control of HTTP/2 that the capture does not show or that held another stream."
    Doubt MayBeProgram "may-be-program"
        "Its program may have written it just then."
    Doubt MayBeBuffer "may-be-buffer"
        "What is outstanding may be all that a send buffer holds, and not a congestion window."
    Doubt MayBeNagle "may-be-nagle"
        "Nagle's algorithm may be the cause of what looks like a window or a program."
    Doubt CaptureLacks "capture-lacks"
        "The capture lacks what may have released it: packets, the receive window, or data before it."
    Doubt MayBeCorked "may-be-corked"
        "A small segment came about when the timer of a cork ends: a program's pause and a cork look the same."
    Doubt QuietPath "quiet-path"
        "Nothing limits the time that data or its ACK was in transit: the path or a queue may have held it."
    Doubt WayUnsure "way-unsure"
        "The distance to an end is uncertain: the shortest round trip may include a program's time or a queue that never empties."
    Doubt LinkUnsure "link-unsure"
        "The rate of a link or its place on the path is uncertain: it may have been busy for more or less of the time."
    Doubt MayBeTimer "may-be-timer"
        "A timer may have sent it: for the first time after a loss, or as a tail-loss probe (RFC 8985, section 7.3)."
    Doubt MayBeRefused "may-be-refused"
        "The network may have lost a SYN or the first data, or the server's host dropped it: its accept queue was full, or a packet filter did."
    Doubt RequestEnd "request-end"
        "The end of a request is not visible, so it is unknown which end waited."
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It may fall. A new rule takes the place of one that is worth less (`cargo xtask bench truth --rules`), or says here
    /// why none.
    const MOST: usize = 45;

    #[test]
    fn there_are_no_more_rules_than_before() {
        assert!(Rule::ALL.len() <= MOST, "{} rules", Rule::ALL.len());
    }

    #[test]
    fn names_are_words_with_hyphens_and_unlike() {
        for (place, rule) in Rule::ALL.iter().enumerate() {
            let is_word = |it: char| it.is_ascii_lowercase() || it == '-';
            assert!(rule.name().chars().all(is_word), "{rule}");
            assert!(rule.text().ends_with('.'), "{rule}");
            assert!(Rule::ALL[..place].iter().all(|it| it.name() != rule.name()), "{rule}");
        }
    }
}
