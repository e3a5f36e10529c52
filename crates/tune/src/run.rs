//! A run: the listening sockets, then a scan of the connections again and again until the caller stops it,
//! then everything is given back.

mod buffers;
mod idle;
mod pace;
mod upward;
mod users;

use std::{
    collections::BTreeSet,
    fs,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use ackwise_bpf::Witness;
use ackwise_linux::{
    confine::Confinement,
    foreign::{CopyError, Holders, Processes, SocketOption},
    processor_time,
    sockets::{Family, Query, SocketTable, TcpSocket},
};
use ackwise_tcp::State;
use ackwise_text::{
    printable,
    words::{counted, grouped, rounded},
};

use crate::{
    Act, Line, NetworkNamespace, Options, Pacing, Socket, Summary, Target, TuneError,
    budget::Budget,
    change::{self, Planned, Workers},
    closing::Closer,
    connections::Connections,
    journal::Journal,
    keeper::Keeper,
    namespace,
    pace::Pacer,
    servers::{Listeners, Servers},
    signs::Signs,
    stake::Stake,
    undo::{self, Fate},
};
use users::owners;

/// Does what `options` ask for, until `stop`. Each act is a line; the run ends if `tell` wants no more.
///
/// # Errors
///
/// If there is nothing to tune, or the kernel refuses. What was changed is given back.
pub fn tune(
    options: &Options,
    stop: &AtomicBool,
    mut tell: impl FnMut(&Line) -> ControlFlow<()>,
) -> Result<Summary, TuneError> {
    let is_sized = options.buffer_memory.is_some();
    let is_pacing = options.pacing == Pacing::On;
    let is_set = !options.wanted().is_empty() || is_sized || is_pacing;
    if !is_set && options.closing.is_none() {
        return Err(TuneError::NothingToDo);
    }
    if options.apply && !nix::unistd::geteuid().is_root() {
        return Err(TuneError::NotRoot);
    }
    namespace::check_proc()?;
    let processes = match &options.target {
        Target::Port(_) => None,
        Target::Processes { of, .. } => {
            let none = |source| TuneError::NoProcess { of: of.clone(), source };
            Some(of.processes().map_err(none)?)
        }
    };
    let first = processes.as_ref().and_then(|it| it.members().first().copied());
    let namespace = first.map_or_else(|| options.namespace.clone(), NetworkNamespace::Process);
    let mut table = namespace.table()?;
    let listeners = users::listeners(options, processes.as_ref(), options.user, &mut table)?;
    if listeners.own.is_empty() {
        return Err(namespace::no_listener(options));
    }
    if let Target::Port(port) = options.target
        && options.user.is_none()
        && !listeners.others.is_empty()
    {
        return Err(TuneError::Users { port, owners: owners(&listeners) });
    }
    if options.apply {
        users::refuse_second(options, &listeners, &mut table)?;
    }
    let signs = Signs::of(&namespace)?;
    let mut run = Run::new(options, stop, table, signs, &mut tell);
    run.network = first.and_then(users::network_of);
    run.processes = processes;
    run.meet(&listeners.own)?;
    match options.apply {
        false => run.dry_run(&listeners.own)?,
        true => {
            let keeper = run.keeper()?;
            // Namespaces are entered and files made by now.
            run.start_pacing(&listeners.own)?;
            run.start_witness();
            run.start_closing();
            options.pacing.keep_privileges().map_err(TuneError::Keeper)?;
            if let Err(error) = Confinement::StartsNothing.apply() {
                run.say(Act::Note, format!("system calls are not confined: {error}"));
            }
            let ended = run.work(listeners);
            run.say_ended();
            run.give_back();
            drop(keeper);
            ended?;
        }
    }
    run.say(Act::Ended, run.summary.words(options));
    Ok(run.summary)
}

struct Run<'a> {
    options: &'a Options,
    wanted: Vec<(SocketOption, u32)>,
    stop: &'a AtomicBool,
    tell: &'a mut dyn FnMut(&Line) -> ControlFlow<()>,
    /// Whether nobody reads the lines any more.
    unread: bool,
    table: SocketTable,
    journal: Option<Journal>,
    connections: Connections,
    workers: Workers,
    pacer: Option<Pacer>,
    /// One for each server, in the same order; none without `--max-connections`.
    closers: Vec<Closer>,
    witness: Option<Arc<Witness>>,
    idle: idle::Closes,
    buffers: buffers::Buffers,
    signs: Signs,
    /// Handshakes completed in the namespace at the last scan for new connections.
    opened_at_scan: Option<u64>,
    known_listeners: BTreeSet<u64>,
    /// The processes that the run is for, if one was named.
    processes: Option<Processes>,
    /// Since when there is none of them.
    none_since: Option<Instant>,
    /// Their network namespace at the beginning.
    network: Option<u64>,
    servers: Servers,
    /// When it was asked last who accepts connections.
    asked_for_users: Option<Instant>,
    /// Whose listening sockets the run is for.
    user: Option<u32>,
    /// Other users whose listening sockets were reported.
    other_users: BTreeSet<u32>,
    /// Those of the listening sockets: each costs a walk through the kernel's table.
    families: Vec<Family>,
    /// For dumps of the kernel's table that look for new connections.
    dumps: Budget,
    /// For looking at connections and changing them.
    looks: Budget,
    /// For looking at the buffers of all connections.
    looks_at_buffers: Budget,
    began: Instant,
    summary: Summary,
}

