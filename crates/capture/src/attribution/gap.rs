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
pub(crate) mod tests {
    use ackwise_cause::{H2Window, Writer};

    use super::*;
    use crate::attribution::later::Resolution;

    /// 10 ms on links, then 10 ms on the way, an acknowledgement delayed by 40 ms, and 10 ms more.
    pub(crate) const HELD: Gap = Gap {
        until: at(70),
        free_at: at(10),
        silent_since: None,
        train: Train::NONE,
        rate: Confidence::High,
        arrived: at(20),
        before: None,
        delayed_until: Some(at(60)),
        earlier_arrives: false,
        same_burst: false,
        bit_by_bit: false,
        hold: Hold {
            wait: Wait::Nagle,
            lost: None,
            writer: Writer::Working,
            window: None,
            cut_by_idle: false,
            cut_by_loss: false,
            paced: false,
            unknown: false,
            confidence: Confidence::Medium,
            rival: None,
            rule: Rule::NagleHeld,
            doubt: None,
        },
        held: None,
        stall: Stall::None,
        kind: None,
        capture_lost_data: false,
        missing: Missing::Nothing,
        later: Later::NOTHING,
        evidence: Evidence::of([1, 2, 3]),
    };

    pub(crate) const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn divided(gap: &Gap, from: u64) -> Vec<(Cause, u128, Confidence)> {
        let mut account = Account::new(at(from));
        gap.divide(Phase::Response, &mut account);
        let shares = account.into_shares().into_iter();
        shares.map(|it| (it.cause, it.span.as_millis(), it.confidence)).collect()
    }

    #[test]
    fn the_time_between_two_departures_is_divided_by_what_happened_in_it() {
        use Cause::{NagleDelayedAck, NagleRtt, PathStall, Transmission, Unknown};
        use Confidence::{High, Low, Medium};
        let lost = Hold { lost: Some(RepairedBy::Recovery), ..HELD.hold };
        let late = |left| Gap { delayed_until: Some(at(left)), until: at(600), ..HELD };
        let unknown = Hold { unknown: true, ..HELD.hold };
        for (gap, from, expected) in [
            (
                HELD,
                0,
                &[(Transmission, 10, High), (NagleRtt, 20, Medium), (NagleDelayedAck, 40, Medium)]
                    [..],
            ),
            (HELD, 30, &[(NagleDelayedAck, 30, Medium), (NagleRtt, 10, Medium)]),
            (HELD, 70, &[]),
            (late(520), 30, &[(NagleDelayedAck, 490, Medium), (NagleRtt, 80, Medium)]),
            (late(521), 10, &[(NagleRtt, 10, Medium), (Unknown, 580, Low)]),
            (Gap { hold: unknown, ..HELD }, 0, &[(Transmission, 10, High), (Unknown, 60, Low)]),
            (
                Gap { delayed_until: None, ..HELD },
                0,
                &[(Transmission, 10, High), (NagleRtt, 60, Medium)],
            ),
            (Gap { same_burst: true, ..HELD }, 0, &[(Transmission, 70, High)]),
            (Gap { capture_lost_data: true, ..HELD }, 5, &[(Unknown, 65, Low)]),
            (
                Gap { hold: lost, ..HELD },
                0,
                &[(Transmission, 10, Medium), (Cause::LossRecovery, 60, Medium)],
            ),
            (Gap { until: at(15), ..HELD }, 0, &[(Transmission, 10, High), (NagleRtt, 5, Medium)]),
            (
                Gap { stall: Stall::Since(at(45)), ..HELD },
                0,
                &[
                    (Transmission, 10, High),
                    (NagleRtt, 10, Medium),
                    (NagleDelayedAck, 25, Medium),
                    (PathStall, 25, Medium),
                ],
            ),
            (
                Gap { stall: Stall::Since(at(15)), ..HELD },
                0,
                &[(Transmission, 10, High), (NagleRtt, 5, Medium), (PathStall, 55, Medium)],
            ),
        ] {
            assert_eq!(divided(&gap, from), expected, "{gap:?}");
        }
    }

