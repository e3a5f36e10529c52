//! What repairs a loss, by the state of its sender when the repair leaves: the rules of the kernel's truth.
//!
//! While a loss lasts, the simulator does not know what will repair it. The next retransmission shows it, and what
//! the sender was doing when that left ([`RecoveryPhase`] has the states of Linux).

use ackwise_cause::{Cause, InFlight};
use ackwise_sim::observe::Blame;
use ackwise_tcp::{Instant, Transmit, endpoint::RecoveryPhase};

/// A retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    pub(super) at: Instant,
    /// Where its sender's recovery stood when it left.
    phase: RecoveryPhase,
    /// An acknowledgement released it.
    heard: bool,
    /// Where its data begins.
    start: u64,
    /// When it arrived.
    arrived: Option<Instant>,
}

/// What one end has sent again.
#[derive(Clone, Debug, Default)]
pub(super) struct Repairs {
    sent: Vec<Repair>,
    /// When the end last heard of the other.
    heard: Option<Instant>,
}

impl Repair {
    /// A timer released it: that of a retransmission, or of a tail-loss probe (RFC 8985, section 7), which leaves
    /// before any recovery.
    pub(super) const fn by_timer(self) -> bool {
        match self.phase {
            RecoveryPhase::Loss => !self.heard,
            _ => self.probes(),
        }
    }

    const fn probes(self) -> bool {
        matches!(self.phase, RecoveryPhase::Open | RecoveryPhase::Disorder)
    }
}

impl Repairs {
    /// The end hears of the other.
    pub(super) fn hear(&mut self, now: Instant) {
        self.heard = Some(now);
    }

    /// What the end has sent again from `start` on is with the other.
    pub(super) fn arrive(&mut self, start: u64, now: Instant) {
        let last = self.sent.last_mut().filter(|it| it.start == start);
        if let Some(last) = last {
            last.arrived.get_or_insert(now);
        }
    }

    /// The end sends again; a SYN that does has no other reason than its timer.
    pub(super) fn send(&mut self, transmit: &Transmit, phase: RecoveryPhase, now: Instant) {
        let syn = transmit.segment.flags.syn;
        let heard = self.heard == Some(now) && !syn;
        let phase = if syn { RecoveryPhase::Loss } else { phase };
        self.sent.push(Repair { at: now, phase, heard, start: transmit.offset, arrived: None });
    }

    /// The first one since then.
    pub(super) fn next(&self, since: Instant) -> Option<Repair> {
        self.sent.get(self.sent.partition_point(|it| it.at < since)).copied()
    }

    /// What is true while a loss lasts, or its repair.
    pub(super) fn causes(&self, blame: &Blame) -> Vec<Cause> {
        use Cause::{CongestionWindow, LossRecovery, RetransmissionTimeout, SlowStart};
        let last = self.sent[..self.sent.partition_point(|it| it.at < blame.until)].last();
        let next = self.next(blame.until);
        let by_timer = next.is_some_and(Repair::by_timer);
        // All that was sent has arrived: its sender waits for what its recovery lets go.
        let waits = blame.in_flight == InFlight::Nothing;
        let is_under_way =
            |it: &Repair| it.by_timer() && it.arrived.is_none_or(|at| at >= blame.until);
        match blame.recovery {
            RecoveryPhase::Open | RecoveryPhase::Disorder => {
                let window = Some(blame.unaware).filter(|it| UNAWARE.contains(it));
                repaired_by(next, last).iter().copied().chain(window).collect()
            }
            RecoveryPhase::Loss if by_timer || last.is_some_and(is_under_way) => {
                vec![RetransmissionTimeout]
            }
            // After the timeout, acknowledgements release what else was lost.
            RecoveryPhase::Loss if waits => vec![RetransmissionTimeout, LossRecovery, SlowStart],
            RecoveryPhase::Loss => vec![RetransmissionTimeout, LossRecovery],
            _ if by_timer => vec![RetransmissionTimeout],
            _ if waits => vec![LossRecovery, CongestionWindow],
            _ => vec![LossRecovery],
        }
    }
}

/// What repairs a loss that its sender does not know of yet; `last` is what it has sent again before.
fn repaired_by(next: Option<Repair>, last: Option<&Repair>) -> &'static [Cause] {
    use Cause::{LossRecovery, RetransmissionTimeout};
    match next {
        // It was not repaired before the end of the run.
        None => &[RetransmissionTimeout, LossRecovery],
        Some(next) if next.by_timer() => &[RetransmissionTimeout],
        // A probe has begun it.
        Some(_) if last.is_some_and(|it| it.probes()) => &[RetransmissionTimeout, LossRecovery],
        Some(_) => &[LossRecovery],
    }
}

