//! What an acknowledgement means for what we have sent.

use super::{
    Config, Endpoint, Event,
    episode::Progress,
    flight::News,
    recovery::{Phase, SackNews},
    sender::low,
    usage::Usage,
};
use crate::{
    alarm::Alarm,
    congestion::{Acked, Passed},
    policy::TimerPolicy,
    segment::Segment,
    timestamp::timestamp,
    units::{Instant, Nanos},
    wait::Timer,
};

impl Endpoint {
    /// The fifth check of RFC 9293, section 3.10.7.4: `ack` lies at or before the highest position
    /// sent.
    pub(super) fn take_ack(&mut self, ack: u64, segment: &Segment, now: Instant) {
        let window_before = self.sender.window;
        self.pace_until(ack > self.sender.una, self.sender.flight());
        if self.flight.is_some() {
            self.begin_news();
        }
        let SackNews { news, delivered } = self.take_sack(ack, segment, now);
        self.update_window(ack, segment);
        if self.timers.runs(Timer::Persist) {
            self.answered_probe();
        }
        if self.sender.window == 0 {
            // RFC 9293, section 3.8.6: a peer without room that answers is not given up (SHLD-17).
            self.timers.stalled_since = Alarm::OFF;
        }
        if self.recovery.episode.is_some() {
            self.take_back_by_sack(now);
        }
        let advances = ack > self.sender.una;
        let mut delivered = u32::try_from(delivered).unwrap_or(u32::MAX);
        if advances {
            delivered = self.take_new_ack(ack, delivered, segment, now);
            self.take_news(news, now);
        } else if self.is_duplicate(ack, segment, window_before, news) {
            self.take_duplicate_ack(now);
        }
        if self.flight.is_some() || self.recovery.episode.is_some() {
            let plain = segment.sequence_length() == 0 && self.sender.window == window_before;
            self.take_news_of_flight(ack, advances, plain && !advances && !news, now);
            delivered = self.delivered_packets().unwrap_or(delivered);
            if news && !advances && self.detects_by_time() {
                self.measure_sacked_round_trip();
                self.take_delivered_by_sack(delivered, now);
            }
            self.reduce_proportionally(delivered, advances);
            self.end_news(now);
        }
    }

    /// Returns the number of bytes that were not known to have been delivered.
    fn take_new_ack(
        &mut self,
        ack: u64,
        newly_sacked: u32,
        segment: &Segment,
        now: Instant,
    ) -> u32 {
        let Usage { flight, limited: window_limited, .. } = self.sender.usage;
        let acks_syn = self.sender.una == 0;
        let bytes = u32::try_from(ack - self.sender.una).unwrap_or(u32::MAX) - u32::from(acks_syn);
        let had_room = self.sender.has_room(self.send_buffer());

        self.sender.una = ack;
        self.sender.next = self.sender.next.max(ack);
        let sacked_earlier = self.recovery.remove_before(ack);
        let sampled = match self.flight.as_deref_mut() {
            None => self.measure_round_trip(segment, now),
            Some(flight) => {
                flight.on_ack(ack, now);
                self.measure_listed_round_trip(segment, now)
            }
        };
        let may_grow = self.measure_ack(ack, flight, now);
        self.timers.stalled_since = Alarm::OFF;
        let fresh = u64::from(bytes).saturating_sub(sacked_earlier);
        let counted = self.counted_by_duplicates(bytes);
        let delivered =
            u32::try_from(fresh).unwrap_or(u32::MAX).saturating_add(newly_sacked) - counted;
        let delivered = self.delivered_packets().unwrap_or(delivered);
        if bytes > 0 {
            let srtt = self.round_trip.smoothed();
            let acked = Acked { bytes, delivered, flight, window_limited, srtt };
            if self.recovery.episode.is_some() {
                self.question(Progress { bytes, fresh }, segment, now);
            }
            if self.congestion.uses_hystart() {
                self.look_for_end_of_slow_start(sampled.or_else(|| echoed(segment, now)), now);
            }
            self.recover_on_ack(acked, may_grow, now);
        }
        self.restart_retransmission_timer(now);
        self.notify_writable(had_room);
        if self.sender.fin && ack == self.sender.end() {
            self.fin_acknowledged(now);
        }
        delivered
    }

