//! Whether a sender is paced, and what its departures show of BBR.
//!
//! A window lets segments go when an acknowledgement arrives; pacing lets them go by a timer, whether or
//! not one does. So a sender most of whose bursts follow no acknowledgement is paced, or a slow link at
//! the sender keeps its segments apart: only where it was captured next to the sender, and then with
//! medium confidence. BBR shows more ([`phases`]): its gain cycle, next to the sender, and PROBE_RTT from
//! anywhere.
//!
//! Not here: pacing that was captured behind a link, which spaces segments as well.

mod phases;

use std::time::Duration;

use ackwise_tcp::Instant;

use self::phases::{Cycle, ProbeRtt, Start};
use super::{Confidence, Nanos, path::PathDelays};

/// How a sender spread its segments, as far as its packets show.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Pacing {
    /// Bursts that a timer has released, and all that were released by a timer or an acknowledgement; 0
    /// where the packets do not show it.
    pub by_timer: [u32; 2],
    /// The mean rate of the bursts that a timer has released, in bits per second of data.
    pub rate: u64,
    /// BBR's gain cycles that were seen: a quarter more for a round trip, and then a quarter less.
    pub gain_cycles: u32,
    /// Times in which at most four segments were out, and then at once as many as before (BBR's
    /// PROBE_RTT).
    pub probe_rtts: u32,
    /// How long these lasted together.
    pub probe_rtt_time: Duration,
    /// From the first data until BBR's STARTUP was over, and how long its DRAIN was.
    pub start: Option<[Duration; 2]>,
}

impl Pacing {
    /// A sender is paced if half of its bursts were released by a timer. Our choice: of 646 connections of a
    /// kernel with CUBIC or Reno none showed so much, of 50 with BBR 37.
    const SHARE: u64 = 2;
    /// The least number of these. Our choice.
    const LEAST: u32 = 16;
    /// So many gain cycles are no accident. Our choice.
    const CYCLES: u32 = 3;

    /// Whether it was seen to be paced.
    #[must_use]
    pub fn is_paced(&self) -> bool {
        let [by_timer, of] = self.by_timer;
        by_timer >= Self::LEAST && u64::from(by_timer) * Self::SHARE >= of.into()
    }

    /// How sure it is that the sender has BBR; `None` if nothing says so.
    #[must_use]
    pub fn bbr(&self) -> Option<Confidence> {
        let cycles = self.is_paced() && self.gain_cycles >= Self::CYCLES;
        match (cycles, self.probe_rtts) {
            (true, 1..) | (false, 2..) => Some(Confidence::High),
            (true, 0) | (false, 1) => Some(Confidence::Medium),
            (false, 0) => None,
        }
    }

    /// How sure it is that the sender is paced: a slow link next to it would look the same.
    #[must_use]
    pub fn confidence(&self) -> Confidence {
        self.bbr().unwrap_or(Confidence::Medium)
    }
}

/// A segment as the record takes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub at: Instant,
    pub bytes: u64,
    /// Bytes of a full segment.
    pub full: u64,
    /// What is outstanding with it.
    pub flight: u64,
    pub by: Release,
    /// The acknowledgement before it: when it arrived, and what was outstanding then.
    pub acked: Option<(Instant, u64)>,
    /// The shortest round trip.
    pub round_trip: Nanos,
    /// It was captured at the sender.
    pub at_sender: bool,
}

/// What has let a segment go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Release {
    /// What has let the one before it go.
    Same,
    Acknowledgement,
    /// Nothing that was seen, although it was ready.
    Timer,
    /// It repairs a loss.
    Repair,
    /// Its program, or the receive window.
    Other,
}

impl Release {
    /// A sender answers an acknowledgement within this time. Our choice: a busy kernel needs half of that.
    pub(super) const PROMPT: Nanos = Nanos::from_micros(100);

    /// The same, from the acknowledgement's capture to that of the answer: between them is a round trip to the sender,
    /// which may take an eighth more than the shortest. Our choice.
    pub(super) fn prompt(delays: &PathDelays) -> Nanos {
        Self::PROMPT + delays.sender * 2 + delays.sender / 4
    }

    /// A capture is at the sender if its packets are there within this time. Our choice: behind one link, those
    /// of a window looked like a timer's.
    pub(super) const NEAR: Nanos = Nanos::from_micros(250);
}

