//! One connection: two endpoints, and what the applications above them know of each other.
//!
//! A simulated stream has no bytes, so what a request asks for is told beside the stream: the two
//! applications share a list of [`Exchange`]s, and each acts on one only when the bytes it stands for
//! have arrived.

use std::{collections::VecDeque, time::Duration};

use ackwise_http::behaviour::WritePlan;
use ackwise_tcp::{Endpoint, Instant, Nanos, State};

use crate::{
    network::Way,
    observe::{ConnectionId, Side},
    scenario::{NodeId, SlowReader},
    table::{Counted, Entry},
    watch::Watched,
};

/// A request and its response, as ranges of the two streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    /// Where the request ends in the client's stream.
    pub(crate) request_end: u64,
    /// Where the response ends in the server's stream.
    pub(crate) response_end: u64,
    /// Bytes of the response's head.
    pub(crate) head: u32,
    /// Bytes of its body; [`ENDLESS`](crate::bulk::ENDLESS) never ends.
    pub(crate) body: u64,
    /// Files that the response carries, and the number of the first one in its document.
    pub(crate) files: u32,
    pub(crate) first_file: u32,
    /// What the server needs before it can answer, beside its think time.
    pub(crate) parse: Duration,
    /// The response says that the server closes the connection behind it.
    pub(crate) closes: bool,
}

impl Exchange {
    /// Bytes of the response, head and body.
    pub(crate) const fn response(&self) -> u64 {
        self.head as u64 + self.body
    }
}

/// Who opened a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    /// A user of a web application.
    User { user: u32 },
    /// A bulk client.
    Bulk { client: u32 },
    /// An arrival of an application.
    Arrival { source: u32 },
    /// A client of a proxy, to the proxy.
    Downward { client: u32 },
    /// A client of a proxy, past the proxy.
    Direct { client: u32 },
    /// A proxy, to a server.
    Upward { proxy: u32 },
}

/// One connection with both its ends.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    pub(crate) id: ConnectionId,
    pub(crate) ends: [End; 2],
    pub(crate) owner: Owner,
    /// The application, by its place in the scenario.
    pub(crate) application: u32,
    /// Its packets that are on links or wait for a host's processor.
    pub(crate) in_flight: u32,
    pub(crate) client: Client,
    /// Requests without a whole response, oldest first.
    pub(crate) exchanges: VecDeque<Exchange>,
    pub(crate) server: Server,
    /// Why its exchanges take their time, if the scenario wants to know.
    pub(crate) watched: Option<Box<Watched>>,
}

/// One end.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) endpoint: Endpoint,
    pub(crate) host: NodeId,
    pub(crate) way: Way,
    /// When the event queue will look at this end's timers; an end has one event that counts.
    pub(crate) armed: Instant,
    /// How the host's count knows it.
    pub(crate) counted: Counted,
    /// Its place in the host's table, if the host has one and it is in it.
    pub(crate) entry: Option<Entry>,
}

/// What the client's application does on this connection.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// When it opened the connection.
    pub(crate) opened: Instant,
    pub(crate) connected: bool,
    /// How long it works before it writes them.
    pub(crate) delay: Nanos,
    /// Bytes of requests that are not yet written.
    pub(crate) to_write: u64,
    /// When it has worked long enough to go on; [`Instant::FAR_FUTURE`] if it does not work.
    pub(crate) due: Instant,
    /// Close when all is written, or, after [`due`](Self::due), at once.
    pub(crate) closes: bool,
    /// Where the last request ends in its own stream.
    pub(crate) requests_end: u64,
    /// Where the last response will end in the server's stream.
    pub(crate) responses_end: u64,
    /// When the last response was whole; [`Instant::FAR_FUTURE`] before the first one.
    pub(crate) answered: Instant,
    /// The owner has let go of it, so it need not be told of anything.
    pub(crate) abandoned: bool,
    /// How its program reads, if not at once.
    pub(crate) slow_reader: Option<SlowReader>,
    /// When a slow reader reads again; [`Instant::FAR_FUTURE`] if it does not pause.
    pub(crate) reads: Instant,
    /// When it gives up waiting for a response; [`Instant::FAR_FUTURE`] if it does not.
    pub(crate) gives_up: Instant,
}

impl Client {
    pub(crate) const fn new(opened: Instant) -> Self {
        Self {
            opened,
            connected: false,
            delay: Nanos::ZERO,
            to_write: 0,
            due: Instant::FAR_FUTURE,
            closes: false,
            requests_end: 0,
            responses_end: 0,
            answered: Instant::FAR_FUTURE,
            abandoned: false,
            slow_reader: None,
            reads: Instant::FAR_FUTURE,
            gives_up: Instant::FAR_FUTURE,
        }
    }
}