impl<'a> Run<'a> {
    fn new(
        options: &'a Options,
        stop: &'a AtomicBool,
        table: SocketTable,
        signs: Signs,
        tell: &'a mut dyn FnMut(&Line) -> ControlFlow<()>,
    ) -> Self {
        Self {
            options,
            wanted: options.wanted(),
            stop,
            tell,
            unread: false,
            table,
            journal: options.apply.then(|| Journal::new(&options.directory, options.target.port())),
            connections: Connections::default(),
            workers: Workers::default(),
            pacer: None,
            closers: Vec::new(),
            witness: None,
            idle: idle::Closes::per_second(options.closing.as_ref().map_or(0, |it| it.per_second)),
            buffers: buffers::Buffers::default(),
            signs,
            opened_at_scan: None,
            known_listeners: BTreeSet::new(),
            processes: None,
            none_since: None,
            network: None,
            servers: Servers::default(),
            asked_for_users: None,
            user: None,
            other_users: BTreeSet::new(),
            families: Vec::new(),
            dumps: Budget::one_in(DUMP_SHARE),
            looks: Budget::one_in(WORK_SHARE),
            looks_at_buffers: Budget::one_in(DUMP_SHARE),
            began: Instant::now(),
            summary: Summary::default(),
        }
    }

    fn keeper(&self) -> Result<Option<Keeper>, TuneError> {
        match (&self.options.keeper, &self.journal) {
            (Some((program, arguments)), Some(journal)) => {
                Keeper::start(program, arguments, journal.path()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Tunes until it is asked to stop.
    fn work(&mut self, listeners: Listeners) -> Result<(), TuneError> {
        self.tune_listeners(&listeners)?;
        let mut looked_for_listeners = Instant::now();
        while !self.is_over() {
            let now = Instant::now();
            if now - looked_for_listeners >= LISTENERS_INTERVAL {
                looked_for_listeners = now;
                if let Some(why) = self.server_gone(now) {
                    self.say(Act::Note, format!("{} {why}", self.options.target));
                    break;
                }
                let listeners = self.listeners()?;
                self.tune_listeners(&listeners)?;
            }
            let sets = !self.wanted.is_empty() || self.pacer.is_some();
            if sets {
                self.tune_new(now)?;
            }
            self.close_idle(now)?;
            self.size_buffers(now)?;
            self.pause(if sets { SIGN_INTERVAL } else { QUEUE_INTERVAL });
        }
        Ok(())
    }

    /// Sets the options on listening sockets that are new.
    fn tune_listeners(&mut self, listeners: &Listeners) -> Result<(), TuneError> {
        self.say_others(&listeners.others);
        let is_new = |it: &&TcpSocket| !self.known_listeners.contains(&it.cookie);
        let new: Vec<_> = listeners.own.iter().filter(is_new).copied().collect();
        if new.is_empty() {
            return Ok(());
        }
        let is_first = self.known_listeners.is_empty();
        self.known_listeners = listeners.own.iter().map(|listener| listener.cookie).collect();
        let holders = self.meet(&listeners.own)?;
        if !is_first {
            self.start_closing();
        }
        let looked = change::look(&new, &self.wanted, &holders);
        let gone = (is_first && looked.reached.is_empty()).then_some(CopyError::Gone);
        if let Some(source) = looked.refused.or(gone) {
            return Err(TuneError::Copy { target: self.options.target.clone(), source });
        }
        for listener in new.iter().filter(|it| looked.reached.contains(&it.cookie)) {
            for (option, value) in self.wanted.clone() {
                let is_planned =
                    |it: &Planned| it.socket.cookie == listener.cookie && it.option == option;
                if !looked.planned.iter().any(is_planned) {
                    let reason = format!("the server itself has set it to {value}");
                    self.say_of(listener, Act::Left, Some(option), reason);
                }
            }
        }
        let holders_words = |planned: &Planned| processes(&holders, planned.socket.inode);
        let Some(journal) = &mut self.journal else { return Ok(()) };
        for planned in change::carry_out(looked.planned, &holders, journal)? {
            let reason = format!("{} accepts connections that inherit it", holders_words(&planned));
            self.say_set(&planned, None, reason);
        }
        self.pace_listeners(&new, &holders)
    }

    /// Looks at connections that are new, and at those whose next look is due.
    fn tune_new(&mut self, now: Instant) -> Result<(), TuneError> {
        let opened = self.signs.accepted();
        let is_new = opened.is_none() || opened != self.opened_at_scan;
        if !is_new {
            self.connections.nothing_new(now);
        } else if self.dumps.allows(now) {
            self.opened_at_scan = opened;
            let before = spent();
            let sockets = self.connected(self.query())?;
            self.dumps.spend(spent_since(before));
            self.connections.scanned(&sockets, now);
        }
        if !self.looks.allows(now) {
            return Ok(());
        }
        let before = spent();
        for waiting in self.connections.waiting() {
            let found = self.table.one(&waiting, self.query()).map_err(TuneError::Table)?;
            if let Some(socket) = found.filter(|socket| socket.inode != 0) {
                self.connections.accepted(&socket, now);
            }
        }
        let due = self.connections.due(now);
        if !due.is_empty() {
            self.tune_connections(&due, now)?;
        }
        self.looks.spend(spent_since(before));
        Ok(())
    }

    fn tune_connections(&mut self, due: &[TcpSocket], now: Instant) -> Result<(), TuneError> {
        let holders = self.workers.find(due, now);
        let looked = change::look(due, &self.wanted, &holders);
        let reached: BTreeSet<_> = looked.reached.iter().copied().collect();
        for socket in due {
            match reached.contains(&socket.cookie) {
                true => self.connections.looked_at(socket.cookie, now),
                false => self.connections.failed(socket.cookie, now),
            }
        }
        if !looked.planned.is_empty() {
            self.forget_gone();
        }
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let changed = change::carry_out(looked.planned, &holders, journal)?;
        self.pace_connections(due, &holders);
        let done = Instant::now();
        for planned in changed {
            let age = self.connections.age(planned.socket.cookie, done);
            let reason = match age {
                None => "open before the run".to_owned(),
                Some(age) => format!(
                    "the server {} after accept; set again at most {} after the handshake",
                    match planned.option {
                        SocketOption::NoDelay => "switched it off",
                        _ => "set another value",
                    },
                    rounded(age)
                ),
            };
            self.say_set(&planned, age, reason);
        }
        Ok(())
    }

    /// Drops the records of connections that are gone.
    fn forget_gone(&mut self) {
        let (buffers, connections) = (&self.buffers, &self.connections);
        let is_open = |cookie| connections.contains(cookie) || buffers.contains(cookie);
        if let Some(journal) = &mut self.journal {
            journal.retain(|record| record.remote.is_none() || is_open(record.cookie));
        }
    }

    /// Has the kernel note the order of requests and responses, where it can.
    fn start_witness(&mut self) {
        if self.options.closing.is_none() {
            return;
        }
        let reason = match Witness::start(self.witnessed_port()) {
            Ok(witness) => {
                self.witness = Some(Arc::new(witness));
                "the order of requests and responses is seen by eBPF from now on".to_owned()
            }
            Err(error) => {
                format!(
                    "the order of requests and responses is known only from timestamps: {error}"
                )
            }
        };
        self.say(Act::Note, reason);
    }

    /// Reports what a run with `apply` would do, and what is at stake.
    fn dry_run(&mut self, listeners: &[TcpSocket]) -> Result<(), TuneError> {
        let holders = self.meet(listeners)?;
        self.start_closing();
        let looked = change::look(listeners, &self.wanted, &holders);
        if looked.reached.is_empty() {
            let source = looked.refused.unwrap_or(CopyError::Gone);
            return Err(TuneError::Copy { target: self.options.target.clone(), source });
        }
        for planned in &looked.planned {
            let who = processes(&holders, planned.socket.inode);
            let reason = format!("{who} would accept connections that inherit it");
            self.tell_planned(Act::WouldSet, planned, None, reason);
        }
        if looked.planned.is_empty() && !self.wanted.is_empty() {
            self.say(Act::Note, "all listening sockets already have the requested options");
        }
        let (stake, sockets) = self.watch()?;
        let upward = self.upward()?.all();
        if !self.wanted.is_empty() {
            self.would_set(&sockets);
        }
        self.would_pace(listeners, &holders);
        if self.options.no_delay {
            self.tell(&stake.no_delay(self.began.elapsed()));
        }
        if let Some(bound) = self.options.unsent {
            self.tell(&stake.unsent(bound, self.began.elapsed()));
        }
        self.would_close(sockets, upward);
        self.would_size()?;
        self.say(Act::Note, "dry run: nothing was changed (use --apply)");
        Ok(())
    }

    /// Samples the connections for a while.
    fn watch(&mut self) -> Result<(Stake, Vec<TcpSocket>), TuneError> {
        let mut stake = Stake::default();
        let began = Instant::now();
        let mut last = began;
        loop {
            let before = spent();
            let sockets = self.connected(self.query().with_info())?;
            let cost = spent_since(before);
            let now = Instant::now();
            stake.sample(&sockets, self.options.unsent, now - last);
            last = now;
            if now - began >= self.options.watch || self.is_over() {
                return Ok((stake, sockets));
            }
            self.pause((cost * DUMP_SHARE).clamp(SAMPLE_INTERVAL.0, SAMPLE_INTERVAL.1));
        }
    }

    fn would_set(&mut self, sockets: &[TcpSocket]) {
        let holders = self.workers.find(sockets, Instant::now());
        let looked = change::look(sockets, &self.wanted, &holders);
        for (option, value) in self.wanted.clone() {
            let differs = looked.planned.iter().filter(|it| it.option == option).count() as u64;
            let all = counted(looked.reached.len() as u64, "open connection");
            let reason = format!("{} of {all}", grouped(differs));
            let mut line = Line::new(self.began.elapsed(), Act::WouldSet, reason);
            (line.count, line.new) = (Some(differs), Some(value));
            line.option = Some(option.name());
            self.tell(&line);
        }
    }

    /// Selects the connections that a client may still use.
    fn query(&self) -> Query {
        self.options.target.query().in_states(&[State::Established, State::CloseWait])
    }

    /// Restores every value, and removes the journal if that worked.
    fn give_back(&mut self) {
        let Some(journal) = self.journal.take() else { return };
        let (mut restored, mut others) = (BTreeSet::new(), BTreeSet::new());
        let fates = undo::restore(journal.records());
        let mut failed = Vec::new();
        for (record, fate) in journal.records().iter().zip(&fates) {
            match fate {
                Fate::Restored if record.remote.is_some() => {
                    restored.insert(record.cookie);
                }
                Fate::Gone if record.remote.is_some() => {}
                Fate::Restored | Fate::Gone | Fate::Changed(_) | Fate::Failed(_) => {
                    others.insert(record.cookie);
                    self.tell(&undo::line(record, fate, self.began.elapsed()));
                }
            }
            if matches!(fate, Fate::Failed(_)) {
                failed.push(record.clone());
            }
        }
        let whole = restored.difference(&others).count() as u64;
        if whole > 0 {
            let words = counted(whole, "connection");
            self.say(Act::GivenBack, format!("{words} have their original values again"));
        }
        let paces = self.stop_pacing();
        self.summary.not_given_back = failed.len() as u64 + u64::from(paces);
        if failed.is_empty() && !paces {
            journal.remove();
        }
    }

    fn is_over(&self) -> bool {
        self.unread || self.stop.load(Ordering::Relaxed)
    }

    /// Waits, and looks now and then whether it is to stop.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            thread::sleep(left.min(STOP_INTERVAL));
        }
    }

    fn tell(&mut self, line: &Line) {
        if !self.unread && (self.tell)(line).is_break() {
            self.unread = true;
        }
    }

    fn say(&mut self, act: Act, reason: impl Into<String>) {
        self.tell(&Line::new(self.began.elapsed(), act, reason));
    }

    fn say_of(
        &mut self,
        socket: &TcpSocket,
        act: Act,
        option: Option<SocketOption>,
        reason: String,
    ) {
        let mut line = Line::new(self.began.elapsed(), act, reason);
        line.socket = Some(self.named(socket));
        line.option = option.map(SocketOption::name);
        self.tell(&line);
    }

    fn named(&self, socket: &TcpSocket) -> Socket {
        Socket { upward: self.is_upward(socket), ..named(socket) }
    }

    fn say_set(&mut self, planned: &Planned, age: Option<Duration>, reason: String) {
        self.summary.set += 1;
        self.tell_planned(Act::Set, planned, age, reason);
    }

    fn tell_planned(&mut self, act: Act, planned: &Planned, age: Option<Duration>, reason: String) {
        let mut line = Line::new(self.began.elapsed(), act, reason);
        line.socket = Some(self.named(&planned.socket));
        line.option = Some(planned.option.name());
        (line.old, line.new) = (Some(planned.old), Some(planned.new));
        line.delay_ms = age.map(|age| (age.as_secs_f64() * 1e6).round() / 1e3);
        self.tell(&line);
    }
}

fn named(socket: &TcpSocket) -> Socket {
    let remote = (socket.remote.port() != 0).then_some(socket.remote);
    Socket { local: socket.local, remote, upward: false, cookie: socket.cookie }
}

/// `nginx (processes 12, 13 and 6 more)`.
fn processes(holders: &Holders, inode: u32) -> String {
    let processes = holders.processes(inode);
    let Some(first) = processes.first() else { return "no visible process".to_owned() };
    let name = fs::read_to_string(format!("/proc/{first}/comm")).unwrap_or_default();
    let shown: Vec<_> = processes.iter().take(SHOWN).map(u32::to_string).collect();
    let more = processes.len() - shown.len();
    let thing = if processes.len() == 1 { "process" } else { "processes" };
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{} ({thing} {}{more})", printable(name.trim()), shown.join(", "))
}

/// The processor time that this process has used.
fn spent() -> Duration {
    processor_time().unwrap_or_default()
}

fn spent_since(before: Duration) -> Duration {
    spent().saturating_sub(before)
}

/// Dumps of the table that look for new connections take at most one part in this many of a processor, whatever
/// happens, and so do those that look at buffers (our choice: 2 %).
const DUMP_SHARE: u32 = 50;
/// Looking at connections and changing them takes at most one part in this many, when there are new ones (our
/// choice: 10 %). With less, the connection after next would wait for longer than a delayed ACK.
const WORK_SHARE: u32 = 10;
/// How often the sign of new connections is read, which takes some 30 us: a fraction of a delayed ACK, so that
/// a connection has few stalls before it is found (our choice).
const SIGN_INTERVAL: Duration = Duration::from_millis(10);
/// How often the listeners' queues are read, which takes some 5 us: a new client does not notice it (our
/// choice).
const QUEUE_INTERVAL: Duration = Duration::from_millis(20);
/// Shortest and longest time between two samples of a dry run (our choice).
const SAMPLE_INTERVAL: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(2));
/// How often a server that was restarted is noticed (our choice).
const LISTENERS_INTERVAL: Duration = Duration::from_secs(1);
/// How long Ctrl-C may take (our choice).
const STOP_INTERVAL: Duration = Duration::from_millis(50);
/// Number of processes in a line (our choice).
const SHOWN: usize = 3;
