//! Loss recovery: when a loss is believed, and what phase the repair is in (RFC 5681, 6582, 6675).

use alloc::boxed::Box;

use super::{Endpoint, episode::Episode};
pub(super) use crate::send::phase::Phase;
use crate::{
    alarm::Alarm,
    congestion::{Acked, DUPLICATE_THRESHOLD, Repair},
    ranges::RangeSet,
    segment::{SackBlocks, Segment},
    units::Instant,
};

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
    /// What had been SACKed when the scoreboard was cleared, and since: empty, or a superset of `sacked`.
    /// It is delivered already, so it does not count again.
    delivered: RangeSet,
    /// HighRxt of RFC 6675: the position after the highest retransmission of this repair.
    pub(super) high_retransmitted: u64,
    /// RescueRxt of RFC 6675: the one rescue of this repair has left.
    pub(super) rescued: bool,
    /// Partial ACKs of this repair, two at most.
    partial_acks: u8,
    /// What policies remember of the last repair, if there was one and they do.
    pub(super) episode: Option<Box<Episode>>,
}

impl Recovery {
    /// Whether duplicate ACKs or a repair decide what leaves next.
    #[inline]
    pub(super) fn is_troubled(&self) -> bool {
        self.duplicate_acks > 0 || !matches!(self.phase, Phase::Open)
    }

    /// RFC 6582, section 3.2, step 3: "For the first partial ACK that arrives during fast recovery, also
    /// reset the retransmit timer"; further ones do not ("impatient", section 4).
    pub(super) fn leaves_timer_alone(&self) -> bool {
        self.partial_acks > 1 && self.phase == Phase::Fast(Repair::PartialAcks)
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

/// What the SACK blocks of one segment tell for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SackNews {
    /// The scoreboard has changed.
    pub(super) news: bool,
    /// Bytes that were not known to have been delivered.
    pub(super) delivered: u64,
}

impl Recovery {
    /// Adds a SACK block to the scoreboard, which may tell of what was `sent_once`.
    fn insert(&mut self, left: u64, right: u64, sent_once: bool) {
        if let Some(episode) = &mut self.episode
            && sent_once
            && !self.sacked.covers(left, right)
            && !self.delivered.covers(left, right)
        {
            episode.on_sacked(left);
        }
        self.sacked.insert(left, right, 0);
        if !self.delivered.is_empty() {
            self.delivered.insert(left, right, 0);
        }
    }

    /// The peer has received `[left, right)` twice (RFC 2883).
    pub(super) fn note_duplicate(&mut self, left: u64, right: u64) {
        if let Some(episode) = &mut self.episode {
            episode.on_duplicate(left, right);
        }
    }

    /// Everything before `una` is acknowledged; how many bytes of it were known to have been delivered.
    pub(super) fn remove_before(&mut self, una: u64) -> u64 {
        let sacked_before = self.sacked.bytes();
        self.sacked.remove_before(una);
        if self.delivered.is_empty() {
            return sacked_before - self.sacked.bytes();
        }
        let delivered_before = self.delivered.bytes();
        self.delivered.remove_before(una);
        delivered_before - self.delivered.bytes()
    }

    /// Clears the scoreboard: RFC 2018, section 8: after a timeout, what was SACKed may have been dropped
    /// since. It was delivered all the same (Linux `tcp_timeout_mark_lost` keeps its marks), unless a
    /// SACKed range begins at `una`: then the peer has discarded it.
    fn clear_scoreboard(&mut self, una: u64) {
        if self.delivered.is_empty() {
            core::mem::swap(&mut self.delivered, &mut self.sacked);
        }
        self.sacked.clear();
        if self.delivered.iter().next().is_some_and(|(start, _)| start == una) {
            self.delivered.clear();
        }
    }

    /// What was SACKed before [`clear_scoreboard`](Self::clear_scoreboard) counts again.
    pub(super) fn restore_scoreboard(&mut self) {
        if !self.delivered.is_empty() {
            self.sacked = core::mem::take(&mut self.delivered);
        }
    }
}

impl Endpoint {
    /// Notes the SACK blocks of a segment that acknowledges `ack`.
    pub(super) fn take_sack(&mut self, ack: u64, segment: &Segment, now: Instant) -> SackNews {
        if !self.receiver.sequence().uses_sack() || segment.options.sack.is_empty() {
            return SackNews::default();
        }
        self.take_dsack(ack, segment);
        let sacked_before = self.recovery.sacked.bytes();
        let delivered_before = self.recovery.delivered.bytes();
        let (mut blocks, mut count) = ([(0, 0); SackBlocks::MAX], 0);
        for (left, right) in segment.options.sack.iter() {
            let (left, right) = (self.sender.position(left), self.sender.position(right));
            let (Ok(left), Ok(right)) = (u64::try_from(left), u64::try_from(right)) else {
                continue;
            };
            // A block that was never sent, or lies below the ACK (RFC 2883), says nothing here.
            if self.sender.una.max(ack) < left && left < right && right <= self.sender.max {
                blocks[count] = (left, right);
                count += 1;
            }
        }
        // Linux `tcp_sacktag_write_queue` takes the lowest first: the sender of the ACK puts the latest first, and
        // blocks that one ACK reports together have not overtaken each other.
        blocks[..count].sort_unstable();
        for &(left, right) in &blocks[..count] {
            let (from, to) = self.recovery.sacked.missing(left, right);
            let once = self.flight.as_deref().is_none_or(|it| it.has_sent_once(from, to));
            self.recovery.insert(left, right, once);
            self.list_sacked(from, to, now);
        }
        let sacked = self.recovery.sacked.bytes() - sacked_before;
        let delivered = match self.recovery.delivered.is_empty() {
            true => sacked,
            false => self.recovery.delivered.bytes() - delivered_before,
        };
        SackNews { news: sacked > 0, delivered }
    }