    #[test]
    fn links_are_not_busy_with_what_was_lost_before_them() {
        use Cause::{Propagation, RetransmissionTimeout, Transmission};
        let lost = |by| Hold { lost: Some(by), ..HELD.hold };
        let times = |hold| {
            let (free_at, silent_since) = (at(60), Some(at(30)));
            let gap = Gap { hold, free_at, silent_since, delayed_until: None, ..HELD };
            let found: Vec<_> = divided(&gap, 0).iter().map(|it| (it.0, it.1)).collect();
            found
        };
        let by_timer = [(Transmission, 30), (RetransmissionTimeout, 40)];
        assert_eq!(times(lost(RepairedBy::Timeout)), by_timer);
        let recovered = [(Transmission, 60), (Cause::LossRecovery, 10)];
        assert_eq!(times(lost(RepairedBy::Recovery)), recovered);
        // The path held it: nothing had been lost.
        let mut spurious = Gap { hold: lost(RepairedBy::Timeout), ..HELD };
        (spurious.free_at, spurious.silent_since) = (at(60), Some(at(30)));
        spurious.later.note(Resolution::Spurious);
        let spurious = spurious.settled();
        assert_eq!(divided(&spurious, 0)[0].1, 60);
        assert!(divided(&spurious, 0).iter().all(|it| it.0 != Propagation));
    }

    #[test]
    fn an_acknowledgement_that_gives_a_window_room_releases_a_response() {
        let window = Hold { wait: Wait::SlowStart, ..HELD.hold };
        let idle = Hold { cut_by_idle: true, ..window };
        let lost = Hold { lost: Some(RepairedBy::Recovery), ..window };
        let written = Hold { wait: Wait::Application, ..HELD.hold };
        for (hold, released) in [
            (window, Some((Cause::SlowStart, true))),
            (idle, Some((Cause::IdleRestart, true))),
            (HELD.hold, Some((Cause::NagleDelayedAck, false))),
            (lost, None),
            (written, None),
        ] {
            let found = Gap { hold, ..HELD }.released(Instant::EPOCH, false);
            assert_eq!(found.map(|it| (it.cause, it.is_sure)), released, "{hold:?}");
        }
    }

    #[test]
    fn what_is_missing_is_billed_to_whoever_lost_it() {
        use Missing::{Earlier, JustBefore, Nothing};
        use Resolution::{LostByCapture, Never, Overtaken, SentAgain};
        let lost =
            Hold { lost: Some(RepairedBy::Recovery), confidence: Confidence::High, ..HELD.hold };
        let cause = |missing, resolution| {
            let mut gap = Gap { hold: lost, missing, ..HELD };
            gap.later.note(resolution);
            gap.later.note(Overtaken);
            let (cause, _, confidence) = *divided(&gap.settled(), 30).first().unwrap();
            (cause, confidence)
        };
        let network = (Cause::LossRecovery, Confidence::High);
        let capture = (Cause::Unknown, Confidence::Low);
        let nobody = Cause::NagleDelayedAck;
        for (missing, resolution, expected) in [
            (Nothing, LostByCapture, network),
            (JustBefore, SentAgain, network),
            (JustBefore, Overtaken, network),
            (JustBefore, LostByCapture, capture),
            (JustBefore, Never, capture),
            (Earlier, SentAgain, network),
            (Earlier, Overtaken, (nobody, Confidence::High)),
            (Earlier, LostByCapture, (nobody, Confidence::Medium)),
            (Earlier, Never, (nobody, Confidence::Medium)),
        ] {
            assert_eq!(cause(missing, resolution), expected, "{missing:?} {resolution:?}");
        }
    }

