//! Where the vantage point stands, and how fast the path is: what turns the times at which packets are
//! seen into the times at which the ends send and receive them.

use std::collections::VecDeque;

use ackwise_cause::{Direction, Party};
use ackwise_tcp::Instant;

use super::{Alike, Confidence, Nanos, Vantage};

/// Round-trip times from the vantage point to each end: the least that were seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distances {
    round_trips: [Option<Nanos>; 2],
    /// Those of packets that nothing of their own connection or of a program delayed, beside the least.
    alike: [Alike; 2],
    /// Which of them may be a program's time: without a handshake, until something shows that they are not.
    in_doubt: [bool; 2],
    /// How many ACKs without data took about as little, as long as they are in doubt.
    near_acks: [u8; 2],
    /// How many answers waited in a queue.
    queued: u8,
    /// Its addresses are those of one host.
    is_one_host: bool,
    /// The delays that follow from them, by the direction of the data.
    path_delays: [PathDelays; 2],
}

impl Default for Distances {
    fn default() -> Self {
        let path_delays = [PathDelays::new(Nanos::ZERO, Nanos::ZERO); 2];
        let (round_trips, alike, in_doubt) = ([None; 2], [Alike::default(); 2], [false; 2]);
        let (near_acks, queued, is_one_host) = ([0; 2], 0, false);
        Self { round_trips, alike, in_doubt, near_acks, queued, is_one_host, path_delays }
    }
}

impl Distances {
    /// Records how long the receiver of data in `direction` took to answer.
    pub(crate) fn sample(&mut self, direction: Direction, round_trip: Nanos) {
        let least = &mut self.round_trips[direction as usize];
        if least.is_some_and(|it| it <= round_trip) {
            return;
        }
        if !least.is_some_and(|least| is_near(least, round_trip)) {
            self.near_acks[direction as usize] = 0;
        }
        if let Some(least) = *least {
            self.alike[direction as usize].begin_lower(least, round_trip);
        }
        *least = Some(round_trip);
        self.in_doubt[direction as usize] &= round_trip > Self::CLOSE;
        self.set_path_delays();
    }

    fn set_path_delays(&mut self) {
        // Half of it: nothing distinguishes the two directions.
        let [server, client] = self.round_trips.map(|it| it.unwrap_or_default() / 2);
        let [to_server, to_client] = self.in_doubt;
        self.path_delays = [
            PathDelays { sender_in_doubt: to_client, ..PathDelays::new(client, server) },
            PathDelays { sender_in_doubt: to_server, ..PathDelays::new(server, client) },
        ];
        self.path_delays.iter_mut().for_each(|it| it.one_host = self.is_one_host);
    }

    /// By their addresses, both ends are on the host where the capture was taken.
    pub(crate) fn begin_on_one_host(&mut self) {
        self.is_one_host = true;
        self.set_path_delays();
    }

    /// The capture begins in the middle of the connection: a program's time may be in the least round trips.
    pub(crate) fn begin_in_middle(&mut self) {
        self.in_doubt = [true; 2];
        self.set_path_delays();
    }

    /// Whether any round trip was seen.
    pub(crate) fn are_known(&self) -> bool {
        self.round_trips.iter().any(Option::is_some)
    }

    /// A program's time of this length matters nowhere. Our choice.
    const CLOSE: Nanos = Nanos::from_millis(1);
    /// No receiver delays an acknowledgement for less (Linux `TCP_DELACK_MIN`, FreeBSD `delacktime`).
    pub(super) const SHORTEST_ACK_DELAY: Nanos = Nanos::from_millis(40);

    /// An acknowledgement without data took this long; `is_prompt`: it was not delayed. No program's time is in it,
    /// so it confirms the least round trip, if it took about as little. Of those that a timer may have delayed,
    /// it takes two: how much of its time was left when the data came, varies.
    pub(crate) fn confirm(&mut self, direction: Direction, round_trip: Nanos, is_prompt: bool) {
        let direction = direction as usize;
        let is_near = |least: Nanos| is_near(least, round_trip);
        if !self.in_doubt[direction] || !self.round_trips[direction].is_some_and(is_near) {
            return;
        }
        let near = &mut self.near_acks[direction];
        *near = near.saturating_add(1);
        if is_prompt || (*near > 1 && round_trip < Self::SHORTEST_ACK_DELAY) {
            self.in_doubt[direction] = false;
            self.set_path_delays();
        }
    }

    /// Whether a program's time may be in the least round trip to the receiver of data in `direction`.
    pub(crate) const fn is_in_doubt(&self, direction: Direction) -> bool {
        self.in_doubt[direction as usize]
    }

    /// Records that a round trip to the receiver of data in `direction` takes `at_most` this. A busy host
    /// answers a handshake late, and later nothing else may time it.
    pub(crate) fn limit(&mut self, direction: Direction, at_most: Nanos) {
        if self.round_trip(direction).is_some_and(|known| at_most < known) {
            self.sample(direction, at_most);
        }
    }

    /// By its timestamp, an answer waited in a queue, for nothing of its own connection.
    pub(crate) const fn note_queued(&mut self) {
        self.queued = self.queued.saturating_add(1);
    }

    /// The first packet after all before it was acknowledged, or a SYN, was answered after this time by the kernel of
    /// the receiver of data in `direction`, and no timer delayed that: no queue of the connection and no program's
    /// time is in it. Whether other packets had a queue there shows by how much that varies.
    pub(crate) fn compare(&mut self, direction: Direction, round_trip: Nanos) {
        if let Some(least) = self.round_trips[direction as usize] {
            self.alike[direction as usize].note(least, round_trip);
        }
    }

    /// The same packets are seen again: each counts once.
    pub(crate) const fn for_another_look(self) -> Self {
        Self { alike: [Alike { near: 0, beyond: 0 }; 2], queued: 0, ..self }
    }

    /// How much alike the round trips are to the end that is further away; those of a queue are not.
    pub(crate) fn alike(&self) -> Alike {
        /// One may be an accident. Our choice.
        const SEVERAL: u8 = 2;
        let seen = self.round_trips.iter().zip(self.alike).filter(|(it, _)| it.is_some());
        let further =
            seen.max_by_key(|(it, _)| **it).map_or_else(Alike::default, |(_, alike)| alike);
        let beyond = if self.queued >= SEVERAL { u8::MAX } else { further.beyond };
        Alike { beyond, ..further }
    }

