//! Why a segment left when it did and not earlier, told from what was seen before it.
//!
//! A sender that waits for an acknowledgement sends as soon as that arrives, so a segment that follows
//! one at once was waiting for it, and what the acknowledgement changed says for what. A segment that
//! follows nothing was released by a timer or by its program.

use ackwise_cause::{RepairedBy, Writer};
use ackwise_tcp::Wait;

use super::{Confidence, Nanos};

/// All that the decision may depend on. Times are those at the sender, bytes those of its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    /// Since it last sent data.
    pub gap: Nanos,
    /// How late the segment is for having been released by the latest acknowledgement; `None` if
    /// none has arrived since the segment before.
    pub after_ack: Option<Nanos>,
    /// Since anything last happened at the sender: data sent or an acknowledgement received.
    pub quiet: Nanos,
    /// That much later counts as at once.
    pub at_once: Nanos,
    /// Data of the segment.
    pub bytes: u64,
    /// Data of a full segment.
    pub full: u64,
    /// What was outstanding before the latest acknowledgement, and after it.
    pub flight: [u64; 2],
    /// Up to where the receiver let it send beyond what it had sent, before the latest
    /// acknowledgement.
    pub room: Option<u64>,
    /// The least that the congestion window can have been before the latest acknowledgement.
    pub window: u64,
    /// The most that was outstanding before the connection was idle, until that is reached again.
    pub peak_before_idle: Option<u64>,
    /// The window grows with each acknowledgement.
    pub slow_start: bool,
    /// What may be outstanding does not grow, and nothing was lost.
    pub constant: bool,
    /// A small segment was outstanding, and the latest acknowledgement covers it.
    pub small_acknowledged: bool,
    /// The segment before it had PSH: its program had given no more by then.
    pub pushed: bool,
    /// It had PSH for no other reason than that.
    pub ended: bool,
    /// There is a way between the sender and the vantage point, on which segments get lost.
    pub from_afar: bool,
    /// Its sender has been seen not to apply Nagle's rule.
    pub without_nagle: bool,
    /// It repairs a loss, or follows a repair that is not yet acknowledged.
    pub loss: Option<Loss>,
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
    pub cut_by_idle: bool,
    pub paced: bool,
    pub confidence: Confidence,
}

impl Hold {
    const fn new(wait: Wait, confidence: Confidence) -> Self {
        let writer = Writer::Working;
        Self { wait, lost: None, writer, cut_by_idle: false, paced: false, confidence }
    }

    /// It waits for nothing: all of the message has left.
    pub(crate) const fn done() -> Self {
        Self { writer: Writer::Done, ..Self::new(Wait::Application, Confidence::High) }
    }

    /// Decides what the sender of a segment was waiting for until it sent it.
    pub(crate) fn told_by(facts: &Facts) -> Self {
        let released = facts.is_released() || facts.was_shut();
        match facts.loss {
            Some(Loss::Repairs) => return Self::repair(facts, released),
            Some(Loss::Repaired) if released => {
                return Self::new(Wait::Recovery, Confidence::Medium);
            }
            _ => {}
        }
        let hold = if released { Self::released(facts) } else { Self::unreleased(facts) };
        match facts.loss {
            Some(Loss::Missing) => Self { lost: Some(RepairedBy::Recovery), ..hold },
            _ => hold,
        }
    }

    /// A segment that was sent before, or that fills a hole.
    fn repair(facts: &Facts, released: bool) -> Self {
        // RFC 8985, section 6.2: RACK waits up to a quarter of the round trip for reordered data.
        let soon = facts.after_ack.is_some_and(|late| late <= facts.at_once * 2);
        let (wait, by) = if released || soon || facts.quiet < Self::LEAST_TIMEOUT {
            (Wait::Recovery, RepairedBy::Recovery)
        } else {
            (Wait::RetransmissionTimeout, RepairedBy::Timeout)
        };
        Self { lost: Some(by), ..Self::new(wait, Confidence::High) }
    }

    /// The acknowledgement has let the segment go. What did it change?
    fn released(facts: &Facts) -> Self {
        if facts.room.is_some_and(|room| room < facts.bytes.min(facts.full)) {
            return Self::new(Wait::ReceiveWindow { probing: false }, Confidence::High);
        }
        if facts.is_small() && facts.nagle_holds() && !facts.fills_window() {
            return Self::new(Wait::Nagle, Confidence::High);
        }
        if facts.flight[0] == 0 || (facts.constant && facts.flight[0] < 2 * facts.full) {
            // Nothing was outstanding, or less than any buffer holds: a mere coincidence.
            return Self::new(Wait::Application, Confidence::Medium);
        }
        if facts.constant {
            let writer = Writer::SendBufferFull;
            return Self { writer, ..Self::new(Wait::Application, Confidence::Medium) };
        }
        let wait = if facts.slow_start { Wait::SlowStart } else { Wait::CongestionWindow };
        let cut_by_idle = facts.peak_before_idle.is_some_and(|peak| facts.flight[0] < peak);
        Self { cut_by_idle, ..Self::new(wait, Confidence::High) }
    }

