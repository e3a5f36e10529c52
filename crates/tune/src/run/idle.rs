//! Closes idle connections while something is short, and counts the requests that crossed a close.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::{Duration, Instant},
};

use ackwise_linux::{
    foreign::ForeignSocket,
    sockets::{Query, SocketTable, TcpSocket},
};
use ackwise_text::words::{counted, grouped, rounded};

use super::{DUMP_SHARE, Run, WORK_SHARE, named, spent, spent_since};
use crate::{
    Act, Line, TuneError,
    budget::Budget,
    closing::{Allowance, Candidate, Closer, Shortage},
    servers::Whose,
    signs::{self, Full},
};

/// What closing connections may take, and what is under way.
#[derive(Debug)]
pub(super) struct Closes {
    allowance: Allowance,
    /// For dumps of the kernel's table that look for idle connections.
    dumps_of_idle: Budget,
    /// For looks at the descriptors of processes.
    looks_at_descriptors: Budget,
    /// For looking up connections that may have become idle, and for closing them.
    closes: Budget,
    ending: Ending,
    ended: Ended,
}

impl Closes {
    pub(super) fn per_second(rate: u32) -> Self {
        Self {
            allowance: Allowance::per_second(rate),
            dumps_of_idle: Budget::one_in(DUMP_SHARE),
            looks_at_descriptors: Budget::one_in(DUMP_SHARE),
            closes: Budget::one_in(WORK_SHARE),
            ending: Ending::default(),
            ended: Ended::default(),
        }
    }
}

/// Connections whose input was ended, until the server has closed them.
///
/// A request may reach the server between the last look at a connection and its close. So first only the input ends:
/// the server answers what it has read, then sees the end of the stream and closes, as after a client's FIN. Only
/// a server that has done nothing by then has the other direction closed too.
#[derive(Debug, Default)]
struct Ending {
    sockets: VecDeque<(Instant, TcpSocket)>,
}

impl Ending {
    fn cookies(&self) -> BTreeSet<u64> {
        self.sockets.iter().map(|(_, it)| it.cookie).collect()
    }

    /// Those whose input ended before `until`, and to which nothing has come since they were found idle.
    fn look(&mut self, table: &mut SocketTable, until: Option<Instant>) -> Vec<TcpSocket> {
        let mut left = Vec::new();
        while let Some((at, socket)) = self.sockets.front()
            && until.is_none_or(|until| *at <= until)
        {
            left.extend(unchanged(table, socket));
            self.sockets.pop_front();
        }
        left
    }
}

/// Connections that were closed, until it is clear how they ended.
///
/// A client that has sent nothing since answers the FIN, and the socket stays in TIME-WAIT for a minute. If
/// data comes after the shutdown, the kernel answers RST and removes the socket without TIME-WAIT
/// (`tcp_rcv_state_process`, and `tcp_timewait_state_process` once the server has closed it). So a socket
/// that is gone after two seconds was reset: by data that crossed the FIN, or by the client.
#[derive(Debug, Default)]
struct Ended {
    sockets: VecDeque<(Instant, TcpSocket)>,
    /// Those that ended with a reset.
    reset: u64,
    /// Those that could not be watched.
    unwatched: u64,
}

impl Ended {
    fn push(&mut self, socket: TcpSocket, now: Instant) {
        match self.sockets.len() < WATCHED_LIMIT {
            true => self.sockets.push_back((now, socket)),
            false => self.unwatched += 1,
        }
    }

    /// Looks at those that were closed before `until`.
    fn look(&mut self, table: &mut SocketTable, until: Option<Instant>) {
        while let Some((at, socket)) = self.sockets.front()
            && until.is_none_or(|until| *at <= until)
        {
            let query = Query::local_port(socket.local.port());
            self.reset += u64::from(matches!(table.one(socket, query), Ok(None)));
            self.sockets.pop_front();
        }
    }
}

