//! Why a segment left when it did and not earlier, by what was seen before it.
//!
//! A sender that waits for an acknowledgement sends as soon as that arrives, so a segment that follows
//! one at once was waiting for it, and what the acknowledgement changed says for what. A segment that
//! follows nothing was released by a timer or by its program.

mod by_cork;
mod by_nagle;
mod by_window;
mod doubts;
mod rows;

use ackwise_cause::{Cause, H2Window, RepairedBy, Writer};
use ackwise_tcp::Wait;

use self::{
    doubts::DOUBTS,
    rows::{OF_LOSS, RELEASED, UNRELEASED},
};
use super::{
    Confidence, CorkTimer, LossKind, Nanos, Rule,
    decide::{Limit, first_of, limit_of},
    nagle::NagleHabit,
    stall::Stall,
    window::Plateau,
};

/// All that the decision may depend on. Times are those at the sender, bytes those of its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Time since it last sent data.
    pub since_data: Nanos,
    /// The same by its timestamps; zero if they tell nothing.
    pub by_stamps: Nanos,
    /// Time since the latest acknowledgement arrived; `None` if none has since the data before.
    pub since_ack: Option<Nanos>,
    /// Time since the latest acknowledgement of new data arrived; `None` if none ever has.
    pub since_progress: Option<Nanos>,
    /// Time since a third of what was outstanding with the data before was acknowledged.
    pub since_room: Option<Nanos>,
    /// A segment that follows an acknowledgement within this time was released by it.
    pub immediate: Nanos,
    /// Data of the segment.
    pub bytes: u64,
    /// Data of a full segment.
    pub full: u64,
    /// What was outstanding before the latest acknowledgement, and after it.
    pub flight: [u64; 2],
    /// How much the receive window let be sent before the latest acknowledgement.
    pub usable_window: Option<u64>,
    /// What the congestion window was before the latest acknowledgement, at least.
    pub least_window: u64,
    /// No congestion window is smaller, in bytes; 0 if nothing is known.
    pub sure_window: u64,
    /// The most that was outstanding before the connection was idle, until that is reached again.
    pub peak_before_idle: Option<u64>,
    /// It was idle, and has lost nothing since.
    pub after_idle: bool,
    /// What the congestion window may have been before that, although less was outstanding.
    pub reach_before_idle: u64,
    /// Something was lost, so that the window may be any.
    pub lossy: bool,
    /// The congestion window grows with each acknowledgement.
    pub slow_start: bool,
    /// What is outstanding does not grow from round to round, and nothing was lost.
    pub stays: Plateau,
    /// The most that was ever outstanding.
    pub most_flight: u64,
    /// The segment ends where the receive window does.
    pub fills_receive_window: bool,
    /// The shortest round-trip time between the ends.
    pub round_trip: Nanos,
    /// The segment's timestamp shows that the sender sent it late, and not that the path delayed it.
    pub left_late: bool,
    /// A small segment was outstanding, and the latest acknowledgement covers it.
    pub small_acknowledged: bool,
    /// The latest acknowledgement reports data that came behind a hole.
    pub sacked: bool,
    /// The segment before it had PSH: the send buffer was empty after it.
    pub pushed: bool,
    /// It had PSH at the end of a write, not because segmentation offload put it there.
    pub ended: bool,
    /// Or in the middle of a long one: Linux sets it after half of the largest window (`forced_push`).
    pub forced: bool,
    /// The path from the sender to the vantage point is long enough to lose segments.
    pub may_miss_losses: bool,
    /// Whether one of its packets was lost between the data before it and this; `None` if nothing shows.
    pub lost_before: Option<bool>,
    /// All that was written had left, too, when it last waited for an acknowledgement.
    pub emptied_before: bool,
    /// All that was written had left with the data before, and so it was when it waited before that, or at two
    /// earlier waits in a row, with exactly as much outstanding.
    pub fills_same_buffer: bool,
    /// What was outstanding when the data before left.
    pub outstanding: u64,
    /// The congestion window may have had no room for it then.
    pub window_was_full: bool,
    /// What the sender did with small segments before.
    pub nagle: NagleHabit,
    /// It answers data that came with the latest acknowledgement.
    pub answers: bool,
    /// Nagle's algorithm held the small segment before it, which is of the same message.
    pub follows_held: bool,
    /// A small segment is outstanding.
    pub behind_small: bool,
    /// It repairs a loss, or follows a repair that is not yet acknowledged.
    pub loss: Option<Loss>,
    /// It sends again what had arrived, and the receive window had no room for more.
    pub fills_in_vain: bool,
    /// What shows that the path delivered nothing, and what is known of the loss.
    pub stall: Stall,
    pub kind: Option<LossKind>,
    /// What the capture lacks.
    pub lacks: Lacks,
    /// What shows that packets were on their way for longer than usual.
    pub late: Late,
    /// A rule that is switched off.
    pub without: Option<Rule>,
}

