//! What a capture lacks of a sender, and so makes less sure what its segments waited for.

use ackwise_cause::Cause;
use ackwise_tcp::Instant;

use super::{Confidence, Facts, Hold, PathDelays, Rule, SeenData, Sender};

impl Sender {
    /// The same, as far as the capture has what the decision depends on.
    pub(super) fn with_doubts_of_capture(
        &self,
        hold: Hold,
        facts: &Facts,
        data: &SeenData,
        sent: Instant,
        delays: &PathDelays,
    ) -> Hold {
        let is_on = |rule| self.without != Some(rule);
        let mut hold = if is_on(Rule::ProbeRtt) { self.pacing.correct(hold) } else { hold };
        if self.lacks_ack && is_on(Rule::AckMissing) {
            hold = hold.without_ack(facts, self.is_beyond_window(data));
        }
        if self.edge.is_none() && hold.lost.is_none() && is_on(Rule::NoReceiveWindow) {
            hold = hold.without_receive_window();
        }
        if hold.is_just_written()
            && is_on(Rule::AckLate)
            && self.lacks_what_it_should_have(data, sent, delays)
        {
            hold = hold.doubted(Rule::AckLate, Confidence::Medium, Cause::PathStall);
        }
        if delays.sender_in_doubt && is_on(Rule::SenderNearer) {
            hold = hold.where_sender_may_be_nearer(facts, !self.acks_in_flight.is_empty());
        }
        hold
    }
}
