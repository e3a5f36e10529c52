//! BBR version 1 as its packets show it (Cardwell et al. 2016; Linux `net/ipv4/tcp_bbr.c`).
//!
//! - `bbr_pacing_gain`: in PROBE_BW it sends a quarter more for a round trip, a quarter less in the next, and
//!   as much as was delivered in six more.
//! - `bbr_update_min_rtt`: when the shortest round trip is ten seconds old, it keeps four segments in flight
//!   for 200 ms and a round trip, and then goes on with the window that it had.
//! - `bbr_check_drain`: after STARTUP, which sends 2.89 times as much, it sends 2.89 times less.
//!
//! What else makes such a pattern is left alone: a cycle counts only behind another, the rates only of bursts
//! that a timer has released, and a small flight only if no program, loss or receive window made it so.

use std::collections::VecDeque;

use ackwise_tcp::Instant;

use super::{Release, Sent};
use crate::attribution::Nanos;

/// The rate of about a quarter of a round trip.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rate {
    /// In bytes per second.
    pub bytes: u64,
    pub since: Instant,
    pub until: Instant,
    /// Most of its bursts were released by a timer.
    pub timed: bool,
}

/// The gain cycle of PROBE_BW.
#[derive(Clone, Debug, Default)]
pub(super) struct Cycle {
    bin: Option<Bin>,
    /// The last rates, oldest first.
    rates: VecDeque<u64>,
    /// From when until when a quarter more was sent.
    more: Option<[Instant; 2]>,
    /// When the last cycle began.
    last: Option<Instant>,
    cycles: u32,
    /// Rates that were looked at.
    judged: u32,
}

#[derive(Clone, Copy, Debug)]
struct Bin {
    since: Instant,
    bytes: u64,
    by_timer: u32,
    bursts: u32,
}

impl Cycle {
    /// Four cycles of eight round trips have this many rates: most are of the gain 1. Our choice.
    const RATES: usize = 32;
    /// So many make a median. Our choice.
    const ENOUGH: usize = 12;
    /// Rates in percent of the median that are a quarter more, and a quarter less. Our choice: half of
    /// that and a bit, twice that and a bit.
    const MORE: [u64; 2] = [113, 145];
    const LESS: [u64; 2] = [55, 88];
    /// A cycle lasts eight round trips, or longer if the queue is not empty: the shortest round trip is one
    /// of small packets. Our choice.
    const TRIPS: [u64; 2] = [6, 14];
    /// One in this many of the cycles that there was time for is enough. Our choice: others go under in
    /// PROBE_RTT, losses and a busy sender.
    const SEEN: u32 = 4;
    /// Rates of a cycle: four for each of eight round trips.
    const CYCLE: u32 = 32;
    /// Shorter round trips are in the time that a timer is late. Our choice.
    const LEAST_TRIP: Nanos = Nanos::from_millis(1);

    /// How many cycles followed another at the distance of a cycle; none if most of the time shows none.
    pub(super) const fn cycles(&self) -> u32 {
        let is_usual = self.cycles.saturating_mul(Self::SEEN * Self::CYCLE) >= self.judged;
        if is_usual { self.cycles } else { 0 }
    }

    /// Bytes of the rates.
    pub(super) fn held(&self) -> usize {
        self.rates.capacity() * size_of::<u64>()
    }

    /// A burst begins; `before` bytes have left since the one before it began.
    pub(super) fn see(&mut self, sent: &Sent, before: u64) -> Option<Rate> {
        let few = sent.flight <= ProbeRtt::SEGMENTS * sent.full;
        if sent.by == Release::Other || few || sent.round_trip < Self::LEAST_TRIP {
            self.bin = None;
            return None;
        }
        let fresh = Bin { since: sent.at, bytes: 0, by_timer: 0, bursts: 0 };
        let Some(bin) = &mut self.bin else {
            self.bin = Some(fresh);
            return None;
        };
        bin.bytes += before;
        bin.bursts += 1;
        bin.by_timer += u32::from(sent.by == Release::Timer);
        let span = Nanos::between(bin.since, sent.at);
        if span * 4 < sent.round_trip {
            return None;
        }
        let Bin { since, bytes, by_timer, bursts } = std::mem::replace(bin, fresh);
        if span > sent.round_trip * 2 {
            return None;
        }
        let per_second = u128::from(bytes) * 1_000_000_000 / u128::from(span.get().max(1));
        let bytes = u64::try_from(per_second).unwrap_or(u64::MAX);
        let rate = Rate { bytes, since, until: sent.at, timed: by_timer * 2 >= bursts };
        self.judge(rate, sent.round_trip);
        Some(rate)
    }