/// What a capture lacks of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lacks {
    /// An acknowledgement that reached it since the data before.
    pub ack: bool,
    /// That one opened the receive window.
    pub opening: bool,
    /// Any receive window.
    pub window: bool,
}

/// What was late, or may have been, between the sender and its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Late {
    /// By its timestamps, an acknowledgement had not reached the sender that should have.
    pub due_ack: bool,
    /// For so long, the receiver had the data before without acknowledging it, if that is longer than a path varies.
    pub silent: Option<Nanos>,
    /// The same, if that is longer than half of the least round trip, which no receiver waits with what fills a hole
    /// (RFC 5681, section 4.2).
    pub slow: bool,
    /// That is how late this receiver's acknowledgements are, or any known one's.
    pub usual: bool,
    /// The receiver is far, and had perhaps had what is sent again.
    pub may_have_arrived: bool,
    /// The sender may be nearer than the shortest round trip says, and acknowledgements may have reached it already.
    pub sender_nearer: bool,
    pub more_acks: bool,
    /// By so much the last acknowledgements were late that no receiver delays, and all of them, where no rate of a link
    /// is known.
    pub unexplained: [Nanos; 2],
    /// The acknowledgement of what filled the receive window was late, and a slow link may be why.
    pub by_link: bool,
}

/// What a segment has to do with a loss.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Loss {
    /// It is the repair.
    Repairs,
    /// Bytes before it are missing.
    Missing,
    /// The repair is on its way.
    Repaired,
}

/// What the sender was waiting for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Hold {
    pub wait: Wait,
    pub lost: Option<RepairedBy>,
    pub writer: Writer,
    /// If flow control of HTTP/2 blocked its program, by which window.
    pub window: Option<H2Window>,
    pub cut_by_idle: bool,
    /// It waited for a window that a loss has cut.
    pub cut_by_loss: bool,
    pub paced: bool,
    /// The capture does not show the reason.
    pub unknown: bool,
    pub confidence: Confidence,
    /// What else the packets admit.
    pub rival: Option<Cause>,
    /// Which rule says so, and which doubt limits its confidence first.
    pub rule: Rule,
    pub doubt: Option<Rule>,
}

impl Hold {
    const fn new(wait: Wait, confidence: Confidence) -> Self {
        Self {
            wait,
            lost: None,
            writer: Writer::Working,
            window: None,
            cut_by_idle: false,
            cut_by_loss: false,
            paced: false,
            unknown: false,
            confidence,
            rival: None,
            rule: Rule::Written,
            doubt: None,
        }
    }

    /// The same, where the packets admit `rival` as well.
    pub(super) const fn or(self, rival: Cause) -> Self {
        Self { rival: Some(rival), ..self }
    }

    /// The same, and nothing else.
    pub(super) const fn for_sure(self) -> Self {
        Self { confidence: Confidence::High, rival: None, ..self }
    }

    /// It waited for something that only an acknowledgement changes.
    pub(super) const fn waits_for_ack(&self) -> bool {
        matches!(self.wait, Wait::Nagle | Wait::SlowStart | Wait::CongestionWindow)
    }

    /// What a segment waited for before an acknowledgement gave the window room, if Nagle's algorithm held it
    /// after that.
    pub(super) fn before_nagle(&self, facts: &Facts) -> Option<Self> {
        let held_first = self.wait == Wait::Nagle && facts.window_may_have_held_it_first();
        let hold = || Self::new(facts.window_wait(), Confidence::Medium).or(Cause::NagleRtt);
        held_first.then(|| Self { rule: Rule::WindowFull, doubt: Some(Rule::MayBeNagle), ..hold() })
    }

