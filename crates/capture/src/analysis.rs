//! What a capture says: every connection, every exchange, and why it took its time.

use std::{collections::BTreeMap, net::SocketAddr, num::NonZeroUsize, sync::Arc};

use ackwise_cause::{ConnectOutcome, Outcome, Party};
use ackwise_tcp::Instant;

pub use crate::conversation::{Alert, NotOpened};
pub use crate::folded::{Folded, FoldedCause};
pub use crate::hop_limits::HopLimits;
pub use crate::measures::{AdvertisedWindows, ConnectionMeasures, RoundTripTimes};
pub use crate::message_counts::{HeldMessages, MessageCounts, MessageGaps};
pub use crate::outcome::{BlackHole, CloseOrder, Ending};
pub use crate::results::{
    ConnectionResult, ExchangeResult, Here, SeenGoaway, TunnelResult, Unfollowed,
};

pub use crate::closing::{Closing, TimeWaitRule};
pub use crate::flow::Batch;
pub use crate::held_requests::HeldRequests;

use crate::{
    attribution::Rule,
    decode::{IcmpError, IcmpReason, Seen},
    flow::ConnectionTable,
    keys::KeyLog,
    limits::Reached,
    results::{Sorted, shared_link},
    series::Budget,
};

/// Reads segments in the order of the capture, and remembers what they meant.
///
/// One after the other ([`handle`](Self::handle)), or many at a time
/// ([`handle_batch`](Self::handle_batch)), which threads may share
/// ([`with_threads`](Self::with_threads)). The result is the same, for any number of threads.
#[derive(Debug, Default)]
pub struct Analyser {
    table: ConnectionTable,
    first: Option<Instant>,
    last: Instant,
    segments: u64,
    errors: Vec<IcmpError>,
    keys: Option<Arc<KeyLog>>,
}

impl Analyser {
    /// The most errors of ICMP that are remembered. Our choice: more are a flood.
    pub const MOST_ERRORS: usize = 1 << 12;

    /// Keeps what a report draws, too: [`ConnectionResult::series`], [`ExchangeResult::stretches`]. It
    /// takes 30 MiB at most, however long the capture. Nothing may have been read yet. Threads are of
    /// no use to it.
    #[must_use]
    pub fn with_series(mut self) -> Self {
        self.table = ConnectionTable::with_series(Budget::default());
        self
    }

    /// Keeps every [`ExchangeResult::stretches`], without a limit: for a comparison with what is known
    /// of the connections. Memory grows with the capture. Otherwise as
    /// [`with_series`](Self::with_series).
    #[must_use]
    pub fn with_all_stretches(mut self) -> Self {
        self.table = ConnectionTable::with_series(Budget::all_stretches());
        self
    }

    /// Measures every connection, too: [`ConnectionResult::measures`]. Nothing may have been read yet.
    #[must_use]
    pub fn with_measures(self) -> Self {
        self.table.keep_measures();
        self
    }

    /// Decides without this rule, to see what it is worth. Nothing may have been read yet. Only rows and doubts on
    /// what a sender waited for, and on the time before a response, can be switched off.
    #[must_use]
    pub fn without(self, rule: Rule) -> Self {
        self.table.switch_off(rule);
        self
    }

    /// Reads what TLS has sealed, as far as these are its secrets. Nothing may have been read yet.
    #[must_use]
    pub fn with_keys(mut self, keys: &Arc<KeyLog>) -> Self {
        self.table.use_keys(keys);
        self.keys = Some(Arc::clone(keys));
        self
    }

    /// Adds lines of a key log that stand in the capture, for the segments that come next.
    pub fn handle_secrets(&mut self, lines: &[u8]) {
        self.table.complete();
        let keys = self.keys.get_or_insert_with(|| {
            let keys = Arc::default();
            self.table.use_keys(&keys);
            keys
        });
        keys.add_text(lines);
    }

    /// More threads than this share no work.
    pub const MOST_THREADS: usize = ConnectionTable::SHARDS;