/// What the server's application does on this connection.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// Exchanges at the front of the list that are answered or being answered.
    pub(crate) begun: u32,
    /// The writes that are left of the answer under way.
    pub(crate) plan: WritePlan,
    /// What it needs before the first of them, beside its think time.
    pub(crate) extra: Nanos,
    /// Bytes that the send buffer had no room for yet.
    pub(crate) blocked: u64,
    /// The next write, after the time for which the server thinks.
    pub(crate) thought: Option<Thought>,
    /// Requests that it has begun to answer.
    pub(crate) answers: u32,
    /// When it closes a connection without a request; boxed, because most servers of a world with very
    /// many connections never do.
    pub(crate) idle: Option<Box<Idle>>,
    /// It has not been without work since it began its last answer.
    pub(crate) goes_on: bool,
    pub(crate) closing: Closing,
}

impl Server {
    pub(crate) const NEW: Self = Self {
        begun: 0,
        plan: WritePlan::new(0, 0),
        extra: Nanos::ZERO,
        blocked: 0,
        thought: None,
        answers: 0,
        idle: None,
        goes_on: false,
        closing: Closing::No,
    };
}

/// What a server that closes idle connections remembers of one, once it has begun to answer on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Idle {
    /// When it closes; [`Instant::FAR_FUTURE`] while it has a request.
    pub(crate) until: Instant,
    /// When the event queue will look whether it has idled; a connection has one event that counts.
    pub(crate) armed: Instant,
    /// Where the last request that it has begun to answer ends in the client's stream.
    pub(crate) answered_to: u64,
}

impl Default for Idle {
    fn default() -> Self {
        Self { until: Instant::FAR_FUTURE, armed: Instant::FAR_FUTURE, answered_to: 0 }
    }
}

/// When the server closes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Closing {
    /// It leaves that to the client.
    #[default]
    No,
    /// When it has answered: HTTP/1.0.
    AfterAnswer,
    /// The client has closed: when all is answered.
    PeerGone,
    /// When it has written the response under way, which says so; what was asked behind it is lost.
    Announced,
    /// It has, because the connection idled; a request that crosses its FIN is lost.
    Idled,
}

impl Closing {
    /// Whether the server answers no further request. RFC 9112, section 9.6: it "MUST NOT process any
    /// further requests received on that connection". It reads them, so that none is answered by an RST.
    pub(crate) const fn ignores_requests(self) -> bool {
        matches!(self, Self::Announced | Self::Idled)
    }
}

/// A write that waits for the server to have thought.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thought {
    pub(crate) bytes: u64,
    pub(crate) corked: bool,
    pub(crate) due: Instant,
}

impl Connection {
    pub(crate) const fn end(&self, side: Side) -> &End {
        &self.ends[side as usize]
    }

    pub(crate) const fn end_mut(&mut self, side: Side) -> &mut End {
        &mut self.ends[side as usize]
    }

    /// Whether an application has nothing to do here, until it hears of something.
    #[inline]
    pub(crate) fn rests(&self, side: Side) -> bool {
        match side {
            Side::Client => {
                let unread = self.end(Side::Client).endpoint.readable() > 0;
                !self.client_can_write() && !self.is_answered() && !unread
            }
            Side::Server => self.server_rests(),
        }
    }

    /// How much of what has arrived is read now. A proxy reads from a server what it can pass on.
    #[inline]
    pub(crate) fn reads_now(&self, side: Side) -> u32 {
        match (side, self.client.slow_reader) {
            (Side::Server, _) => u32::MAX,
            (Side::Client, _) if matches!(self.owner, Owner::Upward { .. }) => 0,
            (Side::Client, None) => u32::MAX,
            (Side::Client, Some(it)) if self.client.reads == Instant::FAR_FUTURE => it.size.get(),
            (Side::Client, Some(_)) => 0,
        }
    }

    /// Something has been read: when a reader that pauses then goes on.
    #[inline]
    pub(crate) fn pauses_reading(&mut self, side: Side, now: Instant) -> Option<Instant> {
        let slow = self.client.slow_reader.filter(|_| side == Side::Client)?;
        self.client.reads = now + slow.pause;
        Some(self.client.reads)
    }

    /// Whether the client has something to write, and does not work before it does.
    #[inline]
    pub(crate) fn client_can_write(&self) -> bool {
        let Client { connected, to_write, due, .. } = self.client;
        to_write > 0 && connected && due == Instant::FAR_FUTURE
    }

    /// Whether the response of the oldest exchange has wholly arrived.
    #[inline]
    pub(crate) fn is_answered(&self) -> bool {
        let received = self.end(Side::Client).endpoint.received();
        let oldest = self.exchanges.front();
        oldest.is_some_and(|it| it.response_end <= received) && self.server.begun > 0
    }

    /// Whether the server has answered everything, and only a further request makes it do something.
    #[inline]
    pub(crate) fn server_rests(&self) -> bool {
        let Server { goes_on, begun, closing, idle, .. } = &self.server;
        let waits = !goes_on && *begun as usize == self.exchanges.len();
        waits && *closing == Closing::No && idle.is_none()
    }

    /// Neither end does anything by itself any more, TIME-WAIT excepted, and nothing of it is under way.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.in_flight == 0 && self.ends.iter().all(End::is_over)
    }
}

impl End {
    fn is_over(&self) -> bool {
        matches!(self.endpoint.state(), State::Closed | State::TimeWait | State::Listen)
    }
}
