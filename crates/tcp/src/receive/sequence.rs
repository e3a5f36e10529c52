//! The receive sequence space (RFC 9293, section 3.3.1), in positions, and the window we advertise.

use core::{cmp::Ordering, num::NonZeroU64, time::Duration};

use crate::{
    policy::{AckPolicy, BufferTuning, Offer},
    ranges::RangeSet,
    received::{DropReason, Placement, Received},
    segment::{Options, Segment, WindowShift},
    seq::SeqNumber,
    units::Instant,
};

/// What has arrived, what was read, what may come.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveSequence {
    /// IRS.
    irs: SeqNumber,
    /// RCV.NXT.
    next: u64,
    /// The position after the last byte that the application has read.
    read_end: u64,
    /// The right edge of the window that we have advertised; it never moves left.
    edge: u64,
    /// Bytes of the receive buffer.
    buffer: u32,
    /// What our SYN says, once it says it: the buffer may change, that may not.
    syn_offer: Option<SynOffer>,
    /// Both offered window scaling.
    scaling: bool,
    /// Our window shift (RFC 7323); 0 unless both offered.
    window_shift: WindowShift,
    /// What arrived beyond RCV.NXT.
    out_of_order: RangeSet,
    /// Segments that arrived out of order while something was missing: dates the ranges for SACK.
    out_of_order_arrivals: u32,
    /// The position of the peer's FIN, once it has been seen.
    fin: Option<NonZeroU64>,
    /// Both offered SACK.
    sack: bool,
    /// Both offered timestamps.
    timestamps: bool,
    /// TS.Recent and when it was taken; valid with `timestamps`.
    ts_recent: u32,
    ts_recent_at: Instant,
}

/// The data of a segment: from `start` to `kept_end` it is new, and inside the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trimmed {
    first: i64,
    start: u64,
    kept_end: u64,
    end: u64,
    /// Where the peer's stream ends.
    limit: u64,
}

impl Trimmed {
    /// Whether some of it lies beyond the window.
    #[inline]
    pub(crate) const fn exceeds_window(&self) -> bool {
        self.kept_end < self.end
    }
}

/// What a SYN says of the receive window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SynOffer {
    /// RFC 7323, section 2.2: "The Window field in a SYN segment MUST NOT be scaled."
    window: u16,
    /// The smallest shift with which the whole buffer can be offered, if there is one.
    shift: WindowShift,
}

impl SynOffer {
    pub(crate) const fn window(self) -> u16 {
        self.window
    }

