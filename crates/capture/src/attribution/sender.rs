//! One end as a sender of data: when its segments left, and which acknowledgements it had then.

mod again;
mod arrivals;
mod beyond;
mod buffer;
mod burst;
mod departure;
mod edge;
mod facts;
mod lateness;
mod paced;
mod rate;
mod restart;

use std::collections::VecDeque;

use ackwise_cause::{Direction, RepairedBy};
use ackwise_tcp::{Instant, Wait};

pub(crate) use self::departure::{Asks, Departure, Left, SeenData};
pub(crate) use self::lateness::Promptest;
use self::{again::Again, buffer::SendBuffer, lateness::Lateness};
pub(crate) use super::clock::SenderClock;
use super::{
    Acknowledgement, Alike, Confidence, Evidence, LossKind, Nanos, Rule,
    acknowledgement::Arrived,
    gap::Gap,
    hold::{Facts, Hold, Loss},
    later::{Later, Resolution},
    nagle::NagleRecord,
    pacing::PacingRecord,
    path::{AckDelay, Bottleneck, Distances, Pace, PathDelays},
    round_trips::{Answer, OfBurst, RoundTrips},
    spacing::Spacing,
    stall::Stall,
    window::{CongestionEstimate, FirstFlight},
};

/// What is known of one end as a sender.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sender {
    /// Acknowledgements that were seen and have not yet reached it, oldest first.
    acks_in_flight: VecDeque<Acknowledgement>,
    /// The last one that has arrived.
    latest: Option<Arrived>,
    last: Option<Departure>,
    /// It had bytes that were not seen before.
    last_is_new: bool,
    /// If it had none, the last one that had, and when links were done with that.
    last_new: Option<(Departure, Instant)>,
    round_trips: RoundTrips,
    bottleneck: Bottleneck,
    /// What was known of links behind the vantage point before the last burst was acknowledged.
    before_burst: Pace,
    spacing: Option<Spacing>,
    /// When what the last flight answers had arrived, and the bytes of that flight so far, with headers.
    asked: Option<(Instant, u64)>,
    acked: u64,
    edge: Option<u64>,
    /// How much the receive window let be sent before the acknowledgement that opened it, and when that
    /// arrived, since the last data.
    opened: Option<(u64, Instant)>,
    /// When the first acknowledgement of anything arrived since the last data.
    first_ack: Option<Instant>,
    /// When the last acknowledgement of new data arrived.
    progress_at: Option<Instant>,
    /// When a third of what was outstanding then was acknowledged, and how much that was.
    room_at: Option<Instant>,
    room_of: u64,
    /// When the last acknowledgement arrived.
    heard_at: Option<Instant>,
    /// Acknowledgements of nothing new since the last of something new.
    repeated_acks: u8,
    /// Since when nothing is outstanding and the receive window has room for a silly segment only.
    silly_since: Option<Instant>,
    buffer: SendBuffer,
    /// By how much acknowledgements were late.
    lateness: Lateness,
    /// The last acknowledgement that opened the window for data beyond it, and how long that took at most.
    opening: Option<(u64, Nanos)>,
    /// The receive window of the last acknowledgement that was seen.
    offered: Option<u64>,
    /// The largest that was seen.
    most_offered: u64,
    /// Its receiver has kept back acknowledgements until the program read.
    waits_for_reader: bool,
    /// Bytes that were sent since the last PSH.
    unpushed: u64,
    highest: u64,
    /// The most data that was ever in flight.
    most_flight: u64,
    /// Bytes of a full segment.
    full: u64,
    /// Where the last small segment ended.
    small_end: u64,
    nagle: NagleRecord,
    /// When an acknowledgement last let it go on, all that was written had left.
    emptied: bool,
    window: CongestionEstimate,
    /// What was outstanding when it last sent, and what the congestion window was then, at least.
    left_with: [u64; 2],
    /// Up to where was sent when the first repair left; until that is acknowledged.
    recover: Option<u64>,
    /// That was acknowledged since the last data.
    recovered: bool,
    first_flight: FirstFlight,
    /// The capture has lost data since the last that it has.
    capture_lost_data: bool,
    /// It had an acknowledgement, or a window, since the last data that the capture lacks.
    lacks_ack: bool,
    clock: SenderClock,
    /// The last data that was sent again, until it is acknowledged.
    again: Option<Again>,
    /// A probe with new data begins here that was sent while the path delivered nothing, or what was sent before was lost.
    probe: Option<u64>,
    /// That packet, if a timer sent it and what it repeats had not been lost.
    in_vain: Option<u64>,
    /// The timestamp of its last packet without data, and when that was seen.
    heard: Option<(u32, Instant)>,
    /// That timestamp shows that it had left earlier.
    heard_early: bool,
    /// By how much acknowledgements were delayed.
    delays: VecDeque<Nanos>,
    pacing: PacingRecord,
    /// A rule that is switched off.
    pub without: Option<Rule>,
}

