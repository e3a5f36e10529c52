//! What held data that messages are in, if Nagle's algorithm or a cork did.

use std::time::Duration;

use ackwise_cause::{Cause, Direction};
use ackwise_tcp::{Instant, Wait};

use super::{ends::Data, packet::Packet};
use crate::{
    attribution::{
        Confidence, Evidence, Nanos, Rule, Stall,
        gap::{Gap, LONGEST_ACK_DELAY, Missing},
    },
    message_counts::HeldMessages,
};

/// How a segment of messages left.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageDeparture {
    /// When it was seen, and in which packet.
    pub at: Instant,
    /// Which way it goes.
    pub direction: Direction,
    /// How long the connection had been silent.
    pub(super) quiet: Nanos,
    /// What was sent before, and this.
    pub evidence: Evidence,
    pub way: Way,
}

/// Why it left when it did.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    /// Something held it, for so long.
    Held { cause: Cause, time: Duration, confidence: Confidence },
    /// Nothing is seen to have released it: its program did, or a timer.
    Written,
    /// With the data before it.
    InBurst,
    /// Something else, or nobody knows.
    Other,
}

impl MessageDeparture {
    /// Data that was seen in `packet`, `quiet` after any other. The data before it left at `sent_last`.
    pub(super) fn of(
        data: &Data,
        sent_last: Option<Instant>,
        (packet, direction): (&Packet<'_>, Direction),
        quiet: Nanos,
    ) -> Option<Box<Self>> {
        let gap = data.gap.as_ref();
        let way = match (gap, sent_last) {
            (Some(gap), Some(sent_last)) if data.new && !data.repairs => Way::of(gap, sent_last),
            _ => Way::Other,
        };
        let evidence = gap.map_or_else(|| Evidence::of([packet.number, 0, 0]), |it| it.evidence);
        Some(Box::new(Self { at: packet.at, direction, quiet, evidence, way }))
    }

    /// The messages of it, if something held them.
    pub(super) fn held(&self, messages: u64) -> Option<HeldMessages> {
        let Way::Held { cause, time, confidence } = self.way else { return None };
        let held = HeldMessages::once(cause, messages, time, confidence.max(Confidence::Medium));
        Some(HeldMessages { evidence: self.evidence, ..held })
    }

    /// Whether that does not depend on what its sender does usually. Of low confidence is what left just when the
    /// acknowledgement came, where its program may have written it then: it writes late as a rule, or the algorithm held
    /// what is before.
    pub(super) const fn is_sure(&self) -> bool {
        !matches!(self.way, Way::Held { confidence: Confidence::Low, .. })
    }

    /// The connection was silent for as long as a cork lasts, at least.
    pub(super) fn may_end_cork(&self) -> bool {
        matches!(self.way, Way::Written) && self.quiet >= LEAST_CORK
    }
}

impl Way {
    fn of(gap: &Gap, sent_last: Instant) -> Self {
        let is_whole = !gap.capture_lost_data && gap.missing == Missing::Nothing;
        if !is_whole || gap.hold.lost.is_some() || gap.hold.unknown || gap.stall != Stall::None {
            return Self::Other;
        }
        if gap.same_burst {
            return Self::InBurst;
        }
        // What its program took before that was seen.
        let since = gap.before.map_or(sent_last, |it| it.0);
        let is_late = |left: &Instant| Nanos::between(gap.arrived, *left) <= LONGEST_ACK_DELAY;
        let (cause, since) = match (gap.hold.wait, gap.hold.rule) {
            // When the program wrote it, no packet shows: it may have been just before the ACK came.
            (_, Rule::NagleHeld) => match gap.delayed_until {
                Some(left) if is_late(&left) => (Cause::NagleDelayedAck, since.max(gap.arrived)),
                Some(_) => return Self::Other,
                None => (Cause::NagleRtt, since),
            },
            (Wait::Cork, _) => (Cause::CorkTimer, since),
            (Wait::Application, Rule::Written) => return Self::Written,
            _ => return Self::Other,
        };
        let (time, confidence) = (Nanos::between(since, gap.until), gap.hold.confidence);
        // Low for another reason, this would be a guess.
        let may_be_program = gap.hold.rule == Rule::NagleHeld
            && (gap.hold.wait == Wait::Application || gap.hold.doubt == Some(Rule::MayBeProgram));
        match (confidence > Confidence::Low || may_be_program) && time >= LEAST_STALL {
            true => Self::Held { cause, time: time.into(), confidence },
            false => Self::Other,
        }
    }
}

/// Less is worth no setting, as within an exchange: a busy host delays a program as long. Our choice.
const LEAST_STALL: Nanos = Nanos::from_millis(1);

/// Linux's cork lasts 200 ms at least (`TCP_RTO_MIN`), less a tick and what a capture is inaccurate by. Our choice.
const LEAST_CORK: Nanos = Nanos::from_millis(195);

#[cfg(test)]
mod tests {
    use ackwise_cause::RepairedBy;

    use super::*;
    use crate::attribution::gap::tests::{HELD, at};