/// What an acknowledgement ends, as on the kernel; and pacing, which the kernel does not show.
const UNAWARE: [Cause; 7] = [
    Cause::SlowStart,
    Cause::CongestionWindow,
    Cause::IdleRestart,
    Cause::ReceiveWindow,
    Cause::NagleRtt,
    Cause::SendBuffer,
    Cause::Pacing,
];

#[cfg(test)]
mod tests {
    use ackwise_cause::Direction;
    use ackwise_tcp::{Segment, segment::Flags};

    use super::*;
    use Cause::{CongestionWindow, LossRecovery, RetransmissionTimeout, SlowStart};
    use RecoveryPhase::{Disorder, Loss, Open, Recovery};

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "a case of a test")]
    fn again(syn: bool) -> Transmit {
        let flags = Flags { syn, ..Flags::default() };
        let segment = Segment { flags, ..Segment::default() };
        Transmit { segment, offset: 0, retransmission: true, ack_reason: None }
    }

    /// What is sent again, when, in which phase, and whether an acknowledgement comes just before. All but the last
    /// arrives.
    fn repairs(sent: &[(u64, RecoveryPhase, bool)]) -> Repairs {
        let mut repairs = Repairs::default();
        for &(millis, phase, heard) in sent {
            repairs.arrive(0, at(millis));
            if heard {
                repairs.hear(at(millis));
            }
            repairs.send(&again(false), phase, at(millis));
        }
        repairs
    }

    /// Until 100 ms, a loss lasts; its sender waits for its window.
    fn blame(recovery: RecoveryPhase, in_flight: InFlight) -> Blame {
        let (cause, unaware) = (LossRecovery, CongestionWindow);
        let (direction, from, until) = (Direction::ToClient, at(50), at(100));
        Blame { cause, unaware, in_flight, recovery, direction, from, until }
    }

    const LOST: InFlight = InFlight::Lost(ackwise_cause::RepairedBy::Recovery);

    #[test]
    fn the_state_of_the_sender_tells_what_repairs_a_loss() {
        let timer = (100, Loss, false);
        let after_timeout = (100, Loss, true);
        let fast = (100, Recovery, true);
        let probe = (100, Open, false);
        for (sent, phase, in_flight, expected) in [
            // Until its sender knows, both are true.
            (&[fast][..], Disorder, LOST, &[LossRecovery, CongestionWindow][..]),
            (&[timer], Open, LOST, &[RetransmissionTimeout, CongestionWindow]),
            (&[probe], Open, LOST, &[RetransmissionTimeout, CongestionWindow]),
            // One that an acknowledgement releases is none of the timer's: Tahoe.
            (&[after_timeout], Disorder, LOST, &[LossRecovery, CongestionWindow]),
            (
                &[(60, Open, false), fast],
                Open,
                LOST,
                &[RetransmissionTimeout, LossRecovery, CongestionWindow],
            ),
            // Then it waits for what repairs the loss.
            (&[(40, Recovery, true), fast], Recovery, LOST, &[LossRecovery]),
            (
                &[(40, Recovery, true), fast],
                Recovery,
                InFlight::Nothing,
                &[LossRecovery, CongestionWindow],
            ),
            (&[(40, Recovery, true), timer], Recovery, LOST, &[RetransmissionTimeout]),
            (&[(40, Loss, false), timer], Loss, LOST, &[RetransmissionTimeout]),
            (&[(40, Loss, false), after_timeout], Loss, LOST, &[RetransmissionTimeout]),
            (
                &[(30, Loss, false), (40, Loss, true), after_timeout],
                Loss,
                LOST,
                &[RetransmissionTimeout, LossRecovery],
            ),
            (
                &[(30, Loss, false), (40, Loss, true), after_timeout],
                Loss,
                InFlight::Nothing,
                &[RetransmissionTimeout, LossRecovery, SlowStart],
            ),
            (&[], Open, LOST, &[RetransmissionTimeout, LossRecovery, CongestionWindow]),
        ] {
            let found = repairs(sent).causes(&blame(phase, in_flight));
            assert_eq!(found, expected, "{sent:?} {phase:?} {in_flight:?}");
        }
    }

    #[test]
    fn a_syn_is_sent_again_by_its_timer() {
        let mut repairs = Repairs::default();
        repairs.hear(at(100));
        repairs.send(&again(true), Open, at(100));
        assert!(repairs.next(at(100)).is_some_and(|it| it.by_timer() && !it.probes()));
    }
}
