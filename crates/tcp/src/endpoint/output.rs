//! What may be sent now, and if nothing, why.

use super::{Endpoint, State, flight::Flight, recovery::Phase, sender::low};
use crate::{
    alarm::Alarm,
    congestion::Repair,
    policy::{AckReason, HoldDecision, Idle, LossDetection, Pending},
    segment::{Flags, Options, SackBlocks, Segment, TimeWaitHolder},
    seq::SeqNumber,
    units::Instant,
    wait::{Timer, Wait},
};

/// A segment to put on the wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Transmit {
    /// The header, and how much data.
    pub segment: Segment,
    /// Where its data begins in our stream (offset 0 is the first byte after the SYN). The driver
    /// takes `segment.len` bytes from there.
    pub offset: u64,
    /// Something in it was sent before.
    pub retransmission: bool,
    /// Why it leaves now, if it carries nothing but an ACK.
    pub ack_reason: Option<AckReason>,
}

impl Transmit {
    /// Whether it carries only an ACK. A bare ACK is sent only when nothing else may be, so that
    /// [`Endpoint::poll_transmit`] has nothing more at that moment.
    #[must_use]
    pub const fn is_bare_ack(&self) -> bool {
        self.segment.sequence_length() == 0 && !self.segment.flags.rst
    }
}

/// An RST that waits for the next [`Endpoint::poll_transmit`].
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingReset {
    pub(super) seq: SeqNumber,
    pub(super) ack: Option<SeqNumber>,
}

impl PendingReset {
    pub(super) const fn segment(self) -> Segment {
        Segment {
            seq: self.seq,
            ack: self.ack,
            flags: Flags::RST,
            window: 0,
            options: Options::NONE,
            time_wait_holder: None,
            len: 0,
        }
    }
}

/// A range of the stream that may leave, with the FIN if it follows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Piece {
    pub(super) start: u64,
    len: u32,
    fin: bool,
}

impl Piece {
    pub(super) const fn end(&self) -> u64 {
        self.start + self.len as u64 + self.fin as u64
    }
}

/// What only this segment carries.
#[derive(Clone, Copy, Debug)]
struct What {
    seq: SeqNumber,
    flags: Flags,
    len: u32,
    offset: u64,
    retransmission: bool,
    ack_reason: Option<AckReason>,
    time_wait_holder: Option<TimeWaitHolder>,
}

impl What {
    const fn bare(seq: SeqNumber, flags: Flags, offset: u64) -> Self {
        Self {
            seq,
            flags,
            len: 0,
            offset,
            retransmission: false,
            ack_reason: None,
            time_wait_holder: None,
        }
    }
}

/// What the two windows leave, in bytes from SND.NXT on.
#[derive(Clone, Copy, Debug)]
struct Room {
    congestion: u64,
    receive: u64,
}