impl Sender {
    /// The most acknowledgements in flight that are kept. Our choice.
    const MAX_ACKS_IN_FLIGHT: usize = 256;

    /// As new, with the memory of its queues.
    pub(crate) fn forget(&mut self) {
        let (mut acks_in_flight, mut delays) =
            (std::mem::take(&mut self.acks_in_flight), std::mem::take(&mut self.delays));
        acks_in_flight.clear();
        delays.clear();
        self.round_trips.forget_all();
        let round_trips = std::mem::take(&mut self.round_trips);
        *self = Self { acks_in_flight, delays, round_trips, ..Self::default() };
    }

    /// An acknowledgement of its data, or a new window, was seen. What it shows of what was sent again
    /// last; `duplicate`: it reports that something arrived twice (D-SACK, RFC 2883).
    pub(crate) fn handle_ack(
        &mut self,
        mut ack: Acknowledgement,
        duplicate: bool,
        direction: Direction,
        distances: &mut Distances,
    ) -> Option<Resolution> {
        let acked_before = self.acks_in_flight.back().map_or(self.acked, |it| it.acked);
        let delays = *distances.path_delays(direction);
        let late = self.hear_after_acknowledgement(duplicate, &delays);
        if let Some(again) = &mut self.again {
            again.note_earlier(&ack, acked_before);
        }
        let again = self.again.take_if(|again| ack.acked >= again.bytes.end);
        let has_hole = self.again.take_if(|again| again.probes_hole(&ack)).is_some();
        let confirmed = has_hole.then_some(Resolution::Confirmed);
        let resolution = late
            .or(confirmed)
            .or_else(|| self.resolve(again?, &ack, acked_before, duplicate, direction, distances));
        let [may_be_delayed, is_used_up] = self.may_wait_for_reader(&ack);
        ack.unread &= may_be_delayed && !is_used_up;
        if let Some(answer) = self.round_trips.acknowledged(ack.acked) {
            self.time(&ack, answer, [may_be_delayed, is_used_up], direction, distances);
        }
        if self.acks_in_flight.len() == Self::MAX_ACKS_IN_FLIGHT {
            self.acks_in_flight.pop_back();
        }
        self.pacing.hear(ack.seen);
        self.acks_in_flight.push_back(ack);
        resolution
    }

    /// An acknowledgement covers a segment and nothing after it: what that tells of the path.
    fn time(
        &mut self,
        ack: &Acknowledgement,
        answer: Answer,
        [may_be_delayed, is_used_up]: [bool; 2],
        direction: Direction,
        distances: &mut Distances,
    ) {
        let Answer { seen, bytes, newly, more, first } = answer;
        distances.sample(direction, Nanos::between(seen, ack.seen));
        if ack.is_pure {
            if first && newly <= Alike::SMALL {
                distances.compare(direction, Nanos::between(seen, ack.seen));
            }
            let is_prompt = newly >= 2 * self.full && self.full > 0;
            distances.confirm(direction, Nanos::between(seen, ack.seen), is_prompt);
        }
        let round_trip = distances.round_trip(direction).unwrap_or_default();
        self.bottleneck.bound(round_trip);
        let late = Nanos::between(seen, ack.seen) - round_trip;
        self.lateness.note(late, newly, self.full, ack.is_pure);
        if is_used_up {
            self.note_reader(ack, newly, late);
        }
        // Earlier acknowledgements came so soon that it is no link that keeps this; or the path held it.
        let is_refuted = is_used_up && !self.bottleneck.allows(newly, late);
        let may_be_delayed =
            may_be_delayed || is_refuted || ack.held > Stall::least(round_trip) / 2;
        let delay = match newly >= 2 * self.full {
            _ if may_be_delayed => AckDelay::Unknown,
            true => AckDelay::None,
            // After a loss, ACKs of single segments are no habit.
            false if self.window.is_lossy() => AckDelay::Unknown,
            false => AckDelay::ByTimer,
        };
        // The least round trip was that of a smaller segment: the handshake's, or less. Half of a full one is much more.
        if bytes * 2 >= self.full && self.window.initial > 0 {
            let prompt = distances.path_delays(direction).prompt_ack;
            self.bottleneck.allow(bytes, late + prompt, seen);
        }
        self.bottleneck.acknowledged(newly, [seen, ack.seen], more, delay);
        if !may_be_delayed {
            self.time_burst(ack, newly, late, round_trip);
        }
        if delay == AckDelay::None {
            self.go_on_behind(ack, distances.path_delays(direction));
        }
    }