    /// The least round-trip time to the end that data in `direction` goes to.
    pub(crate) const fn round_trip(&self, direction: Direction) -> Option<Nanos> {
        self.round_trips[direction as usize]
    }

    /// The delays of data in `direction`.
    pub(crate) const fn path_delays(&self, direction: Direction) -> &PathDelays {
        &self.path_delays[direction as usize]
    }

    /// The shortest round-trip time between the ends.
    pub(crate) fn whole(&self) -> Nanos {
        self.round_trips.iter().flatten().copied().sum()
    }

    /// Where the capture was taken, as far as round-trip times show.
    pub(crate) fn vantage(&self) -> Vantage {
        if self.is_one_host {
            return Vantage::OneHost;
        }
        let [Some(to_server), Some(to_client)] = self.round_trips else { return Vantage::Unknown };
        let near = (to_server + to_client) / Vantage::NEAR;
        match (to_client <= near, to_server <= near) {
            _ if to_client + to_server < Vantage::ONE_HOST => Vantage::OneHost,
            (true, _) => Vantage::At(Party::Client),
            (_, true) => Vantage::At(Party::Server),
            (false, false) => Vantage::Between,
        }
    }
}

/// Whether a round trip took about as little as the least.
fn is_near(least: Nanos, round_trip: Nanos) -> bool {
    /// By so much round trips differ that nothing delays. Our choice.
    const JITTER: Nanos = Nanos::from_micros(100);
    least.abs_diff(round_trip) <= least / 8 + JITTER
}

/// One-way delays of one direction's data, and the tolerances that follow from them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathDelays {
    /// From the sender to the vantage point.
    pub sender: Nanos,
    /// From there to the receiver.
    pub receiver: Nanos,
    /// A reaction of the sender within this time is immediate: a busy host needs as much, and the
    /// delay of the path varies. Our choice.
    pub immediate: Nanos,
    /// An acknowledgement that seems to arrive this much after a segment left may still have released
    /// it: the delay is only half of a round trip, which includes the host's own time. Our choice.
    pub tolerance: Nanos,
    /// An acknowledgement that leaves the receiver within this time was not delayed. Our choice.
    pub prompt_ack: Nanos,
    /// The shortest round-trip time between the ends.
    pub round_trip: Nanos,
    /// The sender may be nearer: its program's time may be in the least round trip to it.
    pub sender_in_doubt: bool,
    /// Both ends have addresses of one host.
    pub one_host: bool,
}

/// Where the vantage point is, for one direction's data. It is at both ends on one host, and if no round trip was seen:
/// then nothing shows that anything is far.
impl PathDelays {
    const fn new(sender: Nanos, receiver: Nanos) -> Self {
        const BUSY: u64 = 300_000;
        const AWAKE: u64 = 50_000;
        const PROMPT: u64 = 1_000_000;
        let (to, on) = (sender.get(), receiver.get());
        Self {
            sender,
            receiver,
            immediate: Nanos::new(BUSY + to / 4),
            tolerance: Nanos::new(to / 4 + if to < AWAKE { to } else { AWAKE }),
            prompt_ack: Nanos::new(PROMPT + on / 4),
            round_trip: Nanos::new(2 * (to + on)),
            sender_in_doubt: false,
            one_host: false,
        }
    }

    /// If the receiver is this many times as far as the sender, the vantage point is the sender's host
    /// or next to it, and sees whatever leaves. Our choice.
    const NEAR: u64 = 8;

    /// The same where no handshake was seen, and a program's work may be in the least round trip to the
    /// sender: if that is near, what was seen before its data may have reached it before.
    pub(crate) fn without_handshake(self) -> Self {
        let tolerance = if self.is_next_to_sender() {
            self.tolerance.max(self.sender * 2)
        } else {
            self.tolerance
        };
        Self { tolerance, ..self }
    }

    /// Whether nothing can hold or lose a segment before the vantage point: what leaves is seen when it leaves.
    pub(crate) fn is_next_to_sender(&self) -> bool {
        self.is_one_host() || self.sender * Self::NEAR <= self.receiver
    }

    /// Whether the path may hold or lose a segment before the vantage point.
    pub(crate) fn is_far_from_sender(&self) -> bool {
        !self.is_next_to_sender()
    }

    /// Whether the path may hold or lose a segment, or its acknowledgement, behind the vantage point.
    pub(crate) fn is_far_from_receiver(&self) -> bool {
        !self.is_one_host() && self.receiver * Self::NEAR > self.sender
    }

    /// Whether what was captured has reached the receiver's host, and its acknowledgements are seen as they leave.
    pub(crate) fn is_next_to_receiver(&self) -> bool {
        let is_known = self.sender > Nanos::ZERO && self.receiver > Nanos::ZERO;
        is_known && !self.is_far_from_receiver()
    }

    /// Whether both ends are on the host where the capture was taken: no queue is between them.
    pub(crate) fn is_one_host(&self) -> bool {
        self.one_host || self.round_trip < Vantage::ONE_HOST
    }
}

/// How long a link is busy with a byte, in picoseconds, learned from what cannot be explained
/// otherwise: segments that come one behind the other, and acknowledgements that come late.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Pace {
    per_byte: Option<u64>,
    samples: u8,
    /// All samples may be of a receiver's timer.
    doubtful: bool,
    /// All samples were of so few acknowledgements that some may have come in a bunch.
    narrow: bool,
    /// The last samples in a row that were much slower, and the fastest of them.
    slower: Slower,
}

/// Samples in a row that are so much slower than a pace that it must be one of packets that came in a bunch.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Slower {
    count: u8,
    fastest: u64,
}

impl Slower {
    /// Our choice.
    const TIMES: u64 = 2;
    /// A pause between two acknowledgements is in as many samples in a row as a run has acknowledgements: one more
    /// cannot be due to it.
    const COUNT: usize = Bottleneck::RUN + 1;

    /// Notes a sample; the fastest of the last ones, if they all are.
    fn note(&mut self, sample: u64, pace: u64) -> Option<u64> {
        if sample / Self::TIMES < pace {
            *self = Self::default();
            return None;
        }
        self.fastest = if self.count == 0 { sample } else { self.fastest.min(sample) };
        self.count += 1;
        (usize::from(self.count) == Self::COUNT).then(|| std::mem::take(self).fastest)
    }
}

impl Pace {
    /// Bytes of headers that go with any data: of IPv4 and TCP without options.
    pub(crate) const HEADERS: u64 = 40;
    /// Of up to this many samples the fastest counts. Our choice.
    const FEW: u8 = 4;