    /// What held the segment behind a gap, and for how many microseconds.
    fn held(gap: Gap) -> Option<(Cause, u128)> {
        match Way::of(&gap, at(0)) {
            Way::Held { cause, time, .. } => Some((cause, time.as_micros())),
            _ => None,
        }
    }

    fn with(change: fn(&mut Gap)) -> Gap {
        let mut gap = HELD;
        change(&mut gap);
        gap
    }

    #[test]
    fn nagle_or_a_cork_holds_messages_for_as_long_as_is_shown() {
        use Cause::{CorkTimer, NagleDelayedAck, NagleRtt};
        let until = |micros| Gap { until: at(20) + Nanos::from_micros(micros), ..HELD };
        let acked = |millis| Gap { delayed_until: Some(at(millis)), until: at(600), ..HELD };
        let low = |change: fn(&mut Gap)| {
            let mut gap = with(change);
            gap.hold.confidence = Confidence::Low;
            gap
        };
        let corked: fn(&mut Gap) = |it| (it.hold.wait, it.hold.rule) = (Wait::Cork, Rule::Corked);
        for (why, gap, expected) in [
            ("since the data before had arrived", HELD, Some((NagleDelayedAck, 50_000))),
            (
                "what its program took before is seen",
                Gap { before: Some((at(40), HELD.hold)), ..HELD },
                Some((NagleDelayedAck, 30_000)),
            ),
            ("no ACK was delayed", Gap { delayed_until: None, ..HELD }, Some((NagleRtt, 70_000))),
            ("the longest delay", acked(520), Some((NagleDelayedAck, 580_000))),
            ("the path held the ACK", acked(521), None),
            ("a cork", with(corked), Some((CorkTimer, 70_000))),
            ("a millisecond", until(1_000), Some((NagleDelayedAck, 1_000))),
            ("less", until(999), None),
            (
                "a window",
                with(|it| (it.hold.wait, it.hold.rule) = (Wait::SlowStart, Rule::WindowFull)),
                None,
            ),
            ("after a loss", with(|it| it.hold.lost = Some(RepairedBy::Recovery)), None),
            ("nobody knows", with(|it| it.hold.unknown = true), None),
            ("the path stalled", Gap { stall: Stall::Shown, ..HELD }, None),
            ("with the data before", Gap { same_burst: true, ..HELD }, None),
            ("the capture lacks some", Gap { capture_lost_data: true, ..HELD }, None),
            ("some is missing", Gap { missing: Missing::Earlier, ..HELD }, None),
            ("a guess", low(|_| {}), None),
            ("a guess at a cork", low(corked), None),
            (
                "a cork, or its program",
                low(|it| {
                    (it.hold.wait, it.hold.rule) = (Wait::Cork, Rule::Corked);
                    it.hold.doubt = Some(Rule::MayBeProgram);
                }),
                None,
            ),
            (
                "Nagle, or its program",
                low(|it| it.hold.doubt = Some(Rule::MayBeProgram)),
                Some((NagleDelayedAck, 50_000)),
            ),
            (
                "its program, or Nagle",
                low(|it| it.hold.wait = Wait::Application),
                Some((NagleDelayedAck, 50_000)),
            ),
        ] {
            assert_eq!(held(gap), expected, "{why}");
        }
    }

    #[test]
    fn what_nothing_held_was_written_or_is_of_a_burst() {
        let way = |gap| format!("{:?}", Way::of(&gap, at(0)));
        let written: fn(&mut Gap) =
            |it| (it.hold.wait, it.hold.rule) = (Wait::Application, Rule::Written);
        assert_eq!(way(with(written)), "Written");
        assert_eq!(
            way(with(|it| (it.hold.wait, it.hold.rule) = (Wait::Application, Rule::Paced))),
            "Other"
        );
        assert_eq!(way(Gap { same_burst: true, ..HELD }), "InBurst");
        assert_eq!(way(Gap { same_burst: true, stall: Stall::Shown, ..HELD }), "Other");
    }

    #[test]
    fn a_cork_may_end_with_what_is_written_after_195_ms() {
        let sure = Way::of(&HELD, at(0));
        let departure = |way, micros| MessageDeparture {
            at: at(70),
            direction: Direction::ToClient,
            quiet: Nanos::from_micros(micros),
            evidence: HELD.evidence,
            way,
        };
        for (way, micros, may) in [
            (Way::Written, 195_000, true),
            (Way::Written, 194_999, false),
            (Way::Other, 195_000, false),
            (sure, 195_000, false),
        ] {
            assert_eq!(departure(way, micros).may_end_cork(), may, "{way:?} {micros}");
            assert!(departure(way, micros).is_sure());
        }
        let time = Duration::from_millis(50);
        let unsure = Way::Held { cause: Cause::NagleRtt, time, confidence: Confidence::Low };
        assert!(!departure(unsure, 0).is_sure());
        assert_eq!(departure(unsure, 0).held(3).map(|it| it.confidence), Some(Confidence::Medium));
        assert!(departure(Way::Written, 0).held(3).is_none());
    }
}