    /// What the ACK that is being taken has delivered, in full segments, where packets are counted.
    #[inline]
    fn delivered_packets(&self) -> Option<u32> {
        let delivered = self.news().filter(|_| self.detects_by_time())?.delivered;
        Some(delivered.saturating_mul(self.sender.mss))
    }

    /// Bytes of an ACK for `bytes` that duplicate ACKs have told of already, where SACK does not say which: a
    /// segment each, and one has not arrived before (Linux `tcp_remove_reno_sacks`).
    #[inline]
    fn counted_by_duplicates(&self, bytes: u32) -> u32 {
        let segments = u32::from(self.recovery.duplicate_acks);
        if segments == 0 || self.receiver.sequence().uses_sack() {
            return 0;
        }
        segments.saturating_mul(self.sender.mss).min(bytes.saturating_sub(self.sender.mss))
    }

    /// What an ACK that does not advance tells the congestion control of the segments that it SACKs.
    #[cold]
    fn take_delivered_by_sack(&mut self, delivered: u32, now: Instant) {
        let Usage { flight, limited: window_limited, .. } = self.sender.usage;
        let acked = Acked {
            bytes: delivered,
            delivered,
            flight,
            window_limited,
            srtt: self.round_trip.smoothed(),
        };
        self.look_for_end_of_slow_start(self.news().and_then(|news| news.last_round_trip), now);
        if self.grows_by_sack() && !matches!(self.recovery.phase, Phase::Fast(_)) {
            self.congestion.on_ack(acked, now);
        }
    }

    /// Bytes that `write` takes before they are acknowledged.
    pub(super) fn send_buffer(&self) -> u32 {
        let Config { policies, send_buffer, .. } = &*self.config;
        let window = || self.congestion.window();
        policies.send_tuning.send_buffer(*send_buffer, policies.congestion, window)
    }

    /// Tells the application that the send buffer has room, unless it `had_room` before.
    pub(super) fn notify_writable(&mut self, had_room: bool) {
        if !had_room && self.sender.has_room(self.send_buffer()) {
            self.events.push(Event::Writable);
        }
    }

    /// RFC 6298, section 5: rule 2, "When all outstanding data has been acknowledged, turn off the
    /// retransmission timer", and rule 3, "When an ACK is received that acknowledges new data, restart
    /// the retransmission timer".
    fn restart_retransmission_timer(&mut self, now: Instant) {
        if !self.sender.is_outstanding() {
            self.timers.retransmit(Alarm::OFF);
        } else if !self.detects_by_time() && !self.recovery.leaves_timer_alone() {
            // Else, when losses have been looked for.
            self.timers.retransmit(self.retransmission_due(now));
        }
    }

    /// Linux `tcp_ack_update_rtt`: each ACK gives a sample, if none of the segments that it acknowledges was
    /// sent more than once; if one was, by what it SACKs, or by its timestamp.
    fn measure_listed_round_trip(&mut self, segment: &Segment, now: Instant) -> Option<Nanos> {
        let &News { first_round_trip, sacked_round_trip, last_round_trip, repeated, .. } =
            self.news()?;
        let linux = self.config.policies.timers == TimerPolicy::Linux;
        let first = first_round_trip.filter(|_| !repeated);
        let first = first.or_else(|| sacked_round_trip.filter(|_| linux));
        let Some((first, last)) = first.zip(last_round_trip) else {
            match echoed(segment, now).filter(|_| linux) {
                Some(echoed) => {
                    self.sender.timed_since = Alarm::OFF;
                    self.sample_round_trip(echoed.max(Nanos::from_millis(1)));
                    return None;
                }
                None => return self.measure_round_trip(segment, now),
            }
        };
        self.sender.timed_since = Alarm::OFF;
        self.sample_round_trip(self.config.policies.timers.sampled(now - first, now));
        Some(last)
    }

