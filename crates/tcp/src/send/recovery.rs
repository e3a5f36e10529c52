//! The state of loss recovery: when a loss is believed, and what phase the repair is in (RFC 5681, 6582, 6675).

use alloc::boxed::Box;

use super::{episode::Episode, flight::Flight, in_flight::InFlight, phase::Phase};
use crate::{congestion::Repair, ranges::RangeSet};

/// The state of loss recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    phase: Phase,
    reports: Reports,
    duplicate_acks: u16,
    /// The repair is over when this position is acknowledged; no new one begins before.
    recover: u64,
    /// The segment at SND.UNA leaves next, whatever the windows say.
    retransmit_head: bool,
    /// What the peer has SACKed.
    sacked: RangeSet,
    /// What had been SACKed when the scoreboard was cleared, and since: empty, or a superset of `sacked`.
    /// It is delivered already, so it does not count again.
    delivered: RangeSet,
    /// HighRxt of RFC 6675: the position after the highest retransmission of this repair.
    high_retransmitted: u64,
    /// RescueRxt of RFC 6675: the one rescue of this repair has left.
    rescued: bool,
    /// Partial ACKs of this repair, two at most.
    partial_acks: u8,
    /// Repairs begun since the counters have asked.
    loss_events: u8,
    /// What policies remember of the last repair, if there was one and they do.
    episode: Option<Box<Episode>>,
}

/// How the peer reports what has arrived beyond a gap, and how losses are detected by that.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Reports {
    /// By duplicate ACKs.
    #[default]
    Unselective,
    /// By SACK; the scoreboard of RFC 6675 shows losses.
    Selective,
    /// By SACK; losses are detected by time, for which RFC 8985 needs it (section 4).
    SelectiveTimed,
}

/// What an ACK of new data means for the repair.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AfterAck {
    /// Nothing was lost: cwnd may grow.
    NoRepair,
    /// What a timeout has begun goes on, or is over: cwnd grows.
    WentBack,
    /// The fast repair is over.
    Repaired,
    /// It goes on by the scoreboard.
    Repairs,
    /// A partial ACK: the next segment is lost, too.
    Partial,
}

impl Recovery {
    /// The peer's SYN says how it reports.
    pub(crate) const fn agree(&mut self, reports: Reports) {
        self.reports = reports;
    }

    /// Whether the peer reports by SACK.
    #[inline]
    pub(crate) fn uses_sack(&self) -> bool {
        self.reports != Reports::Unselective
    }

