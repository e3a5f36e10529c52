//! The clients and servers of one namespace, in one thread: an event loop over their sockets.
//!
//! | file | one idea |
//! | --- | --- |
//! | `client` | what every client does with a connection |
//! | `server` | answers requests in order, each by its behaviour's plan of writes |
//! | `user` | users who fetch pages |
//! | `steady` | bulk clients and arrivals |
//! | `transport` | whose TCP carries the clients' connections |
//! | `write` | writes of a program |
//!
//! They do what those of the simulator do (`crates/sim/src/world`), and draw the same from the same seed.

mod client;
mod server;
mod steady;
mod transport;
mod user;
mod write;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
    io,
    net::{IpAddr, Ipv4Addr, SocketAddrV4},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use ackwise_link::Stream;
use ackwise_linux::ready::Ready;
use ackwise_sim::{
    Scenario,
    measure::{Document, Progress, Tally},
    scenario::{Application, ApplicationKind, NodeId},
};
use ackwise_tcp::Instant;
use socket2::{Domain, Socket, Type};

use self::{
    client::ClientEnd,
    server::ServerEnd,
    steady::{FileClient, Opener},
    transport::Transport,
    user::WebUser,
};
use crate::{
    agreed::{Mail, Shared},
    groups::{self, Group},
    settings,
};

/// What all threads of a run look at.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) groups: &'a [Group],
    /// By node.
    pub(crate) group_of: &'a [Option<usize>],
    pub(crate) shared: &'a Shared,
    /// Users, clients and sources that have something left to do.
    pub(crate) unfinished: &'a AtomicU64,
    /// Client ends that are open.
    pub(crate) open: &'a AtomicU64,
    /// The run is over.
    pub(crate) over: &'a AtomicBool,
    /// The servers'.
    pub(crate) port: u16,
}

/// The programs of one namespace.
pub(crate) struct Programs<'a> {
    run: &'a Run<'a>,
    group: usize,
    ready: Ready,
    transport: Transport,
    /// Time since the run began.
    now: Duration,
    due: BinaryHeap<Reverse<(Duration, u64, Due)>>,
    names: u64,
    listeners: BTreeMap<u64, Socket>,
    clients: BTreeMap<u64, ClientEnd>,
    servers: BTreeMap<u64, ServerEnd>,
    users: Vec<WebUser<'a>>,
    file_clients: Vec<FileClient<'a>>,
    openers: Vec<Opener<'a>>,
    /// By the application's place.
    tallies: Vec<Tally>,
    opened: BTreeMap<NodeId, u64>,
    most_open: u64,
    buffer: Vec<u8>,
    failure: Option<io::Error>,
}

/// What comes at a time, by its place or name.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Due {
    User(usize),
    Bulk(usize),
    Source(usize),
    /// A client has worked long enough.
    Client(u64),
    /// A server has thought long enough.
    Server(u64),
    /// A server's connection may have idled long enough.
    Idle(u64),
}

/// What the programs of one namespace counted.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) tallies: Vec<Tally>,
    /// Connections that came to be, by host.
    pub(crate) opened: BTreeMap<NodeId, u64>,
    /// The most client ends at once, of all namespaces.
    pub(crate) most_open: u64,
    /// Of our TCP, by address: the most in TIME-WAIT, and the most connections besides.
    pub(crate) most: BTreeMap<IpAddr, [u64; 2]>,
    /// Packets of our TCP that the kernel did not take.
    pub(crate) packets_lost: u64,
}

impl<'a> Programs<'a> {
    /// The programs of a group, with its servers listening. The calling thread is in its namespace.
    pub(crate) fn new(run: &'a Run<'a>, group: usize, ready: Ready) -> io::Result<Self> {
        let transport = Transport::new(&run.groups[group], &ready, run.shared.start)?;
        let mut programs = Self {
            run,
            group,
            transport,
            ready,
            now: Duration::ZERO,
            due: BinaryHeap::new(),
            names: 0,
            listeners: BTreeMap::new(),
            clients: BTreeMap::new(),
            servers: BTreeMap::new(),
            users: Vec::new(),
            file_clients: Vec::new(),
            openers: Vec::new(),
            tallies: vec![Tally::default(); run.scenario.applications.len()],
            opened: BTreeMap::new(),
            most_open: 0,
            buffer: vec![0; READ_AT_ONCE],
            failure: None,
        };
        programs.listen()?;
        programs.add_clients();
        Ok(programs)
    }