    /// What a segment waited for before Nagle's algorithm held it: its program, until it had paused for as long as it was
    /// seen to pause where nothing held it (`own_pause`), next to the sender: elsewhere, that shows less well. What is
    /// left is in doubt, from an eighth of the time (our choice).
    pub(super) fn divided_by_pace(
        self,
        facts: &Facts,
        own_pause: Option<Nanos>,
    ) -> (Self, Option<Self>) {
        let is_nagle = self.wait == Wait::Nagle && !facts.may_miss_losses;
        let counts = |own: &Nanos| *own < facts.since_data && *own * 8 >= facts.since_data;
        if !is_nagle || own_pause.filter(counts).is_none() {
            return (self, None);
        }
        let written = Self::just_written().limited(Rule::MayBeNagle, Limit::or(Cause::NagleRtt));
        let held = self.limited(Rule::MayBeProgram, Limit::or(Cause::ApplicationLimited));
        (held, Some(written))
    }

    /// It waited for the congestion window.
    pub(super) const fn waits_for_window(&self) -> bool {
        matches!(self.wait, Wait::SlowStart | Wait::CongestionWindow)
    }

    /// It waited for room in the receive window, whatever it sent again meanwhile.
    pub(super) const fn full_window() -> Self {
        let hold = Self::receive_window(Confidence::Medium);
        Self { rule: Rule::FillsWindow, ..hold }
    }

    /// Its program waited for memory of the send buffer.
    pub(super) fn waits_for_memory(&self) -> bool {
        self.writer == Writer::SendBufferFull
    }

    /// It waited for a closed receive window, whatever it sent again meanwhile.
    pub(super) const fn waits_for_open_window(&self) -> bool {
        matches!(self.wait, Wait::ReceiveWindow { .. }) && self.lost.is_none()
    }

    /// It waited for the receive window.
    pub(super) const fn waits_for_receiver(&self) -> bool {
        matches!(self.wait, Wait::ReceiveWindow { .. } | Wait::SillyWindow)
    }

    /// Its program wrote it, and nothing held it.
    pub(super) const fn just_written() -> Self {
        Self::new(Wait::Application, Confidence::High)
    }

    /// A full segment was ready, and no window is seen to have held it. Where it was captured far from its sender, much
    /// is not seen.
    pub(super) fn ready(is_likely: bool) -> Self {
        let sure = if is_likely { Confidence::Medium } else { Confidence::Low };
        let hold = Self::new(Wait::Application, sure).or(Cause::ApplicationLimited);
        Self { paced: true, rule: Rule::Paced, doubt: Some(Rule::MayBeProgram), ..hold }
    }

    /// It waits for nothing: the whole message has left.
    pub(crate) const fn done() -> Self {
        Self { writer: Writer::Done, ..Self::new(Wait::Application, Confidence::High) }
    }

    /// A timer sent it after a loss that the capture lacks.
    fn sent_by_timer() -> Self {
        let (wait, lost) = (Wait::RetransmissionTimeout, Some(RepairedBy::Timeout));
        let hold = Self::new(wait, Confidence::Medium).or(Cause::ApplicationLimited);
        Self { lost, ..hold }
    }

    /// It waited for room in the receive window.
    const fn receive_window(confidence: Confidence) -> Self {
        Self::new(Wait::ReceiveWindow { probing: false }, confidence)
    }

    /// It waited for room in the send buffer, unless a window held it.
    const fn send_buffer(facts: &Facts) -> Self {
        let hold = Self::new(Wait::Application, Confidence::Medium).or(facts.window());
        Self { writer: Writer::SendBufferFull, ..hold }
    }

    /// It waited for the congestion window.
    const fn window(facts: &Facts, wait: Wait, confidence: Confidence) -> Self {
        let (cut_by_idle, cut_by_loss) = (facts.is_below_peak(), facts.lossy && !facts.after_idle);
        Self { cut_by_idle, cut_by_loss, ..Self::new(wait, confidence) }
    }

    /// What the sender of a segment waited for, by the first row that applies.
    pub(crate) fn claimed(facts: &Facts) -> Self {
        let table = if facts.was_released() { RELEASED } else { UNRELEASED };
        let of_loss = facts.loss.and_then(|_| first_of(OF_LOSS, facts, facts.without));
        let decided = of_loss.or_else(|| first_of(table, facts, facts.without));
        let (rule, hold) = decided.unwrap_or((Rule::Written, Self::just_written()));
        let lost = match facts.loss {
            Some(Loss::Missing) if of_loss.is_none() => Some(RepairedBy::Recovery),
            _ => hold.lost,
        };
        Self { rule, lost, ..hold }
    }

