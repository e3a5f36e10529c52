//! A run as data: the path, both hosts and what their programs do.

use std::time::Duration;

use ackwise_linux::emulator::EmulatorOptions;
use serde_json::{Map, Value};

use super::journeys::Place;

/// Everything that decides a run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) family: &'static str,
    pub(super) seed: u64,
    /// What was drawn, for `case.json`.
    pub(super) parameters: Map<String, Value>,
    /// Between client and middle, and between middle and server.
    pub(super) links: [EmulatorOptions; 2],
    /// Of both ends, in segments; the kernel's own without.
    pub(super) initial_window: Option<u32>,
    pub(super) congestion: Congestion,
    pub(super) protocol: Protocol,
    /// Of TLS 1.3.
    pub(super) tickets: usize,
    pub(super) client: Host,
    pub(super) server: Host,
    /// One after the other, each with its exchanges.
    pub(super) connections: Vec<Vec<Exchange>>,
    /// All requests of a connection are written at once.
    pub(super) pipelined: bool,
    /// Another connection that shares the path.
    pub(super) cross: Option<Cross>,
    /// All connections are opened at the same time, and served one after the other.
    pub(super) concurrent: bool,
    /// All connections are served at the same time, and have the same exchanges.
    pub(super) served_at_once: bool,
    /// From the connection's setup until its first request.
    pub(super) opened_early: Duration,
    /// A proxy on the server's host takes the connections.
    pub(super) front: Option<Front>,
    /// The server is a program of Python's asyncio.
    pub(super) asyncio: bool,
    /// How many connections wait for `accept` (`listen(2)`).
    pub(super) backlog: i32,
    /// What is set for all sockets of both hosts.
    pub(super) kernel: Kernel,
    /// Client and server are one host, and the links are not used.
    pub(super) one_host: bool,
    /// Captures are taken from all interfaces of a host, and there is a little traffic on a second one.
    pub(super) all_interfaces: bool,
    /// Any hold of the path counts, not only those of two round trips, and it may be called a queue.
    pub(super) each_hold_counts: bool,
}

/// What the administrator of both hosts set.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Kernel {
    /// `tcp_slow_start_after_idle=0`
    pub(super) keeps_idle_window: bool,
    pub(super) stamps: Stamps,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Front {
    Nginx,
    Haproxy,
}

/// Timestamps (RFC 7323).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Stamps {
    #[default]
    Milliseconds,
    /// `ip route … features tcp_usec_ts`
    Microseconds,
    /// `tcp_timestamps=0`
    Without,
}

impl Plan {
    /// Nothing to do, over links that cost nothing.
    pub(super) fn ideal(family: &'static str, seed: u64) -> Self {
        let link =
            EmulatorOptions { congestion_control: None, log: true, ..EmulatorOptions::default() };
        let host = Host { no_delay: true, ..Host::default() };
        Self {
            family,
            seed,
            parameters: Map::new(),
            links: [link.clone(), link],
            initial_window: None,
            congestion: Congestion::Cubic,
            protocol: Protocol::Http1,
            tickets: 0,
            client: host,
            server: host,
            connections: Vec::new(),
            pipelined: false,
            cross: None,
            concurrent: false,
            served_at_once: false,
            opened_early: Duration::ZERO,
            front: None,
            asyncio: false,
            backlog: BACKLOG,
            kernel: Kernel::default(),
            one_host: false,
            all_interfaces: false,
            each_hold_counts: false,
        }
    }

    /// Speaks TLS 1.3 instead of HTTP/1, with none to two tickets; nobody pipelines requests there.
    pub(super) fn seal(&mut self, number: u64) {
        let speaks = !self.pipelined && self.front.is_none() && !self.asyncio;
        if self.protocol == Protocol::Http1 && speaks {
            self.protocol = Protocol::Tls;
            self.tickets = usize::try_from(number % 3).unwrap_or_default();
            self.parameters.insert("protocol".to_owned(), self.protocol.name().into());
            self.parameters.insert("tickets".to_owned(), self.tickets.into());
        }
    }

    /// Propagation delay.
    pub(super) const fn delay(&self, Place { near, to_server }: Place) -> Duration {
        let link = &self.links[if near { 0 } else { 1 }];
        if to_server { link.to_server.delay } else { link.to_client.delay }
    }

