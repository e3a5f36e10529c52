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
use ackwise_tuning::Side;

use super::{DUMP_SHARE, Run, WORK_SHARE, named, spent, spent_since, upward::Upward};
use crate::{
    Act, Line, Socket, TuneError,
    budget::Budget,
    closing::{Allowance, Candidate, Closer, Dump, Places, Shortage},
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
///
/// Upward, the process sends the requests. So its output ends first: the server behind it answers what it has, and closes.
/// If a response came last and no request has crossed the close, the input ends too: then the process
/// does not take the connection for another request before the server's FIN is there.
#[derive(Debug, Default)]
struct Ending {
    sockets: VecDeque<(Instant, Side, TcpSocket)>,
}

impl Ending {
    fn cookies(&self) -> BTreeSet<u64> {
        self.sockets.iter().map(|(.., it)| it.cookie).collect()
    }

    /// Those that began to end before `until`, and on which nothing has happened since they were found idle.
    fn look(&mut self, table: &mut SocketTable, until: Option<Instant>) -> Vec<(Side, TcpSocket)> {
        let mut left = Vec::new();
        while let Some((at, side, socket)) = self.sockets.front()
            && until.is_none_or(|until| *at <= until)
        {
            left.extend(unchanged(table, *side, socket).map(|it| (*side, it)));
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
            let query = Query::all();
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
        let full = self.full_of_each(now);
        let wants_scan = |(number, closer): (usize, &Closer)| {
            let full = full.as_ref().and_then(|full| full[number]);
            closer.wants_scan(queued[number], opened, full, now)
        };
        let is_wanted = self.closers.iter().enumerate().any(wants_scan);
        let full_now = full.as_deref().unwrap_or_default();
        if is_wanted && self.idle.dumps_of_idle.allows(now) {
            self.scan_for_idle(full_now, opened, now)?;
        }
        for (number, queued) in queued.into_iter().enumerate() {
            self.close_idle_of(number, queued, full_now, opened, now)?;
        }
        Ok(())
    }

    fn scan_for_idle(
        &mut self,
        full: &[Option<Full>],
        opened: Option<u64>,
        now: Instant,
    ) -> Result<(), TuneError> {
        let before = spent();
        let sockets = self.connected(self.query().with_info())?;
        let upward = match full.iter().any(Option::is_some) {
            true => self.upward()?,
            false => Upward::default(),
        };
        let ending = self.idle.ending.cookies();
        // Those that the process has been told to close have left their places.
        let stays = |it: &&TcpSocket| !ending.contains(&it.cookie);
        for number in 0..self.closers.len() {
            let is_own =
                |it: &&TcpSocket| self.servers.whose(it) == Whose::Server(number) && stays(it);
            let accepted = sockets.iter().filter(is_own).copied().collect();
            let full = full.get(number).copied().flatten();
            let of_full = full.into_iter().flat_map(|it| upward.of(it.process));
            let upward = of_full.filter(stays).copied().collect();
            self.closers[number].scanned(&Dump { accepted, upward }, opened, now);
        }
        self.idle.dumps_of_idle.spend(spent_since(before));
        Ok(())
    }

    /// Closes connections of one server.
    fn close_idle_of(
        &mut self,
        number: usize,
        queued: usize,
        full_of_each: &[Option<Full>],
        opened: Option<u64>,
        now: Instant,
    ) -> Result<(), TuneError> {
        let full = full_of_each.get(number).copied().flatten();
        let is_looked_at = !full_of_each.is_empty();
        let mut shortage = self.closers[number].shortage(queued, opened, full, now);
        if !self.closers[number].is_confirmed(shortage, now) {
            if !self.idle.dumps_of_idle.allows(now) {
                return Ok(());
            }
            self.scan_for_idle(full_of_each, opened, now)?;
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
        let (table, query) = (&mut self.table, Query::all().with_info());
        let before = spent();
        let look = |it: &TcpSocket| table.one(it, query).ok().flatten();
        let candidates = closer.choose(wanted, shortage, look, now);
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

    /// For each server, a process of it whose descriptors are short. `None`: it is not time to look.
    fn full_of_each(&mut self, now: Instant) -> Option<Vec<Option<Full>>> {
        // What was closed just now may free descriptors in a moment.
        let is_time =
            self.idle.ending.sockets.is_empty() && self.idle.looks_at_descriptors.allows(now);
        is_time.then(|| (0..self.closers.len()).map(|number| self.full(number)).collect())
    }

    /// The process of the server whose descriptors are shortest.
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
                copy.has_unread().is_ok_and(|unread| !unread)
                    && unchanged(table, candidate.side, &socket).is_some()
            };
            let is_ended = copy.is_some_and(|copy| {
                is_idle(&mut self.table, &copy) && end(&mut self.table, &copy, &candidate)
            });
            if is_ended {
                closed += 1;
                self.idle.ending.sockets.push_back((now, candidate.side, socket));
                if candidate.side == Side::Accepted {
                    self.idle.ended.push(socket, now);
                }
                self.say_closed(&candidate, shortage);
            } else {
                self.closers[number].keep(&candidate, now);
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
        let sockets: Vec<_> = left.iter().map(|(_, it)| *it).collect();
        let holders = self.workers.find(&sockets, now);
        for (side, socket) in left {
            let copy = ForeignSocket::copy(holders.of_inode(socket.inode), socket.cookie);
            let Ok(copy) = copy else { continue };
            // It fails only if the connection has ended meanwhile. The end of the run gives the server no time.
            if unchanged(&mut self.table, side, &socket).is_some() && copy.shut_down().is_ok() {
                self.summary.cut_off += u64::from(until.is_some());
            }
        }
    }

    /// Connections that wait in the listening sockets' queues, for each server.
    fn queued(&mut self) -> Result<Vec<usize>, TuneError> {
        let query = self.options.target.query();
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
        self.summary.closed_upward += u64::from(candidate.side == Side::Upward);
        self.summary.closed_unsure += u64::from(candidate.is_unsure);
        let sure = match (candidate.is_seen, candidate.is_unsure) {
            (true, _) => ", order of request and response seen by eBPF",
            (false, true) => ", order of request and response not known",
            (false, false) => "",
        };
        let quiet = rounded(candidate.quiet);
        let reason = format!("idle for {quiet}{sure}; {}", in_words(shortage));
        let mut line = Line::new(self.began.elapsed(), Act::Closed, reason);
        let upward = candidate.side == Side::Upward;
        line.socket = Some(Socket { upward, ..named(&candidate.socket) });
        self.tell(&line);
    }

    /// What a dry run reports, for each server.
    pub(super) fn would_close(&mut self, accepted: Vec<TcpSocket>, upward: Vec<TcpSocket>) {
        self.say_upward(&upward);
        let sockets = Dump { accepted, upward };
        for number in 0..self.closers.len() {
            let full = self.full(number);
            let is_own = |it: &&TcpSocket| self.servers.whose(it) == Whose::Server(number);
            let dump = Dump {
                accepted: sockets.accepted.iter().filter(is_own).copied().collect(),
                upward: sockets.upward.clone(),
            };
            let closer = &self.closers[number];
            let (shortage, idle) = (closer.shortage_of(&dump, full), closer.candidates(&dump));
            let unsure = idle.iter().filter(|it| it.is_unsure).count();
            let count = shortage.excess().min(idle.len());
            let reason = format!(
                "{}; {} idle ({unsure} of them only by --unsure-after): {count} would be closed",
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
            "{} of {closed} ended with a reset: a request was in transit during the close, and the client must repeat it, \
             or the client reset the connection",
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

/// Begins to close a connection, and returns whether it could.
fn end(table: &mut SocketTable, copy: &ForeignSocket, candidate: &Candidate) -> bool {
    match candidate.side {
        Side::Accepted => copy.end_input().is_ok(),
        Side::Upward => {
            let has_begun = copy.end_output().is_ok();
            let mut is_settled = || unchanged(table, Side::Upward, &candidate.socket).is_some();
            if has_begun && !candidate.is_unsure && is_settled() {
                // It fails only if the connection has ended meanwhile.
                let _ = copy.shut_down();
            }
            has_begun
        }
    }
}

/// The socket as it is now, if nothing has come to it since and a process holds it.
fn unchanged(table: &mut SocketTable, side: Side, socket: &TcpSocket) -> Option<TcpSocket> {
    let now = table.one(socket, Query::all().with_info()).ok().flatten()?;
    let received = |it: &TcpSocket| it.info.map(|info| info.bytes_received);
    let sent = |it: &TcpSocket| it.info.map(|info| info.data_segs_out);
    // What a server writes answers what has come. What goes upward asks for something. The FIN counts as a byte.
    let is_settled = match side {
        Side::Accepted => true,
        Side::Upward => sent(&now) == sent(socket) && now.send_queue <= 1,
    };
    let is_same = now.inode == socket.inode && received(&now) == received(socket) && is_settled;
    (is_same && now.receive_queue == socket.receive_queue).then_some(now)
}

fn in_words(shortage: Shortage) -> String {
    let Shortage { open, waiting, places, full } = shortage;
    let (open, waiting) = (grouped(open as u64), grouped(waiting as u64));
    let mut words = format!("{open} open and {waiting} waiting");
    if let Some(Places { usable, kept_free }) = places {
        words += &format!(" for {usable} places");
        if kept_free > 0 {
            words += &format!(" (and {} kept free)", grouped(kept_free as u64));
        }
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
