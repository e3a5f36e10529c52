//! What packets of one sender show of the rate of links.

use super::{
    Acknowledgement, Confidence, Departure, Gap, Instant, Nanos, OfBurst, Pace, PathDelays,
    SeenData, Sender, Spacing, Stall,
};
use crate::attribution::train::Train;

impl Sender {
    /// The paces of the path before the vantage point and behind it.
    pub(crate) const fn paces(&self) -> [Pace; 2] {
        [self.bottleneck.before, self.bottleneck.behind]
    }

    /// What another look has shown of the path.
    pub(crate) const fn set_paces(&mut self, paces: [Pace; 2]) {
        [self.bottleneck.before, self.bottleneck.behind] = paces;
    }

    /// When links are done with what it has sent.
    pub(crate) const fn free_at(&self) -> Instant {
        self.bottleneck.free_at()
    }

    /// When the acknowledgement left of what links have delivered last, if that is too long ago for them to be
    /// busy: they deliver two full segments in the time of two, and RFC 5681, section 4.2, lets no receiver wait
    /// after two, nor with what comes behind a hole.
    pub(super) fn silent_since(
        &self,
        last: &Departure,
        sent: Instant,
        delays: &PathDelays,
    ) -> Option<Instant> {
        // One acknowledgement of nothing new may answer a probe without data.
        let at = if self.repeated_acks > 1 { self.heard_at } else { self.progress_at };
        let at = at.filter(|at| *at > last.sent)?;
        let two = self.bottleneck.time(2 * (self.full + Pace::HEADERS));
        let is_overdue = self.flight() >= 2 * self.full
            && Nanos::between(at, sent) > two + Stall::least(delays.round_trip);
        is_overdue.then(|| at - delays.round_trip / 2)
    }

    /// What an acknowledgement that nothing has delayed leaves outstanding, is on the link in order behind what it
    /// covers, and that had just been delivered when it left: so errors of the rate do not add up.
    pub(super) fn go_on_behind(&mut self, ack: &Acknowledgement, delays: &PathDelays) {
        let is_doubtful = self.bottleneck.is_unknown() || self.bottleneck.sure() < Confidence::High;
        let is_lossy = ack.sacks || self.recover.is_some();
        let rest = self.highest.saturating_sub(ack.acked);
        let Some(last) = self.last.as_ref().filter(|_| rest > 0 && self.full > 0) else { return };
        if is_doubtful || is_lossy || ack.held > Nanos::ZERO || !delays.is_next_to_sender() {
            return;
        }
        let way = delays.round_trip / 2 - self.bottleneck.time(Pace::HEADERS);
        let delivered = ack.seen - (delays.receiver + way);
        let headers = rest.div_ceil(self.full) * Pace::HEADERS;
        let busy_until = delivered + self.bottleneck.time(rest + headers);
        // By more than half of the time, no rate is wrong: the path has held the acknowledgement. Our choice.
        let later = Nanos::between(self.bottleneck.free_at(), busy_until);
        if later * 2 <= Nanos::between(last.seen, ack.seen) {
            self.bottleneck.is_busy_until(busy_until);
        }
    }

    /// The train that data belongs to which leaves now, after `gap`.
    #[inline(always)]
    pub(super) fn train(&self, sent: Instant, gap: Option<&Gap>, delays: &PathDelays) -> Train {
        let is_same = gap.is_some_and(|gap| gap.same_burst);
        if delays.is_next_to_sender() {
            return self.train_at_sender(sent, is_same, delays);
        }
        let goes_on = is_same || sent <= self.bottleneck.free_at();
        match &self.last {
            Some(last) if goes_on => last.train,
            _ if self.bottleneck.before.is_known() => Train::new(sent, delays.sender),
            _ => Train::NONE,
        }
    }

    /// The same next to the sender: the link is anywhere on the way to the receiver.
    fn train_at_sender(&self, sent: Instant, is_same: bool, delays: &PathDelays) -> Train {
        let (way, free_at) = (delays.sender + delays.receiver, self.bottleneck.free_at());
        // A link that has nothing to do for a moment is part of the train: an eighth of the time, our choice.
        let goes_on = |last: &&Departure| {
            let slack = way.max(Nanos::between(last.sent, free_at)) / 8;
            is_same || sent <= free_at + slack
        };
        let train = match self.last.as_ref().filter(goes_on) {
            Some(last) if last.train != Train::NONE => last.train,
            // Its first segments have shown the rate only now.
            Some(last) => Train::new(last.sent, way),
            None => Train::new(sent, way).after(Nanos::between(free_at, sent)),
        };
        train.at_sender(sent)
    }

    /// Whether timestamps confirm that a segment was sent as long after the previous one as it was
    /// captured after it, or longer: then the path held the previous one.
    pub(super) fn left_as_seen(&self, last: &Departure, data: &SeenData) -> bool {
        let span = Nanos::between(last.seen, data.seen);
        last.timestamp
            .zip(data.timestamp)
            .is_some_and(|(earlier, later)| self.clock.confirms_late(span, earlier, later))
    }

