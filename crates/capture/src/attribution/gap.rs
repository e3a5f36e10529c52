//! The time between two departures of data, divided.

mod flow_controlled;
mod settled;

use ackwise_cause::{Cause, Direction, InFlight, Moment, Phase, RepairedBy, cause};
use ackwise_tcp::{AckWait, Instant, Wait};

pub(crate) use flow_controlled::CreditArrival;

use super::{
    Account, Confidence, Evidence, LossKind, Nanos, Rule, Verdict,
    hold::Hold,
    later::Later,
    stall::{Held, Stall},
    train::Train,
};

/// The time from one departure of data to the next in the same direction, at the sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gap {
    /// When the later one left.
    pub until: Instant,
    /// When links were done with what was sent before.
    pub free_at: Instant,
    /// Since then links have delivered nothing, if that is known.
    pub silent_since: Option<Instant>,
    /// Which of them a link before the vantage point has spread.
    pub train: Train,
    /// How sure that is: high if several samples have shown their rate.
    pub rate: Confidence,
    /// When all that was sent before had arrived.
    pub arrived: Instant,
    /// When the acknowledgement left that had been delayed since.
    pub delayed_until: Option<Instant>,
    /// Some of what was sent before arrived, whatever was lost of the rest.
    pub earlier_arrives: bool,
    /// The later one came so soon that it was the same burst.
    pub same_burst: bool,
    /// Or so soon that its program may have written the burst bit by bit.
    pub bit_by_bit: bool,
    /// By its timestamp, the path held what was sent before.
    pub held: Option<Held>,
    /// What the sender waited for.
    pub hold: Hold,
    /// What it waited for before that, and until when.
    pub before: Option<(Instant, Hold)>,
    /// What shows that the path delivered nothing in the meantime.
    pub stall: Stall,
    /// If something was lost, what is known of that.
    pub kind: Option<LossKind>,
    /// The capture has lost something of it.
    pub capture_lost_data: bool,
    /// What is missing before the later one.
    pub missing: Missing,
    /// What later packets show.
    pub later: Later,
    /// What was sent before, the acknowledgement, the later one.
    pub evidence: Evidence,
}

/// The longest delayed acknowledgement. RFC 1122, section 4.2.3.2: the delay "MUST be less than 0.5
/// seconds".
pub(crate) const LONGEST_ACK_DELAY: Nanos = Nanos::from_millis(500);

/// Which data is missing before a segment, as long as it is not known whether the network or the
/// capture lost it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Missing {
    /// None.
    #[default]
    Nothing,
    /// Data between the previous captured segment and this one.
    JustBefore,
    /// Data that was sent earlier.
    Earlier,
}

/// Data that an acknowledgement released: Nagle's algorithm held it, or a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Released {
    /// The packet with the acknowledgement.
    pub ack: u64,
    pub cause: Cause,
    /// It left as soon as that arrived.
    pub is_sure: bool,
    /// If Nagle's algorithm held it: when the data before left, when the receiver had that, and until when it delayed the
    /// acknowledgement.
    pub acknowledged: Option<[Instant; 3]>,
}

impl Gap {
    /// Packets of one write are not this far apart, unless a link is slow. Our choice.
    pub(super) const ONE_WRITE: Nanos = Nanos::from_millis(1);

