//! Exchanges and packets over time.

use std::time::Duration;

use ackwise_capture::series::Series;
use ackwise_cause::{Cause, Direction};
use ackwise_tcp::Instant;

/// What the waterfall and the time-sequence plot show.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// When it begins: all times in the page are since then.
    pub first: Instant,
    /// Exchanges name theirs by its place here.
    pub connections: Vec<TimelineConnection>,
    /// In any order.
    pub exchanges: Vec<TimelineExchange>,
}

/// A connection to draw.
#[derive(Clone, Debug, Default)]
pub struct TimelineConnection {
    /// `10.0.0.2:49152 > 10.0.0.1:80`.
    pub name: String,
    /// Its segments; `None` if nothing was kept.
    pub series: Option<Box<Series>>,
}

/// An exchange to draw.
#[derive(Clone, Debug)]
pub struct TimelineExchange {
    /// Its connection's place.
    pub connection: usize,
    /// `GET /path 200`.
    pub label: String,
    /// When it begins.
    pub start: Instant,
    /// How long it takes.
    pub duration: Duration,
    /// The packet in which it begins.
    pub packet: u64,
    /// What it owes to each cause.
    pub shares: Vec<(Cause, Direction, Duration)>,
    /// When it waited for what; empty if that is not known.
    pub spans: Vec<Span>,
}

/// A time under one cause.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Span {
    /// Since when.
    pub from: Instant,
    /// Until when.
    pub until: Instant,
    /// Why.
    pub cause: Cause,
    /// Which way the data goes that was waited for.
    pub direction: Direction,
    /// The packets that show it; 0 is none.
    pub packets: [u64; 3],
}

impl Timeline {
    /// A page with more exchanges than this takes a browser too long to open. Ours.
    pub const MAX_EXCHANGES: usize = 50_000;

    /// Keeps the slowest if there are too many; how many were dropped.
    pub fn keep_slowest(&mut self) -> usize {
        let dropped = self.exchanges.len().saturating_sub(Self::MAX_EXCHANGES);
        if dropped > 0 {
            self.exchanges.sort_by_key(|it| std::cmp::Reverse(it.duration));
            self.exchanges.truncate(Self::MAX_EXCHANGES);
            self.exchanges.sort_by_key(|it| (it.start, it.connection));
        }
        dropped
    }
}
