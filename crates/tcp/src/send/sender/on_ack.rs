//! An ACK arrives: what it means for what we have sent.

use super::{
    super::{
        control::Estimated, frto::Progress, recovery::AfterAck, round_trips::echoed,
        sack::SackNews, scoreboard::Scoreboard, sequence::Una,
    },
    LEAST_TIMEOUT, Phase, SearchCause, Sender,
};
use crate::{
    config::Config,
    congestion::{
        Acked, CongestionEvent, CongestionEventKind, DUPLICATE_THRESHOLD, Expiry, Passed, Repair,
        Windows,
    },
    policy::ReductionPolicy,
    segment::Segment,
    units::{Instant, Nanos},
    wait::Timer,
};

/// What the endpoint has to do after an ACK. Usually nothing, so this is one byte of flags.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Effects(u8);

impl Effects {
    pub(crate) const NONE: Self = Self(0);
    /// It counts as a duplicate.
    pub(crate) const DUPLICATE: Self = Self(1);
    /// The send buffer has room again.
    pub(crate) const WRITABLE: Self = Self(2);
    /// Our FIN has arrived.
    pub(crate) const FIN_ACKNOWLEDGED: Self = Self(4);
    /// A congestion control that is set from outside has something to hear.
    pub(crate) const CONGESTION: Self = Self(8);

    #[inline]
    const fn add(&mut self, effect: Self) {
        self.0 |= effect.0;
    }

    /// Whether `effect` is one of them.
    pub(crate) const fn has(self, effect: Self) -> bool {
        self.0 & effect.0 != 0
    }
}

/// What an ACK has told by its number and its SACK blocks, for a sender that keeps a list of what is out.
#[derive(Clone, Copy, Debug)]
struct Told {
    ack: u64,
    una: Una,
    /// Its SACK blocks tell something new.
    news: bool,
    /// It repeats what was known, and has nothing else.
    repeats: bool,
    /// Bytes that were not known to have been delivered.
    delivered: u32,
}

impl Sender {
    /// The fifth check of RFC 9293, section 3.10.7.4: `ack` lies at or before the highest position
    /// sent. The segment begins at `seq` of the peer's stream.
    pub(crate) fn take_ack(
        &mut self,
        ack: u64,
        seq: u64,
        segment: &Segment,
        config: &Config,
        now: Instant,
    ) -> Effects {
        let window_before = self.sequence.window();
        if !segment.flags.syn {
            self.sequence.update_window(ack, seq, segment.window);
        }
        if self.control.ends_pacing(Una::after(ack, self.sequence.una()), self.sequence.flight()) {
            self.timers.stop_waiting_for(Timer::Pacing);
        }
        if let Some(flight) = self.in_flight.list_mut() {
            flight.begin_news();
        }
        let sacked @ SackNews { news, delivered } = self.take_sack(ack, segment, now);
        if self.timers.runs(Timer::Persist) {
            self.answered_probe(ack);
        }
        if self.sequence.window() == 0 {
            // RFC 9293, section 3.8.6: a peer without room that answers is not given up (SHLD-17).
            self.timers.note_progress();
        }
        if self.recovery.is_spurious_by_sack() {
            self.take_back(now);
        }
        let una = Una::after(ack, self.sequence.una());
        let mut delivered = u32::try_from(delivered).unwrap_or(u32::MAX);
        let mut effects = Effects::NONE;
        if una == Una::Advances {
            delivered = self.take_new_ack(ack, delivered, segment, &mut effects, config, now);
            if news && self.is_duplicate_by_news() {
                effects.add(Effects::DUPLICATE);
                self.take_duplicate_ack(0, config, now);
            }
        } else if self.is_duplicate(ack, segment, window_before, &sacked) {
            effects.add(Effects::DUPLICATE);
            self.take_duplicate_ack(delivered, config, now);
        }
        if self.in_flight.has_list() || self.recovery.has_episode() {
            let plain = segment.sequence_length() == 0 && self.sequence.window() == window_before;
            let repeats = plain && una == Una::Stays && !news;
            self.take_news_of_flight(&Told { ack, una, news, repeats, delivered }, config, now);
        }
        if self.has_congestion_events() {
            effects.add(Effects::CONGESTION);
        }
        effects
    }

