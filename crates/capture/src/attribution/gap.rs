//! The time between two departures of data, divided.

use ackwise_cause::{Cause, Moment, Phase, RepairedBy, UnderWay, Writer, cause};
use ackwise_tcp::{AckWait, Instant, Wait};

use super::{Account, Confidence, Evidence, Verdict, hold::Hold};

/// The time from one departure of data to the next in the same direction, at the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// When the later one left.
    pub until: Instant,
    /// When links were done with what was sent before.
    pub free_at: Instant,
    /// When all that was sent before had arrived.
    pub arrived: Instant,
    /// When the acknowledgement left that had been delayed since.
    pub delayed_until: Option<Instant>,
    /// The later one came so soon that it was the same burst.
    pub same_burst: bool,
    /// What the sender waited for.
    pub hold: Hold,
    /// The capture has lost something of it.
    pub capture_lost_data: bool,
    /// What was sent before, the acknowledgement, the later one.
    pub evidence: Evidence,
}

impl Gap {
    /// Puts what of the gap is still undivided into `account`.
    pub(crate) fn divide(&self, phase: Phase, account: &mut Account) {
        let direction = phase.direction();
        if self.capture_lost_data {
            let (cause, evidence, confidence) = (Cause::Unknown, self.evidence, Confidence::Low);
            return account.add(self.until, Verdict { cause, direction, evidence, confidence });
        }
        let mut until = |at: Instant, under_way, ack_wait| {
            let at = at.min(self.until);
            if at <= account.cursor() {
                return;
            }
            let moment = self.moment(phase, under_way, ack_wait);
            let (evidence, confidence) = (self.evidence, self.hold.confidence);
            let cause = cause(&moment);
            account.add(at, Verdict { cause, direction, evidence, confidence });
        };
        let free_at = if self.same_burst { self.until } else { self.free_at };
        until(free_at, UnderWay::Transmitting, None);
        until(self.arrived, self.lost_or(UnderWay::Propagating), None);
        if let Some(left) = self.delayed_until {
            let since = self.arrived;
            until(
                left,
                self.lost_or(UnderWay::Nothing),
                Some(AckWait::Delayed { since, until: left }),
            );
        }
        until(self.until, self.lost_or(UnderWay::Nothing), None);
    }

    fn lost_or(&self, otherwise: UnderWay) -> UnderWay {
        self.hold.lost.map_or(otherwise, UnderWay::Lost)
    }

    const fn moment(&self, phase: Phase, under_way: UnderWay, ack_wait: Option<AckWait>) -> Moment {
        let Hold { wait, lost: _, writer, cut_by_idle, paced, confidence: _ } = self.hold;
        Moment { phase, wait, ack_wait, under_way, writer, cut_by_idle, paced }
    }

    /// What looks as if the program had not written on was flow control of the protocol above.
    pub(crate) const fn blame_flow_control(&mut self) {
        if matches!(self.hold.wait, Wait::Application) {
            self.hold.writer = Writer::FlowControlled;
        }
    }

    /// Whether it ends with the repair of a loss.
    pub(crate) const fn repairs(&self) -> Option<RepairedBy> {
        self.hold.lost
    }
}

/// Puts the last way of a message into `account`: links were done with it at `free_at`, and it was
/// seen to be complete at `seen`.
pub(crate) fn arrive(
    phase: Phase,
    free_at: Instant,
    seen: Instant,
    packet: u64,
    account: &mut Account,
) {
    let last = Gap {
        until: seen,
        free_at,
        arrived: seen,
        delayed_until: None,
        same_burst: false,
        hold: Hold::done(),
        capture_lost_data: false,
        evidence: Evidence::of([packet, 0, 0]),
    };
    last.divide(phase, account);
}
