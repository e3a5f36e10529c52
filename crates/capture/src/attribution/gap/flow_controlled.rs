//! What only the sender knows gives way to flow control of the protocol above, which the capture shows.

use ackwise_cause::{Cause, H2Window, Writer};
use ackwise_tcp::{Instant, Wait};

use super::{super::decide::Limit, Confidence, Gap, Hold, Nanos, Rule};

/// What is known of credit for the window.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct CreditArrival {
    /// When it reached the sender, at the latest.
    pub at: Instant,
    /// So soon after that, the sender goes on.
    pub immediate: Nanos,
}

impl Gap {
    /// What looks as if the program had not written on was flow control: a `window` was used up. At its sender, nothing
    /// else can have delayed it since. Where the sender went on later than credit reached it, its program did not
    /// write: flow control did not hold that.
    pub(crate) fn blame_flow_control(
        &mut self,
        window: H2Window,
        at_sender: bool,
        credit: Option<CreditArrival>,
    ) {
        let hold = self.hold;
        if !hold.may_be_flow_controlled() {
            return;
        }
        let is_immediate = |it: &CreditArrival| Nanos::between(it.at, self.until) <= it.immediate;
        let is_sure =
            (at_sender || credit.as_ref().is_some_and(is_immediate)) && hold.lost.is_none();
        let held = hold.flow_controlled(window, is_sure);
        match credit.filter(|it| !is_immediate(it) && self.before.is_none()) {
            Some(credit) => self.before = Some((credit.at, held)),
            None => self.hold = held,
        }
    }

    /// The same, where TLS hides the window: the server has paused after as many bytes, and gone on with a record as long as
    /// credit, again and again. What a client asks for so may look the same.
    pub(crate) fn blame_sealed_window(&mut self) {
        if self.hold.may_be_flow_controlled() && self.hold.lost.is_none() && !self.hold.unknown {
            let held = Hold { window: None, ..self.hold.flow_controlled(H2Window::Stream, false) };
            let or_program = Limit::or(Cause::ApplicationLimited);
            self.hold = held.limited(Rule::MayBeProgram, or_program);
        }
    }

    /// Flow control held some streams, and nothing shows whether it was one of those that was waited for.
    pub(crate) fn doubt_flow_control(&mut self) {
        if self.hold.may_be_flow_controlled() {
            let or_window = Limit::as_well(Cause::H2FlowControl);
            self.hold = self.hold.limited(Rule::MayBeWindow, or_window);
        }
    }

    /// Frames that would show a window are not in the capture, and one may have opened it. That a send buffer held the data,
    /// is not said then: of it, nothing else is seen than that its sender had written all that it may. Whether it makes a
    /// difference. Nor is it sure how fast a link is, or that a program wrote it then.
    pub(crate) fn doubt_unseen_window(&mut self) -> bool {
        self.rate = self.rate.min(Confidence::Medium);
        if self.hold.rule == Rule::Written && self.hold.lost.is_none() && !self.same_burst {
            let or_window = Limit::or(Cause::H2FlowControl);
            self.hold = self.hold.limited(Rule::MayBeWindow, or_window);
        }
        if !self.hold.was_released_by_ack() || self.same_burst {
            return false;
        }
        if self.hold.writer == Writer::SendBufferFull {
            self.hold.unknown = true;
            return true;
        }
        let rival = self.hold.rival.filter(|it| *it != Cause::SendBuffer);
        let or_window = Limit::as_well(rival.unwrap_or(Cause::H2FlowControl));
        self.hold = Hold { rival, ..self.hold }.limited(Rule::MayBeWindow, or_window);
        true
    }
}

impl Hold {
    /// An acknowledgement let it go, and so may what came with that.
    const fn was_released_by_ack(&self) -> bool {
        let by_ack = matches!(
            self.rule,
            Rule::SameBuffer
                | Rule::FirstWindow
                | Rule::RoomInWindow
                | Rule::EmptiedBuffer
                | Rule::AfterIdle
                | Rule::WindowFull
        );
        by_ack && self.lost.is_none()
    }

    /// A congestion window is inferred; that the protocol's window was used up is in the capture.
    const fn may_be_flow_controlled(&self) -> bool {
        matches!(self.wait, Wait::Application | Wait::SlowStart | Wait::CongestionWindow)
    }

    /// That a program pauses just when it has used up a window is rare.
    fn flow_controlled(self, window: H2Window, is_sure: bool) -> Self {
        let (wait, writer) = (Wait::Application, Writer::FlowControlled);
        let confidence = if is_sure { Confidence::High } else { Confidence::Medium };
        let (rule, window, paced) = (Rule::FlowControlled, Some(window), false);
        Self { wait, writer, window, confidence, rule, paced, doubt: None, rival: None, ..self }
    }
}
