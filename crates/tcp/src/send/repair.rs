//! How losses are repaired (RFC 5681, 6582, 6675), and how cwnd follows.

use super::{Sender, phase::Phase, prr::InRepair, recovery::AfterAck};
use crate::{
    config::Config,
    congestion::{Acked, DUPLICATE_THRESHOLD, Repair, Windows},
    policy::ReductionPolicy,
    segment::{SackBlocks, Segment},
    units::Instant,
};

/// What the SACK blocks of one segment tell for the first time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackNews {
    /// The scoreboard has changed.
    pub(crate) news: bool,
    /// Bytes that were not known to have been delivered.
    pub(crate) delivered: u64,
}

impl Sender {
    /// Notes the SACK blocks of a segment that acknowledges `ack`.
    pub(super) fn take_sack(&mut self, ack: u64, segment: &Segment, now: Instant) -> SackNews {
        if !self.recovery.uses_sack() || segment.options.sack.is_empty() {
            return SackNews::default();
        }
        self.take_d_sack(ack, segment);
        let (sacked_before, delivered_before) = self.recovery.known();
        let (mut blocks, mut count) = ([(0, 0); SackBlocks::MAX], 0);
        for (left, right) in segment.options.sack.iter() {
            let (left, right) = (self.sequence.position(left), self.sequence.position(right));
            let (Ok(left), Ok(right)) = (u64::try_from(left), u64::try_from(right)) else {
                continue;
            };
            // A block that was never sent, or lies below the ACK (RFC 2883), says nothing here.
            if self.sequence.una().max(ack) < left && left < right && right <= self.sequence.max() {
                blocks[count] = (left, right);
                count += 1;
            }
        }
        // Linux `tcp_sacktag_write_queue` takes the lowest first: the sender of the ACK puts the latest first, and
        // blocks that one ACK reports together have not overtaken each other.
        blocks[..count].sort_unstable();
        for &(left, right) in &blocks[..count] {
            let (from, to) = self.recovery.sacked().missing(left, right);
            let once = self.in_flight.list().is_none_or(|it| it.has_sent_once(from, to));
            self.recovery.insert(left, right, once);
            if let Some(flight) = self.in_flight.list_mut()
                && let Some(range) = self.recovery.sacked().around(from)
            {
                flight.on_sack(from, to, range, now);
            }
        }
        let (sacked, delivered) = self.recovery.known();
        SackNews { news: sacked > sacked_before, delivered: delivered - delivered_before }
    }

    /// RFC 6675, section 5: SACK blocks with news make a duplicate ACK also of one that advances
    /// ("regardless of its status as a cumulative acknowledgment").
    pub(super) fn is_duplicate_by_news(&self, news: bool) -> bool {
        news && !self.detects_by_time()
            && self.recovery.phase() == Phase::Open
            && self.sequence.is_outstanding()
    }

    pub(super) fn take_duplicate_ack(&mut self, config: &Config, now: Instant) {
        self.recovery.on_duplicate_ack();
        match self.recovery.phase() {
            Phase::Fast(Repair::Scoreboard) => {}
            Phase::Forward => self.end_test(),
            _ if self.detects_by_time() => {}
            Phase::Fast(_) => self.control.controller_mut().on_duplicate_ack(),
            Phase::Open | Phase::GoneBack => {
                let lost = self.recovery.duplicate_acks() >= DUPLICATE_THRESHOLD
                    || self.scoreboard().head_is_lost();
                if lost && self.may_repair() {
                    self.begin_repair(config, now);
                }
            }
        }
    }

    /// Not twice for one window of data, lest what was sent again in vain be taken for a loss.
    fn may_repair(&self) -> bool {
        let (una, recover) = (self.sequence.una(), self.recovery.recover());
        match self.control.controller().repair() {
            // 4.3BSD-Reno does not look back.
            Repair::OneSegment => true,
            // RFC 6675, section 5.1: not "until HighACK is greater than or equal to the new value of
            // RecoveryPoint". SACK blocks with news are no echo of a retransmission.
            Repair::Scoreboard if self.recovery.uses_sack() => una >= recover,
            // RFC 6582, section 3.2, step 2: the ACK must cover "more than recover".
            Repair::GoBack | Repair::PartialAcks | Repair::Scoreboard => una > recover,
        }
    }

    pub(super) fn begin_repair(&mut self, config: &Config, now: Instant) {
        self.recovery.note_loss_event();
        let repair = match self.control.controller().repair() {
            Repair::Scoreboard if !self.recovery.uses_sack() => Repair::PartialAcks,
            repair => repair,
        };
        self.stop_pacing();
        self.recovery.begin(self.sequence.una(), self.sequence.max());
        self.end_probe(config, now);
        self.begin_episode(config);
        let (at_loss, srtt) = (self.sequence.at_loss(), self.round_trips.smoothed());
        self.control.on_loss(at_loss, repair == Repair::Scoreboard, srtt, now);
        if repair == Repair::GoBack {
            self.recovery.go_back();
            if self.detects_by_time() {
                if let Some(flight) = self.in_flight.list_mut() {
                    flight.lose_all();
                }
            } else {
                self.sequence.rewind();
            }
            self.timers.stop_retransmission();
        } else {
            self.recovery.repair_fast(repair);
        }
    }

