//! Both ends of a connection as senders and receivers of bytes, whatever the bytes say.

mod attempt;
mod black_hole;
mod echoes;
mod run_on;

use std::ops::Range;

use ackwise_cause::Direction;
use ackwise_tcp::{Flags, Instant, Segment, SeqNumber, Timestamps};

use self::{black_hole::Sizes, echoes::echo_of};
use super::{
    packet::Packet,
    serial::Serial,
    stream::{Novelty, ObservedStream},
    warm_up::WarmUp,
};
use crate::{
    attribution::{
        Acknowledgement, Distances, Loss, Nanos, Paces, Rule,
        gap::{Gap, Missing},
        later::Resolution,
        sender::{Asks, Promptest, SeenData, Sender, SenderClock},
    },
    quality::Quality,
};

/// Both ends, and the path between them.
#[derive(Debug, Default)]
pub(crate) struct Ends {
    /// By the direction of their data.
    pub halves: [Half; 2],
    pub distances: Distances,
    /// Which way the last data went.
    pub(super) last_data: Option<(Direction, Asks)>,
    /// Its handshake was over when the capture began.
    begins_in_middle: bool,
    /// An RST was seen that broke it off.
    pub reset: bool,
    /// An RST was seen that only handed TIME-WAIT over.
    pub swapped: bool,
    /// The RST acknowledges nothing.
    pub bare_reset: bool,
}

/// One end as a sender.
#[derive(Debug, Default)]
pub(crate) struct Half {
    pub stream: ObservedStream,
    pub sender: Sender,
    serial: Serial,
    mss: Option<u16>,
    timestamps: bool,
    sack: bool,
    fin: Option<u64>,
    /// What is sent after the FIN begins here.
    after_fin: Option<SeqNumber>,
    /// Segments that were sent again.
    pub repeated: u32,
    /// What an ACK shows of what was sent again last.
    pub again: Option<Resolution>,
    pub packets: u32,
    /// ACKs without data.
    pub pure_acks: u32,
    /// Packets with more data than a segment may have.
    oversized: u32,
    /// The latest of its timestamps that was seen, or echoed.
    latest: Option<u32>,
    /// How often the other end echoed one of a packet that was not captured.
    unheard: u64,
    /// Which segments get through when others do not.
    sizes: Sizes,
    /// A timestamp of this end, and when it was first seen, until it is echoed.
    timed: Option<(u32, Instant)>,
    /// How often a packet was missing before its answer, although no ACK without data was captured.
    skipped: u8,
    /// Bytes sent since the other end's last packet, and the most there ever were.
    run: u64,
    longest_run: u64,
}

/// Something was acknowledged that the capture does not have.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Lost {
    pub direction: Direction,
    /// Up to here.
    pub position: u64,
}

/// Data that was seen.
#[derive(Clone, Debug)]
pub(crate) struct Data {
    /// Where it stands in its stream.
    pub bytes: Range<u64>,
    /// The time since the data before it.
    pub gap: Option<Gap>,
    /// It was sent before, or fills a hole.
    pub repairs: bool,
    /// It holds bytes that were not seen before.
    pub new: bool,
    /// What is missing before it.
    pub missing: Missing,
    /// What it shows about data that was missing.
    pub resolution: Option<Resolution>,
}

/// What the first segments of a connection show of the path.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    pub distances: Distances,
    pub paces: Paces,
    /// By the direction of the data.
    pub promptest: [Promptest; 2],
    clocks: [SenderClock; 2],
    /// How often the packet before an answer was missing, and may be an ACK without data.
    skipped: [u8; 2],
}

impl Half {
    /// Whether the capture seems to have none of its ACKs without data, although it sent some.
    pub(crate) const fn lacks_pure_acks(&self) -> bool {
        /// One packet may be lost. Our choice.
        const SEVERAL: u8 = 2;
        self.pure_acks == 0 && self.skipped >= SEVERAL
    }
}

impl Half {
    /// As new, with the memory of its queues. Field by field: a whole one would have to be copied.
    fn forget(&mut self) {
        let Self {
            stream,
            sender,
            serial,
            mss,
            timestamps,
            sack,
            fin,
            after_fin,
            repeated,
            again,
            packets,
            pure_acks,
            oversized,
            latest,
            timed,
            skipped,
            unheard,
            run,
            longest_run,
            sizes,
        } = self;
        *sizes = Sizes::default();
        *stream = ObservedStream::default();
        sender.forget();
        *serial = Serial::default();
        (*mss, *timestamps, *sack) = (None, false, false);
        (*fin, *after_fin, *again) = (None, None, None);
        (*latest, *timed, *skipped) = (None, None, 0);
        (*repeated, *packets, *pure_acks, *oversized) = (0, 0, 0, 0);
        (*unheard, *run, *longest_run) = (0, 0, 0);
    }