    /// RFC 6298, section 3 (Karn): only a segment that was sent once is timed. After a timeout, an
    /// echo of what was sent last is as good (RFC 7323, section 4); an older echo is not, because the
    /// ACK that was lost in between may have carried it.
    #[inline]
    fn measure_round_trip(&mut self, segment: &Segment, now: Instant) -> Option<Nanos> {
        let last_send = self.timers.last_send;
        let echo = segment.options.timestamps.map(|clock| clock.echo);
        if let Some(sent) = self.sender.take_timed() {
            let sample = self.config.policies.timers.sampled(sent, now);
            self.sample_round_trip(sample);
            return Some(sample);
        } else if self.round_trip.back_offs() > 0 && echo == Some(timestamp(last_send)) {
            self.sample_round_trip(Nanos::between(last_send, now));
        } else if self.measures_by_echo()
            && let Some(echoed) = echoed(segment, now)
        {
            self.sample_round_trip(echoed.max(Nanos::from_millis(1)));
        }
        None
    }

    /// Linux `tcp_ack_update_rtt` takes the timestamp where nothing else can be measured, but not that of a SYN-ACK that
    /// was sent again (`tcp_synack_rtt_meas`).
    fn measures_by_echo(&self) -> bool {
        let acks_syn_ack = self.passive && self.sender.una == 1;
        self.config.policies.timers == TimerPolicy::Linux && !acks_syn_ack
    }

    /// Linux `tcp_ack_update_rtt`: an ACK that only SACKs gives a sample, too.
    fn measure_sacked_round_trip(&mut self) {
        let sample = self.news().and_then(|news| news.first_round_trip);
        if let Some(sample) = sample.filter(|_| self.config.policies.timers == TimerPolicy::Linux) {
            self.sample_round_trip(sample);
        }
    }

    #[inline]
    fn sample_round_trip(&mut self, sample: Nanos) {
        self.round_trip.sample(sample, low(self.sender.una), low(self.sender.max));
    }

    /// A round trip for HyStart, if there is one: that of a segment, else that of the timestamp, to a millisecond.
    #[inline(never)]
    fn look_for_end_of_slow_start(&mut self, round_trip: Option<Nanos>, now: Instant) {
        let Some(round_trip) = round_trip else { return };
        let (una, next) = (self.sender.una, self.sender.max);
        let passed = Passed { round_trip, srtt: self.round_trip.smoothed(), una, next };
        self.congestion.on_round_trip(&passed, now);
    }

    /// SND.WND and SND.WL1 (RFC 9293, section 3.10.7.4). SND.WL2 is not kept: it never exceeds SND.UNA,
    /// so an ACK from SND.UNA on passes its check.
    fn update_window(&mut self, ack: u64, segment: &Segment) {
        let sender = &mut self.sender;
        let seq = u64::try_from(self.receiver.sequence().position(segment.seq)).unwrap_or(0);
        let newer = low(seq).wrapping_sub(sender.window_from_seq) < 1 << 31;
        if newer && sender.una <= ack && !segment.flags.syn {
            sender.window = sender.window_shift.bytes(segment.window);
            sender.max_window = sender.max_window.max(sender.window);
            sender.window_from_seq = low(seq);
        }
    }

    /// The peer lives; if its window is open again, what a probe has carried is sent again.
    fn answered_probe(&mut self) {
        self.timers.stalled_since = Alarm::OFF;
        if self.sender.window > 0 {
            self.timers.waiting = Alarm::OFF;
            self.round_trip.reset_back_off();
            self.sender.next = self.sender.una;
        }
    }

    /// RFC 5681, section 2: what counts as a duplicate. With SACK it is `news` about what has arrived,
    /// whatever else the segment carries (RFC 6675, section 2).
    fn is_duplicate(&self, ack: u64, segment: &Segment, window_before: u32, news: bool) -> bool {
        let repeats = ack == self.sender.una
            && self.sender.is_outstanding()
            && !self.timers.runs(Timer::Persist);
        let plain = segment.sequence_length() == 0 && self.sender.window == window_before;
        repeats && if self.receiver.sequence().uses_sack() { news } else { plain }
    }
}

/// The round trip by the timestamp, to a millisecond.
fn echoed(segment: &Segment, now: Instant) -> Option<Nanos> {
    let echo = segment.options.timestamps?.echo;
    let ticks = timestamp(now).wrapping_sub(echo);
    (ticks < 1 << 31).then(|| Nanos::from_millis(ticks.into()))
}
