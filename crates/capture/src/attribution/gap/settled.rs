//! What a gap is, as all that is known by the time it is settled decides.

use ackwise_cause::{Cause, RepairedBy, Writer};
use ackwise_tcp::Wait;

use super::{
    super::{
        Confidence, LossKind, Rule,
        hold::Hold,
        later::{Later, Resolution},
        stall::Stall,
    },
    Gap, Missing,
};

impl Gap {
    /// The same, as all that is known of it by now decides.
    pub(crate) fn settled(mut self) -> Self {
        let Later { missing, again, followed } = std::mem::take(&mut self.later);
        if followed {
            self.show_stall();
        }
        if let Some(resolution) = missing {
            self.settle_missing(resolution);
        }
        if let Some(resolution) = again {
            self.settle_again(resolution);
        }
        self
    }

    /// The same, decided without what later packets may show.
    pub(crate) fn in_doubt(mut self) -> Self {
        self.hold.confidence = self.hold.confidence.min(Confidence::Medium);
        self.hold.doubt = self.hold.doubt.or(Some(Rule::CaptureLacks));
        self
    }

    fn settle_missing(&mut self, resolution: Resolution) {
        let never_seen = matches!(resolution, Resolution::LostByCapture | Resolution::Never);
        let hold = &mut self.hold;
        match std::mem::take(&mut self.missing) {
            // It was sent meanwhile, nobody knows when: that the program paused is not shown.
            Missing::JustBefore
                if resolution == Resolution::SentAgain && hold.wait == Wait::Application =>
            {
                hold.confidence = hold.confidence.min(Confidence::Medium);
                hold.rival = hold.rival.or(Some(Cause::RetransmissionTimeout));
                hold.doubt = hold.doubt.or(Some(Rule::MayBeTimer));
            }
            Missing::JustBefore => self.capture_lost_data |= never_seen,
            Missing::Earlier if never_seen => {
                // The sender's state is less certain while some of its data is missing.
                hold.lost = None;
                hold.confidence = hold.confidence.min(Confidence::Medium);
                hold.doubt = hold.doubt.or(Some(Rule::CaptureLacks));
            }
            Missing::Earlier if resolution == Resolution::Overtaken => hold.lost = None,
            Missing::Earlier | Missing::Nothing => {}
        }
    }

    fn settle_again(&mut self, resolution: Resolution) {
        let by_timer = self.hold.lost == Some(RepairedBy::Timeout);
        match resolution {
            // What would have come next without the loss, nobody sees.
            Resolution::AckLost | Resolution::AnswerLost => {
                self.kind = Some(LossKind::AckLost);
                (self.hold.confidence, self.hold.rival) = (Confidence::Medium, None);
            }
            // More could not leave in any case.
            Resolution::WindowClosed if self.hold.lost.is_some() => {
                self.hold = Hold::full_window();
                (self.kind, self.stall) = (None, Stall::None);
            }
            // It had not been lost. If a timer sent it, the path held it or its acknowledgement.
            Resolution::Spurious => {
                self.kind = Some(LossKind::Spurious);
                if by_timer {
                    self.waits_for_nothing();
                    self.show_stall();
                }
            }
            // The server's host had dropped it. Where that was seen of one copy only it may have been damaged.
            Resolution::Refused { sure } if by_timer => {
                self.waits_for_nothing();
                self.hold.doubt = Some(Rule::MayBeRefused);
                (self.kind, self.stall) = (None, Stall::Refused);
                (self.hold.confidence, self.hold.rival) = match sure {
                    true => (Confidence::High, None),
                    false => (Confidence::Medium, Some(Cause::RetransmissionTimeout)),
                };
            }
            // Both are common.
            Resolution::OrRefused if by_timer => {
                self.hold.doubt = Some(Rule::MayBeRefused);
                (self.hold.confidence, self.hold.rival) =
                    (Confidence::Low, Some(Cause::AcceptQueueFull));
            }
            // A part of the time may have been a queue in any case.
            Resolution::Confirmed if by_timer && self.hold.rival != Some(Cause::Queueing) => {
                (self.hold.confidence, self.hold.rival) = (Confidence::High, None);
            }
            _ => {}
        }
    }

    /// Its sender had sent everything.
    const fn waits_for_nothing(&mut self) {
        (self.hold.lost, self.hold.wait) = (None, Wait::Application);
        self.hold.writer = Writer::Done;
    }

    /// What had been in transit came in one go.
    const fn show_stall(&mut self) {
        (self.stall, self.hold.confidence) = (Stall::Shown, Confidence::Medium);
    }
}
