//! Loss recovery: when a loss is believed, and what phase the repair is in (RFC 5681, 6582, 6675).

use super::{Endpoint, alarm::Alarm, ranges::RangeSet};
use crate::{
    congestion::{Acked, DUPLICATE_THRESHOLD, Repair},
    segment::Segment,
    units::Instant,
};

/// Where the repair stands.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Phase {
    /// Nothing is believed lost.
    #[default]
    Open,
    /// Duplicate ACKs announced a loss, which is being repaired.
    Fast(Repair),
    /// Everything from SND.UNA on is sent again: a timeout, or Tahoe.
    GoneBack,
}

/// The state of loss recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    pub(super) phase: Phase,
    pub(super) duplicate_acks: u16,
    /// The repair is over when this position is acknowledged; no new one begins before.
    pub(super) recover: u64,
    /// The segment at SND.UNA leaves next, whatever the windows say.
    pub(super) retransmit_head: bool,
    /// What the peer has SACKed.
    pub(super) sacked: RangeSet,
    /// HighRxt of RFC 6675: the position after the highest retransmission of this repair.
    pub(super) high_retransmitted: u64,
    /// RescueRxt of RFC 6675: the one rescue of this repair has left.
    pub(super) rescued: bool,
    /// Partial ACKs of this repair, two at most.
    partial_acks: u8,
}

impl Recovery {
    /// RFC 6582, section 3.2, step 3: "For the first partial ACK that arrives during fast recovery, also
    /// reset the retransmit timer"; further ones do not ("impatient", section 4).
    pub(super) fn leaves_timer_alone(&self) -> bool {
        self.phase == Phase::Fast(Repair::PartialAcks) && self.partial_acks > 1
    }

    /// `[start, end)` is sent again. What lies beyond all that is SACKed is a rescue: RFC 6675, section
    /// 4, rule 4, "HighRxt MUST NOT be updated".
    pub(super) fn note_retransmission(&mut self, start: u64, end: u64) {
        let beyond = self.sacked.end().is_some_and(|sacked| sacked <= start);
        if beyond && !self.retransmit_head {
            self.rescued = true;
        } else {
            self.high_retransmitted = self.high_retransmitted.max(end);
        }
    }
}

impl Endpoint {
    /// Notes the SACK blocks of a segment that acknowledges `ack`; how many bytes they tell of for the
    /// first time.
    pub(super) fn take_sack(&mut self, ack: u64, segment: &Segment) -> u64 {
        if !self.receiver.sack || segment.options.sack.is_empty() {
            return 0;
        }
        let before = self.recovery.sacked.bytes();
        for (left, right) in segment.options.sack.iter() {
            let (left, right) = (self.sender.position(left), self.sender.position(right));
            let (Ok(left), Ok(right)) = (u64::try_from(left), u64::try_from(right)) else {
                continue;
            };
            // A block that was never sent, or lies below the ACK (RFC 2883), says nothing here.
            if self.sender.una.max(ack) < left && left < right && right <= self.sender.max {
                self.recovery.sacked.insert(left, right, 0);
            }
        }
        self.recovery.sacked.bytes() - before
    }

    /// RFC 6675, section 5: SACK blocks with `news` make a duplicate ACK also of one that advances
    /// ("regardless of its status as a cumulative acknowledgment").
    pub(super) fn take_news(&mut self, news: bool) {
        if news && self.recovery.phase == Phase::Open && self.sender.is_outstanding() {
            self.take_duplicate_ack();
        }
    }

    pub(super) fn take_duplicate_ack(&mut self) {
        self.count_duplicate_ack();
        let recovery = &mut self.recovery;
        recovery.duplicate_acks = recovery.duplicate_acks.saturating_add(1);
        match recovery.phase {
            Phase::Fast(Repair::Scoreboard) => {}
            Phase::Fast(_) => self.congestion.on_duplicate_ack(),
            Phase::Open | Phase::GoneBack => {
                let lost = self.recovery.duplicate_acks >= DUPLICATE_THRESHOLD
                    || self.scoreboard().head_is_lost();
                if lost && self.may_repair() {
                    self.begin_repair();
                }
            }
        }
    }

