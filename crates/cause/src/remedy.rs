//! The remedy of each cause: the setting of the software that answers, else the socket option or the way to write.
//!
//! Software has a remedy of its own only if that was applied to it and the stall disappeared, or if its documentation
//! says so, which the text then states.

use crate::{Cause, Direction, Party, Software};

/// What the responsible party should change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Remedy {
    /// The remedy in words, without a capital letter and without a full stop.
    pub text: &'static str,
    /// How it is known to work.
    pub proof: Option<Proof>,
    /// The software with this setting; `None` if it is general.
    pub software: Option<Software>,
}

impl Remedy {
    /// For anyone.
    #[must_use]
    pub const fn new(text: &'static str) -> Self {
        Self { text, proof: None, software: None }
    }

    /// The setting of one software.
    #[must_use]
    pub const fn of(software: Software, text: &'static str) -> Self {
        Self { text, proof: None, software: Some(software) }
    }

    /// The same, applied by `test`, which sees the stall disappear.
    #[must_use]
    pub const fn tested(self, test: &'static str) -> Self {
        Self { proof: Some(Proof::Test(test)), ..self }
    }

    /// The same, applied by hand.
    #[must_use]
    pub const fn tried(self) -> Self {
        Self { proof: Some(Proof::Tried), ..self }
    }

    /// That of `software` among `all`, else the general one.
    ///
    /// ```
    /// use ackwise_cause::{Remedy, Software};
    ///
    /// const ALL: [Remedy; 2] =
    ///     [Remedy::of(Software::Nginx, "tcp_nopush on;"), Remedy::new("write head and body together")];
    /// assert_eq!(Remedy::choose(&ALL, Some(Software::Nginx)), Some(ALL[0]));
    /// assert_eq!(Remedy::choose(&ALL, None), Some(ALL[1]));
    /// ```
    #[must_use]
    pub fn choose(all: &[Self], software: Option<Software>) -> Option<Self> {
        let with = |wanted| all.iter().find(|it| it.software == wanted).copied();
        software.and_then(|it| with(Some(it))).or_else(|| with(None))
    }
}

/// How it is known that a remedy works.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Proof {
    /// The test that applies it and sees the stall disappear.
    Test(&'static str),
    /// It was applied by hand to the [version](Software::version) of the software, and the stall disappeared.
    Tried,
}

impl Cause {
    /// What to change for data that goes in `direction`; `None` if neither end can change anything.
    ///
    /// ```
    /// use ackwise_cause::{Cause, Direction};
    ///
    /// let remedy = Cause::NagleDelayedAck.remedy(Direction::ToClient).unwrap();
    /// assert!(remedy.text.starts_with("set TCP_NODELAY"));
    /// assert_eq!(Cause::Propagation.remedy(Direction::ToClient), None);
    /// ```
    #[must_use]
    pub fn remedy(self, direction: Direction) -> Option<Remedy> {
        let by = match self.party(direction) {
            Some(Party::Client) => Client,
            Some(Party::Server) => Server,
            Some(Party::Path) | None => Either,
        };
        find(self, by).or_else(|| find(self, Either))
    }
}

impl Cause {
    /// The same for a protocol that is not HTTP.
    ///
    /// ```
    /// use ackwise_cause::{Cause, Direction};
    ///
    /// let remedy = Cause::ServerThink.remedy_without_http(Direction::ToClient).unwrap();
    /// assert!(!remedy.text.contains("100-continue"));
    /// ```
    #[must_use]
    pub fn remedy_without_http(self, direction: Direction) -> Option<Remedy> {
        let text = match (self, direction) {
            (ServerThink, Direction::ToClient) => SERVER_THINKS,
            (ApplicationLimited, Direction::ToClient) => {
                "profile the server: it paused in the middle of the response"
            }
            (HeadOfLine, _) => "send the request on another connection",
            _ => return self.remedy(direction),
        };
        Some(Remedy { text, proof: None, software: None })
    }
}

impl Cause {
    /// What to change at a server that runs `software`, if known.
    #[must_use]
    pub fn remedy_at_server(self, software: Option<Software>) -> Option<Remedy> {
        let special = software.and_then(|software| find(self, By::Software(software)));
        special.or_else(|| find(self, Server)).or_else(|| find(self, Either))
    }

    /// Every remedy at a server, those for recognised software first.
    pub fn remedies_at_server(self) -> impl Iterator<Item = Remedy> {
        REMEDIES.iter().filter(move |it| it.of == self && it.by != Client).map(Row::remedy)
    }
}

fn find(of: Cause, by: By) -> Option<Remedy> {
    REMEDIES.iter().find(|row| row.of == of && row.by == by).map(Row::remedy)
}

/// The party that applies it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum By {
    Software(Software),
    /// Any other server.
    Server,
    Client,
    Either,
}

#[derive(Debug)]
struct Row {
    of: Cause,
    by: By,
    text: &'static str,
    proof: Option<Proof>,
}

