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
    quiet: Nanos,
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
