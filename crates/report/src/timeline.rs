//! Exchanges and packets over time.

use std::{cmp::Reverse, sync::Arc, time::Duration};

use ackwise_capture::{attribution::Confidence, series::Series};
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
    pub series: Option<Arc<Series>>,
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
    pub shares: Vec<TimelineShare>,
    /// When it waited for what; empty if that is not known.
    pub spans: Vec<Span>,
}

/// What an exchange owes to one cause.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TimelineShare {
    /// Why.
    pub cause: Cause,
    /// Which way the data goes that was waited for.
    pub direction: Direction,
    /// How long.
    pub span: Duration,
    /// How sure that is.
    pub confidence: Confidence,
    /// What else the packets admit.
    pub rival: Option<Cause>,
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
    /// How sure that is.
    pub confidence: Confidence,
    /// What else the packets admit.
    pub rival: Option<Cause>,
    /// The packets that show it; 0 is none.
    pub packets: [u64; 3],
}

impl Timeline {
    /// A page with more exchanges than this takes a browser too long to open. Ours.
    pub const MAX_EXCHANGES: usize = 50_000;

    /// Keeps the slowest of what is to become [`exchanges`](Self::exchanges) if there are too many; how many
    /// were dropped. The order stays.
    pub fn keep_slowest<T>(exchanges: &mut Vec<T>, duration: impl Fn(&T) -> Duration) -> usize {
        let dropped = exchanges.len().saturating_sub(Self::MAX_EXCHANGES);
        if dropped > 0 {
            let mut numbered: Vec<_> = std::mem::take(exchanges).into_iter().enumerate().collect();
            let slowest_first = |(number, it): &(usize, T)| (Reverse(duration(it)), *number);
            numbered.select_nth_unstable_by_key(Self::MAX_EXCHANGES, slowest_first);
            numbered.truncate(Self::MAX_EXCHANGES);
            numbered.sort_unstable_by_key(|(number, _)| *number);
            exchanges.extend(numbered.into_iter().map(|(_, it)| it));
        }
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_stay_in_their_order() {
        let most = u64::try_from(Timeline::MAX_EXCHANGES).unwrap();
        let duration = |it: &u64| Duration::from_millis(*it);
        let mut few = vec![3, 1, 2];
        assert_eq!(Timeline::keep_slowest(&mut few, duration), 0);
        assert_eq!(few, [3, 1, 2]);
        // Those in front are the fastest.
        let mut many: Vec<u64> = [0, 1].into_iter().chain(2..most).chain([7; 5]).collect();
        assert_eq!(Timeline::keep_slowest(&mut many, duration), 5);
        let kept: Vec<u64> = (5..most).chain([7; 5]).collect();
        assert_eq!(many, kept);
    }
}