    /// Not twice for one window of data, lest what was sent again in vain be taken for a loss.
    fn may_repair(&self) -> bool {
        let (una, recover) = (self.sender.una, self.recovery.recover);
        match self.congestion.repair() {
            // 4.3BSD-Reno does not look back.
            Repair::OneSegment => true,
            // RFC 6675, section 5.1: not "until HighACK is greater than or equal to the new value of
            // RecoveryPoint". SACK blocks with news are no echo of a retransmission.
            Repair::Scoreboard if self.receiver.sack => una >= recover,
            // RFC 6582, section 3.2, step 2: the ACK must cover "more than recover".
            Repair::GoBack | Repair::PartialAcks | Repair::Scoreboard => una > recover,
        }
    }

    fn begin_repair(&mut self) {
        let repair = match self.congestion.repair() {
            Repair::Scoreboard if !self.receiver.sack => Repair::PartialAcks,
            repair => repair,
        };
        self.recovery.recover = self.sender.max;
        self.recovery.high_retransmitted = self.sender.una;
        self.recovery.rescued = false;
        self.recovery.partial_acks = 0;
        self.congestion.on_loss(self.sender.flight(), repair == Repair::Scoreboard);
        if repair == Repair::GoBack {
            self.recovery.phase = Phase::GoneBack;
            self.sender.next = self.sender.una;
            self.timers.retransmission = Alarm::OFF;
        } else {
            self.recovery.phase = Phase::Fast(repair);
            self.recovery.retransmit_head = true;
        }
    }

    /// New data was acknowledged: the repair goes on or ends, and the window follows.
    pub(super) fn recover_on_ack(&mut self, acked: Acked, now: Instant) {
        let done = self.sender.una >= self.recovery.recover;
        self.recovery.duplicate_acks = 0;
        match self.recovery.phase {
            Phase::Open => self.congestion.on_ack(acked, now),
            Phase::GoneBack => {
                if done {
                    self.recovery.phase = Phase::Open;
                }
                self.congestion.on_ack(acked, now);
            }
            Phase::Fast(repair) if done || repair == Repair::OneSegment => {
                self.recovery.phase = Phase::Open;
                self.recovery.retransmit_head = false;
                self.congestion.on_recovered(self.sender.flight());
            }
            Phase::Fast(Repair::Scoreboard) => {}
            Phase::Fast(_) => {
                self.recovery.partial_acks = (self.recovery.partial_acks + 1).min(2);
                self.congestion.on_partial_ack(acked.bytes);
                self.recovery.retransmit_head = true;
            }
        }
    }

    /// The retransmission timer has expired: go back to SND.UNA.
    pub(super) fn go_back(&mut self, first: bool) {
        self.congestion.on_timeout(self.sender.flight(), first);
        self.send_again();
    }

    /// All from SND.UNA on is sent again.
    pub(super) fn send_again(&mut self) {
        self.recovery.phase = Phase::GoneBack;
        self.recovery.recover = self.sender.max;
        self.recovery.duplicate_acks = 0;
        self.recovery.retransmit_head = false;
        // RFC 2018, section 8: after a timeout, what was SACKed may have been dropped since.
        self.recovery.sacked.clear();
        self.sender.next = self.sender.una;
        self.sender.timed_since = Alarm::OFF;
    }

    /// RFC 3042: on the first two duplicate ACKs two segments of new data may leave beyond cwnd. The
    /// stacks before it (Tahoe, Reno) do not.
    pub(super) fn limited_transmit(&self) -> u64 {
        let applies = self.recovery.phase == Phase::Open
            && matches!(self.congestion.repair(), Repair::PartialAcks | Repair::Scoreboard);
        let segments = if applies { self.recovery.duplicate_acks.min(2) } else { 0 };
        u64::from(segments) * u64::from(self.sender.mss)
    }
}