impl Endpoint {
    /// What leaves next, SACK blocks excepted.
    #[inline(never)]
    pub(super) fn next_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(reset) = self.pending_reset.take() {
            return Some(self.transmit_reset(reset, now));
        }
        if matches!(self.state, State::Closed | State::Listen) {
            return self.transmit_ack(now); // Of the peer's FIN, by an end that need not wait.
        }
        if self.sender.next == 0 {
            return (!self.syn_waits_for_data()).then(|| self.transmit_syn(now));
        }
        self.note_outstanding_at_call();
        match self
            .next_data()
            .and_then(|piece| self.when_paced(piece, now))
            .and_then(|piece| self.unless_deferred(piece, now))
        {
            Ok(piece) => Some(self.transmit(piece, now)),
            Err(wait) => {
                if matches!(wait, Wait::SlowStart | Wait::CongestionWindow) {
                    self.sender.usage.note(self.sender.una, self.sender.next, true);
                }
                self.arm_for(wait, now);
                self.transmit_ack(now)
            }
        }
    }

    /// What may leave now, or why nothing may.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each segment needs it, in one function with the rest"
    )]
    fn next_data(&self) -> Result<Piece, Wait> {
        match self.state {
            State::Closed | State::Listen | State::TimeWait => return Err(Wait::Closed),
            _ if self.syn_waits_for_data() => return Err(Wait::Application),
            _ if self.sender.una == 0 && !self.answers_early() => return Err(Wait::Handshake),
            _ => {}
        }
        if let Some(flight) = self.flight.as_deref()
            && self.detects_by_time()
        {
            let room = self.room_beside(flight);
            if flight.has_work() || self.recovery.retransmit_head {
                return self.next_by_list(flight, room);
            }
            return self.next_new(room);
        }
        if self.recovery.retransmit_head && self.sender.is_outstanding() {
            let first_sacked = self.recovery.sacked.iter().next().map(|(start, _)| start);
            let end = first_sacked.unwrap_or(self.sender.max);
            return Ok(self.retransmit(self.sender.una, end));
        }
        // The SYN takes up nothing of the window.
        let mut flight_from = self.sender.una.max(1);
        let mut window = u64::from(self.congestion.window());
        if self.recovery.is_troubled() {
            match self.recovery.phase {
                Phase::Fast(Repair::Scoreboard) => return self.next_by_scoreboard(),
                // What timed out counts as lost.
                Phase::Forward => flight_from = self.recovery.recover,
                _ => window += self.limited_transmit(),
            }
        }
        let sent = match self.flight.as_deref().filter(|_| self.counts_packets()) {
            Some(flight) => flight.packets(flight_from, self.sender.next, self.sender.mss),
            None => self.sender.next.saturating_sub(flight_from),
        };
        self.next_new(window.saturating_sub(sent))
    }

    /// The same where it is rarely asked.
    #[inline(never)]
    pub(super) fn next_data_again(&self) -> Result<Piece, Wait> {
        self.next_data()
    }

    /// By how much cwnd exceeds what is on its way, where losses are detected by time.
    #[inline]
    fn room_beside(&self, flight: &Flight) -> u64 {
        let pipe = flight.pipe(self.sender.una, self.sender.mss);
        let room = u64::from(self.congestion.window()).saturating_sub(pipe);
        // Linux `tcp_cwnd_test` counts packets: a short segment needs as much room as a full one.
        if room < u64::from(self.sender.mss) { 0 } else { room }
    }

    /// What may leave where losses are detected by time: what is lost, then new data, as far as there is
    /// `room` (Linux `tcp_xmit_retransmit_queue`, `tcp_write_xmit`). The first retransmission of a repair
    /// and a probe leave in any case.
    #[inline(never)]
    fn next_by_list(&self, flight: &Flight, room: u64) -> Result<Piece, Wait> {
        let hole = flight.next_unrepaired().filter(|_| self.recovery.phase != Phase::Forward);
        if self.recovery.retransmit_head && self.sender.is_outstanding() {
            let (start, end) = hole.unwrap_or((self.sender.una, self.sender.max));
            return Ok(self.retransmit(start, end));
        }
        if let Some(probe) = self.probe_piece() {
            return Ok(probe);
        }
        match hole {
            Some(_) if room < u64::from(self.sender.mss) => Err(self.wait_for_ack()),
            Some((start, end)) => Ok(self.retransmit(start, end)),
            None => self.next_again(room),
        }
    }

    #[inline(never)]
    fn next_again(&self, congestion_room: u64) -> Result<Piece, Wait> {
        self.next_new(congestion_room)
    }

    /// What the probe carries: new data beyond cwnd, or the last segment.
    fn probe_piece(&self) -> Option<Piece> {
        let flight = self.flight.as_deref().filter(|flight| flight.probe.is_due())?;
        let new = self.new_beyond_windows();
        new.or_else(|| flight.last().map(|(start, end)| self.retransmit(start, end)))
    }

    /// A full segment of new data, or the last, whatever cwnd says and whatever holds small ones.
    fn new_beyond_windows(&self) -> Option<Piece> {
        let sender = &self.sender;
        let start = sender.next.max(sender.max);
        let left = sender.written_end.checked_sub(start)?;
        let len = left.min(self.room_for_data().into());
        let allowed = sender.una.max(1) + u64::from(sender.window);
        let fin = sender.fin && len == left;
        let sends = (len > 0 || fin) && start < sender.end() && start + len <= allowed;
        sends.then(|| Piece { start, len: u32::try_from(len).unwrap_or(u32::MAX), fin })
    }

    /// NextSeg() of RFC 6675, section 4.
    #[inline(never)]
    fn next_by_scoreboard(&self) -> Result<Piece, Wait> {
        let board = self.scoreboard();
        let room = u64::from(self.congestion.window()).saturating_sub(board.pipe());
        if room < u64::from(self.sender.mss) {
            return Err(Wait::Recovery);
        }
        if let Some(hole) = board.next_hole(true) {
            return Ok(self.retransmit(hole.start, hole.end));
        }
        self.next_new(room).or_else(|wait| {
            let again = board
                .next_hole(false)
                .or_else(|| board.rescue().filter(|_| !self.recovery.rescued));
            again.map(|hole| self.retransmit(hole.start, hole.end)).ok_or(wait)
        })
    }

    /// One segment of `[start, end)`, which was sent before.
    fn retransmit(&self, start: u64, end: u64) -> Piece {
        let end = end.min(self.boundary_after(start));
        let data_end = end.min(self.sender.written_end);
        let room = u64::from(self.room_for_data());
        let len = data_end.saturating_sub(start).min(room);
        let fin = self.sender.fin && start + len == self.sender.written_end && end > data_end;
        Piece { start, len: u32::try_from(len).unwrap_or(u32::MAX), fin }
    }

    /// The end of the segment that began at `start` or before, where that is known: what is sent again leaves as it left
    /// before (Linux `tcp_retransmit_skb`).
    #[inline(never)]
    fn boundary_after(&self, start: u64) -> u64 {
        self.flight.as_deref().and_then(|flight| flight.end_of(start)).unwrap_or(u64::MAX)
    }

    /// What follows SND.NXT, as far as the windows and the hold policy allow.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `next_data`")]
    fn next_new(&self, congestion_room: u64) -> Result<Piece, Wait> {
        let sender = &self.sender;
        let start = sender.next;
        if start >= sender.end() {
            return Err(if sender.fin { Wait::Closed } else { Wait::Application });
        }
        let left = sender.written_end - start;
        if left == 0 && (congestion_room >= u64::from(sender.mss) || !self.counts_packets()) {
            return Ok(Piece { start, len: 0, fin: true });
        }
        let receive = (sender.una.max(1) + u64::from(sender.window)).saturating_sub(start);
        let room = Room { congestion: congestion_room, receive };
        if left == 0 {
            return Err(self.window_wait(Room { receive: u64::MAX, ..room }));
        }
        let full = u64::from(self.room_for_data());
        let wanted = match start < sender.max {
            true => left.min(full).min(self.boundary_after(start) - start),
            false => left.min(full),
        };
        // What a timer releases may be the byte that probes a closed window.
        let size = wanted.min(room.congestion).min(receive.max(u64::from(sender.release_held)));
        if size == 0 {
            return Err(self.window_wait(room));
        }
        let fin = sender.fin && size == left;
        let piece = Piece { start, len: u32::try_from(size).unwrap_or(u32::MAX), fin };
        // A full segment is never held.
        if sender.release_held || start < sender.max || size == full {
            return Ok(piece);
        }
        match self.config.policies.hold.decide(self.pending(piece, full, size == left)) {
            HoldDecision::Send => Ok(piece),
            HoldDecision::Nagle => Err(Wait::Nagle),
            HoldDecision::Minshall => Err(Wait::Minshall),
            HoldDecision::Cork => Err(Wait::Cork),
            HoldDecision::SillyWindow => Err(self.window_wait(room)),
        }
    }

    /// Whether cwnd counts packets, so that it holds a FIN back, too (Linux `tcp_cwnd_test`: 6.18 was seen to do so, where
    /// earlier ones were not "strict about the congestion window for the final FIN").
    #[inline]
    pub(super) fn counts_packets(&self) -> bool {
        self.config.policies.loss_detection == LossDetection::Rack
    }

    fn pending(&self, piece: Piece, full: u64, empties_buffer: bool) -> Pending {
        let outstanding = self.sender.is_data_outstanding();
        Pending {
            size: piece.len,
            mss: u32::try_from(full).unwrap_or(u32::MAX),
            empties_buffer,
            carries_fin: piece.fin,
            half_max_window: self.sender.max_window / 2,
            outstanding,
            outstanding_at_call: self.sender.outstanding_at_call.unwrap_or(outstanding),
            small_outstanding: self.sender.is_small_outstanding(),
        }
    }

    /// cwnd is in the way, or something that waits for an ACK as it does.
    pub(super) fn wait_for_ack(&self) -> Wait {
        self.window_wait(Room { congestion: 0, receive: u64::MAX })
    }

    /// Which of the two windows is in the way.
    fn window_wait(&self, room: Room) -> Wait {
        if room.congestion < room.receive {
            return match self.recovery.phase {
                Phase::Fast(_) => Wait::Recovery,
                Phase::GoneBack | Phase::Forward if self.sender.is_outstanding() => {
                    Wait::RetransmissionTimeout
                }
                _ if self.congestion.is_in_slow_start() => Wait::SlowStart,
                _ => Wait::CongestionWindow,
            };
        }
        let nothing_on_its_way = self.sender.next == self.sender.una;
        match room.receive {
            0 => Wait::ReceiveWindow {
                probing: nothing_on_its_way || self.timers.runs(Timer::Persist),
            },
            _ if nothing_on_its_way => Wait::SillyWindow,
            _ => Wait::ReceiveWindow { probing: false },
        }
    }

    /// Data bytes that fit a segment beside the options it would carry (RFC 6691).
    #[inline]
    fn room_for_data(&self) -> u32 {
        let plain = !self.receiver.has_sack_blocks() && !self.sender.fin;
        if plain { self.sender.mss } else { self.room_beside_options() }
    }

    #[inline(never)]
    fn room_beside_options(&self) -> u32 {
        let blocks = u32::try_from(self.receiver.sack_block_count()).unwrap_or(0);
        let sack = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        let promises = self.sender.fin && self.closing.promise().is_some();
        let holder = if promises { TimeWaitHolder::WIRE_BYTES } else { 0 };
        self.sender.mss.saturating_sub(sack + u32::from(holder)).max(1)
    }

    #[inline]
    fn transmit(&mut self, piece: Piece, now: Instant) -> Transmit {
        let piece = if !self.sender.is_outstanding() && piece.len > 0 {
            self.restart_after_idle(piece, now)
        } else {
            piece
        };
        let retransmission = piece.start < self.sender.max;
        self.note_sent(&piece, retransmission, now);
        let empties = piece.start + u64::from(piece.len) == self.sender.written_end;
        let flags = Flags { fin: piece.fin, psh: piece.len > 0 && empties, ..Flags::NONE };
        let what = What {
            seq: self.sender.number(piece.start),
            flags,
            len: piece.len,
            offset: piece.start - 1,
            retransmission,
            ack_reason: None,
            time_wait_holder: if piece.fin { self.closing.promise() } else { None },
        };
        self.segment(what, now)
    }

    fn note_sent(&mut self, piece: &Piece, retransmission: bool, now: Instant) {
        let probing = self.sender.release_held && self.sender.window == 0;
        let small = piece.len < self.sender.mss && piece.len < self.room_for_data();
        let sender = &mut self.sender;
        let end = piece.end();
        if retransmission {
            sender.timed_since = Alarm::OFF;
            self.recovery.note_retransmission(piece.start, end);
        } else {
            sender.time(end, now);
            if small {
                sender.small_end = low(end);
            }
        }
        self.recovery.retransmit_head = false;
        if Flight::is_needed(&self.config.policies) {
            self.note_burst(now);
            self.list_sent(piece.start, end, now);
        }
        let sender = &mut self.sender;
        if piece.start <= sender.next {
            sender.next = sender.next.max(end);
        }
        sender.max = sender.max.max(end);
        let room = u64::from(self.congestion.window()).saturating_sub(sender.next - sender.una);
        sender.usage.note(sender.una, sender.next, room < u64::from(sender.mss));
        sender.release_held = false;
        self.timers.waiting = Alarm::OFF;
        if let Some(episode) = &mut self.recovery.episode {
            let least = if self.flight.is_some() { sender.mss } else { 0 };
            episode.on_sent(piece.start, end, retransmission, least, now);
        }
        self.judge_use(now);
        self.measure_sent(end, piece.len, retransmission, now);
        if piece.len > 0 {
            self.timers.last_send = now;
            self.receiver.on_data_sent(now);
            self.note_paced(piece.len, now);
        }
        if probing {
            self.timers.wait_for(Timer::Persist, self.retransmission_due(now));
        } else if !self.timers.watches_outstanding() {
            self.timers.retransmit(self.retransmission_due(now));
        }
    }

    /// The first data after an idle time: what may leave of it, after the window was changed if it was.
    #[inline(never)]
    fn restart_after_idle(&mut self, piece: Piece, now: Instant) -> Piece {
        self.adjust_unused_window(now);
        let idle = Idle {
            since_send: self.config.policies.timers.elapsed(
                self.timers.last_send,
                self.config.phase(),
                now,
            ),
            since_receive: now.since(self.timers.last_receive),
            rto: self.round_trip.rto(),
            srtt: self.round_trip.srtt(),
            counted: self.counted(),
            windows: self.windows(),
            initial_window: self.window_to_go_on_with(),
            peer_window: self.sender.window,
            mss: self.sender.mss,
        };
        let Some(restart) = self.config.policies.idle_restart.decide(idle) else { return piece };
        if restart.windows != idle.windows {
            self.sender.usage.renew(now);
            self.congestion.on_restart(restart.windows);
        }
        if let Some(pacing) = restart.pacing {
            self.start_pacing(pacing, now);
        }
        self.next_data_again().unwrap_or(piece)
    }

    #[inline(never)]
    fn transmit_syn(&mut self, now: Instant) -> Transmit {
        let retransmission = self.sender.max > 0;
        let offer = self.config.policies.offer;
        let answering = self.state != State::SynSent;
        let scales = if answering { self.receiver.sequence().scales() } else { offer.window_scale };
        let syn = What { retransmission, ..What::bare(self.sender.iss, Flags::SYN, 0) };
        let mut transmit = self.segment(syn, now);
        let options = Options {
            mss: Some(self.config.mss),
            window_scale: scales.then(|| self.receiver.syn_offer().1),
            sack_permitted: if answering {
                self.receiver.sequence().uses_sack()
            } else {
                offer.sack
            },
            timestamps: (if answering {
                self.receiver.sequence().uses_timestamps()
            } else {
                offer.timestamps
            })
            .then(|| self.receiver.clock(now)),
            sack: SackBlocks::default(),
        };
        let len = self.data_with_syn(&options);
        transmit.segment.options = options;
        transmit.segment.len = len;
        transmit.segment.flags.psh = len > 0 && u64::from(len) + 1 == self.sender.written_end;
        transmit.segment.time_wait_holder =
            if answering { self.closing.agreed() } else { self.config.policies.close.wish() };
        if retransmission {
            self.sender.timed_since = Alarm::OFF;
        } else {
            self.sender.time(1, now);
        }
        self.sender.next = 1 + u64::from(len);
        self.sender.max = self.sender.max.max(self.sender.next);
        if len > 0 {
            self.sender.small_end = low(self.sender.next);
            self.timers.last_send = now;
            self.receiver.on_data_sent(now);
        }
        self.timers.retransmit(self.retransmission_due(now));
        transmit
    }

    /// RFC 7323, section 3.2: once negotiated, timestamps SHOULD be sent in an RST, too.
    fn transmit_reset(&self, reset: PendingReset, now: Instant) -> Transmit {
        let mut segment = reset.segment();
        segment.options.timestamps =
            self.receiver.sequence().uses_timestamps().then(|| self.receiver.clock(now));
        Transmit { segment, offset: 0, retransmission: false, ack_reason: None }
    }

    #[inline]
    fn transmit_ack(&mut self, now: Instant) -> Option<Transmit> {
        if self.receiver.must_acknowledge(now) { self.transmit_due_ack(now) } else { None }
    }

    #[inline(never)]
    pub(super) fn transmit_due_ack(&mut self, now: Instant) -> Option<Transmit> {
        let ack_reason = Some(self.receiver.take_due_ack(&self.round_trip, now)?);
        let seq = self.sender.number(self.sender.max);
        let offset = self.sender.max.saturating_sub(1);
        let ack = What { ack_reason, ..What::bare(seq, Flags::NONE, offset) };
        Some(self.segment(ack, now))
    }

    /// A segment with all that every segment carries, SACK blocks excepted: ACK, window, timestamps. It is
    /// built where it will stay, because a copy would wait for its small fields.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "as for `next_data`; and a call would pass it by copying"
    )]
    fn segment(&mut self, what: What, now: Instant) -> Transmit {
        let What { seq, flags, len, offset, retransmission, ack_reason, time_wait_holder } = what;
        let acks = self.state != State::SynSent;
        let window = match flags.syn {
            true => self.receiver.syn_offer().0,
            false => self.receiver.advertise(self.config.policies.ack, self.sender.mss),
        };
        let options = Options {
            timestamps: self
                .receiver
                .sequence()
                .uses_timestamps()
                .then(|| self.receiver.clock(now)),
            ..Options::NONE
        };
        if acks {
            self.receiver.on_ack_sent();
        }
        let ack = acks.then(|| self.receiver.sequence().next_number());
        let segment = Segment { seq, ack, flags, window, options, time_wait_holder, len };
        Transmit { segment, offset, retransmission, ack_reason }
    }

    /// An RST with the next sequence number, or with the last one that the peer's window allows (Linux
    /// `tcp_acceptable_seq`): a probe of a closed window goes beyond it.
    pub(super) fn reset_in_sequence(&self) -> PendingReset {
        let ack = self.receiver.sequence().next_number();
        // A window does not count the SYN.
        let edge = self.sender.una.max(1) + u64::from(self.sender.window);
        PendingReset { seq: self.sender.number(self.sender.max.min(edge)), ack: Some(ack) }
    }
}