    /// Acts until the run is over, and says what was counted.
    pub(crate) fn act(mut self) -> io::Result<Counted> {
        let mut tokens = Vec::new();
        while !self.run.over.load(Ordering::Relaxed) && self.failure.is_none() {
            self.now = self.run.shared.start.elapsed();
            self.run_due();
            for mail in self.run.shared.mail(self.group) {
                self.read_mail(mail);
            }
            for token in std::mem::take(&mut tokens) {
                self.now = self.run.shared.start.elapsed();
                self.socket_is_ready(token);
            }
            let next = self.due.peek().map_or(IDLE, |Reverse((at, ..))| (*at).min(self.now + IDLE));
            let next = if self.due.is_empty() { self.now + IDLE } else { next };
            let until = self.run.shared.start + next;
            self.transport.wait(&mut self.ready, until, &mut tokens)?;
        }
        self.failure.take().map_or(Ok(()), Err)?;
        Ok(self.finish())
    }

    fn finish(mut self) -> Counted {
        let users = self.users.iter().map(WebUser::progress);
        let clients = self.file_clients.iter().map(|it| it.progress(self.now));
        let sources = self.openers.iter().map(Opener::progress);
        let all: Vec<(u32, Progress)> = users.chain(clients).chain(sources).collect();
        for (application, progress) in all {
            self.tallies[application as usize].record(progress);
        }
        let (most, packets_lost) = self.transport.finish();
        let Self { tallies, opened, most_open, .. } = self;
        Counted { tallies, opened, most_open, most, packets_lost }
    }

    /// One listener for each host that is a server.
    fn listen(&mut self) -> io::Result<()> {
        let group = &self.run.groups[self.group];
        for host in &group.hosts {
            if !self.run.scenario.applications.iter().any(|it| it.server == *host) {
                continue;
            }
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            settings::configure_socket(&socket, &group.tcp)?;
            socket.set_reuse_address(true)?;
            socket.bind(&SocketAddrV4::new(groups::address(*host), self.run.port).into())?;
            socket.listen(BACKLOG)?;
            socket.set_nonblocking(true)?;
            let name = self.name();
            self.ready.add(&socket, name)?;
            self.listeners.insert(name, socket);
        }
        Ok(())
    }

    /// The users, clients and sources on this group's hosts. Streams are numbered over all hosts, as in
    /// the simulator, so that each draws what it draws there.
    fn add_clients(&mut self) {
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        for (place, application) in (0..).zip(&self.run.scenario.applications) {
            let here = self.run.group_of[application.client.0 as usize] == Some(self.group);
            let count = match &application.kind {
                ApplicationKind::Web(web) => web.users.get(),
                ApplicationKind::Bulk(bulk) => bulk.clients.get(),
                ApplicationKind::Arrivals(_) => 1,
                // The scenario was checked.
                ApplicationKind::Proxy(_) => 0,
            };
            for _ in 0..count {
                let number = numbers.entry(&application.name).or_default();
                *number += 1;
                if here {
                    let seed = self.run.scenario.seed.named("application");
                    let seed = seed.named(&application.name).named(&number.to_string());
                    self.add_client(place, application, seed.stream());
                }
            }
        }
    }

