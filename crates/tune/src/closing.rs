//! Which idle connections close: those that have been quiet longest, as many as are needed, up to a limit
//! in a second. When a connection counts as idle is decided in `ackwise-tuning`.
//!
//! A place is one of an accepted connection. Descriptors are those of upward connections too, so that these close
//! when descriptors run short.
//!
//! Between two dumps of the table, each known connection has a time before which it cannot have become idle; those
//! whose time has come are looked up one by one, longest quiet first.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use ackwise_bpf::{Last, Witness};
use ackwise_linux::sockets::TcpSocket;
use ackwise_tuning::{Busy, Observed, Order, Quiet, Side};

use crate::{Closing, signs::Full};

/// How many connections may close now: a bucket that holds those of one second.
#[derive(Debug)]
pub(crate) struct Allowance {
    rate: f64,
    left: f64,
    last: Option<Instant>,
}

impl Allowance {
    pub(crate) fn per_second(rate: u32) -> Self {
        Self { rate: rate.into(), left: 0.0, last: None }
    }

    /// How many may close at `now`.
    pub(crate) fn at(&mut self, now: Instant) -> usize {
        let since = self.last.map_or(Duration::from_secs(1), |last| now - last);
        self.last = Some(now);
        self.left = (self.left + self.rate * since.as_secs_f64()).min(self.rate);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 0 and a u32"
        )]
        let whole = self.left as usize;
        whole
    }

    /// Notes closes.
    pub(crate) fn closed(&mut self, count: u32) {
        self.left -= f64::from(count);
    }
}

/// The rule, and what it knows of the connections of one server.
#[derive(Debug)]
pub(crate) struct Closer {
    rule: Closing,
    /// Who sees the order of request and response, if the kernel allows it.
    witness: Option<Arc<Witness>>,
    /// The last shortage that could not be relieved, so that each is reported once.
    stuck: Option<Shortage>,
    accepted: ByQuiet,
    upward: ByQuiet,
    scan: Option<Scan>,
    /// The listeners' queues at the last look.
    queued: usize,
}

/// The connections of one side, by the earliest time since which they can have been quiet.
#[derive(Debug, Default)]
struct ByQuiet {
    times: BTreeSet<(Instant, u64)>,
    sockets: BTreeMap<u64, TcpSocket>,
}

impl ByQuiet {
    fn len(&self) -> usize {
        self.sockets.len()
    }

    fn insert(&mut self, since: Instant, socket: TcpSocket) {
        self.times.insert((since, socket.cookie));
        self.sockets.insert(socket.cookie, socket);
    }

    fn first(&self) -> Option<Instant> {
        self.times.first().map(|(since, _)| *since)
    }

    fn pop(&mut self) -> Option<(Instant, TcpSocket)> {
        let (since, cookie) = self.times.pop_first()?;
        Some((since, self.sockets.remove(&cookie)?))
    }
}

/// What a dump of the table has found.
#[derive(Debug, Default)]
pub(crate) struct Dump {
    /// The server's connections. Those without an inode wait to be accepted.
    pub(crate) accepted: Vec<TcpSocket>,
    /// Those that the process whose descriptors are short has opened.
    pub(crate) upward: Vec<TcpSocket>,
}

/// The last scan.
#[derive(Clone, Copy, Debug)]
struct Scan {
    at: Instant,
    /// Handshakes completed in the namespace by then.
    opened: Option<u64>,
    /// Connections that waited to be accepted.
    waiting: usize,
}

/// A connection that may be closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) socket: TcpSocket,
    pub(crate) side: Side,
    pub(crate) quiet: Duration,
    /// Whether it counts as idle only because it has been quiet for long.
    pub(crate) is_unsure: bool,
    /// Whether the witness saw the response follow the request.
    pub(crate) is_seen: bool,
}

/// How many connections there are for how many places.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Shortage {
    pub(crate) open: usize,
    pub(crate) waiting: usize,
    /// Those of the server; `None`: as many as it has descriptors for.
    pub(crate) places: Option<Places>,
    /// A process of the server whose descriptors are short.
    pub(crate) full: Option<Full>,
}