    pub(crate) const fn shift(self) -> WindowShift {
        self.shift
    }

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
pub(crate) enum Order {
    /// With the byte that is expected next; nothing has arrived beyond.
    Next,
    /// The same, with data beyond: it fills all or part of a gap.
    FillsGap,
    /// Beyond: something is missing.
    Ahead,
    /// With bytes that are here already.
    Behind,
}

impl ReceiveSequence {
    pub(crate) fn new(buffer: u32, tuning: BufferTuning) -> Self {
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

    pub(crate) const fn buffer(&self) -> u32 {
        self.buffer
    }

    /// Changes the size of the receive buffer.
    pub(crate) const fn set_buffer(&mut self, bytes: u32) {
        self.buffer = bytes;
    }

    /// The SYN offers the window of the present buffer, with the shift of one of `most` bytes.
    pub(crate) fn expect_buffer(&mut self, most: u32) {
        let SynOffer { window, .. } = SynOffer::of(self.buffer);
        let SynOffer { shift, .. } = SynOffer::of(most.max(self.buffer));
        self.syn_offer.get_or_insert(SynOffer { window, shift });
    }

    /// The peer's SYN arrived: RCV.NXT is after it.
    pub(crate) fn begin(&mut self, irs: SeqNumber) {
        self.irs = irs;
        self.next = 1;
        self.edge = 1 + u64::from(self.syn_offer().window);
    }

    /// What the peer's SYN and ours both offer comes into use.
    pub(crate) fn agree(&mut self, ours: Offer, theirs: &Options, now: Instant) {
        self.sack = ours.sack && theirs.sack_permitted;
        if let Some(clock) = theirs.timestamps.filter(|_| ours.timestamps) {
            (self.timestamps, self.ts_recent, self.ts_recent_at) = (true, clock.value, now);
        }
        if theirs.window_scale.is_some() && ours.window_scale {
            self.scaling = true;
            self.window_shift = self.syn_offer().shift;
        }
    }

    /// What every SYN and SYN-ACK of this connection says: the peer may take any of them.
    pub(crate) fn syn_offer(&mut self) -> SynOffer {
        *self.syn_offer.get_or_insert_with(|| SynOffer::of(self.buffer))
    }

    /// IRS.
    pub(crate) const fn irs(&self) -> SeqNumber {
        self.irs
    }

    /// RCV.NXT.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// RCV.NXT as it stands in the header.
    pub(crate) fn next_number(&self) -> SeqNumber {
        self.number(self.next)
    }

    /// What the application has read of the stream, the SYN included.
    pub(crate) const fn read_end(&self) -> u64 {
        self.read_end
    }

    /// Bytes from the first unread one on to the right edge of the window.
    pub(crate) const fn receivable(&self) -> u64 {
        self.edge.saturating_sub(self.read_end)
    }

    /// Both offered window scaling.
    pub(crate) const fn scales(&self) -> bool {
        self.scaling
    }

    pub(crate) const fn window_shift(&self) -> WindowShift {
        self.window_shift
    }

    /// Both offered SACK.
    pub(crate) const fn uses_sack(&self) -> bool {
        self.sack
    }

    /// Both offered timestamps.
    pub(crate) const fn uses_timestamps(&self) -> bool {
        self.timestamps
    }

    /// What the next segment echoes.
    pub(crate) const fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// What has arrived beyond a gap.
    pub(crate) const fn out_of_order(&self) -> &RangeSet {
        &self.out_of_order
    }

    /// Whether something is missing.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// Bytes from RCV.NXT to the end of what has arrived beyond the first gap.
    pub(crate) fn beyond_gap(&self) -> u32 {
        let end = self.out_of_order.end().unwrap_or(self.next);
        u32::try_from(end - self.next).unwrap_or(u32::MAX)
    }

    /// The number on the wire of a position.
    pub(crate) fn number(&self, position: u64) -> SeqNumber {
        self.irs.at(position)
    }

    /// The position of a sequence number, as near to RCV.NXT as the circle allows.
    pub(crate) fn position(&self, number: SeqNumber) -> i64 {
        number.position_in_stream(self.irs, self.next)
    }

    /// Bytes of the stream that have arrived in order, SYN and FIN not counted.
    pub(crate) const fn in_order(&self) -> u64 {
        self.data_end().saturating_sub(1)
    }

    /// The position after the data that has arrived in order; 0 before the SYN.
    const fn data_end(&self) -> u64 {
        let fin_taken = matches!(self.fin, Some(fin) if fin.get() < self.next);
        self.next - fin_taken as u64
    }

    pub(crate) const fn readable(&self) -> u64 {
        self.data_end().saturating_sub(self.read_end)
    }

    pub(crate) fn read(&mut self, bytes: u32) -> u32 {
        let taken = u64::from(bytes).min(self.readable());
        self.read_end += taken;
        u32::try_from(taken).unwrap_or(bytes)
    }

    /// RCV.WND as the peer knows it: from RCV.NXT to the advertised edge.
    pub(crate) const fn window(&self) -> u64 {
        self.edge.saturating_sub(self.next)
    }

    /// Bytes in order that no segment up to ACK = `last_sent` has acknowledged.
    pub(crate) fn unacknowledged(&self, last_sent: u64) -> u32 {
        u32::try_from(self.next.saturating_sub(last_sent)).unwrap_or(u32::MAX)
    }

    /// The order of data that begins at `first`.
    pub(crate) fn order(&self, first: i64) -> Order {
        match first.cmp(&i64::try_from(self.next).unwrap_or(i64::MAX)) {
            Ordering::Less => Order::Behind,
            Ordering::Equal if self.out_of_order.is_empty() => Order::Next,
            Ordering::Equal => Order::FillsGap,
            Ordering::Greater => Order::Ahead,
        }
    }

    /// The data of a segment, which begins at `first`, trimmed to what is new and inside the window.
    #[inline]
    pub(crate) fn trim(&self, segment: &Segment, first: i64) -> Trimmed {
        // Nothing follows a FIN, whatever a peer claims.
        let limit = self.fin.map_or(u64::MAX, NonZeroU64::get);
        let end = u64::try_from(first + i64::from(segment.len)).unwrap_or(0);
        Trimmed {
            first,
            start: u64::try_from(first).unwrap_or(0).max(self.next),
            kept_end: end.min(self.edge).min(limit),
            end,
            limit,
        }
    }

    /// Takes what is left of a segment's data.
    #[inline]
    pub(crate) fn take(&mut self, data: &Trimmed) -> Received {
        let &Trimmed { first, start, kept_end, limit, .. } = data;
        if start >= kept_end {
            let behind_fin = start >= limit;
            Received::Dropped(match behind_fin {
                true => DropReason::BehindFin,
                false => DropReason::OutsideWindow,
            })
        } else if self.accept(start, kept_end) {
            Received::Taken(Some(Placement {
                skip: u32::try_from(as_signed(start) - first).unwrap_or(0),
                offset: start - 1,
                len: u32::try_from(kept_end - start).unwrap_or(u32::MAX),
            }))
        } else {
            Received::Dropped(DropReason::TooManyGaps)
        }
    }

    /// Takes `[start, end)` of the stream, already trimmed to the window. `false` if it could not be
    /// kept because there are too many gaps.
    fn accept(&mut self, start: u64, end: u64) -> bool {
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

    /// Remembers where the peer's stream ends, unless that is beyond the window or below what has
    /// arrived. `false` if it is not believed, or known.
    pub(crate) fn note_fin(&mut self, segment: &Segment) -> bool {
        let end = self.position(segment.data_start() + segment.len);
        let end = u64::try_from(end).unwrap_or(0);
        let arrived = self.out_of_order.end().unwrap_or(self.next);
        let is_new = self.fin.is_none() && (arrived..=self.edge).contains(&end);
        if is_new {
            self.take_fin_at(end);
        }
        is_new
    }

    /// The peer's FIN is at `end`. Behind a gap, its sequence number is kept like data, and so reported by
    /// SACK: RFC 2018, section 3, blocks hold sequence numbers; Linux `tcp_data_queue_ofo` keeps the segment.
    fn take_fin_at(&mut self, end: u64) {
        self.fin = NonZeroU64::new(end);
        if end > self.next {
            self.accept(end, end + 1);
        }
    }

    /// Whether the peer's FIN is next in sequence.
    pub(crate) fn is_at_fin(&self) -> bool {
        self.fin.is_some_and(|fin| fin.get() == self.next)
    }

    /// The peer's FIN is taken.
    pub(crate) const fn pass_fin(&mut self) {
        self.next += 1;
    }

    /// A FIN that ends exactly where the peer's stream ended.
    pub(crate) fn is_fin_again(&self, segment: &Segment) -> bool {
        self.position(segment.end()) == as_signed(self.next)
    }

    /// RFC 9293, section 3.4, table 6, and the allowance for a zero window.
    pub(crate) fn is_acceptable(&self, segment: &Segment) -> bool {
        let start = self.position(segment.seq);
        let len = i64::from(segment.sequence_length());
        let next = as_signed(self.next);
        let edge = as_signed(self.edge.max(self.next));
        if edge == next || len == 0 {
            // "special allowance should be made to accept valid ACKs": the text is trimmed away.
            return start >= next && start < edge || start == next;
        }
        start < edge && start + len > next
    }

    /// PAWS (RFC 7323, section 5.3, R1), unless TS.Recent is older than 24 days (section 5.5).
    pub(crate) fn is_older_by_timestamp(&self, segment: &Segment, now: Instant) -> bool {
        let Some((recent, offered)) = self.timestamp().zip(segment.options.timestamps) else {
            return false;
        };
        let fresh = now.since(self.ts_recent_at) < PAWS_IDLE;
        fresh && SeqNumber(offered.value).precedes(SeqNumber(recent))
    }

    /// TS.Recent follows segments that begin at or before what was last acknowledged (RFC 7323,
    /// section 4.3).
    pub(crate) fn note_timestamp(&mut self, segment: &Segment, last_ack: u64, now: Instant) {
        let Some(offered) = segment.options.timestamps else { return };
        if self.timestamps && self.position(segment.seq) <= as_signed(last_ack) {
            (self.ts_recent, self.ts_recent_at) = (offered.value, now);
        }
    }

    /// Whether a segment behind a gap, which was taken, is a block of its own, and one more than fit into an
    /// ACK of which the next may be lost.
    pub(crate) fn is_further_block(&self, segment: &Segment) -> bool {
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
    pub(crate) fn window_gain(&self) -> u64 {
        self.possible_edge().saturating_sub(self.edge)
    }

    /// Moves the edge if that is not silly, and returns the window for the header, scaled. What scaling
    /// rounds off stays acceptable: RFC 7323, section 2.4, "The receiver MUST honor, as in window, any
    /// segment that would have been in window for any \<ACK\> sent by the receiver".
    pub(crate) fn advertise(&mut self, policy: AckPolicy, mss: u32) -> u16 {
        let shift = self.window_shift.get();
        let window = self.possible_edge().saturating_sub(self.next);
        if policy.advances_edge(self.window_gain(), window, mss, self.buffer) {
            self.edge = self.edge.max(self.next + (window >> shift << shift));
        }
        u16::try_from(self.window() >> shift).unwrap_or(u16::MAX)
    }

    /// TS.Recent, if timestamps are in use.
    pub(crate) const fn timestamp(&self) -> Option<u32> {
        if self.timestamps { Some(self.ts_recent) } else { None }
    }
}

/// Linux `TCP_SACK_BLOCKS_EXPECTED`.
const BLOCKS_EXPECTED: usize = 2;
/// RFC 7323, section 5.5.
const PAWS_IDLE: Duration = Duration::from_secs(24 * 24 * 3600);

/// No stream has 2^63 bytes.
const fn as_signed(position: u64) -> i64 {
    position.cast_signed()
}