    /// The same, as far as nothing makes it less sure.
    pub(crate) fn with_doubts(self, facts: &Facts) -> Self {
        // It has all that a doubt can give.
        if self.confidence == Confidence::Low && self.rival.is_some() && self.doubt.is_some() {
            return self;
        }
        match limit_of(DOUBTS, facts, &self, facts.without) {
            Some((doubt, limit)) => self.limited(doubt, limit),
            None => self,
        }
    }

    /// The same, at most so sure. The rival that it has stays.
    pub(super) fn limited(self, doubt: Rule, limit: Limit) -> Self {
        let confidence = self.confidence.min(limit.most);
        let (rival, doubt) = (self.rival.or(limit.rival), self.doubt.or(Some(doubt)));
        Self { confidence, rival, doubt, ..self }
    }

    /// The shortest retransmission timeout. Our choice: Linux sent tail loss probes (RFC 8985, section
    /// 7.2) after 7 to 9 ms on the shortest paths.
    const LEAST_TIMEOUT: Nanos = Nanos::from_millis(5);
}

impl Facts {
    /// Whether an acknowledgement released the segment, as far as that shows.
    fn was_released(&self) -> bool {
        self.is_released() || self.window_was_closed() || self.nagle_released_it_late()
    }

    /// No congestion window is so small that it had no room.
    fn has_room(&self) -> bool {
        self.flight[0] + self.bytes.min(self.full) <= self.sure_window
    }

    /// Less was outstanding than before the connection was idle.
    const fn is_below_peak(&self) -> bool {
        matches!(self.peak_before_idle, Some(peak) if self.flight[0] < peak)
    }

    /// The window that may have held it, as a reason to wait.
    const fn window_wait(&self) -> Wait {
        if self.slow_start { Wait::SlowStart } else { Wait::CongestionWindow }
    }

    /// It was ready, and came late: perhaps for the second time.
    fn is_late_though_ready(&self) -> bool {
        self.may_have_been_lost() && self.since_event() >= Hold::LEAST_TIMEOUT
    }

    /// The write before it went on, as far as that shows, and it came when the timer of a cork ends.
    fn may_be_corked(&self) -> bool {
        (!self.ended || self.forced)
            && self.is_small()
            && [self.since_event(), self.since_data]
                .iter()
                .any(|&since| CorkTimer::cannot_be_excluded(since, self.round_trip))
    }

    /// Time since anything happened at the sender: data sent or an acknowledgement received.
    pub(super) fn since_event(&self) -> Nanos {
        self.since_ack.map_or(self.since_data, |since| since.min(self.since_data))
    }

    /// RFC 8985, section 6.2: after a SACK, RACK waits a quarter of the least round trip for reordered data.
    /// Linux rounds that up to a tick of 4 ms and adds two (`TCP_TIMEOUT_MIN`), and its timers are late by one.
    fn reordering_window(&self) -> Nanos {
        const TICKS: Nanos = Nanos::from_millis(16);
        let rack = if self.sacked { self.round_trip / 4 + TICKS } else { Nanos::ZERO };
        rack + self.immediate * 2
    }

    /// RFC 8985, section 6.2: where segments were reordered before, RACK waits for longer, for up to a round trip. After
    /// a SACK no probe is sent (Linux `tcp_schedule_loss_probe`), and each acknowledgement of new data starts the
    /// retransmission timer again (RFC 6298, section 5.3).
    fn is_reordering_timer(&self) -> bool {
        self.sacked && self.since_progress.is_some_and(|since| since < Self::LEAST_TIMER)
    }

    /// Whether the receive window had no room for the segment. A small segment that does not fit, with
    /// less data in flight than there is room for, waits for an ACK in any case (Nagle).
    fn receive_window_had_no_room(&self) -> bool {
        self.usable_window.is_some_and(|usable_window| {
            let outstanding = self.flight[0];
            let is_open = self.bytes < self.full
                && (1..usable_window).contains(&outstanding)
                && !self.fills_receive_window;
            !is_open && usable_window < self.bytes.min(self.full)
        })
    }

    /// Whether as much was in flight as a send buffer keeps. Linux lets a program write again when a third
    /// is free (`sk_stream_is_writeable`); by then ACKs may have freed more. Our choice: two fifths of the
    /// most there ever was.
    const fn is_near_most_flight(&self) -> bool {
        self.most_flight * 2 <= self.flight[0] * 5
    }

    /// The initial window may be one segment (RFC 5681, section 3.1), and this the first that was too much for
    /// it: nothing larger was ever outstanding, and a full segment is nothing that Nagle's algorithm holds.
    const fn may_fill_first_window(&self) -> bool {
        let is_first = self.slow_start && self.most_flight <= self.full;
        is_first && self.flight[0] > 0 && !self.answers && !self.is_small()
    }

