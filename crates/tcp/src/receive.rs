//! The receive side of a connection: what has arrived and was read, and when it is acknowledged.
//!
//! | module | one idea |
//! | --- | --- |
//! | `sequence` | the receive sequence space, reassembly, and the window that we advertise |
//! | `ack_scheduler`, `quick_ack` | when to acknowledge, and what Linux learns for it |
//! | `right_sizing` | a receive window that grows with what the application takes |
//! | `d_sack` | what has arrived twice |

mod ack_scheduler;
mod d_sack;
mod quick_ack;
mod right_sizing;
mod sequence;

pub(crate) use self::sequence::ReceiveSequence;

use alloc::boxed::Box;

use self::{
    ack_scheduler::AckScheduler,
    d_sack::DSack,
    right_sizing::{DataArrived, RightSizing},
    sequence::Order,
};
use crate::{
    config::Config,
    policy::{AckPolicy, AckReason, BufferTuning, DSackPolicy, TimerPolicy},
    received::Received,
    round_trip::RoundTrip,
    segment::{Options, SackBlocks, Segment, Timestamps},
    seq::SeqNumber,
    timestamp::timestamp,
    units::Instant,
};

/// The receive side.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    sequence: ReceiveSequence,
    acks: AckScheduler,
    /// Exists once a full segment, or a duplicate, has arrived.
    rare: Option<Box<Rare>>,
}

/// State that few receivers need; the others pay one pointer.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// What the receive buffer has to hold, once much has arrived.
    right_sizing: Option<RightSizing>,
    /// What has arrived twice, until it is reported.
    d_sack: Option<DSack>,
}

/// What the receive side wants to know of the other direction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReverseFacts<'a> {
    pub(crate) round_trip: &'a RoundTrip,
    /// Data bytes of a full segment that we send.
    pub(crate) mss: u32,
    /// The segment acknowledges nothing new, and data of ours was acknowledged before.
    pub(crate) after_bare_ack: bool,
}