/// A server's places.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Places {
    /// Those that may be taken.
    pub(crate) usable: usize,
    /// Further ones that stay free.
    pub(crate) kept_free: usize,
}

impl Shortage {
    /// How many have to close.
    pub(crate) fn excess(self) -> usize {
        let of_process = match self.full {
            Some(full) => full.excess().max(self.waiting as u64),
            None => 0,
        };
        self.by_number().max(usize::try_from(of_process).unwrap_or(usize::MAX))
    }

    /// How many have to close because of their number alone.
    pub(crate) const fn by_number(self) -> usize {
        match self.places {
            Some(places) => (self.open + self.waiting).saturating_sub(places.usable),
            None => 0,
        }
    }
}

impl Closer {
    /// Decides by the order that `witness` sees, where it has seen one.
    pub(crate) fn new(rule: Closing, witness: Option<Arc<Witness>>) -> Self {
        Self {
            rule,
            witness,
            stuck: None,
            accepted: ByQuiet::default(),
            upward: ByQuiet::default(),
            scan: None,
            queued: 0,
        }
    }

    /// Whether `shortage` has just begun to be one that cannot be relieved. `None` ends it.
    pub(crate) fn is_newly_stuck(&mut self, shortage: Option<Shortage>) -> bool {
        let before = self.stuck;
        self.stuck = shortage.and_then(|it| before.or(Some(it)));
        before.is_none() && shortage.is_some()
    }

    /// Whether the last scan alone shows a shortage at `now`. Otherwise it follows from the count of handshakes, to which
    /// other servers of the namespace add, and whoever connects to them.
    pub(crate) fn is_confirmed(&self, shortage: Shortage, now: Instant) -> bool {
        let known = Shortage { open: self.accepted.len(), ..shortage };
        shortage.by_number() == 0
            || known.by_number() > 0
            || self.scan.is_some_and(|scan| scan.at == now)
    }

    /// Whether the queues, the number of connections or that of descriptors say that the table has to be dumped at `now`.
    pub(crate) fn wants_scan(
        &self,
        queued: usize,
        opened: Option<u64>,
        full: Option<Full>,
        now: Instant,
    ) -> bool {
        let Some(scan) = self.scan else { return true };
        if scan.at == now {
            return false;
        }
        let Some(places) = self.places().filter(|_| full.is_none()) else { return full.is_some() };
        // All that were opened since may be there still.
        let most =
            self.opened_since(opened).map(|since| self.accepted.len() + scan.waiting + since);
        queued > 0 || most.is_none_or(|most| most > places.usable)
    }

    /// Takes the sockets of a scan at `now`.
    pub(crate) fn scanned(&mut self, dump: &Dump, opened: Option<u64>, now: Instant) {
        let accepted = || dump.accepted.iter().filter(|socket| socket.inode != 0);
        let waiting = dump.accepted.len() - accepted().count();
        self.accepted = self.by_quiet(Side::Accepted, accepted(), now);
        self.upward = self.by_quiet(Side::Upward, dump.upward.iter(), now);
        self.scan = Some(Scan { at: now, opened, waiting });
    }