    /// What the ACK tells of the flight.
    #[inline(never)]
    fn take_news_of_flight(&mut self, told: &Told, config: &Config, now: Instant) {
        let &Told { una, news, delivered, .. } = told;
        self.in_flight.measure(self.sequence.mss(), now);
        if self.detects_by_time() {
            self.take_ack_of_probe(told, now);
            self.detect_by_time(una, config, now);
        }
        let delivered = self.delivered_packets().unwrap_or(delivered);
        if news && una == Una::Stays && self.detects_by_time() {
            self.round_trips.on_sack(self.in_flight.news(), &self.sequence);
            self.take_delivered_by_sack(delivered, now);
        }
        self.reduce_proportionally(delivered, una, config);
        // cwnd has followed where it does by number; BBR's does now.
        if self.control.has_model() {
            let (phase, srtt) = (self.recovery.phase(), self.round_trips.smoothed());
            if let Some(delivery) = self.in_flight.delivery(phase, srtt) {
                self.control.on_delivery(&delivery, now);
            }
        }
        self.in_flight.drop_empty_list();
    }

    /// New data is acknowledged, and `newly_sacked` bytes more have arrived: returns the number of bytes that were not
    /// known to have been delivered.
    fn take_new_ack(
        &mut self,
        ack: u64,
        newly_sacked: u32,
        segment: &Segment,
        effects: &mut Effects,
        config: &Config,
        now: Instant,
    ) -> u32 {
        let cwnd_use = self.sequence.cwnd_use();
        let before = self.sequence.una();
        let acks_syn = before == 0;
        let bytes = u32::try_from(ack - before).unwrap_or(u32::MAX) - u32::from(acks_syn);
        let had_room = self.sequence.has_room(self.buffer(config));

        self.sequence.acknowledge(ack);
        let sacked_earlier = self.recovery.remove_before(ack);
        let (sequence, last_send) = (&mut self.sequence, self.timers.last_send());
        let sampled = match self.in_flight.list_mut() {
            None => self.round_trips.on_ack(sequence, segment, last_send, now),
            Some(flight) => {
                flight.on_ack(ack, now);
                self.round_trips.on_listed_ack(flight.news(), sequence, segment, last_send, now)
            }
        };
        let may_grow = !self.control.has_estimators() || self.estimate(ack, cwnd_use.flight(), now);
        self.timers.note_progress();
        let fresh = u64::from(bytes).saturating_sub(sacked_earlier);
        let mss = self.sequence.mss();
        let fresh_bytes = u32::try_from(fresh).unwrap_or(u32::MAX).saturating_add(newly_sacked);
        let delivered = match self.delivered_packets() {
            Some(packets) => packets,
            None => {
                // Without SACK, too, Linux counts packets: a short one opens cwnd as a full one does.
                let packets = self.in_flight.news().filter(|_| config.counts_packets());
                let packets = packets.map(|news| news.delivered.saturating_mul(mss));
                packets.unwrap_or(fresh_bytes)
                    - self.recovery.counted_by_duplicates(packets.unwrap_or(bytes), mss)
            }
        };
        if bytes > 0 {
            let acked = Acked {
                bytes,
                delivered,
                flight: cwnd_use.flight(),
                window_limited: cwnd_use.is_limited(),
                srtt: self.round_trips.smoothed(),
            };
            if self.recovery.has_episode() {
                let progress = Progress { from: ack - u64::from(bytes), una: ack, fresh };
                self.detect_spurious(progress, segment, now);
            }
            if self.control.controller().uses_round_trips() {
                self.look_for_end_of_slow_start(sampled.or_else(|| echoed(segment, now)), now);
            }
            self.recover_on_ack(acked, may_grow, config, now);
        }
        self.restart_retransmission_timer(config, now);
        if !had_room && self.sequence.has_room(self.buffer(config)) {
            effects.add(Effects::WRITABLE);
        }
        if self.sequence.has_fin() && ack == self.sequence.end() {
            effects.add(Effects::FIN_ACKNOWLEDGED);
        }
        delivered
    }