    /// Learns that `bytes` of data with their headers took `span`.
    ///
    /// What is slower had other reasons too, and what is faster had waited somewhere and came at once; so the pace is one
    /// that as many samples are slower than as are faster.
    pub(crate) fn sample(&mut self, bytes: u64, span: Nanos) {
        if std::mem::take(&mut self.doubtful) {
            *self = Self::default();
        }
        self.learn(bytes, span);
    }

    /// The same; but if many samples in a row are slower by far, it begins anew with them. What it had begun with had
    /// come in a bunch.
    pub(crate) fn follow(&mut self, bytes: u64, span: Nanos) {
        let sample = Self::per_byte(bytes, span);
        match self.per_byte.and_then(|pace| self.slower.note(sample, pace)) {
            Some(fastest) if !self.doubtful => self.per_byte = Some(fastest),
            _ => self.sample(bytes, span),
        }
    }

    /// Picoseconds for a byte of data or headers.
    fn per_byte(bytes: u64, span: Nanos) -> u64 {
        (span * 1_000).get() / (bytes + Self::HEADERS)
    }

    /// Learns that `bytes` took `span` at most: a receiver's timer may have ended it.
    pub(super) fn sample_at_most(&mut self, bytes: u64, span: Nanos) {
        self.doubtful |= self.per_byte.is_none();
        if self.doubtful || span < self.time(bytes + Self::HEADERS) {
            self.learn(bytes, span);
        }
    }

    /// Whether a sample counts that is of few acknowledgements (`narrow`), or of more: the first of these
    /// replaces what the others have shown.
    fn admits(&mut self, narrow: bool) -> bool {
        match (self.per_byte, self.narrow, narrow) {
            (None, _, _) => self.narrow = narrow,
            (Some(_), true, false) => *self = Self::default(),
            (Some(_), false, true) => return false,
            (Some(_), _, _) => {}
        }
        true
    }

    fn learn(&mut self, bytes: u64, span: Nanos) {
        let sample = Self::per_byte(bytes, span);
        self.samples = self.samples.saturating_add(1);
        self.per_byte = Some(match self.per_byte {
            None => sample,
            Some(pace) if self.samples <= Self::FEW => pace.min(sample),
            // Equal steps lead to the median.
            Some(pace) if sample < pace => sample.max(pace - pace / 32),
            Some(pace) => sample.min(pace + pace.max(1) / 32),
        });
    }

    /// This, or if it is not known, or less well, the other.
    pub(crate) const fn or(self, other: Self) -> Self {
        match (self.per_byte, other.per_byte) {
            (None, _) => other,
            (Some(_), Some(_)) if self.doubtful && !other.doubtful => other,
            (Some(_), _) => self,
        }
    }

    /// Whether anything has shown it.
    pub(super) const fn is_known(self) -> bool {
        self.per_byte.is_some()
    }

    /// Whether it would have taken much less than `span` for as much. A queue behind other packets varies less than by
    /// that: our choice.
    pub(super) fn is_faster(self, bytes: u64, span: Nanos) -> bool {
        const MUCH: u64 = 4;
        self.is_shown() && span > self.time(bytes + Self::HEADERS) * MUCH
    }

    /// Whether more than one sample has shown it, and a timer has ended none of them.
    const fn is_shown(&self) -> bool {
        !self.doubtful && self.samples > 1
    }

    /// Whether a receiver's timer may have shown it.
    pub(super) const fn is_doubtful(self) -> bool {
        self.doubtful
    }

    /// The same in steps of an eighth of an octave or less: about as much as samples of the same path differ. Our
    /// choice.
    pub(super) fn rounded(self) -> Self {
        let round = |it: u64| match it.checked_ilog2() {
            Some(bits @ 4..) => {
                let step = 1 << (bits - 3);
                (it + step / 2) / step * step
            }
            _ => it,
        };
        Self { per_byte: self.per_byte.map(round), ..self }
    }

    /// Transmission time of a segment of this size; zero if the rate is unknown.
    pub(crate) fn time(self, bytes: u64) -> Nanos {
        Nanos::new(self.per_byte.unwrap_or(0).saturating_mul(bytes) / 1_000)
    }
}

/// When the slowest link has done with all that one end has sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bottleneck {
    /// Between the sender and the vantage point.
    pub before: Pace,
    /// Behind the vantage point.
    pub behind: Pace,
    free_at: Instant,
    /// What links behind the vantage point take for a byte at most, by the shortest round trips, in picoseconds.
    allowed: Option<u64>,
    /// What they take at most, however little was sent in it.
    possible: Option<u64>,
    /// What links before the vantage point take at most, by flights that waited nowhere.
    possible_before: Option<u64>,
    /// The latest acknowledgements while more was outstanding, oldest first.
    run: VecDeque<Acknowledged>,
}

/// What may have kept an acknowledgement back while more was on its way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum AckDelay {
    /// Nothing: RFC 5681, section 4.2, lets no receiver wait after two segments.
    None,
    /// A timer that went off between two segments; then it is of one.
    ByTimer,
    /// A timer, or a program that did not read.
    Unknown,
}

/// A segment whose end was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    bytes: u64,
    sent: Instant,
    at: Instant,
}

impl Bottleneck {
    /// A pace is taken over this many acknowledgements: some arrive in bunches. Our choice.
    const RUN: usize = 8;
    /// A bunch of acknowledgements has fewer. Our choice.
    const WIDE: usize = 3;

    /// An acknowledgement of `bytes`, the last of which were seen at `sent`, was seen at `at`.
    /// Acknowledgements that lie further apart than their segments did show the pace of what is
    /// behind, unless this one was delayed (`delay`) while `more` was outstanding.
    pub(crate) fn acknowledged(
        &mut self,
        bytes: u64,
        [sent, at]: [Instant; 2],
        more: bool,
        delay: AckDelay,
    ) {
        if let Some(first) = self.run.front().filter(|_| more) {
            let (apart, newly) = (Nanos::between(first.at, at), bytes);
            let bytes = bytes + self.run.iter().skip(1).map(|it| it.bytes).sum::<u64>();
            let narrow = self.run.len() < Self::WIDE;
            if apart > Nanos::between(first.sent, sent) * 2
                && self.is_possible(bytes, apart)
                && self.behind.admits(narrow)
            {
                // A timer that ends each of several waits adds nothing to what is between them.
                let is_habit =
                    self.run.len() == Self::RUN && self.run.iter().all(|it| it.bytes == newly);
                if delay == AckDelay::None || (delay == AckDelay::ByTimer && is_habit) {
                    self.behind.follow(bytes, apart);
                } else if self.allows(bytes, apart) {
                    self.behind.sample_at_most(bytes, apart);
                }
            }
        }
        if !more {
            return self.run.clear();
        }
        if self.run.len() == Self::RUN {
            self.run.pop_front();
        }
        self.run.push_back(Acknowledged { bytes, sent, at });
    }

