//! What a capture says: every connection, every exchange, and why it took its time.

use ackwise_tcp::Instant;

pub use crate::measures::{AdvertisedWindows, ConnectionMeasures, RoundTripTimes};
pub use crate::results::{ConnectionResult, ExchangeResult, TunnelResult};

use crate::{decode::Seen, flow::ConnectionTable, results::Results};

/// Reads segments in the order of the capture, and remembers what they meant.
#[derive(Debug, Default)]
pub struct Analyser {
    table: ConnectionTable,
    results: Results,
    first: Option<Instant>,
    last: Instant,
    segments: u64,
}

impl Analyser {
    /// Keeps what a report draws, too: [`ConnectionResult::series`], [`ExchangeResult::stretches`]. It
    /// takes 30 MiB at most, however long the capture.
    #[must_use]
    pub fn with_series(mut self) -> Self {
        self.results.keep_series();
        self
    }

    /// Takes the next segment of the capture.
    pub fn handle(&mut self, seen: &Seen<'_>) {
        self.first.get_or_insert(seen.at);
        self.last = self.last.max(seen.at);
        self.segments += 1;
        self.table.handle(seen, &mut self.results);
    }

    /// The capture is over.
    #[must_use]
    pub fn finish(mut self) -> Analysis {
        self.table.finish(&mut self.results);
        let copies = self.results.copies();
        let (connections, exchanges) = self.results.into_sorted();
        Analysis {
            first: self.first.unwrap_or_default(),
            last: self.last,
            segments: self.segments,
            copies,
            connections,
            exchanges,
        }
    }
}

/// What a capture said.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Analysis {
    /// When the first segment was seen: since the Unix epoch.
    pub first: Instant,
    /// When the last one was.
    pub last: Instant,
    /// TCP segments.
    pub segments: u64,
    /// Those of them that were seen before, elsewhere on their way through the capturing host.
    pub copies: u64,
    /// In the order in which they were first seen.
    pub connections: Vec<ConnectionResult>,
    /// In the order in which they began.
    pub exchanges: Vec<ExchangeResult>,
}
