//! What is known of one connection to say why its exchange takes the time it takes.
//!
//! Between two events nothing changes but the links, and when those will be done is known; so time is
//! accounted backwards: at each event, what has passed since the last one.

use std::{collections::VecDeque, ops::Range};

use ackwise_cause::{Direction, InFlight, Moment, RepairedBy, cause};
use ackwise_tcp::{
    Instant, SeqNumber, Transmit, Wait, congestion::DUPLICATE_THRESHOLD, endpoint::RecoveryPhase,
};

use crate::{
    network::Passage,
    observe::{Blame, Side},
};

/// What a connection's watcher keeps.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// Up to when time is accounted for.
    since: Instant,
    /// What is true since then, but for what is under way; `None` while nobody waits.
    moment: Option<Moment>,
    /// Where its sender's loss recovery stands.
    recovery: RecoveryPhase,
    /// Where the message ends that is waited for, in the sequence space of its sender: 0 is the SYN.
    message_end: u64,
    /// By sender.
    senders: [Sender; 2],
    /// The server's congestion window before what it sends next.
    window: u32,
    /// The server's window before an idle time cut it, until it has grown back.
    cut_from: Option<u32>,
    /// The latest acknowledgement that each end has sent.
    told: [Option<SeqNumber>; 2],
}

/// What one end has under way.
#[derive(Clone, Debug, Default)]
struct Sender {
    /// When links are busy with its segments, in order, from the first that is not over.
    busy: VecDeque<Busy>,
    /// Segments with data, SYN or FIN between the ends.
    in_flight: u32,
    /// When a link holds its data, and sends nothing.
    held: Range<Instant>,
    /// The same for its acknowledgements.
    held_ack: Range<Instant>,
    /// What was dropped and not yet sent again, as ranges of sequence space.
    lost: Vec<Lost>,
}

/// A link is busy with a segment.
#[derive(Clone, Debug)]
struct Busy {
    time: Range<Instant>,
    /// Where its data begins; `None` for a pure ACK.
    start: Option<u64>,
}

impl Busy {
    fn is_data_before(&self, end: u64) -> bool {
        self.start.is_some_and(|start| start < end)
    }
}

/// A dropped range of the stream, SYN and FIN counted.
#[derive(Clone, Copy, Debug)]
struct Lost {
    start: u64,
    end: u64,
    by: RepairedBy,
}

impl Watched {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            since: now,
            moment: None,
            recovery: RecoveryPhase::Open,
            message_end: 0,
            senders: Default::default(),
            window: 0,
            cut_from: None,
            told: [None; 2],
        }
    }

    /// Accounts for the time until `now`: while links were busy, and after that.
    pub(crate) fn account(&mut self, now: Instant, mut add: impl FnMut(Blame)) {
        let since = std::mem::replace(&mut self.since, now);
        let Some(moment) = self.moment.filter(|_| since < now) else { return };
        let direction = moment.phase.direction();
        let side = side(direction);
        let sender = &self.senders[side as usize];
        // It waits for an acknowledgement: the path may hold that.
        let waits = !matches!(moment.wait, Wait::Application | Wait::Closed);
        let held_ack = waits.then_some(&self.senders[side.other() as usize].held_ack);
        let mut at = since;
        while at < now {
            let (in_flight, until) = sender.doing(at, self.message_end, held_ack);
            let until = until.min(now);
            let unaware = match in_flight {
                InFlight::Lost(_) => InFlight::Propagating,
                known => known,
            };
            add(Blame {
                cause: cause(&Moment { in_flight, ..moment }),
                unaware: cause(&Moment { in_flight: unaware, ..moment }),
                in_flight,
                recovery: self.recovery,
                direction,
                from: at,
                until,
            });
            at = until;
        }
    }

    /// The receiver of what `from` sends has so many bytes in order. A copy of them that was dropped is no loss:
    /// nobody will send it again.
    pub(crate) fn has_arrived(&mut self, from: Side, bytes: u64) {
        if bytes > 0 {
            // Place 0 is the SYN.
            self.senders[from as usize].lost.retain(|lost| lost.end > bytes + 1);
        }
    }

    /// What is true from now on of a message that ends at this place of its stream; `None` if nobody waits
    /// for any. Its sender's loss recovery stands at `recovery`.
    pub(crate) fn now_is(&mut self, oldest: Option<(Moment, u64)>, recovery: RecoveryPhase) {
        let cut_by_idle = self.cut_from.is_some();
        self.moment = oldest.map(|(moment, _)| Moment { cut_by_idle, ..moment });
        self.message_end = oldest.map_or(0, |(_, end)| end + 1);
        self.recovery = recovery;
    }

    /// The server's congestion window, before anything is sent.
    pub(crate) const fn window_was(&mut self, window: u32) {
        self.window = window;
    }

    /// The server has sent data again: its window is now what the loss has left, whatever it was before an idle time.
    pub(crate) const fn repairs(&mut self) {
        self.cut_from = None;
    }

    /// The server has sent new data with this congestion window; `alone` if nothing else is outstanding. What is
    /// then smaller than just before was cut for idleness, and stays so until it is what it was at first.
    #[expect(clippy::fn_params_excessive_bools, reason = "a fact of the segment")]
    pub(crate) fn window_is(&mut self, window: u32, alone: bool) {
        if alone && window < self.window {
            self.cut_from = self.cut_from.max(Some(self.window));
        } else if self.cut_from.is_some_and(|cut_from| window >= cut_from) {
            self.cut_from = None;
        }
        self.window = window;
    }

    /// A segment leaves.
    pub(crate) fn sent(&mut self, from: Side, transmit: &Transmit) {
        self.told[from as usize] = transmit.segment.ack;
        let Some((start, end)) = range(transmit) else { return };
        let sender = &mut self.senders[from as usize];
        sender.in_flight += 1;
        sender.lost.retain(|lost| lost.end <= start || end <= lost.start);
    }

    /// A link has taken a segment, at `now`.
    pub(crate) fn passes(
        &mut self,
        from: Side,
        transmit: &Transmit,
        passage: Passage,
        now: Instant,
    ) {
        let Passage { begins, ends, outage } = passage;
        let sender = &mut self.senders[from as usize];
        if let Some(outage) = outage.filter(|it| now < it.until() && it.from < ends) {
            let held = outage.from.max(now)..outage.until();
            match range(transmit) {
                Some(_) => sender.held = held,
                None => sender.held_ack = held,
            }
        }
        let start = range(transmit).map(|(start, _)| start);
        sender.keep_busy(Busy { time: begins..ends, start }, now);
    }

    /// Whether an acknowledgement by `from` is on its way to an end that has heard of all before
    /// `unacknowledged`. (If it was lost, a later one takes its place.)
    pub(crate) fn acknowledges(&self, from: Side, unacknowledged: SeqNumber) -> bool {
        self.told[from as usize].is_some_and(|told| unacknowledged.precedes(told))
    }

    /// A segment has arrived.
    pub(crate) fn received(&mut self, from: Side, transmit: &Transmit) {
        if range(transmit).is_some() {
            let sender = &mut self.senders[from as usize];
            sender.in_flight = sender.in_flight.saturating_sub(1);
        }
    }

    /// A segment was dropped; its sender has sent up to `sent_end`, in segments of `mss`.
    pub(crate) fn dropped(&mut self, from: Side, transmit: &Transmit, sent_end: u64, mss: u32) {
        let Some((start, end)) = range(transmit) else { return };
        let later = sent_end.saturating_sub(end) / u64::from(mss.max(1));
        // Each later segment makes a duplicate ACK (RFC 5681, section 3.2).
        let announced = later >= u64::from(DUPLICATE_THRESHOLD);
        let by = if announced { RepairedBy::Recovery } else { RepairedBy::Timeout };
        let sender = &mut self.senders[from as usize];
        sender.in_flight = sender.in_flight.saturating_sub(1);
        sender.lost.push(Lost { start, end, by });
    }
}