    /// Of both links, there and back, without queues.
    pub(super) fn round_trip(&self) -> Duration {
        let ways = self.links.iter().flat_map(|link| [link.to_server.delay, link.to_client.delay]);
        ways.sum()
    }
}

/// Congestion control of both ends, as the kernel calls it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Congestion {
    Cubic,
    Reno,
    Bbr,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Protocol {
    Http1,
    /// Without TLS, with prior knowledge; the client's window for each stream.
    Http2 {
        window: u32,
    },
    /// HTTP/1 below TLS 1.3.
    Tls,
    /// HTTP/1 whose responses end when the server closes the connection.
    Closes,
    /// HTTP/1 whose responses have a chunk for each write.
    Chunked,
    /// HTTP/1 through a proxy, whose heads only it knows.
    Proxied,
    /// HTTP/1 whose clients ask for leave before they send a body.
    Expects,
    /// Messages with a length before them.
    Unknown,
}

/// What a program sets on its sockets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Host {
    pub(super) no_delay: bool,
    pub(super) send_buffer: Option<usize>,
    pub(super) receive_buffer: Option<usize>,
    /// The same, once the first message of a connection has been read.
    pub(super) receive_buffer_later: Option<usize>,
}

#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) request: Message,
    /// How the server reads the request.
    pub(super) request_reading: Reading,
    /// When the server has read the request's head, until it says that the body may come (RFC 9110, section
    /// 10.1.1), if it does.
    pub(super) continues_after: Option<Duration>,
    pub(super) server_think: Duration,
    pub(super) response: Message,
    /// How the client reads the response.
    pub(super) reading: Reading,
    /// From the response's last byte until the server closes, if it does.
    pub(super) closes_after: Duration,
    /// Until the next request.
    pub(super) client_think: Duration,
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    Request,
    Response,
}

/// Its size without the head, and how it is written.
#[derive(Clone, Debug)]
pub(super) struct Message {
    pub(super) body: usize,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Writes the head alone.
    Head,
    /// Writes this number of the remaining bytes.
    Bytes(usize),
    /// Writes all that remains.
    Rest,
    Pause(Duration),
    Cork(bool),
    /// Waits until the server says that the body may come, or for as long as curl does.
    AwaitContinue,
}

/// A reader that comes late, takes at most `chunk` bytes, and then pauses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) late: Duration,
    pub(super) chunk: usize,
    pub(super) pause: Duration,
}

/// An end that sends bursts of these bytes, and pauses between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cross {
    /// The client does, and not the server.
    pub(super) to_server: bool,
    pub(super) burst: usize,
    pub(super) pause: Duration,
}

impl Congestion {
    pub(super) const ALL: [Self; 3] = [Self::Cubic, Self::Reno, Self::Bbr];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cubic => "cubic",
            Self::Reno => "reno",
            Self::Bbr => "bbr",
        }
    }
}

impl Protocol {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http/1",
            Self::Http2 { .. } => "h2",
            Self::Tls => "tls",
            Self::Closes => "http/1, closes",
            Self::Chunked => "http/1, chunked",
            Self::Proxied => "http/1, proxied",
            Self::Expects => "http/1, expects",
            Self::Unknown => "unknown",
        }
    }
}

impl Message {
    /// In one write.
    pub(super) fn whole(body: usize) -> Self {
        Self { body, steps: vec![Step::Rest] }
    }
}

impl Reading {
    /// As fast as it comes.
    pub(super) const FAST: Self =
        Self { late: Duration::ZERO, chunk: 65_536, pause: Duration::ZERO };
}

impl Exchange {
    /// A small request and its response, at once.
    pub(super) fn simple(response: Message) -> Self {
        Self {
            request: Message::whole(0),
            request_reading: Reading::FAST,
            continues_after: None,
            server_think: Duration::ZERO,
            response,
            reading: Reading::FAST,
            closes_after: Duration::ZERO,
            client_think: Duration::ZERO,
        }
    }
}

/// Our choice: more than any run needs that does not mean to fill it.
const BACKLOG: i32 = 16;