    /// Judges batches on this many threads, the caller's included.
    #[must_use]
    pub fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.table.set_helpers(threads.get() - 1);
        self
    }

    /// Takes the next segment of the capture.
    pub fn handle(&mut self, seen: &Seen<'_>) {
        self.count(seen.at);
        self.table.handle(seen, self.segments - 1);
    }

    /// Takes the next segments of the capture, and gives an empty batch to be filled with more: this
    /// one may be judged meanwhile.
    pub fn handle_batch(&mut self, batch: Batch) -> Batch {
        let before = self.segments;
        if let Some([first, latest]) = batch.span() {
            self.count(first);
            self.last = self.last.max(latest);
            self.segments = before + u64::from(batch.len());
        }
        self.table.handle_batch(batch, before)
    }

    /// Takes note of an error of ICMP.
    pub fn handle_error(&mut self, error: IcmpError) {
        if self.errors.len() < Self::MOST_ERRORS {
            self.errors.push(error);
        }
    }

    /// From now on keeps at most one `divisor`th of what the limits on lists and on open connections allow:
    /// because other outputs need memory, too, or because a long report would come too late. What was
    /// divided before stays so.
    pub fn divide_limits(&mut self, divisor: NonZeroUsize) {
        self.table.divide_limits(divisor.get());
    }

    /// From now on only connections are captured for which `keeps` says so, given both ends. The others
    /// are abandoned: what they have shown is reported, what they wait for is not.
    pub fn keep_only(&mut self, keeps: impl Fn([SocketAddr; 2]) -> bool) {
        self.table.keep_only(keeps);
    }

    /// Abandons the connection of `seen` unless it was seen since the segment with that
    /// [number](Self::segments): between, it was not captured.
    pub fn keep_if_seen_since(&mut self, seen: &Seen<'_>, segments: u64) {
        self.table.keep_if_seen_since(seen, segments);
    }

    /// Segments so far.
    #[must_use]
    pub const fn segments(&self) -> u64 {
        self.segments
    }

    fn count(&mut self, at: Instant) {
        self.first.get_or_insert(at);
        self.last = self.last.max(at);
        self.segments += 1;
    }

    /// The capture is over.
    #[must_use]
    pub fn finish(self) -> Analysis {
        let Self { table, first, last, segments, errors, keys: _ } = self;
        let threads = table.threads();
        let (parts, copies) = table.finish();
        let Sorted { mut connections, mut exchanges, folded, reached, unfollowed } =
            Sorted::of(parts, threads);
        tell_errors(&errors, &mut connections);
        take_back_answers(&connections, &mut exchanges);
        Analysis {
            first: first.unwrap_or_default(),
            last,
            segments,
            copies,
            connections,
            exchanges,
            folded,
            reached,
            unfollowed,
        }
    }
}

/// Tells connections what ICMP has said of them at first. What it says of a SYN that nobody answers, answers it.
fn tell_errors(errors: &[IcmpError], connections: &mut [ConnectionResult]) {
    let mut by_ends: BTreeMap<[SocketAddr; 2], Vec<&IcmpError>> = BTreeMap::new();
    for it in errors {
        by_ends.entry(it.ends).or_default().push(it);
    }
    if by_ends.is_empty() {
        return;
    }
    for it in connections {
        let both = [[it.client, it.server], [it.server, it.client]];
        let told = both.iter().filter_map(|ends| by_ends.get(ends)).flatten();
        // The client has tried no longer than that.
        let told = told.filter(|error| it.first_seen <= error.at);
        let Some(first) = told.min_by_key(|error| (error.at, error.number)) else { continue };
        it.icmp = Some(Box::new(**first));
        let is_unanswered = it.connect.unwrap_or(ConnectOutcome::Unanswered)
            == ConnectOutcome::Unanswered
            && it.quality.directions[1].packets == 0;
        if is_unanswered && matches!(first.reason, IcmpReason::Unreachable { .. }) {
            it.connect = Some(ConnectOutcome::Unreachable);
            it.last_seen = it.last_seen.max(first.at);
        }
    }
}

/// What a client that had closed did not want, and reset, is no answer.
fn take_back_answers(connections: &[ConnectionResult], exchanges: &mut [ExchangeResult]) {
    let leaves = |it: &ExchangeResult| connections[it.connection as usize].leaves_unread;
    let mut last = BTreeMap::new();
    if connections.iter().any(|it| it.leaves_unread) {
        let unread = exchanges.iter().enumerate().filter(|it| leaves(it.1));
        last.extend(unread.map(|(number, it)| (it.connection, number)));
    }
    for number in last.into_values() {
        if let Some(ending) = &mut exchanges[number].ending
            && ending.outcome == Outcome::Answered
        {
            (ending.outcome, ending.by) = (Outcome::Abandoned, Some(Party::Client));
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
    /// What is too much to be listed.
    pub folded: Folded,
    /// The limits that this capture has reached.
    pub reached: Reached,
    /// What was not followed to its end.
    pub unfollowed: Unfollowed,
}

impl Analysis {
    /// Doubts what exchanges say of links and windows where transfers share a link, after another capture has changed
    /// that.
    pub fn doubt_shared_links(&mut self) {
        shared_link::doubt(&mut self.exchanges, &self.connections);
    }
}