    /// What some policies estimate by an ACK of a round trip with this flight; whether the window may grow by it.
    #[cold]
    fn estimate(&mut self, una: u64, flight: u32, now: Instant) -> bool {
        let ack = Estimated {
            una,
            max: self.sequence.max(),
            flight,
            mss: self.sequence.mss(),
            srtt: self.round_trips.smoothed(),
            last_send: self.timers.last_send(),
        };
        self.control.estimate(&ack, now)
    }

    /// What the ACK that is being taken has delivered, in full segments, where packets are counted.
    #[inline]
    fn delivered_packets(&self) -> Option<u32> {
        let delivered = self.in_flight.news().filter(|_| self.detects_by_time())?.delivered;
        Some(delivered.saturating_mul(self.sequence.mss()))
    }

    /// What an ACK that does not advance tells the congestion control of the segments that it SACKs.
    #[cold]
    fn take_delivered_by_sack(&mut self, delivered: u32, now: Instant) {
        let cwnd_use = self.sequence.cwnd_use();
        let acked = Acked {
            bytes: delivered,
            delivered,
            flight: cwnd_use.flight(),
            window_limited: cwnd_use.is_limited(),
            srtt: self.round_trips.smoothed(),
        };
        self.look_for_end_of_slow_start(
            self.in_flight.news().and_then(|news| news.last_round_trip),
            now,
        );
        // Where segments overtake each other by far, the order in which they arrive tells nothing (Linux
        // `tcp_may_raise_cwnd`).
        let grows = self.in_flight.is_reordered_far() && self.detects_by_time();
        if grows && !matches!(self.recovery.phase(), Phase::Fast(_)) {
            self.control.controller_mut().on_ack(acked, now);
        }
    }

    /// RFC 6298, section 5: rule 2, "When all outstanding data has been acknowledged, turn off the
    /// retransmission timer", and rule 3, "When an ACK is received that acknowledges new data, restart
    /// the retransmission timer".
    fn restart_retransmission_timer(&mut self, config: &Config, now: Instant) {
        if !self.sequence.is_outstanding() {
            self.timers.stop_retransmission();
        } else if !self.detects_by_time() && !self.recovery.leaves_timer_alone() {
            // Else, when losses have been looked for.
            self.timers.start_retransmission(self.round_trips.time_out(), config, now);
        }
    }

    /// A round trip for HyStart, if there is one: that of a segment, else that of the timestamp, to a millisecond.
    #[inline(never)]
    fn look_for_end_of_slow_start(&mut self, round_trip: Option<Nanos>, now: Instant) {
        let Some(round_trip) = round_trip else { return };
        let (una, next) = (self.sequence.una(), self.sequence.max());
        let passed = Passed { round_trip, srtt: self.round_trips.smoothed(), una, next };
        self.control.controller_mut().on_round_trip(&passed, now);
    }

    /// The peer lives; if its window is open again, what a probe has carried is sent again. Where losses are detected by
    /// time, refused copies of it still count as on their way: so it leaves whatever cwnd says, or no timer would run.
    fn answered_probe(&mut self, ack: u64) {
        self.timers.note_progress();
        if self.sequence.window() > 0 {
            self.timers.stop_waiting();
            self.round_trips.estimate_mut().reset_back_off();
            self.sequence.rewind();
            let refused = ack == self.sequence.una() && self.sequence.is_outstanding();
            if refused && self.detects_by_time() {
                self.recovery.send_head();
            }
        }
    }