impl Run<'_> {
    /// Begins to close idle connections of these servers, without anything known of their connections.
    pub(super) fn start_closing(&mut self) {
        let Some(rule) = &self.options.closing else { return };
        let new = |_| Closer::new(rule.clone(), self.witness.clone());
        self.closers = self.servers.all().iter().map(new).collect();
    }

    pub(super) fn close_idle(&mut self, now: Instant) -> Result<(), TuneError> {
        self.close_rest(now.checked_sub(GRACE), now);
        self.idle.ended.look(&mut self.table, now.checked_sub(WATCHED_FOR));
        if self.closers.is_empty() {
            return Ok(());
        }
        let (queued, opened) = (self.queued()?, self.signs.accepted());
        let wants_scan =
            |(closer, queued): (&Closer, &usize)| closer.wants_scan(*queued, opened, now);
        let is_wanted = self.closers.iter().zip(&queued).any(wants_scan);
        if is_wanted && self.idle.dumps_of_idle.allows(now) {
            self.scan_for_idle(opened, now)?;
        }
        for (number, queued) in queued.into_iter().enumerate() {
            self.close_idle_of(number, queued, opened, now)?;
        }
        Ok(())
    }

    fn scan_for_idle(&mut self, opened: Option<u64>, now: Instant) -> Result<(), TuneError> {
        let before = spent();
        let sockets = self.connected(self.query().with_info())?;
        let ending = self.idle.ending.cookies();
        for (number, closer) in self.closers.iter_mut().enumerate() {
            // Those that the server has been told to close have left their places.
            let is_own = |it: &&TcpSocket| {
                self.servers.whose(it) == Whose::Server(number) && !ending.contains(&it.cookie)
            };
            let own: Vec<_> = sockets.iter().filter(is_own).copied().collect();
            closer.scanned(&own, opened, now);
        }
        self.idle.dumps_of_idle.spend(spent_since(before));
        Ok(())
    }

    /// Closes connections of one server.
    fn close_idle_of(
        &mut self,
        number: usize,
        queued: usize,
        opened: Option<u64>,
        now: Instant,
    ) -> Result<(), TuneError> {
        // What was closed just now may free descriptors in a moment.
        let is_looked_at =
            self.idle.ending.sockets.is_empty() && self.idle.looks_at_descriptors.allows(now);
        let full = if is_looked_at { self.full(number) } else { None };
        let mut shortage = self.closers[number].shortage(queued, opened, full, now);
        if !self.closers[number].is_confirmed(shortage, now) {
            if !self.idle.dumps_of_idle.allows(now) {
                return Ok(());
            }
            self.scan_for_idle(opened, now)?;
            shortage = self.closers[number].shortage(queued, opened, full, now);
        }
        let (allowed, closer) = (self.idle.allowance.at(now), &mut self.closers[number]);
        if shortage.excess() == 0 {
            if is_looked_at {
                closer.is_newly_stuck(None);
            }
            return Ok(());
        }
        if !self.idle.closes.allows(now) {
            return Ok(());
        }
        let wanted = shortage.excess().min(allowed);
        let (table, query) = (&mut self.table, Query::local_port(self.options.port).with_info());
        let before = spent();
        let candidates = closer.choose(wanted, |it| table.one(it, query).ok().flatten(), now);
        let found = candidates.len();
        let closed = self.close(number, candidates, shortage, now);
        self.idle.closes.spend(spent_since(before));
        self.idle.allowance.closed(closed);
        if found == 0 && allowed > 0 && self.closers[number].is_newly_stuck(Some(shortage)) {
            let words = format!("{}, and none is idle: nothing to close", in_words(shortage));
            self.say(Act::Note, words);
        }
        Ok(())
    }

    /// A process of the server whose descriptors are short.
    fn full(&mut self, number: usize) -> Option<Full> {
        let keep_free = self.options.closing.as_ref()?.keep_free;
        let before = spent();
        let full = match self.servers.all() {
            // Those that hold only connections, too.
            [_] => signs::full(self.workers.processes(), keep_free),
            servers => {
                let processes: Vec<_> = servers.get(number)?.processes.iter().copied().collect();
                signs::full(&processes, keep_free)
            }
        };
        self.idle.looks_at_descriptors.spend(spent_since(before));
        full
    }

    /// Closes these, and returns how many it could.
    fn close(
        &mut self,
        number: usize,
        candidates: Vec<Candidate>,
        shortage: Shortage,
        now: Instant,
    ) -> u32 {
        let chosen: Vec<_> = candidates.iter().map(|it| it.socket).collect();
        let holders = self.workers.find(&chosen, now);
        let mut closed = 0;
        for candidate in candidates {
            let socket = candidate.socket;
            let held = holders.of_inode(socket.inode);
            // A place of another process does not help one that has no descriptors.
            let helps = shortage.by_number() > 0
                || shortage
                    .full
                    .is_none_or(|full| held.iter().any(|it| it.process == full.process));
            let copy = ForeignSocket::copy(held, socket.cookie).ok();
            // Of an MPTCP connection, another subflow may be busy.
            let copy = copy.filter(|copy| helps && !copy.is_mptcp());
            // A request may have arrived since the look, and the server may have read it.
            let is_idle = |table: &mut SocketTable, copy: &ForeignSocket| {
                copy.has_unread().is_ok_and(|unread| !unread) && unchanged(table, &socket).is_some()
            };
            let is_ended = copy
                .is_some_and(|copy| is_idle(&mut self.table, &copy) && copy.end_input().is_ok());
            if is_ended {
                closed += 1;
                self.idle.ending.sockets.push_back((now, socket));
                self.idle.ended.push(socket, now);
                self.say_closed(&candidate, shortage);
            } else {
                self.closers[number].keep(socket, now);
            }
        }
        closed
    }

    /// Closes the other direction of those that the server has not closed by itself.
    fn close_rest(&mut self, until: Option<Instant>, now: Instant) {
        let left = self.idle.ending.look(&mut self.table, until);
        if left.is_empty() {
            return;
        }
        let holders = self.workers.find(&left, now);
        for socket in left {
            let copy = ForeignSocket::copy(holders.of_inode(socket.inode), socket.cookie);
            let Ok(copy) = copy else { continue };
            // It fails only if the connection has ended meanwhile. The end of the run gives the server no time.
            if unchanged(&mut self.table, &socket).is_some() && copy.shut_down().is_ok() {
                self.summary.cut_off += u64::from(until.is_some());
            }
        }
    }

    /// Connections that wait in the listening sockets' queues, for each server.
    fn queued(&mut self) -> Result<Vec<usize>, TuneError> {
        let query = Query::local_port(self.options.port);
        let servers = self.servers.all();
        // A look-up does not tell listening sockets of one address apart.
        if let [server] = servers
            && let [listener] = &server.listeners[..]
        {
            let found = self.table.one(listener, query).map_err(TuneError::Table)?;
            return Ok(vec![found.map_or(0, |listener| listener.receive_queue as usize)]);
        }
        let mut queued = vec![0; servers.len()];
        let number_of: BTreeMap<u64, usize> = servers
            .iter()
            .enumerate()
            .flat_map(|(number, it)| it.listeners.iter().map(move |it| (it.cookie, number)))
            .collect();
        let query = query.in_states(&[ackwise_tcp::State::Listen]);
        for family in &self.families {
            let visit = |it: &TcpSocket| {
                if let Some(number) = number_of.get(&it.cookie) {
                    queued[*number] += it.receive_queue as usize;
                }
            };
            self.table.each(query.in_family(*family), visit).map_err(TuneError::Table)?;
        }
        Ok(queued)
    }

    fn say_closed(&mut self, candidate: &Candidate, shortage: Shortage) {
        self.summary.closed += 1;
        self.summary.closed_unsure += u64::from(candidate.is_unsure);
        let sure = match (candidate.is_seen, candidate.is_unsure) {
            (true, _) => ", order of request and response seen by eBPF",
            (false, true) => ", order of request and response not known",
            (false, false) => "",
        };
        let reason = format!("idle for {}{sure}; {}", rounded(candidate.quiet), in_words(shortage));
        self.say_of(&candidate.socket, Act::Closed, None, reason);
    }

    /// What a dry run reports, for each server.
    pub(super) fn would_close(&mut self, sockets: &[TcpSocket]) {
        for number in 0..self.closers.len() {
            let full = self.full(number);
            let is_own = |it: &&TcpSocket| self.servers.whose(it) == Whose::Server(number);
            let sockets: Vec<_> = sockets.iter().filter(is_own).copied().collect();
            let closer = &self.closers[number];
            let (shortage, idle) =
                (closer.shortage_of(&sockets, full), closer.candidates(&sockets));
            let unsure = idle.iter().filter(|it| it.is_unsure).count();
            let count = shortage.excess().min(idle.len());
            let reason = format!(
                "{}; {} idle ({unsure} of them only because they have been quiet for long): {count} would be closed",
                in_words(shortage),
                idle.len()
            );
            let mut line = Line::new(self.began.elapsed(), Act::WouldClose, reason);
            line.count = Some(count as u64);
            line.socket = self.listener_if_several(number).as_ref().map(named);
            self.tell(&line);
        }
    }

    /// A listening socket of the server, to name it among several.
    fn listener_if_several(&self, number: usize) -> Option<TcpSocket> {
        let servers = self.servers.all();
        if servers.len() < 2 { None } else { servers[number].listeners.first().copied() }
    }

    /// Reports how the closed connections ended.
    pub(super) fn say_ended(&mut self) {
        self.close_rest(None, Instant::now());
        self.idle.ended.look(&mut self.table, None);
        let Ended { reset, unwatched, .. } = self.idle.ended;
        self.summary.reset = reset;
        if self.summary.closed == 0 {
            return;
        }
        let closed = counted(self.summary.closed, "closed connection");
        let mut reason = format!(
            "{} of {closed} ended with a reset: a request had crossed the close and is to be repeated by the client, \
             or the client reset it",
            grouped(reset)
        );
        if unwatched > 0 {
            reason += &format!("; {} were not watched", grouped(unwatched));
        }
        let mut line = Line::new(self.began.elapsed(), Act::Note, reason);
        line.count = Some(reset);
        self.tell(&line);
    }
}

