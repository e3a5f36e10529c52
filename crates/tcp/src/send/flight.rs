//! The list of the segments that are out, oldest byte first: when each was sent, how often, and what
//! became of it.
//!
//! Loss detection by time (`rack`) and samples of the delivery rate (`congestion::delivery_rate`) need it;
//! an endpoint whose policies need neither keeps none, and none has one while nothing is outstanding, unless
//! it is not known what became of a probe.
//!
//! Not here: which segments are lost, which is `rack`'s decision; and bytes that were SACKed without the
//! rest of their segment: a segment is delivered when all of it is.

use alloc::collections::VecDeque;

use super::{
    burst::Burst,
    latest::Latest,
    news::News,
    probe::Probe,
    sent::{Amount, Sent},
};
use crate::{
    alarm::Alarm,
    congestion::Snapshot,
    policy::{CongestionPolicy, LossDetection, Policies},
    units::{Instant, Nanos},
};

/// The segments that are out.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
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
    latest: Latest,
    /// When new data last set it for a probe: more data that leaves at once would set it to the same time.
    probe_set_by_data: Alarm,
    probe: Probe,
    burst: Burst,
    /// What the ACK that is being taken has told.
    news: News,
}

/// Room for an initial window (RFC 6928), so that the flights of most short connections need one allocation.
const FIRST_ROOM: usize = 10;

impl Flight {
    pub(crate) fn new(start: u64, shortest: Nanos) -> Self {
        let mut latest = Latest::default();
        latest.set_shortest(shortest);
        Self {
            segments: VecDeque::with_capacity(FIRST_ROOM),
            start,
            on_the_way: Amount::default(),
            sacked: 0,
            unrepaired: 0,
            first_unrepaired: u64::MAX,
            lost_end: 0,
            latest,
            probe_set_by_data: Alarm::OFF,
            probe: Probe::default(),
            burst: Burst::default(),
            news: News::default(),
        }
    }

    /// Whether `policies` need one.
    #[inline]
    pub(crate) fn is_needed(policies: &Policies) -> bool {
        policies.loss_detection == LossDetection::Rack
            || matches!(policies.congestion, CongestionPolicy::Bbr)
    }

    /// An ACK is taken.
    #[inline]
    pub(crate) fn begin_news(&mut self) {
        self.news = News::new(self.on_the_way.segments, self.latest.highest());
        self.burst.end();
    }

    /// What the ACK that is being taken has told.
    #[inline]
    pub(crate) const fn news(&self) -> &News {
        &self.news
    }

    /// These `segments` have arrived, and had arrived before.
    pub(crate) const fn on_duplicates(&mut self, segments: u32) {
        self.news.on_duplicates(segments);
    }

    /// The delivered segment that was sent last.
    #[inline]
    pub(crate) const fn latest(&self) -> &Latest {
        &self.latest
    }

    #[inline]
    pub(crate) const fn latest_mut(&mut self) -> &mut Latest {
        &mut self.latest
    }

    #[inline]
    pub(crate) const fn probe(&self) -> &Probe {
        &self.probe
    }

    #[inline]
    pub(crate) const fn probe_mut(&mut self) -> &mut Probe {
        &mut self.probe
    }

    /// Whether new data that left at `now` has set the time of a probe. With one segment, a probe waits for longer.
    pub(crate) fn has_set_probe(&self, now: Instant) -> bool {
        self.probe_set_by_data.due() == Some(now) && self.len() > 2
    }

    /// New data sets the time of a probe.
    pub(crate) const fn set_probe_by_data(&mut self, now: Instant) {
        self.probe_set_by_data = Alarm::at(now);
    }

    /// An ACK sets it: the next new data sets it again.
    pub(crate) const fn set_probe_by_ack(&mut self) {
        self.probe_set_by_data = Alarm::OFF;
    }

    /// What leaves together.
    #[inline]
    pub(crate) const fn burst(&self) -> &Burst {
        &self.burst
    }