    /// RFC 5681, section 2: what counts as a duplicate. With SACK it is news about what has arrived,
    /// whatever else the segment carries (RFC 6675, section 2).
    fn is_duplicate(
        &self,
        ack: u64,
        segment: &Segment,
        window_before: u32,
        sacked: &SackNews,
    ) -> bool {
        let repeats = ack == self.sequence.una()
            && self.sequence.is_outstanding()
            && !self.timers.runs(Timer::Persist);
        let plain = segment.sequence_length() == 0 && self.sequence.window() == window_before;
        repeats && if self.recovery.uses_sack() { sacked.news } else { plain }
    }
    /// Notes the SACK blocks of a segment that acknowledges `ack`.
    fn take_sack(&mut self, ack: u64, segment: &Segment, now: Instant) -> SackNews {
        if !self.recovery.uses_sack() || segment.options.sack.is_empty() {
            return SackNews::default();
        }
        let Self { recovery, in_flight, sequence, .. } = self;
        SackNews::take(recovery, in_flight, sequence, ack, segment, now)
    }

    /// Whether losses are found by time.
    #[inline]
    fn detects_by_time(&self) -> bool {
        self.recovery.timed(&self.in_flight).is_some()
    }

    fn scoreboard(&self) -> Scoreboard<'_> {
        Scoreboard::new(&self.recovery, &self.in_flight, &self.sequence)
    }
}

/// What was lost is repaired.
impl Sender {
    /// RFC 6675, section 5: SACK blocks with news make a duplicate ACK also of one that advances
    /// ("regardless of its status as a cumulative acknowledgment").
    fn is_duplicate_by_news(&self) -> bool {
        !self.detects_by_time()
            && self.recovery.phase() == Phase::Open
            && self.sequence.is_outstanding()
    }

    /// It tells of `delivered` bytes beyond a gap that were not counted yet.
    fn take_duplicate_ack(&mut self, delivered: u32, config: &Config, now: Instant) {
        self.recovery.on_duplicate_ack();
        self.control.controller_mut().note_ack(CongestionEventKind::DuplicateAck, None, delivered);
        match self.recovery.phase() {
            Phase::Fast(Repair::Scoreboard) => {}
            Phase::Forward => self.end_test(),
            _ if self.detects_by_time() => {}
            Phase::Fast(_) => self.control.controller_mut().on_duplicate_ack(),
            Phase::Open | Phase::GoneBack => {
                let lost = self.recovery.duplicate_acks() >= DUPLICATE_THRESHOLD
                    || self.scoreboard().head_is_lost();
                let repair = self.control.controller().repair();
                if lost && self.recovery.may_begin(repair, self.sequence.una()) {
                    self.begin_repair(config, now);
                }
            }
        }
    }

    /// An ACK may end a probe. If that has repaired a loss, cwnd is reduced as if it had been found
    /// otherwise (RFC 8985, section 7.4).
    fn take_ack_of_probe(&mut self, told: &Told, now: Instant) {
        let Some(flight) = self.in_flight.list_mut() else { return };
        if flight.probe_mut().on_ack(told.ack, told.repeats) && self.recovery.phase() == Phase::Open
        {
            self.recovery.note_loss_event();
            let (at_loss, srtt) = (self.sequence.at_loss(), self.round_trips.smoothed());
            self.control.on_loss_repaired(at_loss, self.sequence.mss(), srtt, now);
        }
    }

    /// An ACK has told something: losses are looked for, and the timers follow.
    fn detect_by_time(&mut self, una: Una, config: &Config, now: Instant) {
        let wait = self.search(SearchCause::Ack, now);
        let Some(news) = self.in_flight.news() else { return };
        // A lost retransmission ends what a timeout has begun ("FLAG_LOST_RETRANS" in `tcp_fastretrans_alert`).
        let (found, again) = (news.lost > 0, news.lost_again);
        match self.recovery.phase() {
            Phase::Open if found => self.begin_repair(config, now),
            Phase::GoneBack | Phase::Forward if again => self.begin_repair(config, now),
            _ => {}
        }
        if !wait.is_zero() {
            let due = config.expiry(wait + LEAST_TIMEOUT, now);
            self.timers.watch_outstanding(Timer::Reordering, due);
        } else if una == Una::Advances || self.in_flight.has_sacked_older(now) {
            self.watch_after_ack(config, now);
        }
    }