    /// All that was written had left, and more than a congestion window of a segment or two: its buffer may
    /// have been full, although that is not smaller than before.
    pub(super) fn may_have_filled_buffer(&self) -> bool {
        self.ended && self.slow_start && self.flight[0] > self.full
    }

    /// The receive window was closed for most of the time, whatever the sender waited for after that.
    fn window_was_closed(&self) -> bool {
        self.receive_window_had_no_room()
            && self.since_ack.is_some_and(|late| late * 4 <= self.since_data)
    }

    /// A full segment that was held back while more is outstanding, as in the next rule, until a tail-loss probe sends it.
    fn takes_last_of_window(&self) -> bool {
        self.bytes == self.full && self.flight[1] > self.full && !self.answers
    }

    /// Perhaps it was sent before, and lost before the vantage point. What follows PSH and fills a
    /// segment was written late, by a program that fills its send buffer and later fills it again.
    const fn may_have_been_lost(&self) -> bool {
        let ready = !self.pushed || (!self.ended && self.is_small());
        self.may_miss_losses
            && !matches!(self.lost_before, Some(false))
            && ready
            && self.flight[1] == 0
    }

    /// Nagle's algorithm may have held it because the acknowledgement of a small segment was lost, until a
    /// timer sent it: a tail loss probe has new data if there is some (RFC 8985, section 7.3).
    fn may_be_a_probe(&self) -> bool {
        let may_be_held = self.is_small()
            && (1..self.full).contains(&self.flight[1])
            && self.nagle != NagleHabit::Off;
        may_be_held && CorkTimer::is_of_a_timeout(self.since_event(), self.round_trip)
    }

    /// What else may have happened between the sender and the vantage point before a segment that
    /// followed the end of a write: the path held it, or a queue, and no timestamp shows when it left; or it
    /// left late because Nagle's algorithm waited for an acknowledgement that was lost or late there.
    fn behind_vantage(&self) -> Option<Cause> {
        if !self.may_miss_losses || self.since_event() <= self.immediate {
            return None;
        }
        let is_long = self.since_event() > Stall::least(self.round_trip);
        match (self.left_late, self.may_be_held_by_nagle()) {
            (false, _) if is_long => Some(Cause::PathStall),
            (false, _) => Some(Cause::Queueing),
            (true, true) => Some(Cause::NagleRtt),
            (true, false) => None,
        }
    }

    /// A program that a full send buffer has blocked goes on when a third of it is free (Linux
    /// `sk_stream_is_writeable`), and later where its host is busy: most of the pause was before that.
    fn may_have_waited_for_memory(&self) -> bool {
        self.pushed
            && !self.answers
            && self.outstanding >= 2 * self.full
            && self.since_room.is_some_and(|late| late * 4 <= self.since_data)
    }

    /// What a congestion window would be called that holds it.
    const fn window(&self) -> Cause {
        if self.slow_start { Cause::SlowStart } else { Cause::CongestionWindow }
    }

    /// An acknowledgement arrived just before.
    pub(crate) fn is_released(&self) -> bool {
        self.since_ack.is_some_and(|late| late <= self.immediate)
    }

    /// Its last segment is not full: segmentation offload may have handed several to the network card.
    const fn is_small(&self) -> bool {
        self.full > 0 && !self.bytes.is_multiple_of(self.full)
    }

    /// A buffer of that size: a congestion window counts segments, and the receive window had room. Writes that
    /// are all as long look the same, if Nagle's algorithm holds their ends; but an end does not fill the buffer.
    fn is_held_by_same_buffer(&self) -> bool {
        let has_room = self.usable_window.is_none_or(|room| room >= 2 * self.full);
        let fills = !self.is_small() || self.flight[1] + self.bytes == self.outstanding;
        let is_full = self.fills_same_buffer && fills && self.flight[0] >= 2 * self.full;
        is_full && has_room && !self.answers && self.blocked_writer_may_go_on()
    }

    /// A program that a full send buffer has blocked goes on when a third of it is free (Linux `sk_stream_is_writeable`),
    /// or two segments (FreeBSD's low-water mark is 2,048 bytes).
    const fn blocked_writer_may_go_on(&self) -> bool {
        self.since_room.is_some()
            || self.outstanding.saturating_sub(self.flight[1]) >= 2 * self.full
    }
}

#[cfg(test)]
pub(super) mod tests;