    /// By what the data was held until an acknowledgement came, if it was, since the data before left at `sent`.
    /// `opens`: that gave the receive window room for it.
    pub(crate) fn released(&self, sent: Instant, opens: bool) -> Option<Released> {
        let [_, ack, _] = self.evidence.numbers();
        let cause = match self.hold.wait {
            Wait::Nagle if self.delayed_until.is_some() => Cause::NagleDelayedAck,
            Wait::Nagle => Cause::NagleRtt,
            Wait::SillyWindow if opens => Cause::SillyWindow,
            Wait::ReceiveWindow { .. } if opens => Cause::ReceiveWindow,
            Wait::SlowStart | Wait::CongestionWindow if self.hold.lost.is_none() => {
                cause(&self.moment(Phase::Response, InFlight::Nothing, None))
            }
            _ => return None,
        };
        // That a program writes in the very moment in which a window opens is unlikely.
        let is_sure = self.hold.waits_for_window() || self.hold.confidence == Confidence::High;
        let delayed_until = self.delayed_until.unwrap_or(self.arrived);
        let by_nagle = self.hold.wait == Wait::Nagle;
        let acknowledged = by_nagle.then_some([sent, self.arrived, delayed_until]);
        Some(Released { ack, cause, is_sure, acknowledged })
    }

    /// What it adds to the account of any exchange whose message goes in this direction.
    pub(crate) fn pieces(&self, direction: Direction) -> Vec<(Instant, Verdict)> {
        let phase = match direction {
            Direction::ToServer => Phase::Request,
            Direction::ToClient => Phase::Response,
        };
        Account::pieces(|account| self.divide(phase, account))
    }

    /// Puts what of the gap is still undivided into `account`.
    pub(crate) fn divide(&self, phase: Phase, account: &mut Account) {
        if let Some(since) = self.silent_since
            && self.hold.lost == Some(RepairedBy::Timeout)
        {
            // The rest was lost before a link was busy with it.
            let (arrived, free_at) = (self.arrived.min(since), self.free_at.min(since));
            let silent = Self { arrived, free_at, silent_since: None, ..*self };
            return silent.divide(phase, account);
        }
        if let Some((until, hold)) = self.before {
            // That an acknowledgement was delayed, it did not wait for yet.
            let until = until.min(self.until);
            let arrived = self.arrived.min(until);
            let train = Train::NONE;
            let first =
                Self { until, arrived, hold, train, before: None, delayed_until: None, ..*self };
            first.divide(phase, account);
        }
        let direction = phase.direction();
        if self.capture_lost_data {
            return self.doubt(direction, account);
        }
        let free_at = if self.same_burst { self.until } else { self.free_at };
        self.owe(free_at, phase, InFlight::Transmitting, account);
        if self.same_burst {
            // Nothing is left.
            return;
        }
        match (self.hold.unknown, self.stall) {
            (true, Stall::None) => return self.doubt(direction, account),
            (true, _) => return self.owe(self.until, phase, InFlight::Held, account),
            (false, _) => {}
        }
        // The end of a message is late from its first sending on: what arrives before it does not end the wait.
        let on_its_way = if self.earlier_arrives && self.kind != Some(LossKind::Tail) {
            InFlight::Propagating
        } else {
            self.lost_or(InFlight::Propagating)
        };
        if let Stall::Since(due) = self.stall {
            return self.owe_until_held(due, phase, on_its_way, account);
        }
        if let Some(Held { from, stalls }) = self.held {
            self.owe(from, phase, on_its_way, account);
            let held = if stalls { InFlight::Held } else { InFlight::Queued };
            self.owe(self.arrived, phase, self.lost_or(held), account);
        }
        self.owe(self.arrived, phase, on_its_way, account);
        if self.stall != Stall::None {
            return self.owe(self.until, phase, InFlight::Held, account);
        }
        if self.ack_is_late() {
            return self.doubt(direction, account);
        }
        if let Some(left) = self.delayed_until {
            let at = left.min(self.until);
            self.owe_to(at, &self.while_ack_is_delayed(phase, left), account);
        }
        self.owe(self.until, phase, self.lost_or(InFlight::Nothing), account);
    }

    /// Until the acknowledgement was `due`, and then while the path held it.
    fn owe_until_held(
        &self,
        due: Instant,
        phase: Phase,
        on_its_way: InFlight,
        account: &mut Account,
    ) {
        self.owe(self.arrived.min(due), phase, on_its_way, account);
        if let Some(left) = self.delayed_until {
            let at = left.min(self.until).min(due);
            self.owe_to(at, &self.while_ack_is_delayed(phase, left), account);
        }
        self.owe(due, phase, self.lost_or(InFlight::Nothing), account);
        self.owe(self.until, phase, InFlight::Held, account);
    }