    /// Counts a packet with `len` bytes of data, to an end whose segments may have `mss`.
    #[inline]
    fn count_data(&mut self, len: u32, mss: Option<u16>) {
        self.packets += 1;
        self.oversized += u32::from(mss.is_some_and(|mss| len > mss.into()));
        self.run += u64::from(len);
        self.longest_run = self.longest_run.max(self.run);
    }
}

impl Ends {
    /// From now on decides without this rule.
    pub(crate) fn switch_off(&mut self, rule: Option<Rule>) {
        self.halves.iter_mut().for_each(|half| half.sender.without = rule);
    }

    pub(crate) const fn half(&self, direction: Direction) -> &Half {
        &self.halves[direction as usize]
    }

    /// Whether both ends have closed, and know it of each other.
    pub(crate) fn is_over(&self) -> bool {
        let closed = |it: &Half| it.fin.is_some_and(|end| it.stream.acked() > end);
        self.reset || self.swapped || self.halves.iter().all(closed)
    }

    /// How much of both directions the capture has; cut packets are counted elsewhere.
    pub(crate) fn quality(&self) -> Quality {
        let begins_in_middle = self.begins_in_middle;
        let mut quality = Quality { begins_in_middle, ..Quality::default() };
        for direction in [Direction::ToServer, Direction::ToClient] {
            let (half, other) = (self.half(direction), self.half(direction.opposite()));
            let found = &mut quality.directions[direction as usize];
            found.packets = half.packets;
            found.bytes = half.stream.length();
            found.missing_bytes = half.stream.unseen().bytes();
            found.missing_packets =
                u32::try_from(half.stream.unseen().segments()).unwrap_or(u32::MAX);
            found.pure_acks = half.pure_acks;
            found.oversized = half.oversized;
            found.note_longest_run(other.longest_run, other.stream.segment_size().into());
            found.note_unheard(half.unheard);
        }
        quality
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.reset || self.halves.iter().any(|it| it.fin.is_some())
    }

    /// What the first segments of a connection show of the path. They have taken note of nothing yet, and have not
    /// afterwards, but for memory that is there when they do.
    pub(crate) fn survey(&mut self, warm_up: &WarmUp) -> Survey {
        let trial = &mut *self;
        let mut setup = super::setup::Setup::default();
        for (seen, direction) in warm_up.packets() {
            if seen.segment.flags.syn {
                setup.handle_syn(direction, &seen, &trial.distances);
            } else if direction == Direction::ToServer {
                let is_first = trial.is_next(seen.segment, direction);
                let has_data = seen.segment.len > 0;
                let distances = &mut trial.distances;
                setup.handle_opening(seen.at, seen.number, is_first, has_data, distances);
            }
            trial.number(&seen, direction);
            trial.handle_header(seen.segment, direction, seen.at, seen.number);
            if seen.segment.len > 0 {
                trial.handle_data(seen.segment, direction, seen.at, seen.number);
            }
        }
        let paces = Paces(trial.halves.each_ref().map(|half| half.sender.paces()));
        let promptest = trial.halves.each_ref().map(|half| half.sender.promptest());
        let clocks = trial.halves.each_ref().map(|half| half.sender.clock());
        let skipped = trial.halves.each_ref().map(|half| half.skipped);
        let survey = Survey { distances: trial.distances, paces, promptest, clocks, skipped };
        trial.forget();
        survey
    }

    /// As new, with the memory of its queues.
    pub(crate) fn forget(&mut self) {
        self.halves.iter_mut().for_each(Half::forget);
        self.distances = Distances::default();
        (self.last_data, self.reset, self.swapped) = (None, false, false);
        (self.begins_in_middle, self.bare_reset) = (false, false);
    }

