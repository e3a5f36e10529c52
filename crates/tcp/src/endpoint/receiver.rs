//! The receive sequence space (RFC 9293, section 3.3.1), in positions, and the window we advertise.

use core::{cmp::Ordering, num::NonZeroU64};

use crate::{
    policy::{AckPolicy, BufferTuning},
    ranges::RangeSet,
    segment::{Segment, WindowShift},
    seq::SeqNumber,
    units::Instant,
};

/// The receive side: what has arrived, what was read, what may come.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// IRS.
    pub(super) irs: SeqNumber,
    /// RCV.NXT.
    pub(super) next: u64,
    /// The position after the last byte that the application has read.
    pub(super) read_end: u64,
    /// The right edge of the window that we have advertised; it never moves left.
    pub(super) edge: u64,
    /// Bytes of the receive buffer.
    buffer: u32,
    /// What our SYN says, once it says it: the buffer may change, that may not.
    syn_offer: Option<SynOffer>,
    /// Both offered window scaling.
    pub(super) scaling: bool,
    /// Our window shift (RFC 7323); 0 unless both offered.
    pub(super) window_shift: WindowShift,
    /// What arrived beyond RCV.NXT.
    pub(super) out_of_order: RangeSet,
    /// Segments that arrived out of order while something was missing: dates the ranges for SACK.
    out_of_order_arrivals: u32,
    /// The position of the peer's FIN, once it has been seen.
    pub(super) fin: Option<NonZeroU64>,
    /// Both offered SACK.
    pub(super) sack: bool,
    /// Both offered timestamps.
    pub(super) timestamps: bool,
    /// TS.Recent and when it was taken; valid with `timestamps`.
    pub(super) ts_recent: u32,
    pub(super) ts_recent_at: Instant,
}

/// What a SYN says of the receive window.
#[derive(Clone, Copy, Debug)]
pub(super) struct SynOffer {
    /// RFC 7323, section 2.2: "The Window field in a SYN segment MUST NOT be scaled."
    pub(super) window: u16,
    /// The smallest shift with which the whole buffer can be offered, if there is one.
    pub(super) shift: WindowShift,
}

impl SynOffer {
    fn of(buffer: u32) -> Self {
        let fits = |shift: &u8| buffer >> shift <= u32::from(u16::MAX);
        let shift = (0..WindowShift::MAX.get()).find(fits);
        Self {
            window: u16::try_from(buffer).unwrap_or(u16::MAX),
            shift: shift.map_or(WindowShift::MAX, WindowShift::new),
        }
    }
}

/// Where arriving data begins, against what is here.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Order {
    /// With the byte that is expected next; nothing has arrived beyond.
    Next,
    /// The same, with data beyond: it fills all or part of a gap.
    FillsGap,
    /// Beyond: something is missing.
    Ahead,
    /// With bytes that are here already.
    Behind,
}

impl Receiver {
    pub(super) fn new(buffer: u32, tuning: BufferTuning) -> Self {
        let mut receiver = Self {
            irs: SeqNumber(0),
            next: 0,
            read_end: 1,
            edge: 0,
            buffer,
            syn_offer: None,
            scaling: false,
            window_shift: WindowShift::NONE,
            out_of_order: RangeSet::NONE,
            out_of_order_arrivals: 0,
            fin: None,
            sack: false,
            timestamps: false,
            ts_recent: 0,
            ts_recent_at: Instant::EPOCH,
        };
        // With the shift of the largest buffer, a tiny one could not be announced. Linux begins with 64 KB.
        if tuning == BufferTuning::Linux && buffer >= u32::from(u16::MAX) {
            receiver.expect_buffer(BufferTuning::LINUX_MAX_SPACE);
        }
        receiver
    }

    pub(super) const fn buffer(&self) -> u32 {
        self.buffer
    }

    /// Changes the size of the receive buffer.
    pub(super) const fn set_buffer(&mut self, bytes: u32) {
        self.buffer = bytes;
    }

    /// The SYN offers the window of the present buffer, with the shift of one of `most` bytes.
    pub(super) fn expect_buffer(&mut self, most: u32) {
        let SynOffer { window, .. } = SynOffer::of(self.buffer);
        let SynOffer { shift, .. } = SynOffer::of(most.max(self.buffer));
        self.syn_offer.get_or_insert(SynOffer { window, shift });
    }

    /// The peer's SYN arrived: RCV.NXT is after it.
    pub(super) fn begin(&mut self, irs: SeqNumber) {
        self.irs = irs;
        self.next = 1;
        self.edge = 1 + u64::from(self.syn_offer().window);
    }

    /// What every SYN and SYN-ACK of this connection says: the peer may take any of them.
    pub(super) fn syn_offer(&mut self) -> SynOffer {
        *self.syn_offer.get_or_insert_with(|| SynOffer::of(self.buffer))
    }

    /// The number on the wire of a position.
    pub(super) fn number(&self, position: u64) -> SeqNumber {
        self.irs.at(position)
    }