    /// A segment of `bytes` that was seen at `sent` was acknowledged so `late` after the shortest round trip that
    /// links took no longer for it: what a receiver's timer may have ended does not stand against that.
    pub(crate) fn allow(&mut self, bytes: u64, late: Nanos, sent: Instant) {
        /// The least round trip may be that of a segment with half as much. Our choice.
        const MORE: u64 = 2;
        let per_byte = (late * MORE * 1_000).get() / (bytes + Pace::HEADERS);
        self.allowed = Some(self.allowed.map_or(per_byte, |it| it.min(per_byte)));
        if self.behind.doubtful && self.behind.per_byte > self.allowed {
            self.behind = Pace::default();
            self.free_at = self.free_at.min(sent);
        }
    }

    /// What acknowledgements of a burst have shown of the links behind the vantage point is not so, as later ones show.
    pub(crate) fn take_back(&mut self, before: Pace, now: Instant) {
        self.behind = before;
        self.free_at = self.free_at.min(now);
    }

    /// The shortest round trip behind the vantage point is `round_trip`: no link there takes longer for the headers of
    /// a packet alone. At the receiver's host there is none.
    pub(crate) fn bound(&mut self, round_trip: Nanos) {
        let most = (round_trip * 1_000).get() / Pace::HEADERS;
        self.possible = Some(most);
        if self.behind.per_byte.is_some_and(|it| it > most) {
            self.behind = Pace::default();
        }
    }

    /// A flight waited nowhere: links before the vantage point took no more than `span` for its `bytes`, with headers.
    pub(crate) fn bound_before(&mut self, bytes: u64, span: Nanos) {
        let most = (span * 1_000).get() / bytes.max(1);
        self.possible_before = Some(self.possible_before.map_or(most, |it| it.min(most)));
    }

    /// Learns that links behind the vantage point took `span` for `bytes`, if they can have.
    pub(crate) fn sample_behind(&mut self, bytes: u64, span: Nanos) {
        if self.is_possible(bytes, span) {
            self.behind.follow(bytes, span);
        }
    }

    fn is_possible(&self, bytes: u64, span: Nanos) -> bool {
        let sample = Pace::per_byte(bytes, span);
        self.possible.is_none_or(|most| sample <= most)
    }

    /// Whether links behind the vantage point may have taken so long, by the shortest round trips.
    pub(crate) fn allows(&self, bytes: u64, span: Nanos) -> bool {
        let sample = Pace::per_byte(bytes, span);
        self.allowed.is_none_or(|most| sample <= most)
    }

    /// Puts `bytes` of data on it, with their headers.
    pub(crate) fn carry(&mut self, bytes: u64, now: Instant) {
        let busy = self.time(bytes + Pace::HEADERS);
        self.free_at = self.free_at.max(now) + busy;
    }

    /// It is not done before that.
    pub(crate) fn is_busy_until(&mut self, at: Instant) {
        self.free_at = self.free_at.max(at);
    }

    /// Transmission time of this many bytes.
    pub(crate) fn time(&self, bytes: u64) -> Nanos {
        self.before.time(bytes).max(self.behind.time(bytes))
    }

    /// How sure its rate is. High: it is fast, as no sample has shown that it is not; or more than one sample has shown
    /// its rate, and a timer has ended none of them. Low: a flight came faster than that, so a token bucket lets
    /// flights go, or a sender paces them.
    pub(crate) fn sure(&self) -> Confidence {
        let is_before = self.before.per_byte.unwrap_or(0) > self.behind.per_byte.unwrap_or(0);
        let slower = if is_before { &self.before } else { &self.behind };
        let refuted = is_before
            && slower.per_byte.zip(self.possible_before).is_some_and(|(pace, most)| pace > most);
        match slower.samples == 0 || slower.is_shown() {
            _ if refuted => Confidence::Low,
            true => Confidence::High,
            false => Confidence::Medium,
        }
    }

    /// Whether nothing has shown its rate.
    pub(crate) const fn is_unknown(&self) -> bool {
        self.before.per_byte.is_none() && self.behind.per_byte.is_none()
    }

    /// When it has nothing more to do.
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use Direction::{ToClient, ToServer};

    fn seen_at(micros: u64) -> Instant {
        Instant::EPOCH + Nanos::from_micros(micros)
    }

    fn distances(to_server: u64, to_client: u64) -> Distances {
        let mut distances = Distances::default();
        distances.sample(ToServer, Nanos::from_micros(to_server));
        distances.sample(ToClient, Nanos::from_micros(to_client));
        distances
    }

    #[test]
    fn samples_of_a_bunch_count_until_there_are_wider_ones() {
        let mut pace = Pace::default();
        assert!(pace.admits(true));
        pace.sample(960, Nanos::from_micros(40));
        assert!(pace.admits(true) && pace.admits(false));
        pace.sample(960, Nanos::from_micros(480));
        assert!(!pace.admits(true));
        assert_eq!(pace.time(1_000), Nanos::from_micros(480), "what the bunch showed is forgotten");
    }

    #[test]
    fn delays_are_halves_of_the_shortest_round_trips_and_tolerances_follow() {
        let mut distances = distances(20_000, 90);
        distances.sample(ToServer, Nanos::from_micros(30_000));
        distances.sample(ToServer, Nanos::from_micros(16_000));
        assert_eq!(distances.round_trip(ToServer), Some(Nanos::from_micros(16_000)));
        assert_eq!(distances.round_trip(ToClient), Some(Nanos::from_micros(90)));
        assert_eq!(distances.whole(), Nanos::from_micros(16_090));
        let micros = |delays: &PathDelays| {
            let &PathDelays { sender, receiver, immediate, tolerance, .. } = delays;
            let &PathDelays { prompt_ack, round_trip, .. } = delays;
            [sender, receiver, immediate, tolerance, prompt_ack, round_trip].map(Nanos::get)
        };
        assert_eq!(
            micros(distances.path_delays(ToServer)),
            [45_000, 8_000_000, 311_250, 56_250, 3_000_000, 16_090_000]
        );
        assert_eq!(
            micros(distances.path_delays(ToClient)),
            [8_000_000, 45_000, 2_300_000, 2_050_000, 1_011_250, 16_090_000]
        );
        let unknown = Distances::default();
        assert_eq!(micros(unknown.path_delays(ToClient)), [0, 0, 300_000, 0, 1_000_000, 0]);
        assert_eq!((unknown.round_trip(ToClient), unknown.whole()), (None, Nanos::ZERO));
    }