/// The socket as it is now, if nothing has come to it since and a process holds it.
fn unchanged(table: &mut SocketTable, socket: &TcpSocket) -> Option<TcpSocket> {
    let query = Query::local_port(socket.local.port()).with_info();
    let now = table.one(socket, query).ok().flatten()?;
    let received = |it: &TcpSocket| it.info.map(|info| info.bytes_received);
    let is_same = now.inode == socket.inode && received(&now) == received(socket);
    (is_same && now.receive_queue == socket.receive_queue).then_some(now)
}

fn in_words(shortage: Shortage) -> String {
    let Shortage { open, waiting, places, kept_free, full } = shortage;
    let (open, waiting) = (grouped(open as u64), grouped(waiting as u64));
    let mut words = format!("{open} open and {waiting} waiting for {places} places");
    if kept_free > 0 {
        words += &format!(" (and {} kept free)", grouped(kept_free as u64));
    }
    if let Some(full) = full {
        let (used, limit) = (grouped(full.used), grouped(full.limit));
        words += &format!(", process {} has {used} of {limit} descriptors", full.process);
    }
    words
}

/// How long after a close it is clear how the connection ended. Our choice: longer than a path's round trip.
const WATCHED_FOR: Duration = Duration::from_secs(2);
/// How long a server has to close a connection whose input has ended. Our choice: a busy server's turn of its loop.
const GRACE: Duration = Duration::from_millis(100);
/// At most this many are watched (our choice: ten seconds of closes at the default rate).
const WATCHED_LIMIT: usize = 10_000;