    #[test]
    fn what_only_the_sender_knows_gives_way_to_flow_control_that_the_capture_shows() {
        use Confidence::{High, Medium};
        for (wait, confidence, writer) in [
            (Wait::Application, High, Writer::FlowControlled),
            (Wait::Nagle, Medium, Writer::Working),
            (Wait::ReceiveWindow { probing: false }, High, Writer::Working),
            (Wait::CongestionWindow, High, Writer::FlowControlled),
            (Wait::SlowStart, Medium, Writer::FlowControlled),
        ] {
            let mut gap = Gap { hold: Hold { wait, confidence, ..HELD.hold }, ..HELD };
            gap.blame_flow_control(H2Window::Stream, false, None);
            assert_eq!(gap.hold.writer, writer, "{wait:?} {confidence:?}");
        }
        assert_eq!(HELD.repairs(), None);
    }

    fn holding(change: fn(&mut Hold)) -> Gap {
        let mut gap = HELD;
        (gap.hold.wait, gap.hold.rule) = (Wait::Application, Rule::Written);
        gap.hold.confidence = Confidence::High;
        change(&mut gap.hold);
        gap
    }

    #[test]
    fn flow_control_holds_until_its_credit_has_come() {
        use Confidence::{High, Medium};
        let written = holding(|_| {});
        let lost = holding(|it| it.lost = Some(RepairedBy::Recovery));
        let later = Gap { before: Some((at(30), HELD.hold)), ..written };
        let credit = |at_nanos| {
            let (at, immediate) = (Instant::from_nanos(at_nanos), Nanos::from_millis(1));
            Some(CreditArrival { at, immediate })
        };
        let (soon, late) = (credit(69_000_000), credit(68_999_999));
        // How sure it is that flow control held it, and what came before that.
        for (why, gap, at_sender, credit, now, before) in [
            ("at its sender", written, true, None, Some(High), None),
            ("elsewhere", written, false, None, Some(Medium), None),
            ("right after credit", written, false, soon, Some(High), None),
            ("later: its program", written, false, late, None, Some(Medium)),
            ("later, at its sender", written, true, late, None, Some(High)),
            ("after a loss", lost, true, None, Some(Medium), None),
            ("something else held it before", later, false, late, Some(Medium), None),
        ] {
            let mut gap = gap;
            gap.blame_flow_control(H2Window::Stream, at_sender, credit);
            let sure =
                |hold: Hold| (hold.writer == Writer::FlowControlled).then_some(hold.confidence);
            let found = gap.before.and_then(|it| sure(it.1));
            assert_eq!((sure(gap.hold), found), (now, before), "{why}");
        }
    }