    /// The verdict on the middle of a burst, which only links kept apart.
    pub(crate) fn of_link(&self, direction: Direction) -> Verdict {
        let (rule, cause) = (Rule::LinkBusy, Cause::Transmission);
        let verdict = Verdict::new(rule, cause, direction, self.evidence, self.rate);
        let rival = Some(Cause::Pacing).filter(|_| self.rate == Confidence::Low);
        let doubt = Some(Rule::LinkUnsure).filter(|_| self.rate < Confidence::High);
        Verdict { rival, doubt, ..verdict }
    }

    /// The time up to `at` is owed to what its data is doing, or to what the sender waits for.
    fn owe(&self, at: Instant, phase: Phase, in_flight: InFlight, account: &mut Account) {
        self.owe_to(at.min(self.until), &self.moment(phase, in_flight, None), account);
    }

    fn owe_to(&self, at: Instant, moment: &Moment, account: &mut Account) {
        if at <= account.cursor() {
            return;
        }
        let (direction, evidence) = (moment.phase.direction(), self.evidence);
        let (cause, confidence) = (self.cause(moment), self.confidence(moment));
        // Of what the server does, the response is waited for.
        let direction = if cause == Cause::ServerThink { Direction::ToClient } else { direction };
        let is_loss = matches!(cause, Cause::LossRecovery | Cause::RetransmissionTimeout);
        let kind = self.kind.filter(|_| is_loss);
        let window = self.hold.window.filter(|_| cause == Cause::H2FlowControl);
        let (rule, doubt) = self.rules(moment);
        let verdict = Verdict::new(rule, cause, direction, evidence, confidence);
        let doubt = doubt.filter(|_| confidence < Confidence::High);
        let verdict = Verdict { kind, window, doubt, ..verdict };
        let verdict = match self.rival(moment).filter(|rival| *rival != cause) {
            Some(rival) => verdict.or(rival),
            None => verdict,
        };
        self.account_for(at, verdict, moment, account);
    }

    /// Why the exchange makes no progress then.
    const fn cause(&self, moment: &Moment) -> Cause {
        match (moment.in_flight, self.stall, moment.phase.direction()) {
            (InFlight::Held, Stall::Refused, _) => Cause::AcceptQueueFull,
            (InFlight::Held, Stall::Unread | Stall::OrUnread, Direction::ToServer) => {
                Cause::ServerThink
            }
            (InFlight::Held, Stall::Unread | Stall::OrUnread, Direction::ToClient) => {
                Cause::ReceiveWindow
            }
            _ => cause(moment),
        }
    }

    /// The same; but what the link before the vantage point may have done later, and what it seems to have done
    /// instead, may be the other way round.
    fn account_for(&self, at: Instant, verdict: Verdict, moment: &Moment, account: &mut Account) {
        let is_busy = moment.in_flight == InFlight::Transmitting;
        let as_if = |in_flight| cause(&Moment { in_flight, ..*moment });
        let (doubt, other) = if is_busy {
            (self.train.first(self.free_at, self.until), InFlight::Propagating)
        } else {
            let arrived = self.arrived.min(self.until);
            // What it waits for may go on when all has arrived.
            let goes_on = arrived < self.until
                && self.delayed_until.is_none()
                && as_if(InFlight::Propagating) == as_if(InFlight::Nothing);
            let until = if goes_on { self.until } else { arrived };
            (self.train.behind(self.free_at, [self.until, until]), InFlight::Transmitting)
        };
        account.add(doubt.start.min(at), verdict);
        if account.cursor() < doubt.end.min(at) {
            let swapped = Some(as_if(other)).filter(|it| *it != verdict.cause);
            account.add(doubt.end.min(at), Verdict { swapped, ..verdict });
        }
        account.add(at, verdict);
    }

