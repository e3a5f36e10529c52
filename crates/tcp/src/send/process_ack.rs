//! What an acknowledgement means for what we have sent.

use super::{
    Sender, control::Estimated, frto::Progress, phase::Phase, repair::SackNews, round_trips::echoed,
};
use crate::{
    config::Config,
    congestion::{Acked, Passed},
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
    /// It acknowledges new data.
    advances: bool,
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
        if self.control.ends_pacing(ack > self.sequence.una(), self.sequence.flight()) {
            self.timers.stop_waiting_for(Timer::Pacing);
        }
        if let Some(flight) = self.in_flight.list_mut() {
            flight.begin_news();
        }
        let SackNews { news, delivered } = self.take_sack(ack, segment, now);
        if self.timers.runs(Timer::Persist) {
            self.answered_probe();
        }
        if self.sequence.window() == 0 {
            // RFC 9293, section 3.8.6: a peer without room that answers is not given up (SHLD-17).
            self.timers.note_progress();
        }
        if self.recovery.has_episode() {
            self.take_back_by_sack(now);
        }
        let advances = ack > self.sequence.una();
        let mut delivered = u32::try_from(delivered).unwrap_or(u32::MAX);
        let mut effects = Effects::NONE;
        if advances {
            delivered = self.take_new_ack(ack, delivered, segment, &mut effects, config, now);
            if self.is_duplicate_by_news(news) {
                effects.add(Effects::DUPLICATE);
                self.take_duplicate_ack(config, now);
            }
        } else if self.is_duplicate(ack, segment, window_before, news) {
            effects.add(Effects::DUPLICATE);
            self.take_duplicate_ack(config, now);
        }
        if self.in_flight.has_list() || self.recovery.has_episode() {
            let plain = segment.sequence_length() == 0 && self.sequence.window() == window_before;
            let repeats = plain && !advances && !news;
            let told = Told { ack, advances, news, repeats, delivered };
            self.take_news_of_flight(&told, config, now);
        }
        effects
    }

    /// What the ACK tells of the flight.
    #[inline(never)]
    fn take_news_of_flight(&mut self, told: &Told, config: &Config, now: Instant) {
        let &Told { ack, advances, news, repeats, delivered } = told;
        self.in_flight.measure(self.sequence.mss(), now);
        if self.detects_by_time() {
            self.take_ack_of_probe(ack, repeats, now);
            self.detect_by_time(advances, config, now);
        }
        let delivered = self.delivered_packets().unwrap_or(delivered);
        if news && !advances && self.detects_by_time() {
            self.round_trips.on_sack(self.in_flight.news(), &self.sequence);
            self.take_delivered_by_sack(delivered, now);
        }
        self.reduce_proportionally(delivered, advances, config);
        // cwnd has followed where it does by number; BBR's does now.
        self.feed_model(now);
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
        let counted = self.counted_by_duplicates(bytes);
        let delivered =
            u32::try_from(fresh).unwrap_or(u32::MAX).saturating_add(newly_sacked) - counted;
        let delivered = self.delivered_packets().unwrap_or(delivered);
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
            if self.control.controller().uses_hystart() {
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

    /// Bytes of an ACK for `bytes` that duplicate ACKs have told of already, where SACK does not say which: a
    /// segment each, and one has not arrived before (Linux `tcp_remove_reno_sacks`).
    #[inline]
    fn counted_by_duplicates(&self, bytes: u32) -> u32 {
        let segments = u32::from(self.recovery.duplicate_acks());
        if segments == 0 || self.recovery.uses_sack() {
            return 0;
        }
        let mss = self.sequence.mss();
        segments.saturating_mul(mss).min(bytes.saturating_sub(mss))
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
        if self.grows_by_sack() && !matches!(self.recovery.phase(), Phase::Fast(_)) {
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

    /// The peer lives; if its window is open again, what a probe has carried is sent again.
    fn answered_probe(&mut self) {
        self.timers.note_progress();
        if self.sequence.window() > 0 {
            self.timers.stop_waiting();
            self.round_trips.estimate_mut().reset_back_off();
            self.sequence.rewind();
        }
    }

    /// RFC 5681, section 2: what counts as a duplicate. With SACK it is `news` about what has arrived,
    /// whatever else the segment carries (RFC 6675, section 2).
    fn is_duplicate(&self, ack: u64, segment: &Segment, window_before: u32, news: bool) -> bool {
        let repeats = ack == self.sequence.una()
            && self.sequence.is_outstanding()
            && !self.timers.runs(Timer::Persist);
        let plain = segment.sequence_length() == 0 && self.sequence.window() == window_before;
        repeats && if self.recovery.uses_sack() { news } else { plain }
    }
}