    /// Data was seen; the time since the data before it, if there was any.
    pub(crate) fn handle_data(&mut self, data: &SeenData, delays: &PathDelays) -> Option<Gap> {
        match self.handle_in_burst(data, delays) {
            Some(gap) => Some(gap),
            None => self.handle_in_detail(data, delays),
        }
    }

    /// The same, whatever the data waited for.
    #[inline(never)]
    fn handle_in_detail(&mut self, data: &SeenData, delays: &PathDelays) -> Option<Gap> {
        self.full = data.full;
        let on_link = self.bottleneck.before.time(data.len());
        let sent = data.seen - (delays.sender + on_link);
        let by_clock = self.sent_by_clock(data, sent, delays);
        let sent = self.last.as_ref().map_or(sent, |last| by_clock.unwrap_or(sent).max(last.sent));
        self.receive(sent, delays.tolerance + on_link, delays, data.echo);
        // When the data before left, it may not have been known how far the receiver is.
        if let Some(last) = &mut self.last {
            last.arrives = last.arrives.max(last.seen + delays.receiver);
        }
        let since = self.last.as_ref().map(|last| Nanos::between(last.sent, sent));
        let beyond_link = self.is_beyond_link(since.unwrap_or_default(), data);
        self.learn_pace(data, delays);
        self.notice_idle(sent, delays);
        let recovered = std::mem::take(&mut self.recovered) || self.recover.is_some();
        let repaired;
        let data = match data.loss.is_none() && recovered {
            true => {
                repaired = SeenData { loss: Some(Loss::Repaired), ..data.clone() };
                &repaired
            }
            false => data,
        };
        self.lacks_ack |= self.is_beyond_window(data);
        let mut gap = self.decide(data, sent, delays);
        if let Some(gap) = gap.as_mut().filter(|_| beyond_link) {
            gap.part_bursts();
        }
        self.capture_lost_data = false;
        if let Some(delay) = gap.as_ref().and_then(Gap::ack_delay) {
            self.note_delay(delay);
        }
        let held = by_clock.is_some();
        let by = self.released_by(data, gap.as_ref(), delays);
        self.depart(data, sent, held, gap.as_ref(), delays);
        self.lacks_ack = false;
        self.note_pacing(data, by, delays);
        gap
    }

    /// What the time since the last data was.
    fn decide(&mut self, data: &SeenData, sent: Instant, delays: &PathDelays) -> Option<Gap> {
        let last = self.last.as_ref()?;
        let latest = self.latest.as_ref().filter(|it| it.at + delays.immediate >= last.sent);
        let before = (last, latest);
        let mut facts = self.facts(before, data, sent, delays);
        let claim = Hold::claimed(&facts);
        facts.stall = self.stall(&claim, &facts, data, latest, delays);
        facts.kind = self.loss_kind(&claim, &facts, data, delays);
        let hold = claim.with_doubts(&facts);
        let hold = Hold { confidence: hold.confidence.min(facts.stall.most()), ..hold };
        let gap = self.gap(before, data, &facts, [claim, hold], delays);
        self.note_wait(&hold, &facts, data, sent);
        Some(gap)
    }

    /// The time between the last data and this, which left `since_data` later, by what was decided: as it is claimed, and as
    /// sure as it is.
    fn gap(
        &self,
        (last, latest): (&Departure, Option<&Arrived>),
        data: &SeenData,
        facts: &Facts,
        [claim, hold]: [Hold; 2],
        delays: &PathDelays,
    ) -> Gap {
        let gap = facts.since_data;
        let sent = last.sent + gap;
        let (stall, kind) = (facts.stall, facts.kind);
        let own_pause = self.nagle.own_pause();
        let delayed_until = Self::delayed_until(last, latest, delays);
        let (free_at, rate) = self.busy(last, sent, facts, [&claim, &hold], delayed_until);
        let same_burst = self.is_same_burst(gap, data, facts);
        let before_nagle = self.first_ack.zip(hold.before_nagle(facts));
        let own_pause = own_pause.filter(|_| self.without != Some(Rule::MayBeProgram));
        let (hold, own) = hold.divided_by_pace(facts, own_pause);
        let before_nagle = before_nagle.or_else(|| Some((last.sent + own_pause?, own?)));
        let (hold, before) = self.with_silly_window(hold, data, sent);
        Gap {
            until: sent,
            free_at,
            silent_since: self.silent_since(last, sent, delays),
            train: last.train,
            rate,
            arrived: self.arrived(last),
            held: last.held,
            before: before.or(before_nagle),
            delayed_until,
            earlier_arrives: self.acked > last.acked,
            same_burst,
            bit_by_bit: same_burst && facts.ended && gap > Gap::ONE_WRITE,
            hold,
            stall,
            kind,
            capture_lost_data: self.capture_lost_data,
            missing: data.missing,
            later: Later::NOTHING,
            evidence: Evidence::of([last.packet, latest.map_or(0, |it| it.packet), data.packet]),
        }
    }

