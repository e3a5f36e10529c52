//! One reading of a stream: when its events arrived, and how many together.

use ackwise_units::statistics::middle;
use std::time::{Duration, Instant};

use super::{
    syntax::{Marks, Syntax},
    trial::Trial,
};
use crate::http_client::{Exchange, Stall};

/// A stream as one client got it.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) exchange: Exchange,
    /// The client that got it.
    pub(crate) trial: Trial,
    /// How long the handshake took: about one round trip.
    pub(crate) rtt: Duration,
    /// How long it was read: from its first content, or from the request if there was none.
    pub(crate) watched: Duration,
    pub(crate) syntax: Syntax,
    /// Events that arrived.
    pub(crate) events: usize,
    /// When the first one was complete.
    pub(crate) first_event: Option<Instant>,
    /// Content that arrived together, in order.
    pub(crate) bursts: Vec<Burst>,
}

/// Content that arrived together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Burst {
    /// When its first bytes arrived.
    pub(crate) from: Instant,
    /// When its last bytes did.
    pub(crate) to: Instant,
    pub(crate) bytes: u64,
    /// Events that it completes.
    pub(crate) events: usize,
    /// It ends in the middle of a line, where no program ends a write.
    pub(crate) is_cut: bool,
}

impl Record {
    /// Of a client `rtt` away that read until `until`.
    pub(crate) fn new(exchange: Exchange, trial: Trial, rtt: Duration, until: Instant) -> Self {
        let syntax = Syntax::of(&exchange.head);
        let marks = syntax.marks(&exchange.beginning, &exchange.pieces);
        let steps = steps(&exchange);
        let bursts = bursts(&steps, &marks);
        let arrived = steps.last().map_or(0, |step| step.content);
        let events = marks.events.partition_point(|end| *end <= arrived);
        let first_event = marks
            .events
            .first()
            .and_then(|end| steps.iter().find(|step| step.content >= *end).map(|step| step.at));
        let begun = bursts.first().map_or(exchange.sent, |burst| burst.from);
        let watched = until.saturating_duration_since(begun);
        Self { exchange, trial, rtt, watched, syntax, events, first_event, bursts }
    }

    /// The times between bursts, in order.
    pub(crate) fn gaps(&self) -> impl Iterator<Item = Duration> {
        self.bursts.windows(2).map(|pair| pair[1].from.saturating_duration_since(pair[0].from))
    }

    /// The middle one, if there are enough to tell.
    pub(crate) fn median_gap(&self) -> Option<Duration> {
        let gaps: Vec<_> = self.gaps().collect();
        if gaps.len() < GAPS_MIN { None } else { middle(gaps) }
    }

    /// How long the stream takes to fill a segment; `None` if there is no telling.
    pub(crate) fn fills_segment_in(&self) -> Option<Duration> {
        let bytes: u64 = self.bursts.iter().map(|burst| burst.bytes).sum();
        let room = f64::from(self.trial.mss) - OPTIONS as f64;
        (bytes > 0).then(|| self.watched.mul_f64((room / bytes as f64).min(LONG)))
    }

    /// How far apart arrivals are on average, also if there was none.
    pub(crate) fn pace(&self) -> Duration {
        self.watched / u32::try_from(self.bursts.len().max(1)).unwrap_or(u32::MAX)
    }

    /// Events that arrive together, in the middle.
    pub(crate) fn together(&self) -> usize {
        middle(self.bursts.iter().map(|burst| burst.events)).unwrap_or_default()
    }

    /// From the request to the first content.
    pub(crate) fn begins_after(&self) -> Option<Duration> {
        let first = self.bursts.first()?;
        Some(first.from.saturating_duration_since(self.exchange.sent))
    }

    /// Whether all content came at the same time, as far as a path lets it.
    pub(crate) fn is_in_one_piece(&self) -> bool {
        let ends = self.bursts.first().zip(self.bursts.last());
        ends.is_none_or(|(first, last)| {
            last.to.saturating_duration_since(first.from) <= AT_ONCE + 4 * self.rtt
        })
    }

    /// Small arrivals behind small ones: those that followed an ACK of ours, and those that came before it, and so did
    /// not wait for it.
    pub(crate) fn by_ack(&self) -> ByAck {
        let mut by_ack = ByAck::default();
        // A full segment does not wait, and a small one waits for the ACK of a small one (Minshall).
        let is_small = |len: u64| len + OPTIONS < u64::from(self.trial.mss);
        let sizes: Vec<u64> = self.exchange.response().map(|arrived| arrived.len).collect();
        for (stall, pair) in self.exchange.stalls().zip(sizes.windows(2)) {
            if pair.iter().all(|len| is_small(*len)) {
                by_ack.note(&stall, self);
            }
        }
        by_ack
    }
}