    fn unreleased(facts: &Facts) -> Self {
        let corked = Self::CORK_TIMER.contains(&facts.quiet);
        // What a program has written to the end has PSH; what was cut off from more has not.
        if corked && !facts.ended && facts.is_small() && facts.flight[1] == 0 {
            return Self::new(Wait::Cork, Confidence::Medium);
        }
        if facts.may_have_been_lost() && facts.quiet >= Self::LEAST_TIMEOUT {
            // It was ready, and nothing kept it: it was lost before it could be seen.
            let lost = Some(RepairedBy::Timeout);
            return Self { lost, ..Self::new(Wait::RetransmissionTimeout, Confidence::Medium) };
        }
        if !facts.pushed && !facts.is_small() && facts.flight[1] > 0 {
            // It was ready, and no window kept it.
            return Self { paced: true, ..Self::new(Wait::Application, Confidence::Low) };
        }
        Self::new(Wait::Application, Confidence::High)
    }

    /// No time-out is shorter. Ours: Linux was seen to send its tail loss probes (RFC 8985, section
    /// 7.2) after 7 to 9 ms on the shortest paths.
    const LEAST_TIMEOUT: Nanos = Nanos::from_millis(5);
    /// Linux releases what MSG_MORE or TCP_CORK hold after its least retransmission time-out of
    /// 200 ms, at most a tick and the variance of the round trip later.
    const CORK_TIMER: std::ops::RangeInclusive<Nanos> =
        Nanos::from_millis(195)..=Nanos::from_millis(240);
}

impl Facts {
    /// Until the latest acknowledgement the receiver let nothing more come; that the sender then took
    /// its time makes little difference.
    fn was_shut(&self) -> bool {
        self.room.is_some_and(|room| room < self.bytes.min(self.full))
            && self.after_ack.is_some_and(|late| late * 4 <= self.gap)
    }

    /// It was sent before, perhaps, and lost on its way to the vantage point. What follows PSH and fills
    /// a segment was written late: a program that fills its send buffer and comes back to it looks so.
    const fn may_have_been_lost(&self) -> bool {
        let ready = !self.pushed || (!self.ended && self.is_small());
        self.from_afar && ready && self.flight[1] == 0
    }

    /// An acknowledgement has come just before.
    pub(crate) fn is_released(&self) -> bool {
        self.after_ack.is_some_and(|late| late <= self.at_once)
    }

    /// Its last segment is not full; a network card may have been given several.
    const fn is_small(&self) -> bool {
        self.full > 0 && !self.bytes.is_multiple_of(self.full)
    }

    /// The congestion window may have held it too.
    const fn fills_window(&self) -> bool {
        let window = if self.window > self.full { self.window } else { self.full };
        self.flight[0] + self.bytes > window
    }

    /// RFC 896 as BSD has it: until all is acknowledged. As Minshall and Linux have it: until the
    /// last small one is.
    const fn nagle_holds(&self) -> bool {
        !self.without_nagle
            && self.flight[0] > 0
            && (self.flight[1] == 0 || self.small_acknowledged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing was outstanding for 60 ms, and then a full segment comes.
    const LATE: Facts = Facts {
        gap: Nanos::from_millis(80),
        after_ack: Some(Nanos::from_millis(60)),
        quiet: Nanos::from_millis(60),
        at_once: Nanos::from_millis(1),
        bytes: 1_448,
        full: 1_448,
        flight: [1_448, 0],
        room: Some(60_000),
        window: 14_480,
        peak_before_idle: None,
        slow_start: true,
        constant: false,
        small_acknowledged: false,
        pushed: false,
        ended: false,
        from_afar: true,
        without_nagle: false,
        loss: None,
    };

    #[test]
    fn what_was_lost_before_it_could_be_seen_is_told_from_what_was_written_late() {
        let (lost, late) = (Wait::RetransmissionTimeout, Wait::Application);
        for (facts, wait, why) in [
            (LATE, lost, "cut off from more, so it was ready"),
            (Facts { from_afar: false, ..LATE }, late, "its sender's host would have seen it"),
            (Facts { pushed: true, ..LATE }, late, "a send buffer was empty, and full again"),
            (Facts { pushed: true, bytes: 500, ..LATE }, lost, "a last piece behind a card's PSH"),
            (Facts { pushed: true, ended: true, ..LATE }, late, "the program had written no more"),
            (Facts { flight: [2_896, 1_448], pushed: true, ..LATE }, late, "more is under way"),
        ] {
            assert_eq!(Hold::told_by(&facts).wait, wait, "{why}");
        }
    }

    #[test]
    fn a_delayed_acknowledgement_of_a_head_lets_nothing_go_that_nothing_held() {
        let small = Facts {
            after_ack: Some(Nanos::ZERO),
            flight: [90, 0],
            bytes: 500,
            constant: true,
            without_nagle: true,
            ..LATE
        };
        let full = Facts { flight: [4_344, 1_448], ..small };
        for (facts, writer) in [(small, Writer::Working), (full, Writer::SendBufferFull)] {
            let hold = Hold::told_by(&facts);
            assert_eq!((hold.wait, hold.writer), (Wait::Application, writer));
        }
    }
}