impl Sender {
    /// A link will be busy with a segment. Links that follow each other may be so at the same time.
    fn keep_busy(&mut self, busy: Busy, now: Instant) {
        while self.busy.pop_front_if(|busy| busy.time.end <= now).is_some() {}
        let place = self.busy.partition_point(|it| it.time.start <= busy.time.start);
        self.busy.insert(place, busy);
    }

    /// What the data before `end` is doing at `at`, and until when.
    fn doing(
        &self,
        at: Instant,
        end: u64,
        held_ack: Option<&Range<Instant>>,
    ) -> (InFlight, Instant) {
        let mut until = Instant::FAR_FUTURE;
        for held in held_ack.into_iter().chain([&self.held]) {
            if held.contains(&at) && self.lost.is_empty() {
                return (InFlight::Held, held.end);
            }
            if at < held.start {
                until = until.min(held.start);
            }
        }
        // Until then the data is on a link or waits for its turn.
        let ours = self.busy.iter().filter(|it| it.is_data_before(end));
        let queued_until = ours.map(|it| it.time.end).max().filter(|it| at < *it);
        let Some(queued_until) = queued_until else { return (self.in_flight(end), until) };
        let until = until.min(queued_until);
        match self.busy.iter().find(|it| at < it.time.end) {
            Some(Busy { time, .. }) if time.start <= at => {
                (InFlight::Transmitting, until.min(time.end))
            }
            // Another connection's.
            next => (InFlight::Queued, until.min(next.map_or(until, |it| it.time.start))),
        }
    }

    /// What the data before `end` is doing when no link is busy with it.
    fn in_flight(&self, end: u64) -> InFlight {
        let lost = self.lost.iter().filter(|lost| lost.start < end);
        match lost.min_by_key(|lost| lost.start) {
            Some(lost) => InFlight::Lost(lost.by),
            None if self.in_flight > 0 => InFlight::Propagating,
            None => InFlight::Nothing,
        }
    }
}

/// What a segment takes of the sequence space: 0 is the SYN; `None` for a pure ACK.
fn range(transmit: &Transmit) -> Option<(u64, u64)> {
    let segment = &transmit.segment;
    let length = u64::from(segment.sequence_length());
    let start = if segment.flags.syn { 0 } else { transmit.offset + 1 };
    (length > 0).then_some((start, start + length))
}

const fn side(direction: Direction) -> Side {
    match direction {
        Direction::ToServer => Side::Client,
        Direction::ToClient => Side::Server,
    }
}
