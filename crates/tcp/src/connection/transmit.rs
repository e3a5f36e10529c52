//! The next segment is asked for. Most polls find nothing to send, or an ACK.

use super::Connection;
use crate::{
    handshake::data_with_syn,
    policy::AckReason,
    segment::{Flags, Options, SackBlocks, Segment, TimeWaitHolder},
    send::Piece,
    seq::SeqNumber,
    state::State,
    transmit::{PendingReset, Transmit},
    units::Instant,
    wait::{Timer, Wait},
};

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

impl Connection {
    /// Whether more than an ACK may be left to send.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        !self.sender.sequence().has_sent_all()
            || self.pending_reset.is_some()
            || self.sender.has_work()
    }

    /// The ACK to put on the wire, if one leaves now and nothing else is left to send.
    #[inline]
    pub(crate) fn poll_ack(&mut self, now: Instant) -> Option<Transmit> {
        self.sender.sequence_mut().note_outstanding_at_call();
        if self.receiver.acks().leaves(now) { self.poll_due_ack(now) } else { None }
    }

    #[inline(never)]
    fn poll_due_ack(&mut self, now: Instant) -> Option<Transmit> {
        match self.receiver.has_sack_blocks() {
            true => self.poll_with_sack_blocks(now),
            false => self.transmit_due_ack(now),
        }
    }

    /// The next segment to put on the wire, if there is one.
    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        match self.receiver.has_sack_blocks() {
            true => self.poll_with_sack_blocks(now),
            false => self.next_transmit(now),
        }
    }

    /// SACK blocks, apart from the rest: a segment that meets them is copied once more.
    #[inline(never)]
    fn poll_with_sack_blocks(&mut self, now: Instant) -> Option<Transmit> {
        let mut transmit = self.next_transmit(now);
        if let Some(Transmit { segment, .. }) = &mut transmit
            && !(segment.flags.syn || segment.flags.rst)
            && self.receiver.has_sack_blocks()
        {
            self.receiver.add_sack_blocks(&mut segment.options);
        }
        transmit
    }

    /// What leaves next, SACK blocks excepted.
    #[inline(never)]
    fn next_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(reset) = self.pending_reset.take() {
            return Some(self.transmit_reset(reset, now));
        }
        if matches!(self.state, State::Closed | State::Listen) {
            return self.transmit_ack(now); // Of the peer's FIN, by an end that need not wait.
        }
        if self.sender.sequence().next() == 0 {
            return (!self.syn_waits_for_data()).then(|| self.transmit_syn(now));
        }
        self.sender.sequence_mut().note_outstanding_at_call();
        let full = self.room_for_data();
        let next = match self.waits_for_state() {
            Some(wait) => Err(wait),
            None => self.sender.next_piece(full, &self.config),
        };
        match next
            .and_then(|piece| self.sender.when_paced(piece, now))
            .and_then(|piece| self.sender.unless_deferred(piece, &self.config, now))
        {
            Ok(piece) => Some(self.transmit(piece, full, now)),
            Err(wait) => {
                self.sender.on_wait(wait, &self.config, now);
                self.transmit_ack(now)
            }
        }
    }

    /// Why nothing (more) is sent now; `None` if something would be.
    pub(crate) fn wait(&self) -> Option<Wait> {
        let paced = || self.sender.timers().runs(Timer::Pacing).then_some(Wait::Pacing);
        self.waits_for_state().or_else(|| {
            let full = self.room_for_data();
            self.sender.next_piece_again(full, &self.config).map_or_else(Some, |_| paced())
        })
    }

    /// Why the state of the connection lets nothing leave, if so.
    #[inline]
    pub(super) fn waits_for_state(&self) -> Option<Wait> {
        match self.state {
            State::Closed | State::Listen | State::TimeWait => Some(Wait::Closed),
            _ if self.syn_waits_for_data() => Some(Wait::Application),
            _ if self.sender.sequence().una() == 0 && !self.answers_early() => {
                Some(Wait::Handshake)
            }
            _ => None,
        }
    }

    /// Whether the SYN waits for data to carry.
    #[inline]
    fn syn_waits_for_data(&self) -> bool {
        self.state == State::SynSent
            && self.fast_open.is_some()
            && self.sender.sequence().max() == 0
            && self.sender.sequence().written_end() == 1
    }

    /// Whether data may leave although our SYN is not acknowledged.
    #[inline]
    pub(super) fn answers_early(&self) -> bool {
        self.fast_open.as_ref().is_some_and(|open| open.answers_early())
    }

    /// Data bytes that fit a segment beside the options it would carry (RFC 6691).
    #[inline]
    pub(super) fn room_for_data(&self) -> u32 {
        let sequence = self.sender.sequence();
        let plain = !self.receiver.has_sack_blocks() && !sequence.has_fin();
        if plain { sequence.mss() } else { self.room_beside_options() }
    }

    #[inline(never)]
    fn room_beside_options(&self) -> u32 {
        let blocks = u32::try_from(self.receiver.sack_block_count()).unwrap_or(0);
        let sack = if blocks == 0 { 0 } else { 4 + 8 * blocks };
        let sequence = self.sender.sequence();
        let promises = sequence.has_fin() && self.closing.promise().is_some();
        let holder = if promises { TimeWaitHolder::WIRE_BYTES } else { 0 };
        sequence.mss().saturating_sub(sack + u32::from(holder)).max(1)
    }

    #[inline]
    fn transmit(&mut self, piece: Piece, full: u32, now: Instant) -> Transmit {
        let piece = if !self.sender.sequence().is_outstanding() && piece.len() > 0 {
            self.sender.restart_after_idle(piece, full, &self.config, now)
        } else {
            piece
        };
        let retransmission = piece.start() < self.sender.sequence().max();
        self.sender.on_sent(&piece, full, &self.config, now);
        if piece.len() > 0 {
            self.receiver.acks_mut().data_sent(now);
        }
        let empties = piece.data_end() == self.sender.sequence().written_end();
        let flags = Flags { fin: piece.has_fin(), psh: piece.len() > 0 && empties, ..Flags::NONE };
        let what = What {
            seq: self.sender.sequence().number(piece.start()),
            flags,
            len: piece.len(),
            offset: piece.start() - 1,
            retransmission,
            ack_reason: None,
            time_wait_holder: if piece.has_fin() { self.closing.promise() } else { None },
        };
        self.segment(what, now)
    }

    #[inline(never)]
    fn transmit_syn(&mut self, now: Instant) -> Transmit {
        let sequence = self.sender.sequence();
        let first = sequence.max() == 0;
        let (iss, written) = (sequence.iss(), sequence.written_end() - 1);
        let mut offer = self.config.policies.offer;
        let answering = self.state != State::SynSent;
        if answering {
            let receiver = self.receiver.sequence();
            offer.window_scale = receiver.scales();
            offer.sack = receiver.uses_sack();
            offer.timestamps = receiver.uses_timestamps();
        }
        let syn = What { retransmission: !first, ..What::bare(iss, Flags::SYN, 0) };
        let mut transmit = self.segment(syn, now);
        let options = Options {
            mss: Some(self.config.mss),
            window_scale: offer
                .window_scale
                .then(|| self.receiver.sequence_mut().syn_offer().shift()),
            sack_permitted: offer.sack,
            timestamps: offer.timestamps.then(|| self.receiver.clock(now)),
            sack: SackBlocks::default(),
        };
        let len = match !answering && first && self.fast_open.is_some() {
            true => data_with_syn(written, &options, &self.config),
            false => 0,
        };
        transmit.segment.options = options;
        transmit.segment.len = len;
        transmit.segment.flags.psh = len > 0 && u64::from(len) == written;
        transmit.segment.time_wait_holder = match answering {
            true => self.closing.agreed(),
            false => self.config.policies.close.wish(),
        };
        self.sender.on_syn_sent(len, &self.config, now);
        if len > 0 {
            self.receiver.acks_mut().data_sent(now);
        }
        transmit
    }

    /// RFC 7323, section 3.2: once negotiated, timestamps SHOULD be sent in an RST, too.
    fn transmit_reset(&self, reset: PendingReset, now: Instant) -> Transmit {
        let mut segment = reset.segment();
        segment.options.timestamps = self.receiver.timestamps(now);
        Transmit { segment, offset: 0, retransmission: false, ack_reason: None }
    }

    #[inline]
    fn transmit_ack(&mut self, now: Instant) -> Option<Transmit> {
        if self.receiver.acks().leaves(now) { self.transmit_due_ack(now) } else { None }
    }

    #[inline(never)]
    fn transmit_due_ack(&mut self, now: Instant) -> Option<Transmit> {
        let ack_reason = Some(self.receiver.take_due_ack(self.sender.round_trip(), now)?);
        let sequence = self.sender.sequence();
        let offset = sequence.max().saturating_sub(1);
        let ack = What { ack_reason, ..What::bare(sequence.max_number(), Flags::NONE, offset) };
        Some(self.segment(ack, now))
    }

    /// A segment with all that every segment carries, SACK blocks excepted: ACK, window, timestamps. It is
    /// built where it will stay, because a copy would wait for its small fields.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "each segment needs it, in one function with the rest; and a call would pass it by copying"
    )]
    fn segment(&mut self, what: What, now: Instant) -> Transmit {
        let What { seq, flags, len, offset, retransmission, ack_reason, time_wait_holder } = what;
        let acks = self.state != State::SynSent;
        let mss = self.sender.sequence().mss();
        let sequence = self.receiver.sequence_mut();
        let window = match flags.syn {
            true => sequence.syn_offer().window(),
            false => sequence.advertise(self.config.policies.ack, mss),
        };
        let timestamps = self.receiver.timestamps(now);
        let options = Options { timestamps, ..Options::NONE };
        if acks {
            self.receiver.on_ack_sent();
        }
        let ack = acks.then(|| self.receiver.sequence().next_number());
        let segment = Segment { seq, ack, flags, window, options, time_wait_holder, len };
        Transmit { segment, offset, retransmission, ack_reason }
    }
}