/// What is known so far; nothing until enough is outstanding that a window can show.
#[derive(Clone, Debug, Default)]
pub(super) struct PacingRecord {
    began: Option<Instant>,
    /// When the last acknowledgement was captured.
    heard: Option<Instant>,
    seen: Option<Box<Seen>>,
}

#[derive(Clone, Debug)]
struct Seen {
    by_timer: [u32; 2],
    /// Bytes and time between bursts that a timer has released.
    bytes: u64,
    time: Nanos,
    /// The burst that is being sent: since when, and its bytes.
    burst: (Instant, u64),
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    start: Start,
}

impl PacingRecord {
    /// Fewer segments outstanding show neither pacing nor that there are fewer. Our choice: twice what
    /// PROBE_RTT leaves.
    const LEAST_SEGMENTS: u64 = 8;

    /// An acknowledgement was captured.
    pub(super) const fn hear(&mut self, seen: Instant) {
        self.heard = Some(seen);
    }

    /// When the last one was.
    pub(super) const fn heard(&self) -> Option<Instant> {
        self.heard
    }

    /// A segment has left.
    pub(super) fn see(&mut self, sent: &Sent) {
        let began = *self.began.get_or_insert(sent.at);
        if self.seen.is_none() && (sent.full == 0 || sent.flight < Self::LEAST_SEGMENTS * sent.full)
        {
            return;
        }
        self.seen.get_or_insert_with(|| Box::new(Seen::new(began, sent.at))).see(sent);
    }

    /// Bytes that it takes in memory beside its own, about.
    pub(super) fn held(&self) -> usize {
        self.seen
            .as_ref()
            .map_or(0, |seen| size_of::<Seen>() + seen.cycle.held() + seen.start.held())
    }

    /// What it has shown.
    pub(super) fn shown(&self) -> Option<Pacing> {
        let seen = self.seen.as_ref()?;
        let micros = (seen.time.get() / 1_000).max(1);
        let bits = u128::from(seen.bytes) * 8_000_000 / u128::from(micros);
        let pacing = Pacing {
            by_timer: seen.by_timer,
            rate: u64::try_from(bits).unwrap_or(u64::MAX),
            gain_cycles: seen.cycle.cycles(),
            probe_rtts: seen.probe_rtt.times(),
            probe_rtt_time: seen.probe_rtt.time().into(),
            start: seen.start.spans().map(|spans| spans.map(Into::into)),
        };
        Some(pacing).filter(|it| it.is_paced() || it.bbr().is_some())
    }
}

impl Seen {
    /// Linux `tcp_tso_autosize` sends what a millisecond takes at once, or two segments if that is less: as
    /// long again for a late timer. Our choice.
    const PAUSE: Nanos = Nanos::from_millis(2);
    const SMALL: u64 = 2;

    fn new(began: Instant, now: Instant) -> Self {
        Self {
            by_timer: [0, 0],
            bytes: 0,
            time: Nanos::ZERO,
            burst: (now, 0),
            cycle: Cycle::default(),
            probe_rtt: ProbeRtt::new(began),
            start: Start::new(began),
        }
    }

    fn see(&mut self, sent: &Sent) {
        self.probe_rtt.see(sent);
        if !sent.at_sender {
            return;
        }
        if sent.by == Release::Same {
            self.burst.1 += sent.bytes;
            return;
        }
        let (since, bytes) = std::mem::replace(&mut self.burst, (sent.at, sent.bytes));
        let span = Nanos::between(since, sent.at);
        // A paced sender would have divided a burst before a pause.
        let is_whole = bytes > Self::SMALL * sent.full && span > Self::PAUSE;
        let by_timer = sent.by == Release::Timer && !is_whole;
        if by_timer {
            self.bytes = self.bytes.saturating_add(bytes);
            self.time = self.time + span;
        }
        let shows = matches!(sent.by, Release::Timer | Release::Acknowledgement);
        let [timers, all] = &mut self.by_timer;
        *timers = timers.saturating_add(u32::from(by_timer));
        *all = all.saturating_add(u32::from(shows));
        let by = if by_timer || sent.by != Release::Timer { sent.by } else { Release::Other };
        if let Some(rate) = self.cycle.see(&Sent { by, ..*sent }, bytes) {
            self.start.see(rate);
        }
    }
}

#[cfg(test)]
mod tests;
