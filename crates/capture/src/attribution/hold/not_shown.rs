//! What a capture does not show makes less sure why a segment left when it did.

use ackwise_cause::{Cause, Writer};
use ackwise_tcp::Wait;

use super::{
    super::{Confidence, Rule},
    Facts, Hold,
};

impl Hold {
    /// The same, if nothing shows how large the receive window is: that may have held it as well.
    pub(in super::super) fn without_receive_window(self) -> Self {
        let most = match self.writer {
            Writer::SendBufferFull => Confidence::Low,
            _ if self.waits_for_window() => Confidence::Medium,
            _ => return self,
        };
        let doubt = Some(Rule::NoReceiveWindow);
        Self { confidence: self.confidence.min(most), doubt, ..self.or(Cause::ReceiveWindow) }
    }

    /// The same, where the capture lacks an acknowledgement that reached the sender meanwhile: it may have
    /// released the segment. `was_shut`: it opened the receive window.
    pub(in super::super) fn without_ack(self, facts: &Facts, was_shut: bool) -> Self {
        if was_shut && facts.since_event() > facts.immediate {
            let hold =
                Self { rule: Rule::ClosedWindow, ..Self::receive_window(Confidence::Medium) };
            return hold.doubted(Rule::AckMissing, Confidence::Medium, Cause::ApplicationLimited);
        }
        if facts.is_released() || facts.loss.is_some() {
            let confidence = self.confidence.min(Confidence::Medium);
            return Self { confidence, doubt: self.doubt.or(Some(Rule::AckMissing)), ..self };
        }
        let rival = if facts.is_small() { Cause::NagleRtt } else { facts.window() };
        self.doubted(Rule::AckMissing, Confidence::Low, rival)
    }

    /// The same, where the sender may be nearer than the least round trip says, because a program's time may be in
    /// that: what seems to be released by an acknowledgement may have come later, and an acknowledgement that seems to
    /// be on its way (`more_acks`) may have released it.
    pub(in super::super) fn where_sender_may_be_nearer(
        self,
        facts: &Facts,
        more_acks: bool,
    ) -> Self {
        let rival = match self.wait {
            Wait::Nagle => Cause::ApplicationLimited,
            Wait::Application if more_acks && facts.is_small() && self.is_just_written() => {
                Cause::NagleRtt
            }
            _ => return self,
        };
        self.doubted(Rule::SenderNearer, Confidence::Medium, rival)
    }
}