    fn judge(&mut self, rate: Rate, round_trip: Nanos) {
        let usual = median(&self.rates, Self::ENOUGH);
        if self.rates.len() == Self::RATES {
            self.rates.pop_front();
        }
        self.rates.push_back(rate.bytes);
        let Some(usual) = usual.filter(|_| rate.timed) else { return };
        self.judged = self.judged.saturating_add(1);
        let percent = u128::from(rate.bytes) * 100 / u128::from(usual.max(1));
        let within = |[least, most]: [u64; 2]| percent >= least.into() && percent <= most.into();
        let near = |end: Instant| Nanos::between(end, rate.since) * 2 <= round_trip;
        match self.more {
            Some([since, until]) if within(Self::MORE) && near(until) => {
                self.more = Some([since, rate.until]);
            }
            Some([since, until]) if within(Self::LESS) && near(until) => {
                self.more = None;
                if Nanos::between(since, until) * 2 >= round_trip {
                    self.count(since, round_trip);
                }
            }
            _ if within(Self::MORE) => self.more = Some([rate.since, rate.until]),
            _ => {}
        }
    }

    fn count(&mut self, since: Instant, round_trip: Nanos) {
        let [least, most] = Self::TRIPS;
        let before = self.last.replace(since).map(|it| Nanos::between(it, since));
        let is_next = |span: Nanos| span >= round_trip * least && span <= round_trip * most;
        self.cycles = self.cycles.saturating_add(u32::from(before.is_some_and(is_next)));
    }
}

/// Times in which it keeps four segments in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbeRtt {
    /// Since when the shortest round trip may have grown old.
    since: Instant,
    /// The most that was in flight since then.
    most: u64,
    level: Level,
    times: u32,
    time: Nanos,
}

/// What is in flight.
#[derive(Clone, Copy, Debug)]
enum Level {
    /// More than four segments.
    Usual,
    /// Four segments at most.
    Low(Low),
    /// So few for another reason.
    Spoiled,
    /// More again since then.
    Rises(Low, Instant),
}

#[derive(Clone, Copy, Debug)]
struct Low {
    since: Instant,
    segments: u32,
    /// The most in flight meanwhile.
    most: u64,
}

impl ProbeRtt {
    /// `bbr_cwnd_min_target`.
    pub(super) const SEGMENTS: u64 = 4;
    /// `bbr_probe_rtt_mode_ms`, less a tick of the kernel's clock.
    const LASTS: Nanos = Nanos::from_millis(196);
    /// `bbr_min_rtt_win_sec`, less a second in which the connection may have waited for its first data (our
    /// choice).
    const AGE: Nanos = Nanos::from_millis(9_000);
    /// Slow start does not grow to so many within a round trip. Our choice.
    const AFTERWARDS: u64 = 12;

    pub(super) const fn new(began: Instant) -> Self {
        Self { since: began, most: 0, level: Level::Usual, times: 0, time: Nanos::ZERO }
    }

    pub(super) const fn times(&self) -> u32 {
        self.times
    }

    pub(super) const fn time(&self) -> Nanos {
        self.time
    }

    /// A segment has left.
    pub(super) fn see(&mut self, sent: &Sent) {
        let is_low = sent.flight <= Self::SEGMENTS * sent.full;
        match self.level {
            Level::Usual if is_low => self.level = self.begin(sent),
            Level::Low(low) => self.level = Self::go_on(low, sent, is_low),
            Level::Rises(low, at) => self.level = self.rise(low, at, sent),
            Level::Spoiled if !is_low => self.level = Level::Usual,
            Level::Usual | Level::Spoiled => {}
        }
        self.most = self.most.max(sent.flight);
    }

    fn begin(&self, sent: &Sent) -> Level {
        let is_old = Nanos::between(self.since, sent.at) >= Self::AGE;
        let was_more = self.most >= Self::AFTERWARDS * sent.full;
        let by_loss = matches!(sent.by, Release::Other | Release::Repair);
        if by_loss || !is_old || !was_more {
            return Level::Spoiled;
        }
        let acked = sent.acked.filter(|(_, flight)| *flight <= Self::SEGMENTS * sent.full);
        let since = acked.map_or(sent.at, |(at, _)| at.min(sent.at));
        Level::Low(Low { since, segments: 1, most: sent.flight })
    }

