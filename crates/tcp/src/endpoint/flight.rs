//! The list of the segments that are out, oldest byte first: when each was sent, how often, and what
//! became of it.
//!
//! Loss detection by time (`rack`) and samples of the delivery rate (`congestion::delivery_rate`) need it;
//! an endpoint whose policies need neither keeps none, and none has one while nothing is outstanding, unless
//! it is not known what became of a probe.
//!
//! Not here: which segments are lost, which is `rack`'s decision; and bytes that were SACKed without the
//! rest of their segment: a segment is delivered when all of it is.

use alloc::{boxed::Box, collections::VecDeque};

use super::{Endpoint, probe::Probe};
use crate::{
    alarm::Alarm,
    congestion::Snapshot,
    policy::{CongestionPolicy, LossDetection, Policies},
    ranges::RangeSet,
    units::{Instant, Nanos},
};

/// The segments that are out.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    segments: VecDeque<Sent>,
    /// Where the first of them begins.
    start: u64,
    /// Copies that are believed to be on their way.
    on_the_way: Amount,
    /// Segments that the peer has SACKed.
    sacked: u32,
    /// Segments that are believed lost and were not sent again since.
    unrepaired: u32,
    /// No segment below is one of them.
    first_unrepaired: u64,
    /// The end of the highest segment that was ever believed lost.
    lost_end: u64,
    /// The delivered segment that was sent last.
    pub(super) latest: Latest,
    /// When new data last set it for a probe: more data that leaves at once would set it to the same time.
    pub(super) probe_set_by_data: Alarm,
    pub(super) probe: Probe,
    /// Segments that are left of what leaves together.
    pub(super) burst: u16,
    /// How many will leave together with the segment that is about to leave, if that was asked.
    pub(super) next_burst: Option<u32>,
    /// What the ACK that is being taken has told.
    pub(super) news: News,
}

/// A segment that is out. It begins where the one before ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) end: u64,
    /// When it was sent last.
    pub(super) at: Instant,
    /// What had been delivered then.
    snapshot: Snapshot,
    /// It has arrived.
    sacked: bool,
    /// Its first copy, or the one before the copy that is out, is believed lost.
    lost: bool,
    /// A retransmission of it is out.
    again: bool,
    /// It was sent more than once, so that it is not known which copy an ACK is for.
    pub(super) repeated: bool,
    /// It was believed lost because of what was sent later, and does not so again before it is sent again: Linux takes
    /// it off the list by which it looks for losses (`tcp_rack_detect_loss`), also if that was no loss.
    pub(super) judged: bool,
}

/// The delivered segment that was sent last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Latest {
    /// RACK.xmit_ts and RACK.end_seq.
    at: Instant,
    end: u64,
    /// RACK.rtt.
    round_trip: Nanos,
    /// RACK.fack: the end of the highest segment that has been delivered.
    pub(super) highest: u64,
    /// RACK.dsack_round: until this is acknowledged, a further D-SACK does not count. 0: not set.
    pub(super) dsack_until: u64,
    /// A segment was delivered since losses were looked for.
    pub(super) advanced: bool,
    /// How far below a higher one one was delivered that was sent once only, in bytes; 0 if none was.
    pub(super) overtaken: u32,
    /// Of a retransmission that was delivered: too short a round trip means the first copy was.
    pub(super) shortest: Nanos,
}

/// Segments and their bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Amount {
    pub(super) segments: u32,
    pub(super) bytes: u64,
}

/// What one ACK tells of the segments that were out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// Segments that were on their way before it.
    pub(super) on_the_way: u32,
    /// RACK.fack before it.
    highest: u64,
    /// Segments that it has delivered.
    pub(super) delivered: u32,
    /// Segments that are believed lost because of it.
    pub(super) lost: u32,
    /// Some of them had been sent again.
    pub(super) lost_again: bool,
    /// The longest round trip of a segment that was sent once: of the one sent first. Of those that the ACK
    /// acknowledges by its number, once they are taken.
    pub(super) first_round_trip: Option<Nanos>,
    /// The same of those that it SACKs.
    pub(super) sacked_round_trip: Option<Nanos>,
    /// The round trip of the one sent last.
    pub(super) last_round_trip: Option<Nanos>,
    /// A segment was acknowledged that was sent more than once.
    pub(super) repeated: bool,
    /// Of the delivered segment that was sent when most had been delivered.
    pub(super) rate: Option<(Snapshot, Instant)>,
}