    fn by_quiet<'a>(
        &self,
        side: Side,
        sockets: impl Iterator<Item = &'a TcpSocket>,
        now: Instant,
    ) -> ByQuiet {
        let mut by_quiet = ByQuiet::default();
        for socket in sockets.take(CONNECTIONS_LIMIT) {
            by_quiet.insert(self.earliest_idle(side, socket, now), *socket);
        }
        by_quiet
    }

    /// What is short, by the listeners' queues and what is known of the connections.
    pub(crate) fn shortage(
        &mut self,
        queued: usize,
        opened: Option<u64>,
        full: Option<Full>,
        now: Instant,
    ) -> Shortage {
        // A queue that the server empties at once is no sign of a shortage.
        let waiting = queued.min(std::mem::replace(&mut self.queued, queued));
        let places = self.places();
        let scan = self.scan.unwrap_or(Scan { at: now, opened, waiting: 0 });
        if scan.at == now {
            let open = self.accepted.len();
            return Shortage { open, waiting: scan.waiting, places, full };
        }
        // Those that waited then or came since have been accepted, unless they wait. Others may have ended
        // meanwhile, so that this alone shows no more connections than places.
        let came = scan.waiting + self.opened_since(opened).unwrap_or(0);
        let open = self.accepted.len() + came.saturating_sub(queued);
        let open = match places {
            Some(places) => open.min(places.usable.max(self.accepted.len())),
            None => open,
        };
        Shortage { open, waiting, places, full }
    }

    /// Up to `wanted` connections that are idle, the longest quiet first. `look` looks one up.
    pub(crate) fn choose(
        &mut self,
        wanted: usize,
        shortage: Shortage,
        mut look: impl FnMut(&TcpSocket) -> Option<TcpSocket>,
        now: Instant,
    ) -> Vec<Candidate> {
        let mut chosen = Vec::new();
        for _ in 0..LOOKS_LIMIT {
            let Some((since, side)) = self.first(shortage) else { break };
            if chosen.len() >= wanted || since + self.rule.patience.idle_at_least > now {
                break;
            }
            let Some((_, known)) = self.of(side).pop() else { continue };
            let Some(socket) = look(&known) else { continue };
            match self.candidate(side, &socket) {
                Some(candidate) if now - candidate.quiet <= since + TICK => chosen.push(candidate),
                // It was not quiet: others may have been for longer.
                _ => {
                    let since = self.earliest_idle(side, &socket, now);
                    self.of(side).insert(since, socket);
                }
            }
        }
        chosen
    }

    /// The connection of which it is known that it can have been quiet for longest. An upward one takes no place.
    fn first(&self, shortage: Shortage) -> Option<(Instant, Side)> {
        let accepted = self.accepted.first().map(|since| (since, Side::Accepted));
        let upward = self.upward.first().map(|since| (since, Side::Upward));
        let upward = upward.filter(|_| shortage.by_number() == 0);
        accepted.into_iter().chain(upward).min_by_key(|(since, _)| *since)
    }

    fn of(&mut self, side: Side) -> &mut ByQuiet {
        match side {
            Side::Accepted => &mut self.accepted,
            Side::Upward => &mut self.upward,
        }
    }

    /// Takes back a connection that was chosen and not closed: it is looked at again later.
    pub(crate) fn keep(&mut self, candidate: &Candidate, now: Instant) {
        self.of(candidate.side).insert(now, candidate.socket);
    }

    /// Counts the connections of a dry run's scan.
    pub(crate) fn shortage_of(&self, dump: &Dump, full: Option<Full>) -> Shortage {
        let open = dump.accepted.iter().filter(|socket| socket.inode != 0).count();
        let (waiting, places) = (dump.accepted.len() - open, self.places());
        Shortage { open, waiting, places, full }
    }

    /// The connections of a dry run's scan that may be closed, the longest quiet first.
    pub(crate) fn candidates(&self, dump: &Dump) -> Vec<Candidate> {
        let accepted = dump.accepted.iter().map(|it| (Side::Accepted, it));
        let both = accepted.chain(dump.upward.iter().map(|it| (Side::Upward, it)));
        let mut candidates: Vec<_> =
            both.filter_map(|(side, socket)| self.candidate(side, socket)).collect();
        candidates.sort_by_key(|it| (std::cmp::Reverse(it.quiet), it.socket.cookie));
        candidates
    }

    fn places(&self) -> Option<Places> {
        let all = self.rule.max_connections?;
        let kept_free = self.rule.keep_free.of(all.into());
        let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let usable = count(u64::from(all) - kept_free);
        Some(Places { usable, kept_free: count(kept_free) })
    }

    fn opened_since(&self, opened: Option<u64>) -> Option<usize> {
        usize::try_from(opened?.saturating_sub(self.scan?.opened?)).ok()
    }

    fn candidate(&self, side: Side, socket: &TcpSocket) -> Option<Candidate> {
        if socket.inode == 0 || self.is_excluded(socket) {
            return None;
        }
        let observed = self.observed(side, socket)?;
        let (quiet, is_unsure) = match observed.judge(self.rule.patience) {
            Quiet::Idle { quiet } => (quiet, false),
            Quiet::IdleUnsure { quiet } => (quiet, true),
            Quiet::Busy(_) => return None,
        };
        let is_seen = observed.order.is_some();
        Some(Candidate { socket: *socket, side, quiet, is_unsure, is_seen })
    }

    fn observed(&self, side: Side, socket: &TcpSocket) -> Option<Observed> {
        let received = socket.info?.bytes_received;
        let seen = self.witness.as_ref().and_then(|it| it.last(socket.cookie, received));
        let order = seen.map(|last| match (side, last) {
            (Side::Accepted, Last::Written) | (Side::Upward, Last::Received) => Order::ResponseLast,
            (Side::Accepted, Last::Received) | (Side::Upward, Last::Written) => Order::RequestLast,
        });
        observed(side, socket, order)
    }

    fn is_excluded(&self, socket: &TcpSocket) -> bool {
        self.rule.exclude.iter().any(|net| net.contains(&socket.remote.ip()))
    }

    /// The earliest time since which a connection can have been quiet when it is found idle: a bound, so
    /// that none is looked up before `idle_at_least` has passed since.
    fn earliest_idle(&self, side: Side, socket: &TcpSocket, now: Instant) -> Instant {
        let patience = self.rule.patience;
        let Some(observed) = self.observed(side, socket).filter(|_| !self.is_excluded(socket))
        else {
            return now + NEVER;
        };
        let quiet = observed.since_sent.min(observed.since_received);
        let since = now.checked_sub(quiet).unwrap_or(now);
        match observed.judge(patience) {
            Quiet::Idle { .. } | Quiet::IdleUnsure { .. } | Quiet::Busy(Busy::Recent) => since,
            Quiet::Busy(Busy::Tie) => {
                since + patience.unsure_after.saturating_sub(patience.idle_at_least)
            }
            // Something has to be sent or received first.
            Quiet::Busy(_) => now,
        }
    }
}