    #[test]
    fn where_the_capture_was_taken_follows_from_both_round_trips() {
        use Party::{Client, Server};
        for (to_server, to_client, vantage) in [
            (7_000, 1_000, Vantage::At(Client)),
            (7_000, 1_001, Vantage::Between),
            (1_000, 7_000, Vantage::At(Server)),
            (1_001, 7_000, Vantage::Between),
            (30, 29, Vantage::OneHost),
            (30, 30, Vantage::Between),
            (59, 0, Vantage::OneHost),
            (60, 0, Vantage::At(Client)),
        ] {
            assert_eq!(distances(to_server, to_client).vantage(), vantage, "{to_server}");
        }
        let mut one = Distances::default();
        one.sample(ToServer, Nanos::from_micros(5));
        assert_eq!(one.vantage(), Vantage::Unknown);
        for (vantage, name) in [
            (Vantage::At(Client), "client"),
            (Vantage::At(Server), "server"),
            (Vantage::Between, "between"),
            (Vantage::Both, "both"),
            (Vantage::OneHost, "one-host"),
            (Vantage::Unknown, "unknown"),
        ] {
            assert_eq!(vantage.name(), name);
        }
    }

    #[test]
    fn what_is_near_and_far_follows_from_the_vantage_in_both_directions() {
        use Party::{Client, Server};
        let by_address = || {
            let mut distances = distances(900, 1_000);
            distances.begin_on_one_host();
            distances
        };
        // Of data to the server, and to the client: next to its sender, far from its sender, far from its receiver.
        // Then of responses: seen as they leave, and may be lost behind.
        let [next, far] = [[true, false, true], [false, true, false]];
        let (between, both) = ([false, true, true], [true, false, false]);
        for (distances, vantage, ways, responses) in [
            (distances(40_000, 100), Vantage::At(Client), [next, far], [false, false]),
            (distances(100, 40_000), Vantage::At(Server), [far, next], [true, true]),
            (distances(20_000, 30_000), Vantage::Between, [between; 2], [false, true]),
            (distances(30, 20), Vantage::OneHost, [both; 2], [true, false]),
            (by_address(), Vantage::OneHost, [both; 2], [true, false]),
            (Distances::default(), Vantage::Unknown, [both; 2], [false, false]),
        ] {
            assert_eq!(distances.vantage(), vantage);
            for (direction, expected) in [ToServer, ToClient].into_iter().zip(ways) {
                let it = distances.path_delays(direction);
                let found =
                    [it.is_next_to_sender(), it.is_far_from_sender(), it.is_far_from_receiver()];
                assert_eq!(found, expected, "{vantage:?} {direction:?}");
            }
            let found = [vantage.is_at_server(), vantage.is_before_client()];
            assert_eq!(found, responses, "{vantage:?}");
        }
        // Two captures, which have no distances of their own.
        assert!(Vantage::Both.is_at_server() && !Vantage::Both.is_before_client());
    }

    #[test]
    fn where_a_capture_is_taken_may_become_clear_later() {
        let mut distances = distances(900, 1_000);
        assert!(distances.path_delays(ToClient).is_far_from_sender());
        distances.sample(ToServer, Nanos::from_micros(100));
        assert!(distances.path_delays(ToClient).is_next_to_sender());
        assert_eq!(distances.vantage(), Vantage::At(Party::Server));
    }

    /// A pace after these samples, in microseconds for 960 bytes of data and their headers.
    fn pace(samples: &[u64]) -> Pace {
        let mut pace = Pace::default();
        samples.iter().for_each(|&span| pace.sample(960, Nanos::from_micros(span)));
        pace
    }

    #[test]
    fn a_pace_is_the_fastest_of_few_samples_and_then_moves_in_small_steps() {
        let time = |samples: &[u64]| pace(samples).time(1_000).get();
        assert_eq!(time(&[]), 0);
        assert_eq!(time(&[320]), 320_000);
        assert_eq!(time(&[320, 640, 160, 640]), 160_000);
        assert_eq!(time(&[320, 320, 320, 320, 640]), 330_000, "slower by 1/32");
        assert_eq!(time(&[320, 320, 320, 320, 322]), 322_000, "but not than the sample");
        assert_eq!(time(&[320, 320, 320, 320, 160]), 310_000, "faster by 1/32");
        assert_eq!(time(&[320, 320, 320, 320, 316]), 316_000, "but not than the sample");
        assert_eq!(pace(&[320]).time(500), Nanos::from_micros(160));
    }

    #[test]
    fn acks_that_came_in_a_bunch_give_way_to_samples_in_a_row_that_are_far_slower() {
        let time = |samples: &[u64]| {
            let mut pace = Pace::default();
            samples.iter().for_each(|&span| pace.follow(960, Nanos::from_micros(span)));
            pace.time(1_000).get() / 1_000
        };
        let slower = [360, 640, 480, 320, 640, 640, 480, 480];
        assert!(time(&[&[32][..], &slower].concat()) < 40, "one gap may be in all of them");
        assert_eq!(time(&[&[32][..], &slower, &[360]].concat()), 320, "the fastest of them");
        assert!(time(&[&[32][..], &slower, &[63]].concat()) < 45, "less than twice as slow");
        assert!(time(&[&[32][..], &slower, &[16, 360]].concat()) < 45, "not in a row");
        assert_eq!(time(&[&[320; 8][..], &[960; 9]].concat()), 960, "the path has changed");
    }