/// Arrivals behind small ones, by our ACK of these.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct ByAck {
    /// They came as soon as an answer to the ACK could come.
    pub(crate) followed: usize,
    /// They came before that.
    pub(crate) before: usize,
    /// How long those that followed waited in all.
    waited: Duration,
}

impl ByAck {
    fn note(&mut self, stall: &Stall, record: &Record) {
        let Some(acked) = stall.acked.filter(|acked| *acked <= stall.to) else {
            self.before += 1;
            return;
        };
        // Of several arrivals, all but the first may be acknowledged at once.
        let was_late = stall.withheld() >= Some(record.trial.delay / 2);
        if was_late && stall.to <= acked + record.rtt + SLACK {
            self.followed += 1;
            self.waited += stall.length();
        }
    }

    /// How long those that followed an ACK waited, on average.
    pub(crate) fn wait(self) -> Duration {
        self.waited / u32::try_from(self.followed.max(1)).unwrap_or(u32::MAX)
    }

    /// Whether arrivals wait for ACKs: most do. The kernel acknowledges some of the first by itself, unseen.
    pub(crate) fn waits(self) -> bool {
        self.followed >= FOLLOWED_MIN && self.before * 4 <= self.followed
    }

    /// Whether they do not: enough came before.
    pub(crate) fn is_free(self) -> bool {
        self.followed < 2 || self.before >= FREE_MIN && self.before * 2 >= self.followed
    }
}

/// An arrival, and how much content is readable after it.
struct Step {
    at: Instant,
    content: u64,
}

fn steps(exchange: &Exchange) -> Vec<Step> {
    let (mut pieces, mut content, mut wire) = (exchange.pieces.iter().peekable(), 0, 0);
    let mut steps = Vec::new();
    for arrived in exchange.response() {
        wire = arrived.end().max(wire);
        let before = content;
        while let Some(piece) = pieces.next_if(|piece| piece.wire <= wire) {
            content = piece.content;
        }
        if content > before {
            steps.push(Step { at: arrived.at, content });
        }
    }
    steps
}

fn bursts(steps: &[Step], marks: &Marks) -> Vec<Burst> {
    let mut bursts: Vec<Burst> = Vec::new();
    let (mut bytes, mut events) = (0, 0);
    for step in steps {
        let complete = marks.events.partition_point(|end| *end <= step.content);
        let burst = Burst {
            from: step.at,
            to: step.at,
            bytes: step.content - bytes,
            events: complete - events,
            is_cut: marks.seams.binary_search(&step.content).is_err(),
        };
        (bytes, events) = (step.content, complete);
        match bursts.last_mut() {
            Some(last) if step.at.saturating_duration_since(last.to) <= TOGETHER => {
                last.to = burst.to;
                last.bytes += burst.bytes;
                last.events += burst.events;
                last.is_cut = burst.is_cut;
            }
            _ => bursts.push(burst),
        }
    }
    bursts
}

/// What arrives this soon after something else was sent with it. Our choice: less than between the tokens of a quick
/// model, more than between the segments of one write.
pub(crate) const TOGETHER: Duration = Duration::from_millis(2);

/// Fewer gaps have no middle. Our choice.
const GAPS_MIN: usize = 2;

/// A stream that comes within this time comes at once; beyond it, a round trip for each of the first flights. Our choice.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Maximum size of the TCP options in a segment, in bytes: the header has at most 60 bytes (RFC 9293, section 3.1).
const OPTIONS: u64 = 40;

/// How much later than a round trip after our ACK something may come that the ACK released, on a busy machine. Our choice.
const SLACK: Duration = Duration::from_millis(8);

/// Limit on the time to fill a segment, as a multiple of the time watched: keeps a slow stream within `Duration`.
/// Our choice.
const LONG: f64 = 1_000.0;

/// Releases that show that arrivals wait for our ACK. Our choice: at two delays, each twice as many as chance would
/// give in a trial.
const FOLLOWED_MIN: usize = 4;

/// Arrivals before our ACK that show that they do not wait for it. Our choice.
const FREE_MIN: usize = 3;