    /// The position of a sequence number, as near to RCV.NXT as the circle allows.
    pub(super) fn position(&self, number: SeqNumber) -> i64 {
        number.position_in_stream(self.irs, self.next)
    }

    /// Bytes of the stream that have arrived in order, SYN and FIN not counted.
    pub(super) const fn in_order(&self) -> u64 {
        self.data_end().saturating_sub(1)
    }

    /// The position after the data that has arrived in order; 0 before the SYN.
    const fn data_end(&self) -> u64 {
        let fin_taken = matches!(self.fin, Some(fin) if fin.get() < self.next);
        self.next - fin_taken as u64
    }

    pub(super) const fn readable(&self) -> u64 {
        self.data_end().saturating_sub(self.read_end)
    }

    pub(super) fn read(&mut self, bytes: u32) -> u32 {
        let taken = u64::from(bytes).min(self.readable());
        self.read_end += taken;
        u32::try_from(taken).unwrap_or(bytes)
    }

    /// RCV.WND as the peer knows it: from RCV.NXT to the advertised edge.
    pub(super) const fn window(&self) -> u64 {
        self.edge.saturating_sub(self.next)
    }

    /// Bytes in order that no segment up to ACK = `last_sent` has acknowledged.
    pub(super) fn unacknowledged(&self, last_sent: u64) -> u32 {
        u32::try_from(self.next.saturating_sub(last_sent)).unwrap_or(u32::MAX)
    }

    /// The order of data that begins at `first`.
    pub(super) fn order(&self, first: i64) -> Order {
        match first.cmp(&i64::try_from(self.next).unwrap_or(i64::MAX)) {
            Ordering::Less => Order::Behind,
            Ordering::Equal if self.out_of_order.is_empty() => Order::Next,
            Ordering::Equal => Order::FillsGap,
            Ordering::Greater => Order::Ahead,
        }
    }

    /// Takes `[start, end)` of the stream, already trimmed to the window. `false` if it could not be
    /// kept because there are too many gaps.
    pub(super) fn accept(&mut self, start: u64, end: u64) -> bool {
        if start > self.next {
            self.out_of_order_arrivals = match self.out_of_order.is_empty() {
                true => 0,
                false => self.out_of_order_arrivals.saturating_add(1),
            };
            return self.out_of_order.insert(start, end, self.out_of_order_arrivals);
        }
        self.out_of_order.remove_before(end);
        let next = self.out_of_order.take_from(end).unwrap_or(end);
        // The peer's FIN is taken apart from the data before it.
        self.next = self.fin.map_or(next, |fin| next.min(fin.get()));
        true
    }

    /// The peer's FIN is at `end`. Behind a gap, its sequence number is kept like data, and so reported by
    /// SACK: RFC 2018, section 3, blocks hold sequence numbers; Linux `tcp_data_queue_ofo` keeps the segment.
    pub(super) fn take_fin_at(&mut self, end: u64) {
        self.fin = NonZeroU64::new(end);
        if end > self.next {
            self.accept(end, end + 1);
        }
    }

    /// Whether a segment behind a gap, which was taken, is a block of its own, and one more than fit into an
    /// ACK of which the next may be lost.
    pub(super) fn is_further_block(&self, segment: &Segment) -> bool {
        let [start, end] = [segment.data_start(), segment.data_start() + segment.len]
            .map(|number| u64::try_from(self.position(number)).unwrap_or(0));
        self.out_of_order.len() > BLOCKS_EXPECTED
            && self.out_of_order.around(start) == Some((start, end))
    }

    /// Where the right edge would be if it were advertised now: as far as the buffer and the header's
    /// 16 bits reach.
    fn possible_edge(&self) -> u64 {
        let header = u64::from(self.window_shift.bytes(u16::MAX));
        (self.read_end + u64::from(self.buffer)).min(self.next + header)
    }

    /// Bytes by which the window would grow if it were advertised now.
    pub(super) fn window_gain(&self) -> u64 {
        self.possible_edge().saturating_sub(self.edge)
    }

    /// Moves the edge if that is not silly, and returns the window for the header, scaled. What scaling
    /// rounds off stays acceptable: RFC 7323, section 2.4, "The receiver MUST honor, as in window, any
    /// segment that would have been in window for any \<ACK\> sent by the receiver".
    pub(super) fn advertise(&mut self, policy: AckPolicy, mss: u32) -> u16 {
        let shift = self.window_shift.get();
        let window = self.possible_edge().saturating_sub(self.next);
        if policy.advances_edge(self.window_gain(), window, mss, self.buffer) {
            self.edge = self.edge.max(self.next + (window >> shift << shift));
        }
        u16::try_from(self.window() >> shift).unwrap_or(u16::MAX)
    }

    /// TS.Recent, if timestamps are in use.
    pub(super) const fn timestamp(&self) -> Option<u32> {
        if self.timestamps { Some(self.ts_recent) } else { None }
    }
}

/// Linux `TCP_SACK_BLOCKS_EXPECTED`.
const BLOCKS_EXPECTED: usize = 2;