    /// How sure it is. What the sender waited for may be in doubt, that a link was busy is not; but a
    /// link that drops data is done with it earlier.
    fn confidence(&self, moment: &Moment) -> Confidence {
        match (moment.in_flight, self.hold.lost) {
            (InFlight::Transmitting, None) if !self.bit_by_bit => self.rate,
            (InFlight::Transmitting, _) => self.rate.min(Confidence::Medium),
            // How long a link was busy before, is not known.
            (InFlight::Nothing | InFlight::Propagating, None)
                if self.hold.waits_for_window()
                    && moment.ack_wait.is_none()
                    && self.rate < Confidence::High =>
            {
                self.hold.confidence.min(Confidence::Medium)
            }
            _ => self.hold.confidence,
        }
    }

    /// Which rule decides what data does then, and which doubt limits that.
    fn rules(&self, moment: &Moment) -> (Rule, Option<Rule>) {
        let of_hold = self.hold.doubt.or(Some(Rule::LinkUnsure));
        match (moment.in_flight, self.stall) {
            (InFlight::Transmitting, _) if self.bit_by_bit => {
                (Rule::LinkBusy, Some(Rule::MayBeProgram))
            }
            (InFlight::Transmitting, _) => (Rule::LinkBusy, Some(Rule::LinkUnsure)),
            (InFlight::Propagating, _) if cause(moment) == Cause::Propagation => {
                (Rule::OnItsWay, self.hold.doubt)
            }
            (InFlight::Held, Stall::OrTimeout | Stall::OrLoss) => (Rule::LateOrLost, None),
            (InFlight::Held, Stall::None) | (InFlight::Queued, _) => (Rule::HeldByPath, None),
            (InFlight::Held, Stall::Unread | Stall::OrUnread) => (Rule::Unread, None),
            (InFlight::Held, Stall::Refused) => (Rule::Refused, self.hold.doubt),
            (InFlight::Held, _) => (Rule::PathSilent, None),
            (InFlight::Propagating | InFlight::Nothing | InFlight::Lost(_), _) => {
                (self.hold.rule, of_hold)
            }
        }
    }

    /// What else the packets admit.
    fn rival(&self, moment: &Moment) -> Option<Cause> {
        match (moment.in_flight, self.stall) {
            (InFlight::Held, Stall::OrTimeout | Stall::OrLoss) => {
                Some(Cause::RetransmissionTimeout)
            }
            (InFlight::Held, Stall::Refused) => self.hold.rival,
            (InFlight::Held, Stall::OrUnread) => Some(Cause::PathStall),
            (InFlight::Held, Stall::OrDelayedAck | Stall::Unread) => {
                let left = self.delayed_until?;
                Some(cause(&self.while_ack_is_delayed(moment.phase, left)))
            }
            (InFlight::Nothing | InFlight::Lost(_), _) => match self.hold.rival? {
                Cause::NagleRtt if moment.ack_wait.is_some() => Some(Cause::NagleDelayedAck),
                rival => Some(rival),
            },
            // What else was on the path, the capture does not show either.
            (InFlight::Held, Stall::None) if self.held.is_some() => Some(Cause::Queueing),
            (InFlight::Transmitting, _) if self.bit_by_bit => Some(Cause::ApplicationLimited),
            (InFlight::Transmitting, _)
                if self.hold.waits_for_receiver() && self.rate < Confidence::High =>
            {
                Some(cause(&self.moment(moment.phase, InFlight::Nothing, None)))
            }
            (InFlight::Transmitting, _) if self.rate == Confidence::Low => Some(Cause::Pacing),
            // Behind which packets it waited, the capture does not show.
            (InFlight::Queued, _) => Some(Cause::PathStall),
            _ => None,
        }
    }