    /// New data was acknowledged: the repair goes on or ends, and the window follows.
    /// A window that is not validated does not grow (RFC 7661).
    pub(super) fn recover_on_ack(
        &mut self,
        acked: Acked,
        may_grow: bool,
        config: &Config,
        now: Instant,
    ) {
        match self.recovery.on_ack(self.sequence.una()) {
            AfterAck::NoRepair if !may_grow => {}
            AfterAck::NoRepair | AfterAck::WentBack => {
                self.control.controller_mut().on_ack(acked, now)
            }
            AfterAck::Repaired => {
                let (flight, mss) = (self.sequence.flight(), self.sequence.mss());
                self.control.on_repaired(flight, mss, config.policies.reduction);
                self.in_flight.on_repaired();
            }
            AfterAck::Repairs => {}
            AfterAck::Partial => self.control.controller_mut().on_partial_ack(acked.bytes),
        }
    }

    /// The retransmission timer has expired: go back to SND.UNA. `first` unless the segment there has timed out before.
    pub(super) fn go_back(&mut self, first: bool, config: &Config, now: Instant) {
        self.recovery.note_loss_event();
        if first && !matches!(self.recovery.phase(), Phase::Fast(_)) {
            self.begin_episode(config);
        }
        self.test_timeout(first, config);
        self.control.controller_mut().on_timeout(self.sequence.at_loss(), first, now);
        if self.detects_by_time() {
            if let Some(flight) = self.in_flight.list_mut() {
                flight.lose_late(now);
            }
            let pipe = self.scoreboard().pipe();
            self.control.controller_mut().collapse_beside(pipe);
        }
        self.send_again();
        // Linux `tcp_retransmit_timer` sends the head whatever cwnd says: without it, no timer would run.
        if self.detects_by_time() {
            self.recovery.send_head();
        }
    }

    /// All from SND.UNA on is sent again; where losses are detected by time, what is marked as lost.
    pub(super) fn send_again(&mut self) {
        self.recovery.send_again(self.sequence.una(), self.sequence.max());
        if !self.detects_by_time() {
            self.sequence.rewind();
        }
        self.sequence.stop_timing();
    }

    /// Goes back to SND.UNA with smaller segments, in slow start up to the window that there was. During
    /// a recovery, that is the ssthresh of the loss: cwnd may be inflated.
    pub(super) fn send_smaller(&mut self) {
        let Windows { congestion, threshold } = self.windows();
        let threshold = match self.recovery.phase() {
            Phase::Fast(_) => threshold,
            Phase::Open | Phase::GoneBack | Phase::Forward => threshold.max(congestion),
        };
        self.control
            .controller_mut()
            .on_restart(Windows { congestion: self.sequence.mss(), threshold });
        if let Some(flight) = self.in_flight.list_mut() {
            flight.lose_all();
        }
        self.recovery.forget_episode();
        self.send_again();
        self.timers.stop_retransmission();
    }

    /// RFC 3042: on the first two duplicate ACKs two segments of new data may leave beyond cwnd. The
    /// stacks before it (Tahoe, Reno) do not.
    pub(super) fn limited_transmit(&self) -> u64 {
        let applies = self.recovery.phase() == Phase::Open
            && matches!(
                self.control.controller().repair(),
                Repair::PartialAcks | Repair::Scoreboard
            );
        let segments = if applies { self.recovery.duplicate_acks().min(2) } else { 0 };
        u64::from(segments) * u64::from(self.sequence.mss())
    }

    /// Proportional rate reduction: cwnd after an ACK that tells of `delivered` bytes.
    pub(super) fn reduce_proportionally(
        &mut self,
        delivered: u32,
        advances: bool,
        config: &Config,
    ) {
        let proportional = config.policies.reduction == ReductionPolicy::Proportional;
        let repairs = self.recovery.phase() == Phase::Fast(Repair::Scoreboard);
        if !proportional || !repairs || delivered == 0 {
            return;
        }
        let board = self.scoreboard();
        let (pipe, lost_end) = (board.pipe(), board.lost_end());
        let Windows { threshold, .. } = self.windows();
        let mss = self.sequence.mss();
        let Some(episode) = self.recovery.episode_mut() else { return };
        let before = episode.before().congestion;
        let ack = InRepair { before, threshold, delivered, advances, pipe, lost_end, mss };
        let window = episode.window(&ack);
        self.control
            .controller_mut()
            .set_recovery_window(u32::try_from(window).unwrap_or(u32::MAX));
    }
}