    /// Begins with what the first segments have shown, and what they have not, earlier connections
    /// between the same hosts may have.
    pub(crate) fn learn(&mut self, survey: &Survey, known: &Paces) {
        self.distances = survey.distances.for_another_look();
        for (half, (skipped, clock)) in
            self.halves.iter_mut().zip(survey.skipped.into_iter().zip(survey.clocks))
        {
            half.skipped = skipped;
            half.sender.set_clock(clock);
        }
        let Paces(mut paces) = *known;
        let shown = survey.paces.0.iter().zip(survey.promptest);
        for ([_, told], ([_, own], promptest)) in paces.iter_mut().zip(shown) {
            if told != own {
                *told = promptest.unless_refuted(*told);
            }
        }
        for (half, [one, other]) in self.halves.iter_mut().zip([paces, [paces[1], paces[0]]]) {
            // A path is as fast in the direction that shows nothing as in the other: mostly it is.
            half.sender.set_paces([one[0].or(other[1]), one[1].or(other[0])]);
        }
    }

    /// Whether nothing is missing before a segment, as far as is known.
    pub(crate) fn is_next(&self, segment: &Segment, direction: Direction) -> bool {
        let stream = &self.half(direction).stream;
        stream.find(segment).is_none_or(|bytes| bytes.start <= stream.highest())
    }

    /// What a segment's header says.
    pub(crate) fn handle_header(
        &mut self,
        segment: &Segment,
        direction: Direction,
        now: Instant,
        packet: u64,
    ) -> Option<Lost> {
        if self.halves.iter().all(|half| half.packets == 0) && !segment.flags.syn {
            self.begins_in_middle = true;
            // The survey of its first segments may have confirmed some.
            if !self.distances.are_known() {
                self.distances.begin_in_middle();
            }
        }
        self.count(segment, direction);
        self.compare_echo(segment, direction, now);
        if segment.len == 0 {
            let timestamp = segment.options.timestamps.map(|it| it.value);
            self.halves[direction as usize].sender.hear(timestamp, now);
        }
        if segment.flags.syn {
            self.handle_syn(segment, direction);
        }
        if self.repeats_acknowledgement(segment, direction) {
            return None;
        }
        self.handle_ack(segment, direction, now, packet)
    }

    /// Whether the other end learns from data only that it is there, as from most segments of a long response.
    #[inline]
    fn repeats_acknowledgement(&self, segment: &Segment, direction: Direction) -> bool {
        let Half { stream, sender, .. } = self.half(direction.opposite());
        let shift = self.half(direction).stream.shift();
        let has_data_only = segment.len > 0 && segment.options.sack.is_empty();
        has_data_only && stream.has_heard(segment, shift) && sender.knows_edge()
    }

    /// The number of a packet.
    pub(crate) fn number(&mut self, seen: &Packet<'_>, direction: Direction) {
        let half = &mut self.halves[direction as usize];
        let full = half.stream.segment_size().max(1);
        let segments = seen.segment.len.div_ceil(full).max(1);
        half.serial.see(seen.identification, u16::try_from(segments).unwrap_or(u16::MAX));
    }

    fn count(&mut self, segment: &Segment, direction: Direction) {
        let other = &mut self.halves[direction.opposite() as usize];
        other.run = 0;
        let mss = other.mss;
        let half = &mut self.halves[direction as usize];
        half.count_data(segment.len, mss);
        let Flags { syn, fin, rst, .. } = segment.flags;
        half.pure_acks += u32::from(segment.len == 0 && !(syn || fin || rst));
    }

    /// Whether the client's segment reports data of the server (SACK, RFC 2018) that was not captured.
    pub(crate) fn shows_unseen_answer(&self, segment: &Segment) -> bool {
        let blocks = segment.options.sack;
        !blocks.is_empty() && {
            let stream = &self.half(Direction::ToClient).stream;
            blocks.iter().any(|(_, right)| stream.is_beyond(right))
        }
    }

    #[inline(never)]
    fn handle_syn(&mut self, segment: &Segment, direction: Direction) {
        /// Who offers SACK begins with 10 segments (RFC 6928): ours, but so do all stacks in use.
        const MODERN: u64 = 10;
        let half = &mut self.halves[direction as usize];
        half.stream.place(segment);
        half.mss = segment.options.mss;
        half.timestamps = segment.options.timestamps.is_some();
        half.sack = segment.options.sack_permitted;
        // A SYN-ACK without a window scale, as with a SYN cookie, takes the client's back, too.
        if segment.ack.is_some() && segment.options.window_scale.is_none() {
            self.halves[direction.opposite() as usize].stream.refuse_shift();
        }
        let [one, other] = &mut self.halves;
        if let (Some(a), Some(b)) = (one.mss, other.mss) {
            // RFC 7323, appendix A: the MSS option counts no options.
            let both = one.timestamps && other.timestamps;
            let options = if both { Timestamps::WIRE_BYTES } else { 0 };
            let full = u32::from(a.min(b).saturating_sub(options));
            one.stream.agree(full);
            other.stream.agree(full);
            for half in [one, other] {
                let segments = if half.sack { MODERN } else { 1 };
                half.sender.set_initial_window(u64::from(full) * segments);
            }
        }
    }

