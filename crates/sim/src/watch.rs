//! What is known of one connection to say why its exchange takes the time it takes.
//!
//! Between two events nothing changes but the links, and when those will be done is known; so time is
//! accounted backwards: at each event, what has passed since the last one.

use ackwise_cause::{Direction, InFlight, Moment, RepairedBy, cause};
use ackwise_tcp::{Instant, SeqNumber, Transmit, congestion::DUPLICATE_THRESHOLD};

use crate::observe::{Blame, Side};

/// What a connection's watcher keeps.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    /// Up to when time is accounted for.
    since: Instant,
    /// What is true since then, but for what is under way; `None` while nobody waits.
    moment: Option<Moment>,
    /// By sender.
    senders: [Sender; 2],
    /// The server's congestion window when it last sent data.
    window: u32,
    /// The server's window before an idle time cut it, until it has grown back.
    cut_from: Option<u32>,
    /// The latest acknowledgement that each end has sent.
    told: [Option<SeqNumber>; 2],
}

/// What one end has under way.
#[derive(Clone, Debug, Default)]
struct Sender {
    /// Until then a link is busy with its data, or the data waits for its turn.
    transmitting_until: Instant,
    /// Segments with data, SYN or FIN between the ends.
    in_flight: u32,
    /// What was dropped and not yet sent again, as ranges of sequence space.
    lost: Vec<Lost>,
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
        let sender = &self.senders[side(direction) as usize];
        let free_at = sender.transmitting_until.clamp(since, now);
        if since < free_at {
            let busy = Moment { in_flight: InFlight::Transmitting, ..moment };
            add(Blame { cause: cause(&busy), direction, from: since, until: free_at });
        }
        if free_at < now {
            let idle = Moment { in_flight: sender.in_flight(), ..moment };
            add(Blame { cause: cause(&idle), direction, from: free_at, until: now });
        }
    }

    /// What is true from now on; `None` if nobody waits for anything.
    pub(crate) fn now_is(&mut self, moment: Option<Moment>) {
        self.moment = moment.map(|it| Moment { cut_by_idle: self.cut_from.is_some(), ..it });
    }

    /// The server has sent data with this congestion window; `alone` if nothing else is outstanding.
    /// What is then smaller than before was cut for idleness: a loss would have been repaired first.
    pub(crate) fn window_is(&mut self, window: u32, alone: bool) {
        if alone && window < self.window {
            self.cut_from = Some(self.window);
        } else if self.cut_from.is_some_and(|cut_from| window >= cut_from) {
            self.cut_from = None;
        }
        self.window = window;
    }

    /// A segment leaves: until `free_at` its first link is busy.
    pub(crate) fn sent(&mut self, from: Side, transmit: &Transmit, free_at: Instant) {
        self.told[from as usize] = transmit.segment.ack;
        let Some((start, end)) = range(transmit) else { return };
        let sender = &mut self.senders[from as usize];
        sender.in_flight += 1;
        sender.transmitting_until = sender.transmitting_until.max(free_at);
        sender.lost.retain(|lost| lost.end <= start || end <= lost.start);
    }

    /// Whether an acknowledgement by `from` is on its way to an end that has heard of all before
    /// `unacknowledged`. (If it was lost, a later one takes its place.)
    pub(crate) fn acknowledges(&self, from: Side, unacknowledged: SeqNumber) -> bool {
        self.told[from as usize].is_some_and(|told| unacknowledged.precedes(told))
    }

    /// A segment is on its next link, which is busy until `free_at`.
    pub(crate) fn forwarded(&mut self, from: Side, transmit: &Transmit, free_at: Instant) {
        if range(transmit).is_some() {
            let until = &mut self.senders[from as usize].transmitting_until;
            *until = (*until).max(free_at);
        }
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
    /// What its data is doing when no link is busy with it.
    fn in_flight(&self) -> InFlight {
        match self.lost.iter().min_by_key(|lost| lost.start) {
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
