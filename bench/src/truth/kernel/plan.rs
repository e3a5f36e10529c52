//! A run as data: the path, both hosts and what their programs do.

use std::time::Duration;

use ackwise_linux::emulator::EmulatorOptions;
use serde_json::{Map, Value};

use super::journeys::LinkWay;

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

    /// Speaks HTTP/2 instead of HTTP/1, in the clear or, with the tickets of [`seal`](Self::seal), below TLS: one run
    /// of five is gRPC's. A reader that pauses, and what only HTTP/1 has, stay as they are.
    #[expect(clippy::fn_params_excessive_bools, reason = "an option of the command line")]
    pub(super) fn multiplex(&mut self, number: u64, sealed: bool) {
        let is_fast = |it: &Exchange| it.reading.is_fast() && it.request_reading.is_fast();
        let speaks = !self.pipelined
            && self.front.is_none()
            && !self.asyncio
            && self.connections.iter().flatten().all(is_fast);
        let http2 = match self.protocol {
            Protocol::Http1 if speaks => Http2::ROOMY,
            Protocol::Tls if speaks && sealed => Http2::ROOMY,
            // Where flow control is meant, every second time by the connection's window.
            Protocol::Http2(http2) if http2 != Http2::ROOMY && number.is_multiple_of(2) => {
                Http2 { bound: Bound::Connection, ..Http2::ROOMY }
            }
            Protocol::Http2(http2) => http2,
            _ => return,
        };
        if let Http2 { bound: Bound::Connection, .. } = http2 {
            self.parameters.insert("stream_window".to_owned(), http2.window.into());
        }
        let calls = if number.is_multiple_of(5) { Calls::Grpc } else { Calls::Plain };
        self.protocol = Protocol::Http2(Http2 { calls, sealed, ..http2 });
        if sealed {
            self.tickets = usize::try_from(number % 3).unwrap_or_default();
        }
        self.parameters.insert("protocol".to_owned(), self.protocol.name().into());
    }

    /// Propagation delay.
    pub(super) const fn delay(&self, LinkWay { near, to_server }: LinkWay) -> Duration {
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
    Http2(Http2),
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

/// HTTP/2, with prior knowledge or by ALPN.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Http2 {
    /// The client's, for each stream.
    pub(super) window: u32,
    /// What its connection's window leaves room for.
    pub(super) bound: Bound,
    pub(super) calls: Calls,
    /// Over TLS 1.3.
    pub(super) sealed: bool,
}

/// Which of the client's windows is the smaller one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Bound {
    /// The stream's: the connection's is at least as large.
    Stream,
    /// The connection's, which nobody has enlarged.
    Connection,
}

/// What streams carry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Calls {
    Plain,
    /// A message with a length before it, and trailers behind the response.
    Grpc,
}

impl Http2 {
    /// Larger than any response of a family that does not mean flow control.
    pub(super) const ROOMY: Self = Self { window: 1 << 24, ..Self::with_window(0) };

    /// In the clear.
    pub(super) const fn with_window(window: u32) -> Self {
        Self { window, bound: Bound::Stream, calls: Calls::Plain, sealed: false }
    }

    const fn name(self) -> &'static str {
        match (self.calls, self.sealed) {
            (Calls::Plain, false) => "h2",
            (Calls::Plain, true) => "h2, tls",
            (Calls::Grpc, false) => "h2, grpc",
            (Calls::Grpc, true) => "h2, grpc, tls",
        }
    }
}

impl Calls {
    /// Bytes before the body.
    pub(super) const fn prefix(self) -> usize {
        match self {
            Self::Plain => 0,
            Self::Grpc => 5,
        }
    }
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
    /// Whether its bytes are those of TLS.
    pub(super) const fn is_sealed(self) -> bool {
        matches!(self, Self::Tls | Self::Http2(Http2 { sealed: true, .. }))
    }

    /// What it is called in TLS's handshake (RFC 7301).
    pub(super) fn alpn(self) -> Vec<Vec<u8>> {
        if let Self::Http2(_) = self { vec![b"h2".to_vec()] } else { Vec::new() }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Http1 => "http/1",
            Self::Http2(http2) => http2.name(),
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

    const fn is_fast(&self) -> bool {
        self.late.is_zero() && self.pause.is_zero()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_speaks_http2_where_it_would_speak_http1_and_one_of_five_is_grpc() {
        let plan = |protocol, number, sealed| {
            let mut plan = Plan::ideal("any", 1);
            (plan.protocol, plan.connections) = (protocol, vec![vec![slow(Duration::ZERO)]]);
            plan.multiplex(number, sealed);
            (plan.protocol.name(), plan.protocol.is_sealed(), plan.tickets)
        };
        assert_eq!(plan(Protocol::Http1, 1, false), ("h2", false, 0));
        assert_eq!(plan(Protocol::Http1, 5, false), ("h2, grpc", false, 0));
        assert_eq!(plan(Protocol::Http1, 4, true), ("h2, tls", true, 1));
        assert_eq!(plan(Protocol::Tls, 10, true), ("h2, grpc, tls", true, 1));
        assert_eq!(plan(Protocol::Tls, 10, false), ("tls", true, 0));
        assert_eq!(plan(Protocol::Closes, 1, true), ("http/1, closes", false, 0));
        let small = Protocol::Http2(Http2::with_window(9_000));
        assert_eq!(plan(small, 1, true), ("h2, tls", true, 1));
    }

    #[test]
    fn flow_control_is_the_streams_or_the_connections_in_turn() {
        for (number, expected) in [(1, (9_000, Bound::Stream)), (2, (1 << 24, Bound::Connection))] {
            let mut plan = Plan::ideal("any", 1);
            plan.protocol = Protocol::Http2(Http2::with_window(9_000));
            plan.multiplex(number, false);
            let Protocol::Http2(http2) = plan.protocol else { panic!("{:?}", plan.protocol) };
            assert_eq!((http2.window, http2.bound), expected);
        }
    }

    #[test]
    fn a_reader_that_pauses_and_a_client_that_pipelines_stay_with_http1() {
        let mut plan = Plan::ideal("any", 1);
        plan.connections = vec![vec![slow(Duration::from_millis(20))]];
        plan.multiplex(1, false);
        assert_eq!(plan.protocol, Protocol::Http1);
        plan.connections = vec![vec![slow(Duration::ZERO)]];
        plan.pipelined = true;
        plan.multiplex(1, false);
        assert_eq!(plan.protocol, Protocol::Http1);
    }

    fn slow(pause: Duration) -> Exchange {
        let reading = Reading { pause, ..Reading::FAST };
        Exchange { reading, ..Exchange::simple(Message::whole(0)) }
    }
}