    #[test]
    fn a_window_that_is_sealed_or_unseen_is_a_doubt_of_what_only_the_sender_knows() {
        use Confidence::{High, Low, Medium};
        let flow_control = Some(Cause::H2FlowControl);
        let sealed = |gap: &Gap| {
            let mut gap = *gap;
            gap.blame_sealed_window();
            gap.hold.writer == Writer::FlowControlled && gap.hold.confidence == Medium
        };
        let doubted = |gap: &Gap| {
            let mut gap = *gap;
            gap.doubt_flow_control();
            (gap.hold.confidence, gap.hold.rival)
        };
        for (why, gap, is_sealed, is_doubted) in [
            ("its program", holding(|_| {}), true, true),
            ("a window", holding(|it| it.wait = Wait::CongestionWindow), true, true),
            ("a window at first", holding(|it| it.wait = Wait::SlowStart), true, true),
            ("Nagle", holding(|it| it.wait = Wait::Nagle), false, false),
            ("a loss", holding(|it| it.lost = Some(RepairedBy::Recovery)), false, true),
            ("nobody knows", holding(|it| it.unknown = true), false, true),
        ] {
            let expected = if is_doubted { (Low, flow_control) } else { (High, None) };
            assert_eq!((sealed(&gap), doubted(&gap)), (is_sealed, expected), "{why}");
        }
        let window: fn(&mut Hold) = |it| it.rule = Rule::WindowFull;
        for (why, gap, differs, expected) in [
            ("written", holding(|_| {}), false, (Medium, flow_control)),
            (
                "written in a burst",
                Gap { same_burst: true, ..holding(|_| {}) },
                false,
                (High, None),
            ),
            (
                "written after a loss",
                holding(|it| it.lost = Some(RepairedBy::Recovery)),
                false,
                (High, None),
            ),
            ("held by Nagle", holding(|it| it.rule = Rule::NagleHeld), false, (High, None)),
            ("held by a window", holding(window), true, (Low, flow_control)),
            (
                "held by a window in a burst",
                Gap { same_burst: true, ..holding(window) },
                false,
                (High, None),
            ),
            (
                "a window after a loss",
                holding(|it| (it.rule, it.lost) = (Rule::WindowFull, Some(RepairedBy::Timeout))),
                false,
                (High, None),
            ),
            (
                "a window, or a buffer",
                holding(|it| (it.rule, it.rival) = (Rule::WindowFull, Some(Cause::SendBuffer))),
                true,
                (Low, flow_control),
            ),
            (
                "a window, or Nagle",
                holding(|it| (it.rule, it.rival) = (Rule::WindowFull, Some(Cause::NagleRtt))),
                true,
                (Low, Some(Cause::NagleRtt)),
            ),
            (
                "a buffer",
                holding(|it| {
                    (it.rule, it.writer) = (Rule::SameBuffer, Writer::SendBufferFull);
                }),
                true,
                (High, None),
            ),
        ] {
            let mut gap = gap;
            let is_buffer = gap.hold.writer == Writer::SendBufferFull;
            assert_eq!(gap.doubt_unseen_window(), differs, "{why}");
            assert_eq!((gap.hold.confidence, gap.hold.rival), expected, "{why}");
            assert_eq!((gap.hold.unknown, gap.rate), (is_buffer, Medium), "{why}");
        }
    }

    #[test]
    fn what_is_sent_again_is_settled_by_what_shows_of_it_and_by_what_sent_it() {
        use Confidence::{High, Low, Medium};
        use Resolution::{
            AckLost, AnswerLost, Confirmed, OrRefused, Refused, Spurious, WindowClosed,
        };
        let by = |lost, rival| {
            let hold = Hold { lost, rival, confidence: Medium, ..HELD.hold };
            Gap { hold, ..HELD }
        };
        let (timer, queue) = (Some(RepairedBy::Timeout), Some(Cause::Queueing));
        let (ack, refused) = (Some(RepairedBy::Recovery), Some(Cause::AcceptQueueFull));
        let timeout = Some(Cause::RetransmissionTimeout);
        let spurious = Some(LossKind::Spurious);
        for (gap, resolution, stall, kind, sure, rival) in [
            (by(timer, None), Confirmed, Stall::None, None, High, None),
            (by(timer, queue), Confirmed, Stall::None, None, Medium, queue),
            (by(ack, None), Confirmed, Stall::None, None, Medium, None),
            (by(timer, queue), AckLost, Stall::None, Some(LossKind::AckLost), Medium, None),
            (by(ack, queue), AnswerLost, Stall::None, Some(LossKind::AckLost), Medium, None),
            (by(timer, None), Spurious, Stall::Shown, spurious, Medium, None),
            (by(ack, None), Spurious, Stall::None, spurious, Medium, None),
            (by(timer, None), Refused { sure: true }, Stall::Refused, None, High, None),
            (by(timer, None), Refused { sure: false }, Stall::Refused, None, Medium, timeout),
            (by(ack, None), Refused { sure: true }, Stall::None, None, Medium, None),
            (by(timer, None), OrRefused, Stall::None, None, Low, refused),
            (by(ack, None), OrRefused, Stall::None, None, Medium, None),
        ] {
            let mut gap = gap;
            gap.later.note(resolution);
            let gap = gap.settled();
            let found = (gap.stall, gap.kind, gap.hold.confidence, gap.hold.rival);
            assert_eq!(found, (stall, kind, sure, rival), "{resolution:?} {:?}", gap.hold.lost);
        }
        for (lost, closed) in [(timer, true), (ack, true), (None, false)] {
            let mut gap = by(lost, None);
            gap.later.note(WindowClosed);
            assert_eq!(gap.settled().hold.rule == Rule::FillsWindow, closed, "{lost:?}");
        }
    }

