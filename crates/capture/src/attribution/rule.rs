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
        "Data or its acknowledgement was on its way for the shortest round trip that the path has shown."
    Row HeldByPath "held-by-path"
        "A timestamp shows that a segment left earlier than the path delivered it (RFC 7323)."
    Row PathSilent "path-silent"
        "An acknowledgement came later than any receiver delays it, or what was in transit came in one go."
    Row LateOrLost "late-or-lost"
        "A segment came late: the path held it, or lost a first copy before the vantage point."
    Row QueuedAgain "queued-again"
        "The acknowledgement of what was sent again came late, and no receiver delays that one (RFC 5681, section 4.2)."
    Row SentInVain "sent-in-vain"
        "What a timer sent again had arrived: the path held it, or its acknowledgement."
    Row Unread "unread"
        "Two full segments or more had arrived, and their acknowledgement left late or shrinks the window: who does not read does not acknowledge."
    Row RefusedRequest "refused-request"
        "The server's host had the first data of a connection, and acknowledged only a later copy: the accept queue was full (Linux: tcp_v4_syn_recv_sock)."
    Row CaptureGap "capture-gap"
        "The capture lacks packets that would show the cause."

    Row BothClocks "both-clocks"
        "Two captures show how long packets were on their way (`--pair`)."

    // What an acknowledgement released.
    Row ClosedWindow "closed-window"
        "The receive window had no room until an acknowledgement opened it (RFC 9293, section 3.8.6)."
    Row SillyWindow "silly-window"
        "The receive window had room for less than a segment (RFC 9293, section 3.8.6.2.1)."
    Row RoomForTwo "room-for-two"
        "The receive window had room for one segment, and Linux waits for room for more (tcp_tso_should_defer)."
    Row FillsWindow "fills-window"
        "A timer sent a segment that fills the receive window to its last byte."
    Row FlowControlled "flow-controlled"
        "A flow-control window of HTTP/2 was used up (RFC 9113, section 5.2)."
    Row SameBuffer "same-buffer"
        "As much was outstanding as at earlier waits after which all that was written had left: a full send buffer."
    Row NagleHeld "nagle-held"
        "A small segment left with the acknowledgement of the data before it (RFC 896)."
    Row NagleOrPace "nagle-or-pace"
        "A small segment left with an acknowledgement, but its program writes as late without one."
    Row FirstWindow "first-window"
        "A full segment left with the first acknowledgement, and never was more than one outstanding: an initial window of one."
    Row RoomInWindow "room-in-window"
        "The congestion window had room, by what was outstanding before: its program or its send buffer."
    Row NothingOutstanding "nothing-outstanding"
        "Nothing was outstanding, or too little was acknowledged to wake a blocked program: the acknowledgement came by chance."
    Row EmptiedBuffer "emptied-buffer"
        "All that was written had left with the data before, as at the wait before that: a full send buffer."
    Row PastThreshold "past-threshold"
        "After a timeout or an idle time, as much is outstanding as where slow start ends."
    Row AfterIdle "after-idle"
        "The congestion window was idle, and less was outstanding than it may have been before."
    Row BufferFarAway "buffer-far-away"
        "Far from the sender, all that was written had left just where the window had no more room: a full send buffer."
    Row WindowFull "window-full"
        "More was ready, and left with an acknowledgement: the congestion window was full (RFC 5681)."

    // What nothing released.
    Row LostBefore "lost-before"
        "A number of the sender's packets shows that one is missing before this one, which came as late as a timer sends."
    Row Corked "corked"
        "A small segment, not the end of a write as far as that shows, left when the timer of a cork ends."
    Row SentLate "sent-late"
        "Data that was ready left late by its timestamp: its timer sent it after a loss that the capture lacks."
    Row Paced "paced"
        "A full segment was ready, no window was full, and nothing released it: its sender spreads them."
    Row ReadyAfterAck "ready-after-ack"
        "More was ready, an acknowledgement of all before let it go, and only a link was between them."
    Row Written "written"
        "Nothing held it: its program wrote it then."

    // Repairs of losses.
    Row AckRepair "ack-repair"
        "What was sent before, or fills a hole, left with an acknowledgement, or before any timer ends (RFC 5681, RFC 8985)."
    Row TimerRepair "timer-repair"
        "What was sent before, or fills a hole, left when nothing but a timer sends (RFC 6298; RFC 8985, section 7)."
    Row BehindRepair "behind-repair"
        "Data left with an acknowledgement while a loss was being repaired."
    Row FullWindowAgain "full-window-again"
        "What was sent again had arrived, and the receive window had no room for more: a probe of the window."
    Row ProbeRtt "probe-rtt"
        "A sender that behaves like BBR keeps little outstanding to measure the path (ProbeRTT)."

    // The first byte of a response.
    Row Thinks "thinks"
        "The server had the request, and nothing shows that its answer was ready."
    Row HeldAnswer "held-answer"
        "An acknowledgement that came after the request let the first bytes of the response go."
    Row ForcedAnswer "forced-answer"
        "The response begins with what a silly window has room for, when its timer ends."
    Row LostAnswer "lost-answer"
        "A packet of the server is missing before the first of the response, which came as late as a timer sends."
    Row CorkedAnswer "corked-answer"
        "The first of a small response came when the timer of a cork ends, after the end of another one was corked."
    Row HeldOnWay "held-on-way"
        "By timestamps, the path held the request or the response."
    Row UnheardRequest "unheard-request"
        "Nothing shows that the server had the request, for longer than any receiver delays an acknowledgement."
    Row VaryingPath "varying-path"
        "Timestamps show that the path holds responses for as long as this one was late, and nothing bounds its request's way."
    Row QueuedAnswer "queued-answer"
        "By its timestamp, the first of the response waited in a queue (RFC 6817, section 2.1)."
    Row InOrder "in-order"
        "Responses of a connection come in the order of its requests (RFC 9112, section 9.3)."

    // Set-up and end of an exchange.
    Row SetUp "set-up"
        "The connection was being set up: TCP's handshake or TLS's."
    Row SynAgain "syn-again"
        "A SYN, or the answer to one, was sent again after a timer (RFC 6298, section 5)."
    Row RefusedSyn "refused-syn"
        "The server's host had a SYN, and answered only a later one: the accept queue was full (Linux: tcp_conn_request)."
    Row Asking "asking"
        "The connection was ready, and its client had not yet sent the request."
    Row Unanswered "unanswered"
        "The connection or the capture ended before the rest came."

    // Doubts.
    Doubt MayBeBuffer "may-be-buffer"
        "What is outstanding may be all that a send buffer holds, and not a congestion window."
    Doubt MayBeWindow "may-be-window"
        "A congestion window may have held what Nagle's algorithm or a send buffer seems to have."
    Doubt MayBeNagle "may-be-nagle"
        "Nagle's algorithm may have held what a window, or a program, seems to have."
    Doubt MayBeProgram "may-be-program"
        "Its program may have written it just then."
    Doubt LossyLink "lossy-link"
        "How fast a link is that drops packets shows less well: it may have been busy."
    Doubt MayBeHeld "may-be-held"
        "An acknowledgement, or the timer of a silly window, may have let the first bytes of a response go."
    Doubt MayBeCorked "may-be-corked"
        "A small segment came about when the timer of a cork ends: a program's pause and a cork look the same."
    Doubt MayBeTimer "may-be-timer"
        "A timer may have sent it: for the first time after a loss, or as a tail-loss probe (RFC 8985, section 7.3)."
    Doubt BehindVantage "behind-vantage"
        "Far from the sender, the path or a queue may have held what its program seems to have written late."
    Doubt AckMissing "ack-missing"
        "The capture lacks an acknowledgement that may have released it."
    Doubt AckLate "ack-late"
        "The echoed timestamp shows that its sender had not yet received an acknowledgement that was due."
    Doubt NoReceiveWindow "no-receive-window"
        "The capture does not show how large the receive window is."
    Doubt SenderNearer "sender-nearer"
        "The sender may be nearer than the shortest round trip: a program's time may be in that."
    Doubt OddDelay "odd-delay"
        "An acknowledgement was late by a time that is no known receiver's: the path may have held it."
    Doubt MayHaveArrived "may-have-arrived"
        "What was sent again had passed the vantage point: only a later acknowledgement shows whether it was lost."
    Doubt MayBeRefused "may-be-refused"
        "The network may have lost a SYN or the first data, or the server's host dropped it: its accept queue was full, or a packet filter did."
    Doubt BeforeTimer "before-timer"
        "What was sent with a lost segment was late itself: part of the timeout was a queue."
    Doubt BusyLink "busy-link"
        "Where no rate is known, a link may have been busy for a part of the time."
    Doubt PlaceOfLink "place-of-link"
        "Where a link is on the path, no packet shows: it may have been busy earlier or later."
    Doubt RateUnsure "rate-unsure"
        "The rate of a link is known from too few samples."
    Doubt HoldsTimestamp "holds-timestamp"
        "Whether a queue or a stall of the path held a segment, its timestamp does not show."
    Doubt UnknownWay "unknown-way"
        "How far the server is, nothing has shown: part of its time may be distance."
    Doubt StillAsking "still-asking"
        "The request had not ended when the response began: which end waited, nothing shows."
    Doubt QuietPath "quiet-path"
        "Nothing bounds how long the request, or its answer, was on its way."
    Doubt StandingQueue "standing-queue"
        "The path may never have been idle: a queue that never empties and distance look the same."
    Doubt MissingData "missing-data"
        "What was missing before a segment was never seen: its sender's state is less certain."
    Doubt Guessed "guessed"
        "No framing shows where requests end: two look like one with a pause."
    Doubt CaptureQuality "capture-quality"
        "The capture lacks packets of this connection, in whole or in part."
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
    const MOST: usize = 81;

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
