//! Where the vantage point stands, and how fast the path is: what turns the times at which packets are
//! seen into the times at which the ends send and receive them.

use std::collections::VecDeque;

use ackwise_cause::{Direction, Party};
use ackwise_tcp::Instant;

use super::Nanos;

/// Round-trip times from the vantage point to each end: the least that were seen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Distances {
    round_trips: [Option<Nanos>; 2],
    /// The delays that follow from them, by the direction of the data.
    path_delays: [PathDelays; 2],
}

impl Default for Distances {
    fn default() -> Self {
        Self { round_trips: [None; 2], path_delays: [PathDelays::new(Nanos::ZERO, Nanos::ZERO); 2] }
    }
}

impl Distances {
    /// The end that data in `direction` goes to answered after so long.
    pub(crate) fn sample(&mut self, direction: Direction, round_trip: Nanos) {
        let least = &mut self.round_trips[direction as usize];
        if least.is_some_and(|it| it <= round_trip) {
            return;
        }
        *least = Some(round_trip);
        // Half of it: nothing distinguishes the two directions.
        let [server, client] = self.round_trips.map(|it| it.unwrap_or_default() / 2);
        self.path_delays = [PathDelays::new(client, server), PathDelays::new(server, client)];
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
}

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
        }
    }
}

/// Where a capture was taken.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Vantage {
    /// At one of the two ends.
    At(Party),
    /// Somewhere between them.
    Between,
    /// At both ends: two captures were joined.
    Both,
    /// The ends are so near to each other that it does not matter.
    OneHost,
    /// No round trip was seen.
    Unknown,
}

impl Vantage {
    /// An end is near if its round trip is this part of the whole. Ours.
    const NEAR: u64 = 8;
    /// No network is so short. Ours.
    const ONE_HOST: Nanos = Nanos::from_micros(60);

    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::At(party) => party.name(),
            Self::Between => "between",
            Self::Both => "both",
            Self::OneHost => "one-host",
            Self::Unknown => "unknown",
        }
    }
}

/// How long a link is busy with a byte, in picoseconds, learned from what cannot be explained
/// otherwise: segments that come one behind the other, and acknowledgements that come late.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    per_byte: Option<u64>,
    samples: u8,
    /// All samples may be of a receiver's timer.
    doubtful: bool,
}

impl Pace {
    /// Bytes of headers that go with any data: of IPv4 and TCP without options.
    pub(crate) const HEADERS: u64 = 40;
    /// Of so few samples the fastest counts. Ours.
    const FEW: u8 = 4;

    /// So many bytes of data took so long with their headers.
    ///
    /// What is slower had other reasons too, and what is faster had waited somewhere and came at
    /// once; so the pace is one that three of four samples are slower than, or as slow.
    pub(crate) fn sample(&mut self, bytes: u64, span: Nanos) {
        if std::mem::take(&mut self.doubtful) {
            *self = Self::default();
        }
        self.learn(bytes, span);
    }

    /// So many bytes took no longer than that: what ended it may have been a receiver's timer.
    fn sample_at_most(&mut self, bytes: u64, span: Nanos) {
        self.doubtful |= self.per_byte.is_none();
        if self.doubtful || span < self.time(bytes + Self::HEADERS) {
            self.learn(bytes, span);
        }
    }

    fn learn(&mut self, bytes: u64, span: Nanos) {
        let sample = (span * 1_000).get() / (bytes + Self::HEADERS);
        self.samples = self.samples.saturating_add(1);
        self.per_byte = Some(match self.per_byte {
            None => sample,
            Some(pace) if self.samples <= Self::FEW => pace.min(sample),
            // Steps of three to one lead to where three of four are on the side of the small ones.
            Some(pace) if sample < pace => sample.max(pace - pace * 3 / 32),
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

    /// How long a link is busy with so many bytes; no time if that is not known.
    pub(crate) fn time(self, bytes: u64) -> Nanos {
        Nanos::new(self.per_byte.unwrap_or(0).saturating_mul(bytes) / 1_000)
    }
}

/// The paces between two hosts: by the direction of the data, before the vantage point and behind it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Paces(pub [[Pace; 2]; 2]);

impl Paces {
    /// What was seen later counts, where something was.
    pub(crate) fn update(&mut self, seen: [[Pace; 2]; 2]) {
        for (known, seen) in self.0.iter_mut().flatten().zip(seen.into_iter().flatten()) {
            *known = seen.or(*known);
        }
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
    /// The latest acknowledgements while more was outstanding, oldest first.
    run: VecDeque<Acknowledged>,
}

/// A segment whose end was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Acknowledged {
    bytes: u64,
    sent: Instant,
    at: Instant,
}

impl Bottleneck {
    /// Over so many acknowledgements a pace is taken: some come in a bunch. Ours.
    const RUN: usize = 8;

    /// An acknowledgement of `bytes`, the last of which were seen at `sent`, was seen at `at`.
    /// Acknowledgements that lie further apart than their segments did show the pace of what is
    /// behind, unless this one was delayed: while `more` is outstanding it was not, if it is of two
    /// segments (`prompt`). A receiver whose timer goes off between two segments acknowledges one.
    pub(crate) fn acknowledged(
        &mut self,
        bytes: u64,
        [sent, at]: [Instant; 2],
        more: bool,
        prompt: bool,
    ) {
        if let Some(first) = self.run.front().filter(|_| more) {
            let apart = Nanos::between(first.at, at);
            let bytes = bytes + self.run.iter().skip(1).map(|it| it.bytes).sum::<u64>();
            if apart > Nanos::between(first.sent, sent) * 2 {
                if prompt {
                    self.behind.sample(bytes, apart);
                } else {
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

    /// So many bytes of data are put on it, with their headers.
    pub(crate) fn carry(&mut self, bytes: u64, now: Instant) {
        let busy = self.time(bytes + Pace::HEADERS);
        self.free_at = self.free_at.max(now) + busy;
    }

    /// How long it is busy with so many bytes.
    pub(crate) fn time(&self, bytes: u64) -> Nanos {
        self.before.time(bytes).max(self.behind.time(bytes))
    }

    /// When it has nothing more to do.
    pub(crate) const fn free_at(&self) -> Instant {
        self.free_at
    }
}