    #[inline(never)]
    fn handle_ack(
        &mut self,
        segment: &Segment,
        direction: Direction,
        now: Instant,
        packet: u64,
    ) -> Option<Lost> {
        let shift = self.half(direction).stream.shift();
        let acked = direction.opposite();
        let half = &mut self.halves[acked as usize];
        let flying = half.stream.flight() > 0;
        let progress = half.stream.acknowledge(segment, shift)?;
        let lost = progress.unseen.then(|| {
            if progress.beyond {
                half.sender.skip(progress.acked);
            }
            Lost { direction: acked, position: progress.acked }
        });
        if progress.newly > 0 && half.stream.flight() > 0 {
            half.sizes.note_partial(progress.acked, progress.newly);
        }
        if !segment.options.sack.is_empty() {
            self.note_reported(segment, acked);
        }
        let half = &mut self.halves[acked as usize];
        let first = !half.sender.knows_edge();
        let duplicate = reports_duplicate(segment);
        if progress.newly > 0 || progress.opened > 0 || (segment.len == 0 && flying) || first {
            let ack = self.acknowledgement(segment, direction, progress.acked, now, packet);
            let half = &mut self.halves[acked as usize];
            let again = half.sender.handle_ack(ack, duplicate, acked, &mut self.distances);
            half.again = again.or(half.again);
        } else if duplicate {
            let delays = self.distances.path_delays(acked);
            let again = half.sender.hear_duplicate(delays);
            half.again = again.or(half.again);
        }
        lost
    }

    /// What a segment acknowledges, up to `acked`, and what its receiver's own packets show of it.
    #[inline]
    fn acknowledgement(
        &self,
        segment: &Segment,
        direction: Direction,
        acked: u64,
        seen: Instant,
        packet: u64,
    ) -> Acknowledgement {
        let Half { serial, sender: receiver, .. } = self.half(direction);
        // A FIN is a program's.
        let is_pure = segment.len == 0 && !segment.flags.fin;
        let value = segment.options.timestamps.map(|it| it.value);
        Acknowledgement {
            packet,
            seen,
            acked,
            edge: self.half(direction.opposite()).stream.edge(),
            stamp: self.stamp_to_echo(segment, direction),
            echo: echo_of(segment),
            sacks: !segment.options.sack.is_empty(),
            is_pure,
            held: receiver.path_held(value, seen),
            lost_before: segment.len > 0 && serial.skipped() == Some(true),
            unread: is_pure && !receiver.was_held_on_its_way(),
        }
    }

    /// Whether a packet is missing before data, and that may be an ACK without data: the capture has none of this
    /// end, and several of its answers had one missing before them.
    fn may_skip_ack(&mut self, direction: Direction) -> bool {
        let answers = self.last_data.is_some_and(|it| it.0 != direction);
        let half = &mut self.halves[direction as usize];
        if answers && half.serial.seems_skipped() {
            half.skipped = half.skipped.saturating_add(1);
        }
        half.lacks_pure_acks()
    }