fn observed(side: Side, socket: &TcpSocket, order: Option<Order>) -> Option<Observed> {
    let info = socket.info?;
    let ms = |ms: u32| Duration::from_millis(ms.into());
    Some(Observed {
        side,
        received: info.bytes_received,
        acknowledged: info.bytes_acked,
        unread: socket.receive_queue,
        unacknowledged: socket.send_queue,
        since_sent: ms(info.last_data_sent_ms),
        since_received: ms(info.last_data_recv_ms),
        since_ack: ms(info.last_ack_recv_ms),
        order,
    })
}

/// Times of the kernel move in ticks: 10 ms with the slowest clock (`CONFIG_HZ=100`).
const TICK: Duration = Duration::from_millis(10);
/// Longer than any run.
const NEVER: Duration = Duration::from_secs(10 * 365 * 86_400);
/// Largest number of connections that are known at one time (our choice: 20 MB).
const CONNECTIONS_LIMIT: usize = 100_000;
/// At most this many are looked up at one time (our choice: 0.4 ms, every 20 ms while something is short).
const LOOKS_LIMIT: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_close_as_are_needed() {
        let places = Some(Places { usable: 200, kept_free: 20 });
        let short = |open, waiting, full| Shortage { open, waiting, places, full }.excess();
        let excess = |open, waiting| short(open, waiting, None);
        assert_eq!(
            [excess(200, 0), excess(200, 1), excess(150, 50), excess(150, 57)],
            [0, 1, 0, 7]
        );
        let full = |used| Some(Full { process: 1, used, limit: 100, free: 3 });
        let one = full(98);
        assert_eq!([short(90, 2, one), short(90, 0, one), short(205, 2, one)], [2, 1, 7]);
        assert_eq!(short(90, 0, full(103)), 6, "whatever is over the limit, too");
        let unlimited = Shortage { open: 9_000, waiting: 2, places: None, full: None };
        assert_eq!([unlimited.excess(), Shortage { full: one, ..unlimited }.excess()], [0, 2]);
    }

    #[test]
    fn the_allowance_is_that_of_a_second_at_most() {
        let mut allowance = Allowance::per_second(10);
        let began = Instant::now();
        assert_eq!(allowance.at(began), 10);
        allowance.closed(10);
        assert_eq!(allowance.at(began), 0);
        assert_eq!(allowance.at(began + Duration::from_millis(250)), 2);
        allowance.closed(2);
        assert_eq!(allowance.at(began + Duration::from_secs(60)), 10);
    }
}