impl Row {
    const fn tested(self, test: &'static str) -> Self {
        Self { proof: Some(Proof::Test(test)), ..self }
    }

    const fn tried(self) -> Self {
        Self { proof: Some(Proof::Tried), ..self }
    }

    const fn remedy(&self) -> Remedy {
        let software = match self.by {
            By::Software(software) => Some(software),
            Server | Client | Either => None,
        };
        Remedy { text: self.text, proof: self.proof, software }
    }
}

const fn of(cause: Cause, by: By, text: &'static str) -> Row {
    Row { of: cause, by, text, proof: None }
}

use By::{Client, Either, Server, Software as At};
use Cause::{
    AcceptQueueFull, ApplicationLimited, CorkTimer, H2FlowControl, Handshake, HeadOfLine,
    IdleRestart, LossRecovery, NagleDelayedAck, NagleRtt, PathStall, Queueing, ReceiveWindow,
    RetransmissionTimeout, SendBuffer, ServerThink, ShortInitialSegment, SillyWindow, SlowStart,
    TlsHandshake,
};
use Software::{
    Express, Go, Jdk, Jetty, Netty, Nginx, Node, PythonHttpServer, Tomcat, Undertow, Webrick,
};

const SERVER_THINKS: &str =
    "profile the server, which had the whole request and had written nothing";
const KEEP_CONNECTIONS: &str = "reuse connections for later requests";
const NODELAY_AT_SERVER: &str = "set TCP_NODELAY on accepted connections, or write each response \
                                 in one call";
/// What to change at a client whose requests wait in pieces.
pub const NODELAY_AT_CLIENT: &str =
    "set TCP_NODELAY at the client, or write each request in one call";
const CLIENT_READS: &str = "make the client read faster, or enlarge its receive buffer";
const SERVER_READS: &str = "make the server read faster, or enlarge its receive buffer";

const FULL_FIRST_RESPONSE: &str = "write head and body in one call, so that the response begins \
                                   with a \
    full segment, or raise the initial window; TCP_NODELAY does not help here";
const FULL_FIRST_REQUEST: &str = "write the request in one call, so that it begins with a full \
    segment, or raise the initial window; TCP_NODELAY does not help here";
/// The setting of WEBrick with which it writes head and body together.
pub const BUFFER_SOCKETS: &str = "AcceptCallback: ->(socket) { socket.sync = false }, so that head and body are written together";

const SHORT_QUEUES: &str = "keep the queue at the bottleneck short and shared fairly between \
    connections (fq_codel or CAKE)";
const LOOK_FOR_DROPS: &str = "look where packets are dropped: counters of interfaces (`ip -s link`, `ethtool -S`), \
    queues and policers at the bottleneck (`tc -s qdisc`), Wi-Fi retries";
const KEEP_WINDOW: &str = "on Linux: sysctl net.ipv4.tcp_slow_start_after_idle=0, with pacing; \
    without it, the kept window is sent in one burst";