    fn go_on(low: Low, sent: &Sent, is_low: bool) -> Level {
        let lasted = Nanos::between(low.since, sent.at);
        let longest = Self::LASTS * 2 + sent.round_trip * 4;
        let by_loss = matches!(sent.by, Release::Other | Release::Repair);
        if by_loss || lasted > longest {
            return if is_low { Level::Spoiled } else { Level::Usual };
        }
        if is_low {
            let segments = low.segments.saturating_add(1);
            return Level::Low(Low { segments, most: low.most.max(sent.flight), ..low });
        }
        // The window was in use, all of it.
        let is_full = low.most > (Self::SEGMENTS - 1) * sent.full;
        let is_probe =
            lasted >= Self::LASTS && is_full && u64::from(low.segments) >= Self::SEGMENTS;
        if is_probe { Level::Rises(low, sent.at) } else { Level::Usual }
    }

    fn rise(&mut self, low: Low, at: Instant, sent: &Sent) -> Level {
        if Nanos::between(at, sent.at) > sent.round_trip || sent.by == Release::Other {
            return Level::Usual;
        }
        // The most may have been STARTUP's, with a full queue.
        if sent.flight < (self.most / 8).max(Self::AFTERWARDS * sent.full) {
            return Level::Rises(low, at);
        }
        self.times = self.times.saturating_add(1);
        self.time = self.time + Nanos::between(low.since, at);
        (self.since, self.most) = (at, 0);
        Level::Usual
    }
}

/// STARTUP and DRAIN.
#[derive(Clone, Debug)]
pub(super) struct Start {
    began: Instant,
    rates: VecDeque<u64>,
    drain: Option<Drain>,
    spans: Option<[Nanos; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Drain {
    since: Instant,
    /// The least in it, in bytes per second.
    least: u64,
    rates: u32,
}

impl Start {
    /// Two round trips. Our choice.
    const RATES: usize = 8;
    /// So many are usual. Our choice.
    const ENOUGH: usize = 4;
    /// DRAIN lasts a few round trips. Our choice.
    const LONGEST: u32 = 64;

    pub(super) const fn new(began: Instant) -> Self {
        Self { began, rates: VecDeque::new(), drain: None, spans: None }
    }

    /// Bytes of the rates.
    pub(super) fn held(&self) -> usize {
        self.rates.capacity() * size_of::<u64>()
    }

    /// How long both took.
    pub(super) const fn spans(&self) -> Option<[Nanos; 2]> {
        self.spans
    }

    /// What was sent in a quarter of a round trip.
    pub(super) fn see(&mut self, rate: Rate) {
        if self.spans.is_some() {
            return;
        }
        let Some(drain) = &mut self.drain else {
            let usual = median(&self.rates, Self::ENOUGH);
            // Half of what is usual, or less: 1 / 2.89 is expected.
            if usual.is_some_and(|usual| rate.timed && rate.bytes <= usual / 2) {
                self.drain = Some(Drain { since: rate.since, least: rate.bytes, rates: 1 });
                return;
            }
            if self.rates.len() == Self::RATES {
                self.rates.pop_front();
            }
            self.rates.push_back(rate.bytes);
            return;
        };
        let &mut Drain { since, least, rates } = drain;
        // It goes on with 2.89 times as much.
        let is_over = rate.bytes >= least.saturating_mul(2);
        if rate.timed && !is_over && rates < Self::LONGEST {
            *drain = Drain { since, least: least.min(rate.bytes), rates: rates + 1 };
            return;
        }
        self.drain = None;
        self.rates.clear();
        if is_over && rates >= 2 {
            let spans = [[self.began, since], [since, rate.since]];
            self.spans = Some(spans.map(|[from, to]| Nanos::between(from, to)));
        }
    }
}

/// The middle of these, if there are `enough`.
fn median(rates: &VecDeque<u64>, enough: usize) -> Option<u64> {
    let mut sorted: Vec<u64> = rates.iter().copied().collect();
    let middle = sorted.len() / 2;
    (sorted.len() >= enough).then(|| *sorted.select_nth_unstable(middle).1)
}