    #[test]
    fn what_a_timer_may_have_ended_counts_until_something_better_is_known() {
        let mut pace = Pace::default();
        pace.sample_at_most(960, Nanos::from_micros(640));
        pace.sample_at_most(960, Nanos::from_micros(320));
        assert_eq!(pace.time(1_000), Nanos::from_micros(320));
        pace.sample(960, Nanos::from_micros(480));
        assert_eq!(pace.time(1_000), Nanos::from_micros(480), "what was doubtful is forgotten");
        pace.sample_at_most(960, Nanos::from_micros(480));
        pace.sample_at_most(960, Nanos::from_micros(900));
        assert_eq!(pace.time(1_000), Nanos::from_micros(480));
        pace.sample_at_most(960, Nanos::from_micros(240));
        assert_eq!(pace.time(1_000), Nanos::from_micros(240), "faster it is in any case");
    }

    #[test]
    fn what_a_timer_may_have_ended_does_not_stand_against_a_round_trip() {
        // Two segments in one go; the second is acknowledged 40 ms after the first.
        let delayed = |bottleneck: &mut Bottleneck| {
            for (at, more) in [(0, false), (20_000, true), (60_000, true)] {
                let times = [seen_at(0), seen_at(at)];
                bottleneck.acknowledged(960, times, more, AckDelay::ByTimer);
            }
        };
        let mut bottleneck = Bottleneck::default();
        delayed(&mut bottleneck);
        bottleneck.carry(960, seen_at(70_000));
        assert_eq!(bottleneck.free_at(), seen_at(110_000));
        bottleneck.allow(960, Nanos::from_millis(20), seen_at(70_000));
        assert_eq!(bottleneck.free_at(), seen_at(110_000), "a half of a segment may be in it");
        bottleneck.allow(960, Nanos::from_millis(19), seen_at(70_000));
        assert_eq!(bottleneck.free_at(), seen_at(70_000));
        assert!(bottleneck.is_unknown());
        delayed(&mut bottleneck);
        assert!(bottleneck.is_unknown(), "nor later");
    }

    #[test]
    fn of_two_paces_the_one_that_is_known_better_counts() {
        let known = pace(&[320]);
        let mut doubtful = Pace::default();
        doubtful.sample_at_most(960, Nanos::from_micros(640));
        let none = Pace::default();
        for (one, other, micros) in [
            (none, known, 320),
            (known, none, 320),
            (known, doubtful, 320),
            (doubtful, known, 320),
            (doubtful, none, 640),
            (doubtful, doubtful, 640),
            (pace(&[160]), known, 160),
        ] {
            assert_eq!(one.or(other).time(1_000), Nanos::from_micros(micros));
        }
        assert_eq!(none.or(none).time(1_000), Nanos::ZERO);
    }

    #[test]
    fn in_the_middle_of_a_connection_a_program_may_be_in_the_least_round_trip() {
        let millis = Nanos::from_millis;
        for (why, least, acks, in_doubt) in [
            ("an answer with data", 30, &[][..], true),
            ("of one that answers at once", 1, &[], false),
            ("one ACK, which a timer may have sent", 30, &[(30, false)], true),
            ("as little twice", 30, &[(31, false), (30, false)], false),
            ("but not with the time of a timer", 45, &[(45, false), (45, false)], true),
            ("one that no receiver delays", 45, &[(45, true)], false),
            ("in a queue", 45, &[(80, true)], true),
        ] {
            let mut distances = Distances::default();
            distances.begin_in_middle();
            distances.sample(ToServer, millis(least));
            for &(ack, is_prompt) in acks {
                distances.sample(ToServer, millis(ack));
                distances.confirm(ToServer, millis(ack), is_prompt);
            }
            assert_eq!(distances.is_in_doubt(ToServer), in_doubt, "{why}");
            assert_eq!(distances.path_delays(ToClient).sender_in_doubt, in_doubt, "{why}");
            assert!(distances.path_delays(ToServer).sender_in_doubt, "{why}");
        }
    }

    /// Round trips in microseconds, of packets that nothing of their own delays.
    fn alike(micros: &[u64]) -> Alike {
        let mut distances = Distances::default();
        for &it in micros {
            distances.sample(ToServer, Nanos::from_micros(it));
            distances.compare(ToServer, Nanos::from_micros(it));
        }
        distances.alike()
    }

    #[test]
    fn round_trips_are_those_of_an_idle_path_if_several_took_as_little() {
        for (micros, [steady, vary]) in [
            (&[][..], [false, false]),
            (&[10_000], [false, false]),
            (&[10_000, 10_300], [true, false]),
            (&[10_300, 10_000], [true, false]),
            (&[10_000, 10_301], [false, false]),
            (&[10_000, 10_301, 10_400], [false, true]),
            (&[49_400, 40_400], [false, false]),
            // A receiver's timer, or a program.
            (&[10_000, 50_000], [false, false]),
            (&[10_000, 10_100, 50_000, 51_000, 52_000], [true, false]),
            // As a standing queue of 120 ms has them, that holds a packet of 2.4 ms more or less.
            (&[131_490, 131_560, 130_900, 131_720, 129_080, 130_950], [false, true]),
            (&[131_490, 131_560], [true, false]),
            // An idle path with some other traffic.
            (&[40_000, 40_100, 42_000, 40_050, 45_000], [true, false]),
            (&[40_000, 40_100, 42_000, 43_050, 45_000], [false, true]),
            // Another path, or the queue was empty then.
            (&[80_000, 82_000, 10_000], [false, false]),
            (&[80_000, 82_000, 10_000, 90_000, 10_020], [true, false]),
        ] {
            let found = alike(micros);
            assert_eq!([found.are_steady(), found.vary()], [steady, vary], "{micros:?} {found:?}");
        }
    }

    #[test]
    fn round_trips_in_which_a_program_has_time_are_not_compared() {
        let mut distances = Distances::default();
        for micros in [40_000, 40_900, 40_050, 41_700, 42_000] {
            distances.sample(ToServer, Nanos::from_micros(micros));
        }
        assert_eq!(distances.alike(), Alike::default());
        // Nor are others like one that a program made longer.
        distances.compare(ToServer, Nanos::from_micros(41_000));
        assert_eq!(distances.alike(), Alike { near: 0, beyond: 1 });
    }

    #[test]
    fn two_answers_that_waited_in_a_queue_show_that_the_path_is_not_idle() {
        let mut distances = Distances::default();
        for (queued, steady) in [(0, true), (1, true), (2, false)] {
            distances.sample(ToServer, Nanos::from_micros(10_000));
            distances.compare(ToServer, Nanos::from_micros(10_000));
            distances.compare(ToServer, Nanos::from_micros(10_000));
            assert_eq!(distances.alike().are_steady(), steady, "{queued}");
            distances.note_queued();
        }
    }