    /// New data was acknowledged, and nothing is suspicious: the probe timer starts, or else the retransmission
    /// timer, if something is outstanding (Linux `tcp_set_xmit_timer`).
    #[inline]
    fn watch_after_ack(&mut self, config: &Config, now: Instant) {
        if !self.sequence.is_outstanding() {
            return;
        }
        if let Some(flight) = self.in_flight.list_mut() {
            flight.set_probe_by_ack();
        }
        if self.schedule_probe(now, config, now) {
            return;
        }
        match self.timers.watches_by(Timer::Retransmission) {
            true => self.timers.start_retransmission(self.round_trips.time_out(), config, now),
            false => self.resume_retransmission(config, now),
        }
    }

    pub(super) fn begin_repair(&mut self, config: &Config, now: Instant) {
        self.recovery.note_loss_event();
        let repair = self.recovery.way_of(self.control.controller().repair());
        let (una, max) = (self.sequence.una(), self.sequence.max());
        self.stop_pacing();
        self.recovery.begin(una, max);
        // Nothing is probed meanwhile.
        if let Some(flight) = self.in_flight.list_mut() {
            flight.probe_mut().end();
        }
        if self.timers.watches_by(Timer::TailLossProbe) {
            self.resume_retransmission(config, now);
        }
        self.recovery.begin_episode(self.control.windows(), una, &config.policies);
        let (at_loss, srtt) = (self.sequence.at_loss(), self.round_trips.smoothed());
        self.control.on_loss(at_loss, repair, srtt, now);
        if repair != Repair::GoBack {
            self.recovery.repair_fast(repair);
            return;
        }
        self.recovery.go_back();
        if !self.detects_by_time() {
            self.sequence.rewind();
        } else if let Some(flight) = self.in_flight.list_mut() {
            flight.lose_all();
        }
        self.timers.stop_retransmission();
    }

    /// New data was acknowledged: the repair goes on or ends, and the window follows.
    /// A window that is not validated does not grow (RFC 7661).
    #[expect(clippy::fn_params_excessive_bools, reason = "what the estimators decide")]
    fn recover_on_ack(&mut self, acked: Acked, may_grow: bool, config: &Config, now: Instant) {
        let after = self.recovery.on_ack(self.sequence.una());
        match after {
            AfterAck::NoRepair if !may_grow => {
                let unused = Acked { flight: 0, window_limited: false, ..acked };
                let control = self.control.controller_mut();
                control.note_ack(CongestionEventKind::Ack, Some(unused), 0);
            }
            AfterAck::NoRepair | AfterAck::WentBack => {
                self.control.controller_mut().on_ack(acked, now);
            }
            AfterAck::Repaired => {
                let (flight, mss) = (self.sequence.flight(), self.sequence.mss());
                self.control.on_repaired(flight, mss, config.policies.reduction);
                self.in_flight.on_repaired();
                let control = self.control.controller_mut();
                control.note_ack(CongestionEventKind::Recovered, Some(acked), 0);
            }
            AfterAck::Repairs | AfterAck::Partial => {
                let control = self.control.controller_mut();
                if after == AfterAck::Partial {
                    control.on_partial_ack(acked.bytes);
                }
                control.note_ack(CongestionEventKind::PartialAck, Some(acked), 0);
            }
        }
    }

    /// Proportional rate reduction: cwnd after an ACK that tells of `delivered` bytes.
    pub(super) fn reduce_proportionally(&mut self, delivered: u32, una: Una, config: &Config) {
        if config.policies.reduction != ReductionPolicy::Proportional {
            return;
        }
        let Self { recovery, in_flight, sequence, control, .. } = self;
        let threshold = control.controller().threshold();
        let reduced = recovery.reduced_window(in_flight, sequence, threshold, delivered, una);
        if let Some(window) = reduced {
            control.controller_mut().set_recovery_window(window);
        }
    }