    /// Whether losses are detected by time, where there is a list of segments.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.reports == Reports::SelectiveTimed
    }

    /// The list of what is out, if losses are detected by time: RFC 8985 needs SACK (section 4).
    #[inline]
    pub(crate) fn timed<'a>(&self, in_flight: &'a InFlight) -> Option<&'a Flight> {
        in_flight.list().filter(|_| self.is_timed())
    }

    #[inline]
    pub(crate) const fn phase(&self) -> Phase {
        self.phase
    }

    #[inline]
    pub(crate) const fn duplicate_acks(&self) -> u16 {
        self.duplicate_acks
    }

    /// The repair is over when this position is acknowledged.
    #[inline]
    pub(crate) const fn recover(&self) -> u64 {
        self.recover
    }

    /// Whether the segment at SND.UNA leaves next, whatever the windows say.
    #[inline]
    pub(crate) const fn retransmits_head(&self) -> bool {
        self.retransmit_head
    }

    /// What the peer has SACKed.
    pub(crate) const fn sacked(&self) -> &RangeSet {
        &self.sacked
    }

    /// HighRxt of RFC 6675.
    pub(crate) const fn high_retransmitted(&self) -> u64 {
        self.high_retransmitted
    }

    /// RescueRxt of RFC 6675: whether the one rescue of this repair has left.
    pub(crate) const fn has_rescued(&self) -> bool {
        self.rescued
    }

    /// Whether an episode is remembered.
    #[inline]
    pub(crate) const fn has_episode(&self) -> bool {
        self.episode.is_some()
    }

    /// What policies remember of the last repair.
    #[inline]
    pub(crate) fn episode(&self) -> Option<&Episode> {
        self.episode.as_deref()
    }

    #[inline]
    pub(crate) fn episode_mut(&mut self) -> Option<&mut Episode> {
        self.episode.as_deref_mut()
    }

    /// A new episode is remembered, in place of the last.
    pub(crate) fn remember(&mut self, episode: Episode) {
        match &mut self.episode {
            Some(kept) => **kept = episode,
            none => *none = Some(Box::new(episode)),
        }
    }

    /// No episode is remembered.
    pub(crate) fn forget_episode(&mut self) {
        self.episode = None;
    }

    /// Whether duplicate ACKs or a repair decide what leaves next.
    #[inline]
    pub(crate) fn is_troubled(&self) -> bool {
        self.duplicate_acks > 0 || !matches!(self.phase, Phase::Open)
    }

    /// RFC 6582, section 3.2, step 3: "For the first partial ACK that arrives during fast recovery, also
    /// reset the retransmit timer"; further ones do not ("impatient", section 4).
    pub(crate) fn leaves_timer_alone(&self) -> bool {
        self.partial_acks > 1 && self.phase == Phase::Fast(Repair::PartialAcks)
    }

    /// How the congestion control's `repair` is done with what the peer reports.
    pub(crate) fn way_of(&self, repair: Repair) -> Repair {
        match repair {
            Repair::Scoreboard if !self.uses_sack() => Repair::PartialAcks,
            repair => repair,
        }
    }

    /// Whether a repair may begin while everything before `una` is acknowledged: not twice for one window of data, lest
    /// what was sent again in vain be taken for a loss.
    pub(crate) fn may_begin(&self, repair: Repair, una: u64) -> bool {
        match repair {
            // 4.3BSD-Reno does not look back.
            Repair::OneSegment => true,
            // RFC 6675, section 5.1: not "until HighACK is greater than or equal to the new value of
            // RecoveryPoint". SACK blocks with news are no echo of a retransmission.
            Repair::Scoreboard if self.uses_sack() => una >= self.recover,
            // RFC 6582, section 3.2, step 2: the ACK must cover "more than recover".
            Repair::GoBack | Repair::PartialAcks | Repair::Scoreboard => una > self.recover,
        }
    }

    /// Segments of new data that may leave beyond cwnd. RFC 3042: two, on the first two duplicate ACKs. The stacks before
    /// it (Tahoe, Reno) do not.
    pub(crate) fn limited_transmit(&self, repair: Repair) -> u16 {
        let applies =
            self.phase == Phase::Open && matches!(repair, Repair::PartialAcks | Repair::Scoreboard);
        if applies { self.duplicate_acks.min(2) } else { 0 }
    }

    /// Bytes of an ACK for `bytes` that duplicate ACKs have told of already, where SACK does not say which: a
    /// segment each, and one has not arrived before (Linux `tcp_remove_reno_sacks`).
    #[inline]
    pub(crate) fn counted_by_duplicates(&self, bytes: u32, mss: u32) -> u32 {
        let segments = u32::from(self.duplicate_acks);
        if segments == 0 || self.uses_sack() {
            return 0;
        }
        segments.saturating_mul(mss).min(bytes.saturating_sub(mss))
    }

    /// A repair begins; what a repair under way adds is no loss event.
    pub(crate) fn note_loss_event(&mut self) {
        if self.phase == Phase::Open {
            self.loss_events = self.loss_events.saturating_add(1);
        }
    }

    /// Loss events since the last time.
    pub(crate) const fn take_loss_events(&mut self) -> u8 {
        core::mem::replace(&mut self.loss_events, 0)
    }

    /// A duplicate ACK has arrived.
    pub(crate) fn on_duplicate_ack(&mut self) {
        self.duplicate_acks = self.duplicate_acks.saturating_add(1);
    }

    /// A repair begins of what lies between SND.UNA and the highest SND.NXT.
    pub(crate) const fn begin(&mut self, una: u64, max: u64) {
        self.recover = max;
        self.high_retransmitted = una;
        self.rescued = false;
        self.partial_acks = 0;
    }

    /// The repair sends everything from SND.UNA on again.
    pub(crate) const fn go_back(&mut self) {
        self.phase = Phase::GoneBack;
    }

    /// The repair sends again what is missing, first the segment at SND.UNA.
    pub(crate) const fn repair_fast(&mut self, repair: Repair) {
        self.phase = Phase::Fast(repair);
        self.retransmit_head = true;
    }

    /// New data is acknowledged, up to `una`.
    pub(crate) fn on_ack(&mut self, una: u64) -> AfterAck {
        let done = una >= self.recover;
        self.duplicate_acks = 0;
        match self.phase {
            Phase::Open => AfterAck::NoRepair,
            Phase::GoneBack | Phase::Forward => {
                if done {
                    self.phase = Phase::Open;
                }
                AfterAck::WentBack
            }
            Phase::Fast(repair) if done || repair == Repair::OneSegment => {
                self.phase = Phase::Open;
                self.retransmit_head = false;
                AfterAck::Repaired
            }
            Phase::Fast(Repair::Scoreboard) => AfterAck::Repairs,
            Phase::Fast(_) => {
                self.partial_acks = (self.partial_acks + 1).min(2);
                self.retransmit_head = true;
                AfterAck::Partial
            }
        }
    }

    /// Everything between SND.UNA and the highest SND.NXT is sent again.
    pub(crate) fn send_again(&mut self, una: u64, max: u64) {
        self.phase = Phase::GoneBack;
        self.recover = max;
        self.duplicate_acks = 0;
        self.retransmit_head = false;
        self.clear_scoreboard(una);
    }

    /// The segment at SND.UNA leaves next.
    pub(crate) const fn send_head(&mut self) {
        self.retransmit_head = true;
    }

    /// Something has left.
    #[inline]
    pub(crate) const fn on_sent(&mut self) {
        self.retransmit_head = false;
    }

    /// F-RTO: new data leaves, up to which nothing more is sent again.
    pub(crate) const fn go_forward(&mut self, max: u64) {
        (self.phase, self.recover) = (Phase::Forward, max);
    }

    /// The timeout was no mistake; whether everything up to `max` is sent again after all.
    pub(crate) fn end_test(&mut self, max: u64) -> bool {
        if let Some(episode) = self.episode_mut() {
            episode.end_test();
        }
        let went_forward = self.phase == Phase::Forward;
        if went_forward {
            (self.phase, self.recover) = (Phase::GoneBack, max);
        }
        went_forward
    }

    /// Nothing was lost; whether this ends a repair that sends everything again.
    pub(crate) fn take_back(&mut self) -> bool {
        let went_back = matches!(self.phase, Phase::GoneBack | Phase::Forward);
        if went_back {
            self.restore_scoreboard();
        }
        went_back
    }

    /// The repair is over; no new one begins before `una` is acknowledged.
    pub(crate) const fn end(&mut self, una: u64) {
        self.phase = Phase::Open;
        self.retransmit_head = false;
        self.duplicate_acks = 0;
        self.recover = una;
    }

    /// `[start, end)` is sent again. What lies beyond all that is SACKed is a rescue: RFC 6675, section
    /// 4, rule 4, "HighRxt MUST NOT be updated".
    pub(crate) fn note_retransmission(&mut self, start: u64, end: u64) {
        let beyond = self.sacked.end().is_some_and(|sacked| sacked <= start);
        if beyond && !self.retransmit_head {
            self.rescued = true;
        } else {
            self.high_retransmitted = self.high_retransmitted.max(end);
        }
    }

    /// A SACK block tells of what was sent once, before it is added.
    pub(crate) fn note_sacked_original(&mut self, left: u64, right: u64) {
        if let Some(episode) = &mut self.episode
            && !self.sacked.covers(left, right)
            && !self.delivered.covers(left, right)
        {
            episode.on_sacked(left);
        }
    }

    /// Adds a SACK block to the scoreboard.
    pub(crate) fn insert(&mut self, left: u64, right: u64) {
        self.sacked.insert(left, right, 0);
        if !self.delivered.is_empty() {
            self.delivered.insert(left, right, 0);
        }
    }

    /// Bytes that are SACKed, and bytes that are known to be delivered beyond SND.UNA.
    pub(crate) fn known(&self) -> (u64, u64) {
        let sacked = self.sacked.bytes();
        let delivered = if self.delivered.is_empty() { sacked } else { self.delivered.bytes() };
        (sacked, delivered)
    }

    /// Everything before `una` is acknowledged; how many bytes of it were known to have been delivered.
    pub(crate) fn remove_before(&mut self, una: u64) -> u64 {
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
    fn restore_scoreboard(&mut self) {
        if !self.delivered.is_empty() {
            self.sacked = core::mem::take(&mut self.delivered);
        }
    }
}