    /// The time between the previous segment and this one by their timestamps; zero if these tell nothing.
    pub(super) fn by_stamps(&self, last: &Departure, data: &SeenData) -> Nanos {
        let span = Nanos::between(last.seen, data.seen);
        let stamps = last.timestamp.zip(data.timestamp);
        let between = stamps.and_then(|(earlier, later)| self.clock.between(span, earlier, later));
        between.map_or(Nanos::ZERO, |(between, _)| between)
    }

    /// RFC 5681, section 4.2: a second full segment is acknowledged at once. What that took longer
    /// than the least round trip, links were busy with the burst.
    pub(super) fn time_burst(
        &mut self,
        ack: &Acknowledgement,
        newly: u64,
        late: Nanos,
        round_trip: Nanos,
    ) {
        let of_burst = self.round_trips.of_burst(ack.acked, self.highest, ack.seen);
        let Some(OfBurst { bytes, since, step }) = of_burst else { return };
        if step.is_none() {
            self.before_burst = self.bottleneck.behind;
        }
        // While the window is used up, an ACK of more than the second segment comes when the program has read.
        let full_window = self.edge.is_some_and(|edge| edge < self.highest + self.full);
        if full_window && newly > 2 * self.full {
            return;
        }
        if self.full == 0 || newly < 2 * self.full {
            return;
        }
        let busy = Nanos::between(since, ack.seen) - round_trip;
        // What was written bit by bit before the first acknowledgement found no link busy if it was not late itself: an
        // eighth of the time is. Our choice.
        let spread = self.bottleneck.before.time(bytes) * 2 + Gap::ONE_WRITE;
        if late * 8 < busy && busy > spread {
            return;
        }
        let headers = (bytes / self.full).saturating_sub(1) * Pace::HEADERS;
        // Of fewer, too, where the receiver was seen to wait for that; but it is not earlier than a link lets it come.
        if full_window
            && self.waits_for_reader
            && busy >= self.bottleneck.behind.time(bytes + headers)
        {
            return;
        }
        if let Some((bytes, apart)) = step
            && self.came_in_one_go(bytes, apart, busy, round_trip)
        {
            self.bottleneck.take_back(self.before_burst, ack.seen);
            return self.round_trips.forget_burst();
        }
        if !busy.is_zero() {
            self.bottleneck.sample_behind(bytes + headers, busy);
        }
    }

    /// Whether the path held a burst, or its acknowledgements: they are late for longer than a stall takes, and then
    /// come much faster than a link that was busy for so long would let them.
    fn came_in_one_go(&self, bytes: u64, apart: Nanos, busy: Nanos, round_trip: Nanos) -> bool {
        /// Some acknowledgements arrive in bunches. Our choice.
        const FASTER: u64 = 4;
        busy > Stall::least(round_trip) && apart * FASTER < self.bottleneck.behind.time(bytes)
    }

    /// A flight that comes as soon as it can after what it answers has waited nowhere, if nothing was on its way before it.
    fn time_flight(&mut self, data: &SeenData, delays: &PathDelays) {
        if let Some(asks) = data.answers {
            let is_far = delays.is_far_from_sender() && !delays.sender_in_doubt;
            let is_alone = is_far && self.flight() == 0;
            self.asked = is_alone.then_some((asks.seen + delays.sender, 0));
        }
        let Some((asked, bytes)) = &mut self.asked else { return };
        // What an acknowledgement has released is another flight.
        if data.loss.is_some() || self.latest.as_ref().is_some_and(|it| it.at > *asked) {
            return self.asked = None;
        }
        *bytes += data.len() + Pace::HEADERS;
        let span = Nanos::between(*asked, data.seen - delays.sender);
        self.bottleneck.bound_before(*bytes, span + delays.immediate);
    }

    /// A segment without PSH was followed by one that was ready: if it need not wait for an
    /// acknowledgement, only the link was between them.
    pub(super) fn learn_pace(&mut self, data: &SeenData, delays: &PathDelays) {
        self.time_flight(data, delays);
        let Some(last) = self.last.as_ref().filter(|last| !last.pushed) else { return };
        let bytes = data.len();
        if data.loss.is_some() || bytes < data.full || bytes == 0 {
            return;
        }
        let span = Nanos::between(last.seen, data.seen);
        let latest = self.latest.as_ref().filter(|it| it.at > last.sent);
        let after_ack = latest.map(|it| Nanos::between(it.at + delays.sender, data.seen));
        let spacing = Spacing { bytes, span, after_ack };
        let before = self.spacing.replace(spacing);
        // The receive window let it leave only after the acknowledgement.
        let was_shut = latest.is_some_and(|it| it.usable_window.is_some_and(|room| room < bytes));
        if was_shut {
            return;
        }
        if !spacing.is_of_link(before) {
            return;
        }
        // At the sender, what comes slower than at first is paced.
        if delays.is_next_to_sender() {
            self.bottleneck.before.sample(bytes, span);
        } else {
            self.bottleneck.before.follow(bytes, span);
        }
    }
}