impl Receiver {
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "an endpoint is built where it stays")]
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            sequence: ReceiveSequence::new(config.receive_buffer, config.policies.receive_tuning),
            acks: AckScheduler::new(),
            rare: None,
        }
    }

    pub(crate) const fn sequence(&self) -> &ReceiveSequence {
        &self.sequence
    }

    #[inline]
    pub(crate) const fn sequence_mut(&mut self) -> &mut ReceiveSequence {
        &mut self.sequence
    }

    #[inline]
    pub(crate) const fn acks(&self) -> &AckScheduler {
        &self.acks
    }

    #[inline]
    pub(crate) const fn acks_mut(&mut self) -> &mut AckScheduler {
        &mut self.acks
    }

    /// The peer's SYN has arrived.
    pub(crate) fn take_syn(&mut self, syn: &Segment, config: &Config, now: Instant) {
        self.sequence.begin(syn.seq);
        self.sequence.agree(config.policies.offer, &syn.options, now);
    }

    /// Data has arrived; what became of it.
    pub(crate) fn take_data(
        &mut self,
        segment: &Segment,
        config: &Config,
        reverse: ReverseFacts<'_>,
        now: Instant,
    ) -> Received {
        let first = self.sequence.position(segment.data_start());
        let order = self.sequence.order(first);
        if order != Order::Next {
            self.note_duplicate(segment, config.policies.d_sack);
        }
        let data = self.sequence.trim(segment, first);
        let received = self.sequence.take(&data);
        if data.exceeds_window() {
            // The peer must learn how small the window is.
            self.acks.ask(AckReason::WindowFull);
        }
        if config.policies.receive_tuning != BufferTuning::Off {
            self.tune_buffer(segment, reverse, now);
        }
        self.acks.on_data(segment, order, &self.sequence, config, reverse, now);
        received
    }

    /// Enlarges the receive buffer if the application takes more than before.
    fn tune_buffer(&mut self, segment: &Segment, reverse: ReverseFacts<'_>, now: Instant) {
        let sequence = &self.sequence;
        let age = |echo: u32| timestamp(now).wrapping_sub(echo);
        let data = DataArrived {
            len: segment.len,
            mss: reverse.mss,
            echo: segment.options.timestamps.map(|it| (it.echo, age(it.echo))),
            read: sequence.read_end(),
            readable: sequence.readable(),
            drained: sequence.readable() == 0
                || u64::try_from(sequence.position(segment.data_start()))
                    .is_ok_and(|start| start <= sequence.read_end()),
            out_of_order: sequence.beyond_gap(),
            after_bare_ack: reverse.after_bare_ack,
        };
        let buffer = sequence.buffer();
        let knows = self.rare.as_ref().is_some_and(|it| it.right_sizing.is_some());
        if knows && !sequence.uses_sack() && sequence.has_gap() {
            return; // `tcp_data_queue_ofo`: "do not grow window to force DUPACK".
        }
        if knows || data.len >= data.mss {
            let rare = self.rare.get_or_insert_default();
            let state =
                rare.right_sizing.get_or_insert_with(|| RightSizing::new(buffer, &data, now));
            self.sequence.set_buffer(state.on_data(&data, now));
        }
    }

    /// A segment without data has arrived.
    #[inline]
    pub(crate) fn note_bare_ack(&mut self, segment: &Segment) {
        let rare = self.rare.as_deref_mut();
        if let Some(state) = rare.and_then(|it| it.right_sizing.as_mut())
            && let Some(stamps) = segment.options.timestamps
        {
            state.note_bare_ack(stamps.echo);
        }
    }

    /// The segment has the peer's FIN; whether that tells something new. An ACK leaves at once: nothing can be won by
    /// waiting.
    pub(crate) fn note_fin(&mut self, segment: &Segment) -> bool {
        self.acks.ask(AckReason::Fin);
        self.sequence.note_fin(segment)
    }

    /// The peer's FIN is next in sequence, and is taken.
    pub(crate) const fn take_fin(&mut self) {
        self.sequence.pass_fin();
        self.acks.ask(AckReason::Fin);
    }

    /// A segment is answered though nothing of it is acceptable. Linux takes a repetition for acceptable that ends where
    /// the last ACK stands (`tcp_sequence`), so that its timestamp is echoed: else the ACK would tell the peer that the
    /// first copy has caused it.
    pub(crate) fn note_unacceptable(
        &mut self,
        segment: &Segment,
        timers: TimerPolicy,
        now: Instant,
    ) {
        let ends = u64::try_from(self.sequence.position(segment.end()));
        if timers == TimerPolicy::Linux
            && ends == Ok(self.acks.last_sent())
            && !self.sequence.is_older_by_timestamp(segment, now)
        {
            self.note_timestamp(segment, now);
        }
    }

    pub(crate) fn note_timestamp(&mut self, segment: &Segment, now: Instant) {
        self.sequence.note_timestamp(segment, self.acks.last_sent(), now);
    }

    /// Notes what of the segment was here before, if that is reported.
    pub(crate) fn note_duplicate(&mut self, segment: &Segment, policy: DSackPolicy) {
        if policy == DSackPolicy::Off || !self.sequence.uses_sack() {
            return;
        }
        let Some(duplicate) = DSack::of(segment, &self.sequence) else { return };
        let noted = &mut self.rare.get_or_insert_default().d_sack;
        *noted = Some(noted.map_or(duplicate, |known| known.extended(duplicate)));
    }

    /// The reader has taken something: the peer may want to hear of it. `mss` is that of the other direction.
    pub(crate) fn on_read(&mut self, policy: AckPolicy, mss: u32) {
        self.acks.on_read(&self.sequence, policy, mss);
    }

    /// The timestamps of a segment that leaves now, if both offered them.
    #[inline]
    pub(crate) fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        self.sequence.uses_timestamps().then(|| self.clock(now))
    }

    /// TSval and TSecr of a segment that leaves now.
    #[inline]
    pub(crate) const fn clock(&self, now: Instant) -> Timestamps {
        Timestamps { value: timestamp(now), echo: self.sequence.ts_recent() }
    }

    /// Why an ACK must leave now, if it must; the RTO bounds what a missed timeout teaches.
    pub(crate) fn take_due_ack(
        &mut self,
        round_trip: &RoundTrip,
        now: Instant,
    ) -> Option<AckReason> {
        self.acks.must_leave(self.sequence.has_gap(), round_trip, now)
    }

    /// A segment that acknowledges all has left.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        self.acks.sent(self.sequence.next());
    }

    /// Whether ACKs carry SACK blocks.
    #[inline]
    pub(crate) fn has_sack_blocks(&self) -> bool {
        self.sequence.uses_sack() && (self.sequence.has_gap() || self.has_d_sack())
    }

    /// How many SACK blocks the next segment carries.
    pub(crate) fn sack_block_count(&self) -> usize {
        let most = SackBlocks::MAX - usize::from(self.sequence.uses_timestamps());
        let blocks = self.sequence.out_of_order().len() + usize::from(self.has_d_sack());
        if self.sequence.uses_sack() { blocks.min(most) } else { 0 }
    }

    #[inline]
    fn has_d_sack(&self) -> bool {
        self.rare.as_deref().is_some_and(|rare| rare.d_sack.is_some())
    }

    /// The block that reports what has arrived twice, which counts as sent.
    fn take_d_sack(&mut self) -> Option<(SeqNumber, SeqNumber)> {
        Some(self.rare.as_deref_mut()?.d_sack.take()?.block())
    }

    /// RFC 2018, section 4: the first block holds the segment that arrived last, the others are "the
    /// most recently reported".
    pub(crate) fn add_sack_blocks(&mut self, options: &mut Options) {
        let mut room = self.sack_block_count();
        if room > 0
            && let Some((start, end)) = self.take_d_sack()
        {
            // RFC 2883, section 4: once, and before all others.
            options.sack.push(start, end);
            room -= 1;
        }
        let sequence = &self.sequence;
        for (start, end) in sequence.out_of_order().latest().take(room) {
            options.sack.push(sequence.number(start), sequence.number(end));
        }
    }
}