#[rustfmt::skip]
const REMEDIES: &[Row] = &[
    of(ShortInitialSegment, At(Nginx), "tcp_nopush on; (needs sendfile on;)").tested("nginx_tcp_nopush_ends_the_short_initial_segment_s_stall"),
    of(ShortInitialSegment, Server, FULL_FIRST_RESPONSE),
    of(ShortInitialSegment, Client, FULL_FIRST_REQUEST),

    of(NagleDelayedAck, At(Nginx), "tcp_nodelay on; (this is the default, so it has been turned off)").tested("nginx_tcp_nodelay_ends_the_stall"),
    of(NagleDelayedAck, At(PythonHttpServer), "disable_nagle_algorithm = True in the handler class").tested("python_disable_nagle_algorithm_ends_the_stall"),
    of(NagleDelayedAck, At(Node), "http.createServer({ noDelay: true }) (the default since Node 18)").tried(),
    of(NagleDelayedAck, At(Express), "http.createServer({ noDelay: true }, app) (the default since Node 18)").tried(),
    of(NagleDelayedAck, At(Webrick), BUFFER_SOCKETS).tried(),
    of(NagleDelayedAck, At(Go), "remove the call to SetNoDelay(false); Go turns Nagle's \
                                 algorithm off by default").tried(),
    of(NagleDelayedAck, At(Jdk), "-Dsun.net.httpserver.nodelay=true").tried(),
    of(NagleDelayedAck, At(Netty), "childOption(ChannelOption.TCP_NODELAY, true) (the default)").tried(),
    of(NagleDelayedAck, At(Undertow), "setSocketOption(Options.TCP_NODELAY, true) (the default)").tried(),
    of(NagleDelayedAck, At(Jetty), "ServerConnector.setAcceptedTcpNoDelay(true) (the default)").tried(),
    of(NagleDelayedAck, At(Tomcat), "socket.tcpNoDelay=\"true\" at the connector (the default)").tried(),
    of(NagleDelayedAck, Server, NODELAY_AT_SERVER).tested("turning_nagle_off_removes_the_stall"),
    of(NagleDelayedAck, Client, NODELAY_AT_CLIENT),
    of(NagleRtt, Server, NODELAY_AT_SERVER),
    of(NagleRtt, Client, NODELAY_AT_CLIENT),

    of(CorkTimer, Either, "clear TCP_CORK after the last write, or make that write without \
                           MSG_MORE").tested("removing_the_cork_removes_the_wait"),
    of(SlowStart, Either, "reuse connections, which keep their congestion windows, or raise \
                           the initial window to 10 segments"),
    of(IdleRestart, Either, KEEP_WINDOW).tested("linux_tcp_slow_start_after_idle_keeps_the_window"),
    of(SendBuffer, Either, "enlarge the send buffer: leave SO_SNDBUF unset, or set it to at least \
                            the bandwidth-delay product"),
    of(SillyWindow, Client, CLIENT_READS),
    of(SillyWindow, Server, SERVER_READS),
    of(ReceiveWindow, Client, CLIENT_READS),
    of(ReceiveWindow, Server, SERVER_READS),
    of(H2FlowControl, Either, "raise the flow-control windows at the receiver: that of streams (SETTINGS_INITIAL_WINDOW_SIZE), \
                               that of the connection (WINDOW_UPDATE on stream 0), or both"),
    of(HeadOfLine, Either, "send the request on another connection, or use HTTP/2 or HTTP/3"),
    of(LossRecovery, Either, LOOK_FOR_DROPS),
    of(RetransmissionTimeout, Either, LOOK_FOR_DROPS),

    of(PathStall, Either, SHORT_QUEUES),
    of(Queueing, Either, SHORT_QUEUES),

    of(Handshake, Either, KEEP_CONNECTIONS),
    of(
        AcceptQueueFull,
        Server,
        "raise the backlog of listen() and net.core.somaxconn, or accept faster",
    ),
    of(TlsHandshake, Either, KEEP_CONNECTIONS),
    of(
        ServerThink,
        Server,
        "profile the server, which had the whole request and had written nothing; if the request has \
         `Expect: 100-continue`, answer 100 (Continue) at once, or leave the field out: curl waits 1 s \
         for the answer",
    ),
    of(
        ApplicationLimited,
        Server,
        "profile the server: it paused in the middle of the response, as an event stream under TLS \
         does by design",
    ),
    of(ApplicationLimited, Client, "profile the client: it was slow to send the request, or paused in the middle of it"),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The party that has to act, for data to the server and to the client: the client, the server,
    /// either, or none.
    #[rustfmt::skip]
    const BY: [(Cause, [Option<By>; 2]); 26] = [
        (Handshake,              [Some(Either), Some(Either)]),
        (AcceptQueueFull,        [Some(Server), Some(Server)]),
        (TlsHandshake,           [Some(Either), Some(Either)]),
        (Cause::RequestUpload,   [None,         None]),
        (ServerThink,            [Some(Server), Some(Server)]),
        (Cause::Propagation,     [None,         None]),
        (PathStall,              [Some(Either), Some(Either)]),
        (Cause::Transmission,    [None,         None]),
        (Queueing,               [Some(Either), Some(Either)]),
        (ShortInitialSegment,    [Some(Client), Some(Server)]),
        (NagleDelayedAck,        [Some(Client), Some(Server)]),
        (NagleRtt,               [Some(Client), Some(Server)]),
        (CorkTimer,              [Some(Either), Some(Either)]),
        (SillyWindow,            [Some(Server), Some(Client)]),
        (SlowStart,              [Some(Either), Some(Either)]),
        (Cause::CongestionWindow, [None,        None]),
        (IdleRestart,            [Some(Either), Some(Either)]),
        (Cause::Pacing,          [None,         None]),
        (LossRecovery,           [Some(Either), Some(Either)]),
        (RetransmissionTimeout,  [Some(Either), Some(Either)]),
        (ReceiveWindow,          [Some(Server), Some(Client)]),
        (SendBuffer,             [Some(Either), Some(Either)]),
        (H2FlowControl,          [Some(Either), Some(Either)]),
        (HeadOfLine,             [Some(Either), Some(Either)]),
        (ApplicationLimited,     [Some(Client), Some(Server)]),
        (Cause::Unknown,         [None,         None]),
    ];

    #[test]
    fn each_cause_has_the_remedy_of_whoever_can_change_something() {
        for (cause, by) in BY {
            for (direction, by) in [Direction::ToServer, Direction::ToClient].into_iter().zip(by) {
                let expected = by.and_then(|by| find(cause, by));
                assert_eq!(expected.is_some(), by.is_some(), "{cause}: no row for {by:?}");
                assert_eq!(cause.remedy(direction), expected, "{cause} {direction:?}");
            }
        }
        assert!(BY.map(|(cause, _)| cause) == Cause::ALL, "every cause has a row");
    }
}