    /// RFC 6675, section 5: SACK blocks with `news` make a duplicate ACK also of one that advances
    /// ("regardless of its status as a cumulative acknowledgment").
    pub(super) fn take_news(&mut self, news: bool, now: Instant) {
        if self.detects_by_time() {
            return;
        }
        if news && self.recovery.phase == Phase::Open && self.sender.is_outstanding() {
            self.take_duplicate_ack(now);
        }
    }

    pub(super) fn take_duplicate_ack(&mut self, now: Instant) {
        self.count_duplicate_ack();
        self.recovery.duplicate_acks = self.recovery.duplicate_acks.saturating_add(1);
        match self.recovery.phase {
            Phase::Fast(Repair::Scoreboard) => {}
            _ if self.detects_by_time() => {}
            Phase::Fast(_) => self.congestion.on_duplicate_ack(),
            Phase::Forward => self.end_test(),
            Phase::Open | Phase::GoneBack => {
                let lost = self.recovery.duplicate_acks >= DUPLICATE_THRESHOLD
                    || self.scoreboard().head_is_lost();
                if lost && self.may_repair() {
                    self.begin_repair(now);
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
            Repair::Scoreboard if self.receiver.sequence().uses_sack() => una >= recover,
            // RFC 6582, section 3.2, step 2: the ACK must cover "more than recover".
            Repair::GoBack | Repair::PartialAcks | Repair::Scoreboard => una > recover,
        }
    }

    pub(super) fn begin_repair(&mut self, now: Instant) {
        self.count_loss_event();
        let repair = match self.congestion.repair() {
            Repair::Scoreboard if !self.receiver.sequence().uses_sack() => Repair::PartialAcks,
            repair => repair,
        };
        self.stop_pacing();
        self.recovery.recover = self.sender.max;
        self.recovery.high_retransmitted = self.sender.una;
        self.recovery.rescued = false;
        self.recovery.partial_acks = 0;
        self.end_probe(now);
        self.begin_episode();
        let at_loss = self.at_loss(now);
        self.congestion.on_loss(at_loss, repair == Repair::Scoreboard);
        if repair == Repair::GoBack {
            self.recovery.phase = Phase::GoneBack;
            if self.detects_by_time() {
                self.lose_flight(true, now);
            } else {
                self.sender.next = self.sender.una;
            }
            self.timers.retransmit(Alarm::OFF);
        } else {
            self.recovery.phase = Phase::Fast(repair);
            self.recovery.retransmit_head = true;
        }
    }

    /// New data was acknowledged: the repair goes on or ends, and the window follows.
    /// A window that is not validated does not grow (RFC 7661).
    pub(super) fn recover_on_ack(&mut self, acked: Acked, may_grow: bool, now: Instant) {
        let done = self.sender.una >= self.recovery.recover;
        self.recovery.duplicate_acks = 0;
        match self.recovery.phase {
            Phase::Open if !may_grow => {}
            Phase::Open => self.congestion.on_ack(acked, now),
            Phase::GoneBack | Phase::Forward => {
                if done {
                    self.recovery.phase = Phase::Open;
                }
                self.congestion.on_ack(acked, now);
            }
            Phase::Fast(repair) if done || repair == Repair::OneSegment => {
                self.recovery.phase = Phase::Open;
                self.recovery.retransmit_head = false;
                self.congestion.on_recovered(self.sender.flight());
                self.end_reduction();
                self.after_repair();
                self.rack_repaired();
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
    pub(super) fn go_back(&mut self, first: bool, now: Instant) {
        self.count_loss_event();
        if first && !matches!(self.recovery.phase, Phase::Fast(_)) {
            self.begin_episode();
        }
        self.test_timeout(first);
        self.congestion.on_timeout(self.sender.at_loss(), first, now);
        if self.detects_by_time() {
            self.lose_flight(false, now);
            self.congestion.collapse_beside(self.scoreboard().pipe());
        }
        self.send_again();
        // Linux `tcp_retransmit_timer` sends the head whatever cwnd says: without it, no timer would run.
        self.recovery.retransmit_head = self.detects_by_time();
    }

    /// All from SND.UNA on is sent again; where losses are detected by time, what is marked as lost.
    pub(super) fn send_again(&mut self) {
        self.recovery.phase = Phase::GoneBack;
        self.recovery.recover = self.sender.max;
        self.recovery.duplicate_acks = 0;
        self.recovery.retransmit_head = false;
        self.recovery.clear_scoreboard(self.sender.una);
        if !self.detects_by_time() {
            self.sender.next = self.sender.una;
        }
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