    #[test]
    fn connections_between_the_same_hosts_bear_witness_for_each_other() {
        let of = |least: u64, near, beyond| (Nanos::from_micros(least), Alike { near, beyond });
        for (one, two, joined) in [
            (of(10_000, 1, 0), of(10_200, 1, 1), [2, 1]),
            (of(10_000, 1, 0), of(11_000, 3, 0), [1, 3]),
            (of(11_000, 3, 0), of(10_000, 1, 0), [1, 3]),
            // Another way, or a busy time.
            (of(10_000, 1, 0), of(60_000, 3, 2), [1, 0]),
            (of(10_000, 254, 3), of(10_000, 9, 254), [254, 254]),
        ] {
            let Alike { near, beyond } = Alike::join([one, two]);
            assert_eq!([near, beyond], joined, "{one:?} {two:?}");
        }
    }

    #[test]
    fn many_round_trips_are_counted_in_proportion() {
        let steady = |of_ten: usize| {
            let micros = |it: usize| if it % 10 < of_ten { 10_000 } else { 10_500 };
            alike(&(0..2_000).map(micros).collect::<Vec<_>>()).are_steady()
        };
        assert!(steady(6) && !steady(4));
    }

    /// Acknowledgements of 960 bytes, each sent and answered at these times; the last is the last.
    fn behind(times: &[(u64, u64)], delay: AckDelay) -> Bottleneck {
        let mut bottleneck = Bottleneck::default();
        for &(sent, at) in times {
            bottleneck.acknowledged(960, [sent, at].map(seen_at), true, delay);
        }
        bottleneck
    }

    #[test]
    fn acknowledgements_further_apart_than_their_segments_show_a_slow_link_behind() {
        for (times, micros) in [
            (&[(0, 1_000)][..], 0),
            (&[(0, 1_000), (100, 1_201)], 201),
            (&[(0, 1_000), (100, 1_200)], 0),
            // From the first of the run, over both segments: 602 for 1,920 bytes with headers.
            (&[(0, 1_000), (100, 1_200), (200, 1_602)], 602 * 1_000 / 1_960),
        ] {
            let found = behind(times, AckDelay::None).behind.time(1_000).get() / 1_000;
            assert_eq!(found, micros, "{times:?}");
        }
    }

    #[test]
    fn acknowledgements_of_one_segment_each_show_a_rate_once_they_are_a_habit() {
        let times: Vec<(u64, u64)> = (0..9).map(|number| (number, 500 * number)).collect();
        for (count, delay, doubtful) in [
            (8, AckDelay::ByTimer, true),
            (9, AckDelay::ByTimer, false),
            (9, AckDelay::Unknown, true),
            (2, AckDelay::None, false),
        ] {
            let found = behind(&times[..count], delay);
            assert_eq!(found.behind.doubtful, doubtful, "{count} {delay:?}");
        }
        let mut two = behind(&times[..7], AckDelay::ByTimer);
        two.acknowledged(1_920, [7, 4_000].map(seen_at), true, AckDelay::ByTimer);
        two.acknowledged(960, [8, 4_500].map(seen_at), true, AckDelay::ByTimer);
        assert!(two.behind.doubtful, "one of them was of two segments");
    }

    #[test]
    fn no_link_is_slower_than_the_shortest_round_trip_allows() {
        let late = |round_trip| {
            let mut bottleneck = behind(&[(0, 1_000)], AckDelay::None);
            bottleneck.bound(Nanos::from_micros(round_trip));
            bottleneck.acknowledged(1_920, [100, 41_000].map(seen_at), true, AckDelay::None);
            let run = bottleneck.behind.time(1_000);
            bottleneck.sample_behind(1_920, Nanos::from_micros(40_000));
            [run, bottleneck.behind.time(1_000)].map(|it| it.is_zero())
        };
        // 1,960 bytes in 40 ms are 40 in 816 us.
        assert_eq!(late(800), [true, true], "a receiver's timer, or its program");
        assert_eq!(late(820), [false, false]);
        let mut known = behind(&[(0, 1_000), (100, 41_000)], AckDelay::None);
        assert!(!known.behind.time(1_000).is_zero());
        known.bound(Nanos::from_micros(800));
        assert!(known.behind.time(1_000).is_zero(), "an earlier sample is forgotten");
    }

    #[test]
    fn a_run_of_acknowledgements_ends_when_nothing_is_outstanding_and_is_bounded() {
        let mut over = behind(&[(0, 1_000)], AckDelay::None);
        over.acknowledged(960, [100, 1_100].map(seen_at), false, AckDelay::None);
        over.acknowledged(960, [200, 9_000].map(seen_at), true, AckDelay::None);
        assert_eq!(over.behind.time(1_000), Nanos::ZERO);
        let mut long = behind(&[(0, 1_000); 20], AckDelay::None);
        assert_eq!(long.run.len(), Bottleneck::RUN);
        long.acknowledged(960, [0, 1_001].map(seen_at), true, AckDelay::Unknown);
        assert!(long.behind.doubtful, "one segment may have been acknowledged by a timer");
        long.acknowledged(960, [0, 2_000].map(seen_at), true, AckDelay::None);
        assert!(!long.behind.doubtful);
    }

    #[test]
    fn the_slower_link_carries_one_segment_after_the_other() {
        let mut bottleneck = Bottleneck { before: pace(&[320]), ..Bottleneck::default() };
        assert_eq!(bottleneck.time(1_000), Nanos::from_micros(320));
        bottleneck.behind = pace(&[640]);
        assert_eq!(bottleneck.time(1_000), Nanos::from_micros(640));
        bottleneck.carry(960, seen_at(100));
        bottleneck.carry(960, seen_at(200));
        assert_eq!(bottleneck.free_at(), seen_at(100 + 2 * 640));
        bottleneck.carry(960, seen_at(5_000));
        assert_eq!(bottleneck.free_at(), seen_at(5_640));
    }