    #[test]
    fn the_end_of_a_message_is_on_links_and_on_its_way() {
        let mut account = Account::new(at(0));
        let train = Train::NONE;
        let way = LastWay { free_at: at(10), train, held: None, arrives: at(30), packet: 5 };
        arrive(Phase::Request, way, &mut account);
        let shares = account.into_shares();
        let found: Vec<_> = shares.iter().map(|it| (it.cause, it.span.as_millis())).collect();
        assert_eq!(found, [(Cause::RequestUpload, 10), (Cause::Propagation, 20)]);
        assert_eq!(shares[1].evidence.packets().collect::<Vec<_>>(), [5]);
        let mut account = Account::new(at(0));
        let held = Some(Held { from: at(15), stalls: true });
        let held = LastWay { held, ..way };
        arrive(Phase::Response, held.until(at(25)), &mut account);
        let shares = account.into_shares();
        let found: Vec<_> = shares.iter().map(|it| (it.cause, it.span.as_millis())).collect();
        let expected = [(Cause::Transmission, 10), (Cause::Propagation, 5), (Cause::PathStall, 10)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_link_far_from_the_vantage_point_may_have_been_busy_later() {
        use Cause::{Propagation, SlowStart, Transmission};
        use Confidence::{High, Medium};
        let drawn = |hold| {
            let train = Train::new(at(0), Nanos::from_millis(3));
            let gap = Gap { hold, train, delayed_until: None, ..HELD };
            let mut account = Account::new(at(0));
            account.keep_stretches(100);
            gap.divide(Phase::Response, &mut account);
            let stretches = account.take_stretches().into_iter();
            let found: Vec<_> = stretches
                .map(|it| (it.cause, it.until.as_nanos() / 1_000_000, it.confidence, it.rival))
                .collect();
            (found, account.into_shares().iter().all(|it| it.confidence == High))
        };
        let first =
            |other| [(Transmission, 3, Medium, Some(other)), (Transmission, 10, High, None)];
        // The window held the data all the time: the last of it stands for what may be the link's.
        let window = [(SlowStart, 67, High, None), (SlowStart, 70, Medium, Some(Transmission))];
        let held = Hold { wait: Wait::SlowStart, confidence: High, ..HELD.hold };
        assert_eq!(drawn(held), ([first(SlowStart), window].concat(), true));
        // All that follows has left: the rest of the way is what may be the link's.
        let (found, shares_are_high) = drawn(Hold::done());
        let way = [(Propagation, 17, High, None), (Propagation, 20, Medium, Some(Transmission))];
        assert_eq!(found[..4], [first(Propagation), way].concat());
        assert!(shares_are_high);
    }

    #[test]
    fn what_the_path_held_by_its_timestamp_may_have_been_a_queue() {
        let held = Some(Held { from: at(12), stalls: true });
        let gap = Gap { held, hold: Hold { confidence: Confidence::High, ..HELD.hold }, ..HELD };
        let mut account = Account::new(at(0));
        gap.divide(Phase::Response, &mut account);
        let shares = account.into_shares();
        let stall = shares.iter().find(|it| it.cause == Cause::PathStall).unwrap();
        assert_eq!((stall.confidence, stall.rival), (Confidence::Medium, Some(Cause::Queueing)));
    }

    #[test]
    fn what_a_window_held_until_an_acknowledgement_is_not_nagles() {
        let window = Hold { wait: Wait::SlowStart, ..HELD.hold };
        let gap = Gap { before: Some((at(40), window)), ..HELD };
        let expected = [
            (Cause::Transmission, 10, Confidence::High),
            (Cause::SlowStart, 30, Confidence::Medium),
            (Cause::NagleDelayedAck, 20, Confidence::Medium),
            (Cause::NagleRtt, 10, Confidence::Medium),
        ];
        assert_eq!(divided(&gap, 0), expected);
    }
}
