//! When to acknowledge: the state behind [`AckPolicy`].

use core::time::Duration;

use super::{
    ReverseFacts,
    quick_ack::{Credit, QuickAck},
    sequence::{Order, ReceiveSequence},
};
use crate::{
    alarm::Alarm,
    config::Config,
    policy::{AckDecision, AckPolicy, AckReason, Arrival, BufferTuning, Reading, TimerPolicy},
    round_trip::RoundTrip,
    segment::Segment,
    units::{Instant, Nanos},
    wait::AckWait,
};

/// What is unacknowledged, and what the policies have learnt about the peer.
#[derive(Clone, Debug)]
pub(crate) struct AckScheduler {
    /// Why an ACK must leave at once, if one must.
    now: Option<AckReason>,
    /// RCV.NXT as it stood in the last segment sent.
    last_sent: u64,
    /// When the delayed ACK is due.
    due: Alarm,
    /// When the first unacknowledged segment arrived; meaningful while `due` is on.
    since: Instant,
    /// When data last arrived, once it has.
    last_arrival: Alarm,
    /// The largest segment that the peer has sent: what "full" means.
    full_segment: u16,
    /// Segments since the last ACK left.
    segments: u8,
    /// Segments that have arrived behind the present gap; for ACKs that Linux compresses.
    behind_gap: u8,
    /// The last segment was a full one.
    after_full: bool,
    /// Heidemann's interarrival time of full segments, in microseconds.
    interarrival_us: u32,
    /// What Linux would offer of the receive buffer (`rcv_ssthresh`).
    offered: u32,
    quick_ack: QuickAck,
}

/// RFC 9293, section 3.7.1: the MSS that holds if none was announced.
const DEFAULT_SEGMENT: u16 = 536;
/// The longest that we wait for an interarrival time (our choice: BSD's tick).
const INTERARRIVAL_MAX_US: u32 = 200_000;

/// `tcp_select_initial_window`: what fits a window that is not scaled.
const FIRST_OFFER: u32 = 65_535;
/// `tcp_event_data_recv`: smaller segments tell nothing about the window.
const LEAST_TO_GROW: u32 = 128;

/// TCP_FASTRETRANS_THRESH: ACKs of segments behind a gap that are never compressed.
const LEAST_BEHIND_GAP: u8 = 3;
/// `tcp_comp_sack_nr`.
const MOST_COMPRESSED: u8 = 44;
/// `tcp_comp_sack_delay_ns`, and `tcp_comp_sack_slack_ns`, at the end of which the timer fires if nothing
/// else wakes the processor.
const COMPRESSION: Duration = Duration::from_millis(1);
const COMPRESSION_SLACK: Duration = Duration::from_micros(100);

impl AckScheduler {
    pub(crate) const fn new() -> Self {
        Self {
            now: None,
            last_sent: 0,
            due: Alarm::OFF,
            since: Instant::EPOCH,
            last_arrival: Alarm::OFF,
            full_segment: DEFAULT_SEGMENT,
            segments: 0,
            behind_gap: 0,
            after_full: false,
            interarrival_us: INTERARRIVAL_MAX_US,
            offered: FIRST_OFFER,
            quick_ack: QuickAck::NEW,
        }
    }

    /// The SYN has arrived: until the peer shows what a full segment is, it is no larger than ours.
    pub(crate) fn begin(&mut self, mss: u32) {
        self.last_sent = 1;
        self.full_segment = u16::try_from(mss).unwrap_or(u16::MAX).min(DEFAULT_SEGMENT);
    }

    /// An ACK must leave at once; the first reason counts.
    pub(crate) const fn ask(&mut self, reason: AckReason) {
        if self.now.is_none() {
            self.now = Some(reason);
        }
    }

    /// An ACK must leave at once if one is pending.
    pub(crate) fn ask_if_pending(&mut self) {
        if self.is_pending() {
            self.ask(AckReason::Requested);
        }
    }

    /// Why an ACK must leave at once, if one must.
    pub(crate) const fn asked(&self) -> Option<AckReason> {
        self.now
    }

    /// RCV.NXT as it stood in the last segment sent.
    pub(crate) const fn last_sent(&self) -> u64 {
        self.last_sent
    }