    /// The retransmission timer has expired: go back to SND.UNA.
    pub(super) fn go_back(&mut self, expiry: Expiry, config: &Config, now: Instant) {
        let (una, max) = (self.sequence.una(), self.sequence.max());
        self.recovery.note_loss_event();
        if expiry == Expiry::First && !matches!(self.recovery.phase(), Phase::Fast(_)) {
            self.recovery.begin_episode(self.control.windows(), una, &config.policies);
        }
        self.recovery.test_timeout(expiry, una, max, config.policies.frto);
        self.control.controller_mut().on_timeout(self.sequence.at_loss(), expiry, now);
        let by_time = self.detects_by_time();
        if by_time {
            if let Some(flight) = self.in_flight.list_mut() {
                flight.lose_late(now);
            }
            let pipe = self.scoreboard().pipe();
            self.control.controller_mut().collapse_beside(pipe);
        }
        self.send_again();
        // Linux `tcp_retransmit_timer` sends the head whatever cwnd says: without it, no timer would run.
        if by_time {
            self.recovery.send_head();
        }
    }

    /// All from SND.UNA on is sent again; where losses are detected by time, what is marked as lost.
    fn send_again(&mut self) {
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
        let windows = Windows { congestion: self.sequence.mss(), threshold };
        self.control.controller_mut().on_restart(windows);
        if let Some(flight) = self.in_flight.list_mut() {
            flight.lose_all();
        }
        self.recovery.forget_episode();
        self.send_again();
        self.timers.stop_retransmission();
    }

    /// New data is acknowledged: takes the recovery back if nothing was lost, or puts its timeout to the test.
    fn detect_spurious(&mut self, progress: Progress, segment: &Segment, now: Instant) {
        let echo = segment.options.timestamps.map(|clock| clock.echo);
        let news = self.in_flight.news();
        let sent_once = news.is_none_or(|news| news.first_round_trip.is_some());
        let Some(judgement) = self.recovery.judge(progress, echo, sent_once) else { return };
        if judgement.late_original {
            self.in_flight.note_late_original(progress.from, self.sequence.mss());
        }
        if judgement.spurious {
            self.take_back(now);
        } else if judgement.undecided {
            self.test_further();
        }
    }

    /// Linux `tcp_undo_cwnd_reduction`.
    fn take_back(&mut self, now: Instant) {
        let Some(episode) = self.recovery.episode_mut() else { return };
        episode.take_back();
        self.control.controller_mut().undo(episode.before());
        self.sequence.cwnd_use_mut().renew(now);
        if self.recovery.take_back() {
            self.sequence.skip_to_new();
        }
        if self.recovery.phase() != Phase::Open {
            // RACK looks again.
            if let Some(flight) = self.in_flight.list_mut() {
                flight.find();
            }
            self.recovery.end(self.sequence.una());
        }
    }

    /// RFC 5682, section 3.1, step 2b: the first retransmission is acknowledged, so new data leaves, if
    /// there is some. If that tells nothing, everything is sent again after all.
    fn test_further(&mut self) {
        if self.recovery.phase() == Phase::GoneBack && self.sequence.may_send_new() {
            self.recovery.go_forward(self.sequence.max());
            self.sequence.skip_to_new();
        } else {
            self.end_test();
        }
    }

    /// The timeout was no mistake (RFC 5682, section 3.1, step 3a).
    fn end_test(&mut self) {
        if self.recovery.end_test(self.sequence.max()) && !self.detects_by_time() {
            self.sequence.rewind();
        }
    }
}

/// What was heard is told to whoever sets the window.
impl Sender {
    /// Whether a congestion control that is set from outside has something to hear.
    #[inline]
    pub(crate) fn has_congestion_events(&self) -> bool {
        self.control.controller().has_notes()
    }

    /// What it hears, oldest first.
    pub(crate) fn take_congestion_event(&mut self) -> Option<CongestionEvent> {
        self.control.take_note()
    }

    /// Sets its windows; `false` for all other controls.
    pub(crate) fn set_windows(&mut self, windows: Windows) -> bool {
        self.control.set_windows(windows)
    }
}