    pub(crate) const fn burst_mut(&mut self) -> &mut Burst {
        &mut self.burst
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// What is believed to be on its way.
    pub(crate) const fn on_the_way(&self) -> Amount {
        self.on_the_way
    }

    /// Its segments as if they were full ones, and the bytes from `una` on that left with the SYN and are not in the
    /// list: Linux counts cwnd in packets, and a FIN is one (`tcp_packets_in_flight`).
    pub(crate) fn pipe(&self, una: u64, mss: u32) -> u64 {
        let segments = u64::from(self.on_the_way.segments) * u64::from(mss);
        segments + self.start.saturating_sub(una.max(1))
    }

    pub(crate) const fn sacked(&self) -> u32 {
        self.sacked
    }

    pub(crate) const fn lost_end(&self) -> u64 {
        self.lost_end
    }

    pub(crate) const fn has_unrepaired(&self) -> bool {
        self.unrepaired > 0
    }

    /// The oldest segment.
    pub(crate) fn head(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// When the oldest segment was sent last.
    pub(crate) fn head_sent(&self) -> Option<Instant> {
        self.segments.front().map(Sent::at)
    }

    /// The range of the last segment.
    pub(crate) fn last(&self) -> Option<(u64, u64)> {
        let last = self.segments.len().checked_sub(1)?;
        Some((self.start_of(last), self.segments[last].end()))
    }

    /// The lowest segment that is believed lost and was not sent again since.
    pub(crate) fn next_unrepaired(&self) -> Option<(u64, u64)> {
        if self.unrepaired == 0 {
            return None;
        }
        let first = self.index_of(self.first_unrepaired);
        let found = self.segments.range(first..).position(Sent::is_unrepaired)? + first;
        Some((self.start_of(found), self.segments[found].end()))
    }

    /// Whether something leaves next whatever was written.
    pub(crate) const fn has_work(&self) -> bool {
        self.probe.is_due() || self.has_unrepaired()
    }

    /// The first segment that ends after `position`.
    fn index_of(&self, position: u64) -> usize {
        self.segments.partition_point(|sent| sent.end() <= position)
    }

    /// Segments that begin in `[from, to)`, as if they were full ones.
    pub(crate) fn packets(&self, from: u64, to: u64, mss: u32) -> u64 {
        let last = if to > self.start { self.index_of(to - 1) + 1 } else { 0 };
        let segments = last.min(self.segments.len()).saturating_sub(self.index_of(from));
        segments as u64 * u64::from(mss) + self.start.saturating_sub(from)
    }

    /// Whether a segment that begins in `[from, to)` was sent once.
    pub(crate) fn has_sent_once(&self, from: u64, to: u64) -> bool {
        let mut indices = self.index_of(from)..self.segments.len();
        let begins_before = |index: &usize| self.start_of(*index) < to;
        indices.by_ref().take_while(begins_before).any(|index| !self.segments[index].is_repeated())
    }

    /// The end of the segment in which `position` lies.
    pub(crate) fn end_of(&self, position: u64) -> Option<u64> {
        self.segments.get(self.index_of(position)).map(Sent::end)
    }

    fn start_of(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(self.start, |before| self.segments[before].end())
    }

    fn bytes_of(&self, index: usize) -> u64 {
        self.segments[index].end() - self.start_of(index)
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
        self.sacked = self.sacked + u32::from(after.is_sacked()) - u32::from(before.is_sacked());
        self.unrepaired =
            self.unrepaired + u32::from(after.is_unrepaired()) - u32::from(before.is_unrepaired());
        if after.is_unrepaired() {
            self.first_unrepaired = self.first_unrepaired.min(start);
        }
    }

    /// `[start, end)` leaves, for the first time or `again`.
    pub(crate) fn on_sent(&mut self, start: u64, end: u64, snapshot: Snapshot, now: Instant) {
        let known = self.segments.back().map_or(self.start, Sent::end);
        if start < known {
            self.on_sent_again(start.max(self.start), end.min(known), snapshot, now);
        }
        if known < end {
            self.segments.push_back(Sent::new(end, start < known, snapshot, now));
            self.on_the_way.add(1, end - known);
        }
    }

    fn on_sent_again(&mut self, start: u64, end: u64, snapshot: Snapshot, now: Instant) {
        let first = self.index_of(start);
        let is_one = self.segments.get(first).is_some_and(|sent| sent.end() == end)
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
            self.change(index, |sent| sent.send_again(snapshot, now));
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
        let lower = self.segments[index].before(position);
        self.segments.insert(index, lower);
        self.on_the_way.divide(lower.copies());
        self.sacked += u32::from(lower.is_sacked());
        self.unrepaired += u32::from(lower.is_unrepaired());
    }

    /// Everything before `ack` has arrived.
    pub(crate) fn on_ack(&mut self, ack: u64, now: Instant) {
        self.news.begin_acknowledged();
        while let Some(sent) = self.segments.pop_front_if(|sent| sent.end() <= ack) {
            let bytes = sent.end() - self.start;
            self.start = sent.end();
            if sent.is_plain() {
                self.deliver(&sent, self.news.highest, now);
                self.on_the_way.remove(1, bytes);
            } else {
                self.forget_acknowledged(&sent, bytes, now);
            }
        }
        if ack > self.start {
            if let Some(sent) = self.segments.front() {
                self.on_the_way.shorten(sent.copies(), ack - self.start);
            }
            self.start = ack;
        }
    }

    /// The same for a segment about which more is known.
    #[inline(never)]
    fn forget_acknowledged(&mut self, sent: &Sent, bytes: u64, now: Instant) {
        if !sent.is_sacked() {
            self.news.on_acknowledged(sent);
            self.deliver(sent, self.news.highest, now);
        }
        self.on_the_way.remove(sent.copies(), bytes);
        self.sacked -= u32::from(sent.is_sacked());
        self.unrepaired -= u32::from(sent.is_unrepaired());
    }

    /// `[from, to)` is new in a SACKed range `[start, end)`.
    pub(crate) fn on_sack(&mut self, from: u64, to: u64, (start, end): (u64, u64), now: Instant) {
        for index in self.index_of(from)..self.segments.len() {
            let sent = &self.segments[index];
            let begin = self.start_of(index);
            if begin >= to || sent.end() > end {
                return;
            }
            if begin >= start && !sent.is_sacked() {
                let sent = *sent;
                self.deliver(&sent, self.latest.highest(), now);
                self.change(index, Sent::sack);
            }
        }
    }

    /// It has arrived; if it is overtaken, by what ends at `highest`.
    fn deliver(&mut self, sent: &Sent, highest: u64, now: Instant) {
        self.news.on_delivered(sent, now);
        self.latest.on_delivered(sent, highest, now);
    }

    /// Believes the segments lost of which `is_lost` says so, while it says anything, and marks them.
    #[inline]
    pub(crate) fn lose(
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
            self.news.on_lost(&self.segments[index]);
            self.change(index, |sent| {
                sent.lose();
                mark(sent);
            });
            self.lost_end = self.lost_end.max(self.segments[index].end());
            next = index + 1;
        }
    }

    /// No segment counts as lost any more.
    pub(crate) fn find(&mut self) {
        for index in 0..self.segments.len() {
            if self.segments[index].is_lost() {
                self.change(index, Sent::find);
            }
        }
        self.latest.search_again();
    }

    /// The peer has discarded what it had SACKed, if the oldest segment is one of those (Linux
    /// `tcp_timeout_mark_lost`).
    pub(crate) fn forget_discarded(&mut self) {
        if self.segments.front().is_some_and(Sent::is_sacked) {
            for index in 0..self.segments.len() {
                self.change(index, Sent::unsack);
            }
        }
    }
}