    /// When links were done with what was sent before, and how sure that is, of a wait as it is claimed and
    /// as sure as it is.
    fn busy(
        &self,
        last: &Departure,
        sent: Instant,
        facts: &Facts,
        [claim, hold]: [&Hold; 2],
        delayed_until: Option<Instant>,
    ) -> (Instant, Confidence) {
        let gap = facts.since_data;
        let is_on = self.without != Some(Rule::LinkUnsure);
        let unseen = Self::busy_without_rate(claim, facts).filter(|_| is_on);
        // No receiver's timer ends so soon.
        let by_link = facts.late.by_link && claim.waits_for_open_window();
        let late = delayed_until.map(|left| Nanos::between(last.arrives, left));
        let late = late.filter(|late| by_link && *late < Distances::SHORTEST_ACK_DELAY);
        if let Some(busy) = unseen.or(late) {
            return (last.sent + busy, Confidence::Medium);
        }
        // Where a link was busy for a part of the time and a window was full after that, the rate decides how
        // much is whose: less than an eighth of the time is not worth a doubt. Our choice. And that of a link to a
        // receiver that reads late is learnt from how late it acknowledges.
        let free_at = self.bottleneck.free_at();
        let counts = |from, until| Nanos::between(from, until) * 8 >= gap;
        let is_shared = gap > facts.immediate
            && counts(last.sent, free_at.min(sent))
            && (claim.waits_for_open_window() || hold.waits_for_window() && counts(free_at, sent));
        let most = if is_shared { Confidence::Medium } else { Confidence::High };
        (free_at, self.bottleneck.sure().min(most))
    }

    /// What a wait, as it was decided, shows for later ones.
    fn note_wait(&mut self, hold: &Hold, facts: &Facts, data: &SeenData, sent: Instant) {
        let gap = facts.since_data;
        if let Some(since_ack) =
            facts.since_ack.filter(|_| data.answers.is_none() && data.loss.is_none())
            && !self.lacks_ack
            && facts.pushed
            && facts.nagle_would_hold()
        {
            // While the link is busy, no program's delay is seen.
            let since_link = Nanos::between(self.bottleneck.free_at(), sent);
            let since = if facts.is_released() { since_ack } else { since_ack.min(since_link) };
            self.nagle.note_after_ack(since, gap, facts.immediate);
        }
        if gap > facts.immediate && facts.is_released() && data.answers.is_none() {
            self.emptied = facts.may_have_filled_buffer();
        }
        if gap > facts.immediate && facts.pushed {
            self.buffer.note(self.left_with[0]);
        }
        if hold.waits_for_window() && hold.confidence == Confidence::High && facts.is_released() {
            self.window.was_full(facts.flight[0], data.full);
        }
    }

    /// How much longer the path took for a packet of its than it takes at least, by its timestamp.
    pub(crate) fn path_held(&self, timestamp: Option<u32>, seen: Instant) -> Nanos {
        let held = timestamp.and_then(|value| self.clock.queued(value, seen));
        held.unwrap_or_default()
    }

    /// Whether nothing but the link was between the last data and this.
    fn is_same_burst(&self, gap: Nanos, data: &SeenData, facts: &Facts) -> bool {
        let on_link = self.bottleneck.before.time(data.len());
        let ready = !facts.pushed && !facts.is_released();
        data.loss.is_none()
            && (gap <= facts.immediate.max(on_link * 9 / 8) || ready && gap <= on_link * 2)
    }

    #[inline(always)]
    fn depart(
        &mut self,
        data: &SeenData,
        sent: Instant,
        held: bool,
        gap: Option<&Gap>,
        delays: &PathDelays,
    ) {
        if !data.new && self.last_is_new {
            self.last_new = self.last_with_link();
        }
        self.last_is_new = data.new;
        let is_probe = gap.is_some_and(|gap| gap.stall == Stall::OrLoss);
        self.probe = is_probe.then_some(data.bytes.start);
        let departure = self.departure(data, sent, held, gap, delays);
        self.last = Some(departure);
        self.opened = None;
        self.first_ack = None;
        self.room_at = None;
        self.silly_since = None;
        match data.loss {
            Some(Loss::Repairs) => self.note_repair(data, gap),
            _ => self.note_sent(data, departure.small, gap),
        }
    }