    fn while_ack_is_delayed(&self, phase: Phase, left: Instant) -> Moment {
        let delayed = AckWait::Delayed { since: self.arrived, until: left };
        // Of a segment that was not the message's first, the window after a loss had no more.
        let ack_wait = Some(delayed).filter(|_| !self.hold.cut_by_loss);
        self.moment(phase, self.lost_or(InFlight::Nothing), ack_wait)
    }

    /// Attributes the rest of the gap to an unknown cause.
    fn doubt(&self, direction: Direction, account: &mut Account) {
        let (cause, evidence, confidence) = (Cause::Unknown, self.evidence, Confidence::Low);
        account.add(
            self.until,
            Verdict::new(Rule::CaptureGap, cause, direction, evidence, confidence),
        );
    }

    /// Whether the sender waited for an acknowledgement longer than any receiver may delay it.
    fn ack_is_late(&self) -> bool {
        self.hold.waits_for_ack()
            && self
                .delayed_until
                .is_some_and(|left| Nanos::between(self.arrived, left) > LONGEST_ACK_DELAY)
    }

    /// The delay of the acknowledgement that the sender waited for.
    pub(crate) fn ack_delay(&self) -> Option<Nanos> {
        let is_unread = matches!(self.stall, Stall::Unread | Stall::OrUnread);
        let waited = self.hold.waits_for_ack()
            && !self.hold.cut_by_loss
            && !is_unread
            && !self.ack_is_late();
        self.delayed_until.filter(|_| waited).map(|left| Nanos::between(self.arrived, left))
    }

    fn lost_or(&self, otherwise: InFlight) -> InFlight {
        self.hold.lost.map_or(otherwise, InFlight::Lost)
    }

    const fn moment(&self, phase: Phase, in_flight: InFlight, ack_wait: Option<AckWait>) -> Moment {
        let Hold { wait, lost: _, writer, cut_by_idle, paced, .. } = self.hold;
        Moment { phase, wait, ack_wait, in_flight, writer, cut_by_idle, paced }
    }

    /// Whether it ends with data that was sent again, lost or not.
    pub(crate) fn sends_again(&self) -> bool {
        self.hold.lost.is_some() || matches!(self.stall, Stall::Shown | Stall::Refused)
    }

    /// Takes what is on both sides of it for two bursts.
    pub(super) const fn part_bursts(&mut self) {
        (self.same_burst, self.bit_by_bit) = (false, false);
    }

    /// Whether it ends with the repair of a loss.
    pub(crate) const fn repairs(&self) -> Option<RepairedBy> {
        self.hold.lost
    }
}

/// The last way of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastWay {
    /// When links were done with it.
    pub free_at: Instant,
    /// With what else a link before the vantage point has spread it.
    pub train: Train,
    /// By its timestamp, the path held it.
    pub held: Option<Held>,
    /// When it was complete.
    pub arrives: Instant,
    pub packet: u64,
}

impl LastWay {
    /// As much of it as is before `limit`.
    pub(crate) fn until(self, limit: Instant) -> Self {
        let (free_at, arrives) = (self.free_at.min(limit), self.arrives.min(limit));
        Self { free_at, arrives, ..self }
    }
}

/// Puts the last way of a message into `account`.
pub(crate) fn arrive(phase: Phase, way: LastWay, account: &mut Account) {
    let LastWay { free_at, train, held, arrives, packet } = way;
    let last = Gap {
        until: arrives,
        free_at,
        silent_since: None,
        train,
        rate: Confidence::High,
        arrived: arrives,
        held,
        delayed_until: None,
        earlier_arrives: false,
        same_burst: false,
        bit_by_bit: false,
        hold: Hold::done(),
        before: None,
        stall: Stall::None,
        kind: None,
        capture_lost_data: false,
        missing: Missing::Nothing,
        later: Later::NOTHING,
        evidence: Evidence::of([packet, 0, 0]),
    };
    last.divide(phase, account);
}

#[cfg(test)]
pub(crate) mod tests;
