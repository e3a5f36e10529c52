//! When to acknowledge: the state behind [`AckPolicy`].

use core::time::Duration;

use super::{Endpoint, receiver::Order};
use crate::{
    alarm::Alarm,
    policy::{AckDecision, AckPolicy, AckReason, Arrival, BufferTuning, Reading, TimerPolicy},
    receive::quick_ack::{Credit, QuickAck},
    round_trip::RoundTrip,
    segment::Segment,
    units::{Instant, Nanos},
    wait::AckWait,
};

/// What is unacknowledged, and what the policies have learnt about the peer.
#[derive(Clone, Debug)]
pub(super) struct Acknowledger {
    /// Why an ACK must leave at once, if one must.
    pub(super) now: Option<AckReason>,
    /// RCV.NXT as it stood in the last segment sent.
    pub(super) last_sent: u64,
    /// When the delayed ACK is due.
    pub(super) due: Alarm,
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

impl Acknowledger {
    pub(super) const fn new() -> Self {
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
    pub(super) fn begin(&mut self, mss: u32) {
        self.last_sent = 1;
        self.full_segment = u16::try_from(mss).unwrap_or(u16::MAX).min(DEFAULT_SEGMENT);
    }

    /// An ACK must leave at once; the first reason counts.
    pub(super) const fn ask(&mut self, reason: AckReason) {
        if self.now.is_none() {
            self.now = Some(reason);
        }
    }

    #[inline]
    pub(super) fn is_pending(&self) -> bool {
        self.now.is_some() || self.due.is_on()
    }

    /// Whether an ACK must leave now.
    #[inline]
    pub(super) fn leaves(&self, now: Instant) -> bool {
        self.now.is_some() || self.due.is_due(now)
    }

    pub(super) const fn clear(&mut self) {
        self.now = None;
        self.due = Alarm::OFF;
    }

    /// A segment that carries ACK = `next` has left.
    pub(super) fn sent(&mut self, next: u64) {
        self.quick_ack.ack_sent(self.is_pending());
        self.clear();
        self.segments = 0;
        self.last_sent = next;
    }

    pub(super) fn data_sent(&mut self, now: Instant) {
        self.quick_ack.data_sent(self.since_arrival(now));
    }

    /// Why an ACK must leave now, if it must; the RTO bounds what a missed timeout teaches.
    pub(super) fn must_leave(
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

    pub(super) fn wait(&self, policy: AckPolicy) -> Option<AckWait> {
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
}

impl Endpoint {
    /// Data has arrived.
    pub(super) fn schedule_ack(&mut self, segment: &Segment, order: Order, now: Instant) {
        let gap = self.acknowledger.since_arrival(now);
        self.acknowledger.learn(segment.len, self.config.mss, gap, now);
        let policy = self.config.policies.ack;
        if policy == AckPolicy::LinuxQuickAck {
            self.learn_quick_ack(segment.len, order, gap);
        }
        let acknowledger = &mut self.acknowledger;
        // Two times that one policy each asks for, and not for every segment of the others.
        let time_out = match policy {
            AckPolicy::LinuxQuickAck => acknowledger.quick_ack.time_out(self.round_trip.smoothed()),
            _ => Duration::ZERO,
        };
        let interarrival = match policy {
            AckPolicy::Interarrival => Duration::from_micros(acknowledger.interarrival_us.into()),
            _ => Duration::ZERO,
        };
        let compression = self.compression(segment, order);
        let acknowledger = &self.acknowledger;
        let arrival = Arrival {
            unacked_bytes: self.receiver.unacknowledged(acknowledger.last_sent),
            unacked_segments: acknowledger.segments,
            mss: acknowledger.full_segment.into(),
            out_of_order: order != Order::Next,
            compression,
            quick: acknowledger.quick_ack.is_quick(),
            time_out,
            interarrival,
        };
        let in_ticks = self.counts_ticks(policy) && compression.is_none();
        let acknowledger = &mut self.acknowledger;
        if !acknowledger.due.is_on() {
            acknowledger.since = now;
        }
        match policy.on_arrival(arrival, now) {
            AckDecision::Now(reason) => acknowledger.ask(reason),
            // Compressed ACKs have a timer of high resolution.
            AckDecision::At(_) if in_ticks => {
                let due = self.expiry(Nanos::of(time_out), now);
                self.acknowledger.due.not_later_than(due);
            }
            AckDecision::At(due) => acknowledger.due.not_later_than(Alarm::at(due)),
        }
    }

    /// Whether a delayed ACK waits for ticks of Linux's clock.
    #[inline]
    fn counts_ticks(&self, policy: AckPolicy) -> bool {
        policy == AckPolicy::LinuxQuickAck && self.config.policies.timers == TimerPolicy::Linux
    }

    /// Linux `__tcp_ack_snd_check`: the first three ACKs behind a gap leave at once, because the sender
    /// counts them; later ones wait for each other, for a twentieth of the round trip or a millisecond
    /// (`tcp_comp_sack_delay_ns`), and the slack of the kernel's timer. They do not wait if a block more would
    /// be to report than ACKs should have (`tcp_sack_new_ofo_skb`); Linux then sends the one before.
    fn compression(&mut self, segment: &Segment, order: Order) -> Option<Duration> {
        if self.config.policies.ack != AckPolicy::LinuxQuickAck || !self.receiver.sack {
            return None;
        }
        let acknowledger = &mut self.acknowledger;
        acknowledger.behind_gap = match order {
            Order::Next => 0,
            Order::FillsGap => u8::from(!self.receiver.out_of_order.is_empty()),
            Order::Ahead => acknowledger.behind_gap.saturating_add(1),
            Order::Behind => acknowledger.behind_gap,
        };
        let waits = order == Order::Ahead
            && acknowledger.behind_gap > LEAST_BEHIND_GAP
            && acknowledger.segments <= MOST_COMPRESSED
            && !acknowledger.quick_ack.is_quick()
            && !self.receiver.is_further_block(segment);
        let shortest = || {
            let twentieth =
                self.round_trip.smoothed().map_or(COMPRESSION, |srtt| (srtt / 20).into());
            twentieth.min(COMPRESSION) + COMPRESSION_SLACK
        };
        waits.then(shortest)
    }

    fn learn_quick_ack(&mut self, len: u32, order: Order, gap: Option<Nanos>) {
        let full_segment = u32::from(self.acknowledger.full_segment);
        let credit = Credit { window: self.receiver.window(), full_segment };
        let buffer = match (self.config.policies.receive_tuning, self.receiver.buffer()) {
            // The first full segment shows that it may hold more (`tcp_measure_rcv_mss`).
            (BufferTuning::Linux, FIRST_OFFER..) => {
                self.receiver.buffer().max(BufferTuning::LINUX_FIRST_WINDOW)
            }
            (_, buffer) => buffer,
        };
        let window_grows = self.acknowledger.grow(len, self.sender.mss, buffer);
        let quick_ack = &mut self.acknowledger.quick_ack;
        quick_ack.data_arrived(gap, credit, || self.round_trip.time_out());
        if window_grows {
            quick_ack.window_grows();
        }
        if len < full_segment {
            quick_ack.small_segment_arrived();
        }
        if order == Order::Behind {
            quick_ack.repetition_arrived(credit);
        }
    }

    /// The reader has taken `bytes`: the peer may want to hear of it.
    pub(super) fn after_read(&mut self, bytes: u32) {
        let acknowledger = &self.acknowledger;
        let asked = acknowledger.now.is_some();
        if bytes == 0 || asked || !self.state.receives() {
            return;
        }
        let reading = Reading {
            unacked_bytes: self.receiver.unacknowledged(acknowledger.last_sent),
            window_gain: self.receiver.window_gain(),
            window: self.receiver.window(),
            buffer: self.receiver.buffer(),
            mss: self.sender.mss,
            full_segment: acknowledger.full_segment.into(),
            drained: self.receiver.readable() == 0,
            acknowledges_drained: acknowledger.quick_ack.acknowledges_drained(),
        };
        if self.config.policies.ack.on_read(reading) {
            self.acknowledger.ask(AckReason::Read);
        }
    }
}