/// Room for an initial window (RFC 6928), so that the flights of most short connections need one allocation.
const FIRST_ROOM: usize = 10;

impl Sent {
    /// How many copies of it are believed to be on their way.
    const fn copies(&self) -> u32 {
        if self.sacked { 0 } else { !self.lost as u32 + self.again as u32 }
    }

    /// Whether it was sent once, and nothing is known of it.
    const fn is_plain(&self) -> bool {
        !(self.sacked | self.lost | self.again | self.repeated)
    }

    const fn is_unrepaired(&self) -> bool {
        !self.sacked && self.lost && !self.again
    }

    /// Whether a copy of it is believed to be on its way.
    pub(super) const fn is_out(&self) -> bool {
        !self.sacked & (!self.lost | self.again)
    }
}

impl Flight {
    fn new(start: u64) -> Self {
        Self {
            segments: VecDeque::with_capacity(FIRST_ROOM),
            start,
            on_the_way: Amount::default(),
            sacked: 0,
            unrepaired: 0,
            first_unrepaired: u64::MAX,
            lost_end: 0,
            latest: Latest::default(),
            probe_set_by_data: Alarm::OFF,
            probe: Probe::default(),
            burst: 0,
            next_burst: None,
            news: News::default(),
        }
    }

    /// Whether `policies` need one.
    #[inline]
    pub(super) fn is_needed(policies: &Policies) -> bool {
        policies.loss_detection == LossDetection::Rack
            || matches!(policies.congestion, CongestionPolicy::Bbr)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// What is believed to be on its way.
    pub(super) const fn on_the_way(&self) -> Amount {
        self.on_the_way
    }

    /// Its segments as if they were full ones, and the bytes from `una` on that left with the SYN and are not in the
    /// list: Linux counts cwnd in packets, and a FIN is one (`tcp_packets_in_flight`).
    pub(super) fn pipe(&self, una: u64, mss: u32) -> u64 {
        let segments = u64::from(self.on_the_way.segments) * u64::from(mss);
        segments + self.start.saturating_sub(una.max(1))
    }

    pub(super) const fn sacked(&self) -> u32 {
        self.sacked
    }

    pub(super) const fn lost_end(&self) -> u64 {
        self.lost_end
    }

    pub(super) const fn has_unrepaired(&self) -> bool {
        self.unrepaired > 0
    }

    /// The oldest segment.
    pub(super) fn head(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// When the oldest segment was sent last.
    pub(super) fn head_sent(&self) -> Option<Instant> {
        self.segments.front().map(|sent| sent.at)
    }

    /// The range of the last segment.
    pub(super) fn last(&self) -> Option<(u64, u64)> {
        let last = self.segments.len().checked_sub(1)?;
        Some((self.start_of(last), self.segments[last].end))
    }

    /// The lowest segment that is believed lost and was not sent again since.
    pub(super) fn next_unrepaired(&self) -> Option<(u64, u64)> {
        if self.unrepaired == 0 {
            return None;
        }
        let first = self.index_of(self.first_unrepaired);
        let found = self.segments.range(first..).position(Sent::is_unrepaired)? + first;
        Some((self.start_of(found), self.segments[found].end))
    }

    /// Whether something leaves next whatever was written.
    pub(super) const fn has_work(&self) -> bool {
        self.probe.is_due() || self.has_unrepaired()
    }

    /// The first segment that ends after `position`.
    fn index_of(&self, position: u64) -> usize {
        self.segments.partition_point(|sent| sent.end <= position)
    }

    /// Segments that begin in `[from, to)`, as if they were full ones.
    pub(super) fn packets(&self, from: u64, to: u64, mss: u32) -> u64 {
        let last = if to > self.start { self.index_of(to - 1) + 1 } else { 0 };
        let segments = last.min(self.segments.len()).saturating_sub(self.index_of(from));
        segments as u64 * u64::from(mss) + self.start.saturating_sub(from)
    }

    /// Whether a segment that begins in `[from, to)` was sent once.
    pub(super) fn has_sent_once(&self, from: u64, to: u64) -> bool {
        let mut indices = self.index_of(from)..self.segments.len();
        let begins_before = |index: &usize| self.start_of(*index) < to;
        indices.by_ref().take_while(begins_before).any(|index| !self.segments[index].repeated)
    }

    /// The end of the segment in which `position` lies.
    pub(super) fn end_of(&self, position: u64) -> Option<u64> {
        self.segments.get(self.index_of(position)).map(|sent| sent.end)
    }

    fn start_of(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(self.start, |before| self.segments[before].end)
    }

    fn bytes_of(&self, index: usize) -> u64 {
        self.segments[index].end - self.start_of(index)
    }

    /// Does something to a segment, and keeps the counts.
    fn change(&mut self, index: usize, change: impl FnOnce(&mut Sent)) {
        let (start, bytes) = (self.start_of(index), self.bytes_of(index));
        let sent = &mut self.segments[index];
        let before = *sent;
        change(sent);
        let after = *sent;
        self.on_the_way.remove(before.copies(), bytes);
        self.on_the_way.add(after.copies(), bytes);
        self.sacked = self.sacked + u32::from(after.sacked) - u32::from(before.sacked);
        self.unrepaired =
            self.unrepaired + u32::from(after.is_unrepaired()) - u32::from(before.is_unrepaired());
        if after.is_unrepaired() {
            self.first_unrepaired = self.first_unrepaired.min(start);
        }
    }

    /// `[start, end)` leaves, for the first time or `again`.
    pub(super) fn on_sent(&mut self, start: u64, end: u64, snapshot: Snapshot, now: Instant) {
        let known = self.segments.back().map_or(self.start, |last| last.end);
        if start < known {
            self.on_sent_again(start.max(self.start), end.min(known), snapshot, now);
        }
        if known < end {
            let repeated = start < known;
            self.segments.push_back(Sent {
                end,
                at: now,
                snapshot,
                sacked: false,
                lost: false,
                again: false,
                repeated,
                judged: false,
            });
            self.on_the_way.add(1, end - known);
        }
    }

    fn on_sent_again(&mut self, start: u64, end: u64, snapshot: Snapshot, now: Instant) {
        let first = self.index_of(start);
        let is_one = self.segments.get(first).is_some_and(|sent| sent.end == end)
            && self.start_of(first) == start;
        // Most leave as they left before.
        let indices = if is_one {
            first..first + 1
        } else {
            self.split_at(start);
            self.split_at(end);
            self.index_of(start)..self.index_of(end)
        };
        for index in indices {
            self.change(index, |sent| {
                (sent.at, sent.snapshot, sent.again, sent.repeated) = (now, snapshot, true, true);
                sent.judged = false;
            });
        }
        if self.first_unrepaired == start {
            self.first_unrepaired = end;
        }
    }

    /// Makes `position` a boundary between segments. A segment that leaves again may be smaller than
    /// before: beside options, or because the path takes less.
    fn split_at(&mut self, position: u64) {
        let index = self.index_of(position);
        if index == self.segments.len() || self.start_of(index) >= position {
            return;
        }
        let lower = Sent { end: position, ..self.segments[index] };
        self.segments.insert(index, lower);
        self.on_the_way.segments += lower.copies();
        self.sacked += u32::from(lower.sacked);
        self.unrepaired += u32::from(lower.is_unrepaired());
    }

    /// Everything before `ack` has arrived.
    pub(super) fn on_ack(&mut self, ack: u64, now: Instant) {
        self.news.sacked_round_trip = self.news.first_round_trip.take();
        while let Some(sent) = self.segments.pop_front_if(|sent| sent.end <= ack) {
            let bytes = sent.end - self.start;
            self.start = sent.end;
            if sent.is_plain() {
                self.deliver(&sent, self.news.highest, now);
                self.on_the_way.remove(1, bytes);
            } else {
                self.forget_acknowledged(&sent, bytes, now);
            }
        }
        if ack > self.start {
            if let Some(sent) = self.segments.front() {
                self.on_the_way.bytes -= (ack - self.start) * u64::from(sent.copies());
            }
            self.start = ack;
        }
    }

    /// The same for a segment about which more is known.
    #[inline(never)]
    fn forget_acknowledged(&mut self, sent: &Sent, bytes: u64, now: Instant) {
        if !sent.sacked {
            self.news.repeated |= sent.repeated;
            self.deliver(sent, self.news.highest, now);
        }
        self.on_the_way.remove(sent.copies(), bytes);
        self.sacked -= u32::from(sent.sacked);
        self.unrepaired -= u32::from(sent.is_unrepaired());
    }

    /// `[from, to)` is new in a SACKed range `[start, end)`.
    pub(super) fn on_sack(&mut self, from: u64, to: u64, (start, end): (u64, u64), now: Instant) {
        for index in self.index_of(from)..self.segments.len() {
            let sent = &self.segments[index];
            let begin = self.start_of(index);
            if begin >= to || sent.end > end {
                return;
            }
            if begin >= start && !sent.sacked {
                let sent = *sent;
                self.deliver(&sent, self.latest.highest, now);
                self.change(index, |sent| sent.sacked = true);
            }
        }
    }

    /// It has arrived; if it is overtaken, by what ends at `highest`.
    fn deliver(&mut self, sent: &Sent, highest: u64, now: Instant) {
        let news = &mut self.news;
        news.delivered += 1;
        if !sent.repeated {
            let round_trip = Nanos::between(sent.at, now);
            news.first_round_trip = news.first_round_trip.max(Some(round_trip));
            news.last_round_trip =
                Some(news.last_round_trip.map_or(round_trip, |known| known.min(round_trip)));
        }
        if news.rate.is_none_or(|(known, _)| known.is_before(sent.snapshot)) {
            news.rate = Some((sent.snapshot, sent.at));
        }
        self.latest.on_delivered(sent, highest, now);
    }

    /// Believes the segments lost of which `is_lost` says so, while it says anything, and marks them.
    #[inline]
    pub(super) fn lose(
        &mut self,
        mut is_lost: impl FnMut(&Sent) -> Option<bool>,
        mark: impl Fn(&mut Sent),
    ) {
        let (mut next, mut goes_on) = (0, true);
        while goes_on {
            // Each ACK of a repair searches: an iterator is faster than an index.
            let found = self.segments.range(next..).position(|sent| {
                sent.is_out() && {
                    let verdict = is_lost(sent);
                    goes_on = verdict.is_some();
                    verdict != Some(false)
                }
            });
            let Some(index) = found.filter(|_| goes_on).map(|found| next + found) else { return };
            self.news.lost_again |= self.segments[index].again;
            self.change(index, |sent| {
                (sent.lost, sent.again) = (true, false);
                mark(sent);
            });
            self.news.lost += 1;
            self.lost_end = self.lost_end.max(self.segments[index].end);
            next = index + 1;
        }
    }

    /// No segment counts as lost any more.
    pub(super) fn find(&mut self) {
        for index in 0..self.segments.len() {
            if self.segments[index].lost {
                self.change(index, |sent| sent.lost = false);
            }
        }
    }

    /// The peer has discarded what it had SACKed, if the oldest segment is one of those (Linux
    /// `tcp_timeout_mark_lost`).
    pub(super) fn forget_discarded(&mut self) {
        if self.segments.front().is_some_and(|head| head.sacked) {
            for index in 0..self.segments.len() {
                self.change(index, |sent| sent.sacked = false);
            }
        }
    }
}

impl Amount {
    fn add(&mut self, copies: u32, bytes: u64) {
        self.segments += copies;
        self.bytes += u64::from(copies) * bytes;
    }

    fn remove(&mut self, copies: u32, bytes: u64) {
        self.segments -= copies;
        self.bytes -= u64::from(copies) * bytes;
    }
}

impl Latest {
    /// RFC 8985, section 6.2, steps 2 and 3. As in Linux `tcp_rack_advance`, the round trip is that of the
    /// last delivered segment, also if one that was sent later had been delivered before.
    ///
    /// What an ACK acknowledges has not been overtaken by what it SACKs, only by what was SACKed before (`prior_fack` in
    /// `tcp_clean_rtx_queue`).
    pub(super) fn on_delivered(&mut self, sent: &Sent, highest: u64, now: Instant) {
        self.highest = self.highest.max(sent.end);
        if sent.end < highest && !sent.repeated {
            let by = u32::try_from(highest - sent.end).unwrap_or(u32::MAX);
            self.overtaken = self.overtaken.max(by);
        }
        let round_trip = Nanos::between(sent.at, now);
        // "If the segment was retransmitted and the RTT is less than RACK.min_rtt": its first copy arrived.
        if sent.repeated && round_trip < self.shortest {
            return;
        }
        self.advanced = true;
        self.round_trip = round_trip;
        if self.is_after(sent) {
            return;
        }
        (self.at, self.end) = (sent.at, sent.end);
    }

    /// RACK_sent_after(): whether it was sent after `sent`.
    pub(super) fn is_after(&self, sent: &Sent) -> bool {
        (self.at, self.end) > (sent.at, sent.end)
    }

    /// How long `sent` may still take before it counts as lost.
    pub(super) fn remaining(&self, sent: &Sent, window: Nanos, now: Instant) -> Nanos {
        (self.round_trip + window) - Nanos::between(sent.at, now)
    }
}

impl Endpoint {
    /// Whether losses are found by time: RFC 8985 needs SACK (section 4).
    #[inline]
    pub(super) fn detects_by_time(&self) -> bool {
        self.flight.is_some()
            && self.receiver.sequence().uses_sack()
            && self.config.policies.loss_detection == LossDetection::Rack
    }

    /// `[start, end)` leaves, and the policies need the list.
    #[inline(never)]
    pub(super) fn list_sent(&mut self, start: u64, end: u64, now: Instant) {
        let idle = self.flight.as_deref().is_none_or(Flight::is_empty);
        let snapshot = self.congestion.on_sent(idle, now);
        let shortest = self.rack.min_rtt().unwrap_or_default();
        let flight = self.flight.get_or_insert_with(|| {
            let mut flight = Flight::new(start);
            flight.latest.shortest = shortest;
            Box::new(flight)
        });
        flight.on_sent(start, end, snapshot, now);
        self.schedule_probe_on_sent(start, end, now);
    }

    /// An ACK is taken.
    #[inline]
    pub(super) fn begin_news(&mut self) {
        if let Some(flight) = self.flight.as_deref_mut() {
            flight.news = News {
                on_the_way: flight.on_the_way.segments,
                highest: flight.latest.highest,
                ..News::default()
            };
            flight.burst = 0;
        }
    }

    /// The peer has SACKed `[left, right)`, which `sacked` does not contain yet.
    pub(super) fn list_sacked(&mut self, left: u64, right: u64, now: Instant) {
        let Some(flight) = self.flight.as_deref_mut() else { return };
        let sacked: &RangeSet = &self.recovery.sacked;
        if let Some(range) = sacked.around(left) {
            flight.on_sack(left, right, range, now);
        }
    }

    /// What the ACK that is being taken has told.
    pub(super) fn news(&self) -> Option<&News> {
        self.flight.as_deref().map(|flight| &flight.news)
    }

    /// Gives the list back when nothing is outstanding, and no probe is in question.
    pub(super) fn drop_empty_flight(&mut self) {
        if self.flight.as_deref().is_some_and(|it| it.is_empty() && !it.probe.is_out()) {
            self.flight = None;
        }
    }
}