    /// When the delayed ACK is due.
    #[inline]
    pub(crate) const fn due(&self) -> Alarm {
        self.due
    }

    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.now.is_some() || self.due.is_on()
    }

    /// Whether an ACK must leave now.
    #[inline]
    pub(crate) fn leaves(&self, now: Instant) -> bool {
        self.now.is_some() || self.due.is_due(now)
    }

    pub(crate) const fn clear(&mut self) {
        self.now = None;
        self.due = Alarm::OFF;
    }

    /// A segment that carries ACK = `next` has left.
    pub(crate) fn sent(&mut self, next: u64) {
        match self.is_pending() {
            true => self.quick_ack.pending_ack_sent(),
            false => self.quick_ack.ack_sent(),
        }
        self.clear();
        self.segments = 0;
        self.last_sent = next;
    }

    pub(crate) fn data_sent(&mut self, now: Instant) {
        self.quick_ack.data_sent(self.since_arrival(now));
    }

    /// Why an ACK must leave now, if it must; the RTO bounds what a missed timeout teaches.
    #[expect(clippy::fn_params_excessive_bools, reason = "a fact of the stream")]
    pub(crate) fn must_leave(
        &mut self,
        behind_gap: bool,
        round_trip: &RoundTrip,
        now: Instant,
    ) -> Option<AckReason> {
        if self.now.is_none() && self.due.is_due(now) {
            if behind_gap && self.behind_gap > LEAST_BEHIND_GAP {
                return Some(AckReason::OutOfOrder); // Linux `tcp_compressed_ack_kick`.
            }
            self.quick_ack.timed_out(round_trip.time_out());
            return Some(AckReason::Delayed);
        }
        self.now
    }

    pub(crate) fn wait(&self, policy: AckPolicy) -> Option<AckWait> {
        let (since, until) = (self.since, self.due.due().filter(|_| self.now.is_none())?);
        Some(match policy {
            AckPolicy::HostTick { .. } | AckPolicy::Ns2 { .. } => {
                AckWait::HostTick { since, until }
            }
            AckPolicy::Interarrival => AckWait::Interarrival { since, until },
            AckPolicy::Withheld { .. } => AckWait::Withheld { since, until },
            AckPolicy::EverySegment
            | AckPolicy::Delayed { .. }
            | AckPolicy::AnySegments { .. }
            | AckPolicy::OverOneFull { .. }
            | AckPolicy::LinuxQuickAck => AckWait::Delayed { since, until },
        })
    }

    fn since_arrival(&self, now: Instant) -> Option<Nanos> {
        self.last_arrival.due().map(|arrival| Nanos::between(arrival, now))
    }

    /// Learns from `len` bytes, of `largest` that we have offered to take in a segment, which have come
    /// `gap` after other data.
    fn learn(&mut self, len: u32, largest: u16, gap: Option<Nanos>, now: Instant) {
        let len = u16::try_from(len).unwrap_or(u16::MAX);
        self.segments = self.segments.saturating_add(1);
        self.full_segment = self.full_segment.max(len.min(largest));
        let full = len >= self.full_segment;
        if let Some(gap) = gap.filter(|_| full && self.after_full) {
            self.learn_interarrival(gap);
        }
        self.after_full = full;
        self.last_arrival = Alarm::at(now);
    }

    /// What Linux would offer of the buffer grows by two segments with each that arrives, from 64 KB on
    /// (`tcp_grow_window`); whether it has. We offer the whole buffer from the beginning.
    fn grow(&mut self, len: u32, mss: u32, buffer: u32) -> bool {
        let grows = len >= LEAST_TO_GROW && self.offered < buffer;
        if grows {
            self.offered = self.offered.saturating_add(mss.max(len).saturating_mul(2)).min(buffer);
        }
        grows
    }

    /// The shortest gap counts; it is forgotten by an eighth with each further one (our choice), as routes
    /// change. Segments that came in at once tell nothing about the line.
    fn learn_interarrival(&mut self, gap: Nanos) {
        if let Ok(gap_us @ 1..) = u32::try_from(gap.micros()) {
            let known = self.interarrival_us;
            self.interarrival_us = gap_us.min(known + known / 8).min(INTERARRIVAL_MAX_US);
        }
    }

    /// Data has arrived in this `order`.
    pub(crate) fn on_data(
        &mut self,
        segment: &Segment,
        order: Order,
        sequence: &ReceiveSequence,
        config: &Config,
        reverse: ReverseFacts<'_>,
        now: Instant,
    ) {
        let gap = self.since_arrival(now);
        self.learn(segment.len, config.mss, gap, now);
        let policy = config.policies.ack;
        // Two times that one policy each asks for, and not for every segment of the others.
        let (mut time_out, mut interarrival, mut compression) =
            (Duration::ZERO, Duration::ZERO, None);
        match policy {
            AckPolicy::LinuxQuickAck => {
                self.learn_quick_ack(segment.len, order, gap, sequence, config, reverse);
                time_out = self.quick_ack.time_out(reverse.round_trip.smoothed());
                compression = self.compression(segment, order, sequence, reverse.round_trip);
            }
            AckPolicy::Interarrival => {
                interarrival = Duration::from_micros(self.interarrival_us.into());
            }
            _ => {}
        }
        let arrival = Arrival {
            unacked_bytes: sequence.unacknowledged(self.last_sent),
            unacked_segments: self.segments,
            mss: self.full_segment.into(),
            out_of_order: order != Order::Next,
            compression,
            quick: self.quick_ack.is_quick(),
            time_out,
            interarrival,
        };
        if !self.due.is_on() {
            self.since = now;
        }
        match policy.on_arrival(arrival, now) {
            AckDecision::Now(reason) => self.ask(reason),
            // Compressed ACKs have a timer of high resolution.
            AckDecision::At(_)
                if policy == AckPolicy::LinuxQuickAck
                    && config.policies.timers == TimerPolicy::Linux
                    && compression.is_none() =>
            {
                self.due.not_later_than(config.expiry(Nanos::of(time_out), now));
            }
            AckDecision::At(due) => self.due.not_later_than(Alarm::at(due)),
        }
    }

    /// Linux `__tcp_ack_snd_check`: the first three ACKs behind a gap leave at once, because the sender
    /// counts them; later ones wait for each other, for a twentieth of the round trip or a millisecond
    /// (`tcp_comp_sack_delay_ns`), and the slack of the kernel's timer. They do not wait if a block more would
    /// be to report than ACKs should have (`tcp_sack_new_ofo_skb`); Linux then sends the one before.
    fn compression(
        &mut self,
        segment: &Segment,
        order: Order,
        sequence: &ReceiveSequence,
        round_trip: &RoundTrip,
    ) -> Option<Duration> {
        if !sequence.uses_sack() {
            return None;
        }
        self.behind_gap = match order {
            Order::Next => 0,
            Order::FillsGap => u8::from(sequence.has_gap()),
            Order::Ahead => self.behind_gap.saturating_add(1),
            Order::Behind => self.behind_gap,
        };
        let waits = order == Order::Ahead
            && self.behind_gap > LEAST_BEHIND_GAP
            && self.segments <= MOST_COMPRESSED
            && !self.quick_ack.is_quick()
            && !sequence.is_further_block(segment);
        let shortest = || {
            let twentieth = round_trip.smoothed().map_or(COMPRESSION, |srtt| (srtt / 20).into());
            twentieth.min(COMPRESSION) + COMPRESSION_SLACK
        };
        waits.then(shortest)
    }

    fn learn_quick_ack(
        &mut self,
        len: u32,
        order: Order,
        gap: Option<Nanos>,
        sequence: &ReceiveSequence,
        config: &Config,
        reverse: ReverseFacts<'_>,
    ) {
        let full_segment = u32::from(self.full_segment);
        let credit = Credit { window: sequence.window(), full_segment };
        let buffer = match (config.policies.receive_tuning, sequence.buffer()) {
            // The first full segment shows that it may hold more (`tcp_measure_rcv_mss`).
            (BufferTuning::Linux, FIRST_OFFER..) => {
                sequence.buffer().max(BufferTuning::LINUX_FIRST_WINDOW)
            }
            (_, buffer) => buffer,
        };
        let window_grows = self.grow(len, reverse.mss, buffer);
        self.quick_ack.data_arrived(gap, credit, || reverse.round_trip.time_out());
        if window_grows {
            self.quick_ack.window_grows();
        }
        if len < full_segment {
            self.quick_ack.small_segment_arrived();
        }
        if order == Order::Behind {
            self.quick_ack.repetition_arrived(credit);
        }
    }

    /// The reader has taken something: the peer may want to hear of it. `mss` is that of the other direction.
    pub(crate) fn on_read(&mut self, sequence: &ReceiveSequence, policy: AckPolicy, mss: u32) {
        if self.now.is_some() {
            return;
        }
        let reading = Reading {
            unacked_bytes: sequence.unacknowledged(self.last_sent),
            window_gain: sequence.window_gain(),
            window: sequence.window(),
            buffer: sequence.buffer(),
            mss,
            full_segment: self.full_segment.into(),
            drained: sequence.readable() == 0,
            acknowledges_drained: self.quick_ack.acknowledges_drained(),
        };
        if policy.on_read(reading) {
            self.ask(AckReason::Read);
        }
    }
}