    #[test]
    fn what_is_possible_and_allowed_is_so_up_to_its_bound() {
        // 1,000 bytes with headers in 1 ms, and 40 in 40 us.
        let (bytes, span) = (960, Nanos::from_micros(1_000));
        for (round_trip, possible) in [(40_000, true), (39_999, false)] {
            let mut bottleneck = Bottleneck::default();
            bottleneck.bound(Nanos::new(round_trip));
            bottleneck.sample_behind(bytes, span);
            assert_eq!(bottleneck.behind.is_known(), possible, "{round_trip}");
            let mut earlier = Bottleneck::default();
            earlier.sample_behind(bytes, span);
            earlier.bound(Nanos::new(round_trip));
            assert_eq!(earlier.behind.is_known(), possible, "{round_trip}");
        }
        for (late, allowed) in [(500_000, true), (499_999, false)] {
            let mut bottleneck = Bottleneck::default();
            assert!(bottleneck.allows(bytes, span));
            bottleneck.allow(bytes, Nanos::new(late), seen_at(0));
            assert_eq!(bottleneck.allows(bytes, span), allowed, "{late}");
        }
    }

    #[test]
    fn a_rate_is_sure_if_two_samples_show_it_and_no_flight_came_faster() {
        use Confidence::{High, Low, Medium};
        let sure = |before: &[u64], behind: &[u64], flight: Option<u64>| {
            let mut bottleneck =
                Bottleneck { before: pace(before), behind: pace(behind), ..Bottleneck::default() };
            if let Some(micros) = flight {
                bottleneck.bound_before(1_000, Nanos::from_micros(micros));
            }
            bottleneck.sure()
        };
        for (before, behind, flight, expected) in [
            (&[][..], &[][..], None, High),
            (&[320], &[], None, Medium),
            (&[320, 320], &[], None, High),
            (&[320], &[640, 640], None, High),
            (&[320, 320], &[640], None, Medium),
            (&[320, 320], &[320], None, Medium),
            (&[320, 320], &[], Some(320), High),
            (&[320, 320], &[], Some(319), Low),
            (&[320, 320], &[640, 640], Some(319), High),
        ] {
            assert_eq!(sure(before, behind, flight), expected, "{before:?} {behind:?} {flight:?}");
        }
        let mut doubtful = Bottleneck::default();
        doubtful.behind.sample_at_most(960, Nanos::from_micros(320));
        doubtful.behind.sample_at_most(960, Nanos::from_micros(320));
        assert_eq!(doubtful.sure(), Medium, "a timer may have ended them");
    }

    #[test]
    fn a_link_is_much_faster_that_takes_less_than_a_quarter() {
        for (samples, micros, faster) in [
            (&[320, 320][..], 1_280, false),
            (&[320, 320], 1_281, true),
            (&[320], 9_999, false),
            (&[], 9_999, false),
        ] {
            let found = pace(samples).is_faster(960, Nanos::from_micros(micros));
            assert_eq!(found, faster, "{samples:?} {micros}");
        }
    }

    #[test]
    fn round_trips_are_near_the_least_within_an_eighth_and_a_tenth_of_a_millisecond() {
        for (micros, near) in [(9_100, true), (9_101, false), (6_900, true), (6_899, false)] {
            assert_eq!(is_near(Nanos::from_micros(8_000), Nanos::from_micros(micros)), near);
        }
        // A much shorter one begins anew, and one within a millisecond is in no doubt.
        for (second, acks, in_doubt) in [
            (30_000, 2, false),
            (20_000, 2, false),
            (20_000, 1, true),
            (1_000, 0, false),
            (1_001, 0, true),
        ] {
            let mut distances = Distances::default();
            distances.begin_in_middle();
            distances.sample(ToServer, Nanos::from_micros(31_000));
            distances.confirm(ToServer, Nanos::from_micros(31_000), false);
            distances.sample(ToServer, Nanos::from_micros(second));
            (0..acks).for_each(|_| distances.confirm(ToServer, Nanos::from_micros(second), false));
            assert_eq!(distances.is_in_doubt(ToServer), in_doubt, "{second} {acks}");
        }
        for (micros, in_doubt) in [(39_999, false), (40_000, true)] {
            let mut distances = Distances::default();
            distances.begin_in_middle();
            distances.sample(ToServer, Nanos::from_micros(micros));
            (0..2).for_each(|_| distances.confirm(ToServer, Nanos::from_micros(micros), false));
            assert_eq!(distances.is_in_doubt(ToServer), in_doubt, "{micros}");
        }
    }

    #[test]
    fn a_vantage_point_is_next_to_an_end_that_is_eight_times_nearer() {
        for (sender, receiver, next, far_from_receiver, next_to_receiver) in [
            (1_000, 8_000, true, true, false),
            (1_001, 8_000, false, true, false),
            (8_000, 1_001, false, true, false),
            (8_000, 1_000, false, false, true),
            (0, 8_000, true, true, false),
            (8_000, 0, false, false, false),
        ] {
            let it = PathDelays::new(Nanos::from_micros(sender), Nanos::from_micros(receiver));
            let found =
                [it.is_next_to_sender(), it.is_far_from_receiver(), it.is_next_to_receiver()];
            let expected = [next, far_from_receiver, next_to_receiver];
            assert_eq!(found, expected, "{sender} {receiver}");
        }
        // By its addresses on one host, it is next to a receiver that has answered.
        for (sender, receiver, next) in [(8, 9, true), (0, 9, false), (8, 0, false)] {
            let it = PathDelays::new(Nanos::from_millis(sender), Nanos::from_millis(receiver));
            let it = PathDelays { one_host: true, ..it };
            let found = [it.is_next_to_sender(), it.is_far_from_receiver()];
            assert_eq!(found, [true, false], "{sender} {receiver}");
            assert_eq!(it.is_next_to_receiver(), next, "{sender} {receiver}");
        }
        let near = PathDelays::new(Nanos::from_micros(100), Nanos::from_micros(8_000));
        assert_eq!(near.without_handshake().tolerance, Nanos::from_micros(200));
        let far = PathDelays::new(Nanos::from_micros(8_000), Nanos::from_micros(100));
        assert_eq!(far.without_handshake().tolerance, far.tolerance);
    }

    #[test]
    fn a_round_trip_is_limited_by_what_takes_less_and_never_begun_by_it() {
        for (known, at_most, expected) in
            [(Some(9_000), 8_999, Some(8_999)), (Some(9_000), 9_001, Some(9_000)), (None, 5, None)]
        {
            let mut distances = Distances::default();
            if let Some(micros) = known {
                distances.sample(ToServer, Nanos::from_micros(micros));
            }
            distances.limit(ToServer, Nanos::from_micros(at_most));
            assert_eq!(distances.round_trip(ToServer), expected.map(Nanos::from_micros));
        }
    }
}