    /// A segment's data; `None` if it is not of this stream, or a keep-alive.
    #[expect(clippy::too_many_lines, reason = "older than the limit of 60 lines")]
    pub(crate) fn handle_data(
        &mut self,
        segment: &Segment,
        direction: Direction,
        now: Instant,
        packet: u64,
    ) -> Option<Data> {
        let whole = self.distances.whole();
        let may_skip_ack = self.may_skip_ack(direction);
        let half = &mut self.halves[direction as usize];
        let bytes = half.stream.place(segment)?;
        if half.stream.is_keep_alive(&bytes) {
            return None;
        }
        let (holes, had) = (half.stream.has_holes(), half.stream.highest() <= half.stream.acked());
        let novelty = half.stream.see(&bytes, now);
        let loss = match novelty {
            Novelty::New | Novelty::Skips => holes.then_some(Loss::Missing),
            Novelty::Fills(since) if since < reordering(whole) => None,
            // The receiver had what is sent again: only its ACK was lost.
            Novelty::Extends if had => None,
            Novelty::Again | Novelty::Extends | Novelty::Fills(_) => Some(Loss::Repairs),
        };
        if loss == Some(Loss::Repairs) {
            half.sizes.note(&bytes, half.stream.acked(), now);
        }
        if loss.is_some() || novelty == Novelty::Skips {
            half.sizes.note_behind(&bytes, holes);
        }
        let missing = match novelty {
            Novelty::Skips => Missing::JustBefore,
            _ if half.stream.has_holes() => Missing::Earlier,
            _ => Missing::Nothing,
        };
        let resolution = match (novelty, loss) {
            (Novelty::Fills(_), Some(_)) => Some(Resolution::SentAgain),
            (Novelty::Fills(_), None) => Some(Resolution::Overtaken),
            _ => None,
        };
        let seems_lost_before = half.serial.seems_skipped() && !may_skip_ack;
        let lost_before = half.serial.take_skipped().filter(|_| !may_skip_ack);
        let repairs = loss == Some(Loss::Repairs);
        half.repeated += u32::from(repairs);
        let new = novelty != Novelty::Again;
        // The server had it: whatever made the client send it again delayed nothing.
        if direction == Direction::ToServer && !new && bytes.end <= half.stream.acked() {
            return Some(Data { bytes, gap: None, repairs: false, new, missing, resolution });
        }
        let pushed = segment.flags.psh;
        half.stream.push(pushed);
        let full = u64::from(half.stream.segment_size());
        let other = self.last_data.replace((direction, Asks { packet, seen: now }));
        let answers = other.filter(|it| it.0 != direction).map(|it| it.1);
        let seen_data = SeenData {
            packet,
            seen: now,
            bytes: bytes.clone(),
            full,
            pushed,
            loss,
            missing,
            new,
            timestamp: segment.options.timestamps.map(|it| it.value),
            echo: echo_of(segment),
            answers,
            lost_before,
            seems_lost_before,
        };
        if let Some(at_most) = half.sender.round_trip_at_most(&bytes, now) {
            self.distances.limit(direction.opposite(), at_most);
        }
        let delays = self.distances.path_delays(direction);
        let gap = if half.stream.middle().is_some() {
            half.sender.handle_data(&seen_data, &delays.without_handshake())
        } else {
            half.sender.handle_data(&seen_data, delays)
        };
        Some(Data { bytes, gap, repairs, new, missing, resolution })
    }

    /// A FIN, perhaps again; where its stream ends. The other end may answer it, as with an alert of TLS.
    pub(crate) fn handle_fin(
        &mut self,
        segment: &Segment,
        direction: Direction,
        packet: u64,
        seen: Instant,
    ) -> Option<u64> {
        let half = &mut self.halves[direction as usize];
        if half.fin.is_none() {
            self.last_data = Some((direction, Asks { packet, seen }));
            half.fin = half.stream.place(segment).map(|bytes| bytes.end);
            half.after_fin = Some(segment.seq + segment.len + 1);
        }
        half.fin
    }

    /// Where an RST begins that does not break the connection off but hands TIME-WAIT over, after both
    /// ends have closed: at SND.NXT of the one whose data goes in this direction.
    pub(crate) fn swap(&self, direction: Direction) -> Option<SeqNumber> {
        self.half(direction).after_fin.filter(|_| self.both_closed() && !self.reset)
    }

    /// Where the stream of this direction ends, if its FIN was seen.
    pub(crate) const fn fin(&self, direction: Direction) -> Option<u64> {
        self.half(direction).fin
    }

    /// Whether the capture has both directions, and all that was delivered.
    pub(crate) fn are_whole(&self) -> bool {
        self.halves.iter().all(|it| it.packets > 0 && it.stream.unseen().bytes() == 0)
    }

    /// Whether both FINs were seen.
    pub(crate) fn both_closed(&self) -> bool {
        self.halves.iter().all(|it| it.after_fin.is_some())
    }
}

/// What comes that much later was not merely overtaken: a repair needs a round trip.
fn reordering(round_trip: Nanos) -> Nanos {
    /// Our choice, for when no round trip was seen.
    const UNKNOWN: Nanos = Nanos::from_millis(3);
    match round_trip {
        Nanos::ZERO => UNKNOWN,
        whole => whole * 3 / 4,
    }
}

/// RFC 2883, section 4: of what arrived twice, the first SACK block tells, below the acknowledgement.
fn reports_duplicate(segment: &Segment) -> bool {
    let first = segment.options.sack.iter().next();
    first.zip(segment.ack).is_some_and(|((_, right), ack)| !ack.precedes(right))
}

#[cfg(test)]
mod tests;