    fn add_client(&mut self, place: u32, application: &'a Application, mut stream: Stream) {
        let start = application.start.draw(&mut stream);
        let due = match &application.kind {
            ApplicationKind::Web(web) => {
                self.users.push(WebUser::new(place, web, stream, start));
                Due::User(self.users.len() - 1)
            }
            ApplicationKind::Bulk(bulk) => {
                self.file_clients.push(FileClient::new(place, bulk, stream, start));
                Due::Bulk(self.file_clients.len() - 1)
            }
            ApplicationKind::Arrivals(arrivals) => {
                self.openers.push(Opener::new(place, arrivals, stream));
                Due::Source(self.openers.len() - 1)
            }
            ApplicationKind::Proxy(_) => return,
        };
        self.at(start, due);
    }

    fn name(&mut self) -> u64 {
        self.names += 1;
        self.names
    }

    fn at(&mut self, time: Duration, due: Due) {
        // Ties in the order in which they were asked for.
        let order = self.name();
        self.due.push(Reverse((time, order, due)));
    }

    fn after(&mut self, span: Duration, due: Due) {
        self.at(self.now + span, due);
    }

    fn run_due(&mut self) {
        for _ in 0..DUE_AT_ONCE {
            let Some(Reverse((at, _, due))) = self.due.peek().copied() else { return };
            if at > self.now {
                return;
            }
            self.due.pop();
            match due {
                Due::User(user) => self.user_is_due(user, at),
                Due::Bulk(client) => self.bulk_client_is_due(client),
                Due::Source(source) => self.connection_arrives(source, at),
                Due::Client(name) => self.client_has_worked(name, at),
                Due::Server(name) => self.server_has_thought(name, at),
                Due::Idle(name) => self.connection_has_idled(name),
            }
        }
    }

    fn read_mail(&mut self, mail: Mail) {
        match mail {
            Mail::Close => {
                let names: Vec<u64> = self.servers.keys().copied().collect();
                names.into_iter().for_each(|name| self.server_looks(name));
            }
            Mail::Arrived(name, at) => {
                let at = at.saturating_duration_since(self.run.shared.start);
                self.upload_arrived(name, at);
            }
        }
    }

    fn socket_is_ready(&mut self, token: u64) {
        if self.listeners.contains_key(&token) {
            self.accept(token);
        } else if self.servers.contains_key(&token) {
            self.server_is_ready(token);
        } else {
            self.client_is_ready(token);
        }
    }

    /// Whether what happens now is measured.
    fn warm(&self) -> bool {
        self.now >= self.run.scenario.warm_up
    }

    fn document(&mut self, application: u32, document: Document) {
        let warm = self.warm();
        let tally = &mut self.tallies[application as usize];
        match warm {
            true => tally.document(document),
            false => tally.document_before(),
        }
    }

    fn tally(&mut self, application: u32, note: impl FnOnce(&mut Tally)) {
        if self.warm() {
            note(&mut self.tallies[application as usize]);
        }
    }

    /// One user, client or source less that has something to do.
    fn one_is_done(&self) {
        self.run.unfinished.fetch_sub(1, Ordering::Relaxed);
    }

    fn fails(&mut self, error: io::Error) {
        self.failure.get_or_insert(error);
    }

    fn application(&self, place: u32) -> &'a Application {
        &self.run.scenario.applications[place as usize]
    }

    fn server_address(&self, application: u32) -> SocketAddrV4 {
        SocketAddrV4::new(groups::address(self.application(application).server), self.run.port)
    }

    fn client_address(&self, application: u32) -> Ipv4Addr {
        groups::address(self.application(application).client)
    }
}

/// A time since the run began, as pure code counts it.
fn instant(since_start: Duration) -> Instant {
    Instant::EPOCH + since_start
}

/// How often a thread without anything to do looks whether the run is over (our choice).
const IDLE: Duration = Duration::from_millis(100);
/// More than connect at once in any experiment of the papers (our choice); the kernel takes less if
/// `somaxconn` is lower.
const BACKLOG: i32 = 4_096;
/// Our choice.
const READ_AT_ONCE: usize = 1 << 18;
/// Before sockets are looked at again (our choice).
const DUE_AT_ONCE: usize = 1_024;
/// Reads or writes of one socket before others have their turn (our choice).
const TURNS: usize = 256;