    /// What was lost, or seems to be, is sent again.
    fn note_repair(&mut self, data: &SeenData, gap: Option<&Gap>) {
        let &SeenData { packet, seen, timestamp, .. } = data;
        let by = gap.and_then(Gap::repairs).unwrap_or(RepairedBy::Recovery);
        let bytes = data.bytes.clone();
        self.round_trips.forget(bytes.start);
        if gap.is_some_and(|gap| gap.hold.waits_for_receiver()) {
            return;
        }
        let (acked, came_before) = (false, false);
        self.again = Some(Again { packet, seen, bytes, by, timestamp, acked, came_before });
        self.highest = self.highest.max(data.bytes.end);
        // A probe begins no recovery: that its acknowledgement does (RFC 8985, section 7.4).
        if gap.is_none_or(|gap| gap.kind != Some(LossKind::Probe)) {
            self.recover.get_or_insert(self.highest);
            self.window.lose(by, self.flight());
        }
    }

    /// Data is sent for the first time, for all that is known.
    #[inline(always)]
    fn note_sent(&mut self, data: &SeenData, small: bool, gap: Option<&Gap>) {
        let (bytes, full) = (data.len(), data.full.max(1));
        if gap.is_some_and(|gap| gap.hold.wait == Wait::RetransmissionTimeout) {
            // Its first copy was lost before the vantage point. RFC 5681, section 3.1: the timer cuts the window.
            self.window.lose(RepairedBy::Timeout, self.flight());
        }
        self.round_trips.sent(&data.bytes, self.highest, data.seen);
        self.highest = self.highest.max(data.bytes.end);
        if small {
            self.note_small(data, gap);
        }
        let wait = gap.map(|gap| gap.hold.wait);
        if self.first_flight.see(if bytes == full { 1 } else { bytes.div_ceil(full) }, wait) {
            self.window.begin_with(self.left_with[0]);
        }
        // What is outstanding is not known if an acknowledgement is missing.
        let flight = if self.lacks_ack { bytes } else { self.flight() };
        self.most_flight = self.most_flight.max(flight);
        // While a loss is repaired, what was lost and what came behind it is outstanding, too.
        let in_window = if self.recover.is_some() { bytes } else { flight };
        self.window.send(bytes, data.full, in_window, wait);
        self.left_with = [flight, self.window.least];
        self.room_of = flight;
    }

    /// A small segment is sent: perhaps while another one was outstanding, which Nagle's algorithm forbids.
    fn note_small(&mut self, data: &SeenData, gap: Option<&Gap>) {
        let ready = gap.is_some_and(|it| it.hold.wait == Wait::Application && !it.hold.paced);
        // An acknowledgement that is on its way by the shortest round trip has not arrived, nor has one that its
        // timestamp denies.
        let unacknowledged = self.small_end > self.acked && !self.lacks_ack;
        let ready = ready || self.is_known_to_lack_ack(data);
        if ready && unacknowledged && data.loss.is_none() {
            // An acknowledgement that the capture has already may have reached it, on a short path.
            let heard = self.acks_in_flight.back().is_some_and(|ack| ack.acked >= self.small_end);
            self.nagle.note_despite(!heard && gap.is_some_and(|gap| gap.same_burst));
        }
        self.small_end = data.bytes.end;
    }

    /// What it has outstanding.
    const fn flight(&self) -> u64 {
        self.highest.saturating_sub(self.acked)
    }

    /// The last data that it sent, new or not, and when links were done with it.
    pub(crate) fn last_with_link(&self) -> Option<(Departure, Instant)> {
        self.last.map(|last| (last, self.bottleneck.free_at()))
    }

    /// The last data that it sent and that was not seen before, and when links were done with it.
    pub(crate) fn last_new(&self) -> Option<(Departure, Instant)> {
        if self.last_is_new { self.last_with_link() } else { self.last_new }
    }

    /// Whether it was ever told how much it may send.
    pub(crate) fn knows_edge(&self) -> bool {
        self.edge.is_some() || !self.acks_in_flight.is_empty()
    }

    /// The last data that it sent.
    pub(crate) const fn last(&self) -> Option<&Departure> {
        self.last.as_ref()
    }

    /// The capture does not show what was sent up to here.
    pub(crate) fn skip(&mut self, position: u64) {
        self.highest = self.highest.max(position);
        self.round_trips.skip();
        self.capture_lost_data = true;
    }
}

#[cfg(test)]
pub(crate) mod tests;
