//! The remedy of each cause and finding: the setting of the software that answers, else the socket option
//! or the way to write.
//!
//! Software has a remedy of its own only if that was applied to it and the finding disappeared, or if its documentation
//! says so, which the text then states.

use crate::{Cause, Direction, FindingId, Party, Role, Software};

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

/// How it is known that a remedy works.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Proof {
    /// The test that applies it and sees the finding disappear.
    Test(&'static str),
    /// It was applied by hand to the [version](Software::version) of the software, and the finding disappeared.
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
        find(Of::Cause(self), by).or_else(|| find(Of::Cause(self), Either))
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

impl FindingId {
    /// What to change at the graded end, a server that runs `software`, if known, or a client; `None` if there
    /// is nothing to remove.
    #[must_use]
    pub fn remedy(self, software: Option<Software>) -> Option<Remedy> {
        if self.role() == Role::Client {
            return find(Of::Finding(self), Client);
        }
        let asked_for = [Some(Of::Finding(self)), self.cause().map(Of::Cause)];
        asked_for.into_iter().flatten().find_map(|of| {
            let special = software.and_then(|software| find(of, By::Software(software)));
            special.or_else(|| find(of, Server)).or_else(|| find(of, Either))
        })
    }

    /// What to change at a server whose connections persist and that closes them while what is in front of it keeps
    /// them: the other remedy of `keep-alive`.
    #[must_use]
    pub fn idle_timeout_remedy(software: Option<Software>) -> Remedy {
        let special = software.and_then(|software| find(Of::IdleTimeout, At(software)));
        special.or_else(|| find(Of::IdleTimeout, Server)).expect("there is a row for any server")
    }

    /// What to change at a server whose cork holds the events of a stream: one of the remedies of `stream-held`.
    #[must_use]
    pub fn corked_stream_remedy(software: Option<Software>) -> Remedy {
        let special = software.and_then(|software| find(Of::CorkedStream, At(software)));
        special.or_else(|| find(Of::CorkedStream, Server)).expect("there is a row for any server")
    }

    /// Every remedy, those for recognised servers first.
    pub fn remedies(self) -> impl Iterator<Item = Remedy> {
        let mine = move |row: &&Row| {
            row.of == Of::Finding(self)
                || self.cause().is_some_and(|it| row.of == Of::Cause(it))
                || self == Self::KeepAlive && row.of == Of::IdleTimeout
                || self == StreamHeld && row.of == Of::CorkedStream
        };
        REMEDIES
            .iter()
            .filter(mine)
            .filter(move |row| (row.by == Client) == (self.role() == Role::Client))
            .map(Row::remedy)
    }
}

fn find(of: Of, by: By) -> Option<Remedy> {
    REMEDIES.iter().find(|row| row.of == of && row.by == by).map(Row::remedy)
}

/// What a remedy removes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Of {
    /// A finding, even if its cause has another remedy.
    Finding(FindingId),
    Cause(Cause),
    /// An idle timeout, or a limit of requests, that a client does not know.
    IdleTimeout,
    /// A cork that holds the events of a stream.
    CorkedStream,
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
    of: Of,
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
    Row { of: Of::Cause(cause), by, text, proof: None }
}

const fn finding(id: FindingId, by: By, text: &'static str) -> Row {
    Row { of: Of::Finding(id), by, text, proof: None }
}

const fn idle_timeout(by: By, text: &'static str) -> Row {
    Row { of: Of::IdleTimeout, by, text, proof: None }
}

const fn corked_stream(by: By, text: &'static str) -> Row {
    Row { of: Of::CorkedStream, by, text, proof: None }
}

use By::{Client, Either, Server, Software as At};
use Cause::{
    AcceptQueueFull, ApplicationLimited, CorkTimer, H2FlowControl, Handshake, HeadOfLine,
    IdleRestart, LossRecovery, NagleDelayedAck, NagleRtt, PathStall, Queueing, ReceiveWindow,
    RetransmissionTimeout, SendBuffer, ServerThink, ShortInitialSegment, SillyWindow, SlowStart,
    TlsHandshake,
};
use FindingId::{
    CloseRace, ConnectionReuse, EarlyResponse, ExpectContinue, FirstByte, H2Streams, HappyEyeballs,
    InitialWindow, KeepAlive, Pipelining, RefusedUpload, RequestNagle, RequestSegments,
    ResponsePause, SplitHead, StreamGzip, StreamHeld, WindowUpdates,
};
use Software::{
    Aiohttp, Apache, Caddy, Envoy, Express, Fastify, Go, Gunicorn, HaProxy, Hypercorn, Jdk, Jetty,
    Kestrel, Lighttpd, Netty, Nginx, Node, Php, Puma, PythonHttpServer, Squid, Tomcat, Tornado,
    Traefik, Undertow, Uvicorn, Waitress, Webrick, Werkzeug,
};

const SERVER_THINKS: &str =
    "profile the server, which had the whole request and had written nothing";
const KEEP_CONNECTIONS: &str = "reuse connections for later requests";
const CHECK_BEHIND: &str = "run ackwise check at the server behind the proxy, if there is one: that server, or the proxy \
    as its client, may lack TCP_NODELAY; otherwise profile the program";
const NODELAY_AT_SERVER: &str = "set TCP_NODELAY on accepted connections, or write each response \
                                 in one call";
const NODELAY_AT_CLIENT: &str = "set TCP_NODELAY at the client, or write each request in one call";
const CLIENT_READS: &str = "make the client read faster, or enlarge its receive buffer";
const SERVER_READS: &str = "make the server read faster, or enlarge its receive buffer";

const FULL_FIRST_RESPONSE: &str = "write head and body in one call, so that the response begins \
                                   with a \
    full segment, or raise the initial window; TCP_NODELAY does not help here";
const FULL_FIRST_REQUEST: &str = "write the request in one call, so that it begins with a full \
    segment, or raise the initial window; TCP_NODELAY does not help here";
const NOTHING_JOINS: &str = "no setting joins head and body, which costs a packet but no time where Nagle's \
    algorithm is off; a proxy in front that buffers responses, as nginx does, sends them together";
const ALWAYS_CLOSES: &str = "no setting keeps connections open: put a proxy in front that keeps them, as nginx does, or use a \
    server for production";
const BUFFER_SOCKETS: &str = "AcceptCallback: ->(socket) { socket.sync = false }, so that head and body are written together";
/// The text of an idle timeout's remedy, from its setting.
macro_rules! outlasts {
    ($setting:literal $(, $note:literal)?) => {
        concat!($setting, " longer than the timeout of what is in front" $(, $note)?)
    };
}

const SHORT_QUEUES: &str = "keep the queue at the bottleneck short and shared fairly between \
    connections (fq_codel or CAKE)";
const LOOK_FOR_DROPS: &str = "look where packets are dropped: counters of interfaces (`ip -s link`, `ethtool -S`), \
    queues and policers at the bottleneck (`tc -s qdisc`), Wi-Fi retries";
const KEEP_WINDOW: &str = "on Linux: sysctl net.ipv4.tcp_slow_start_after_idle=0, with pacing; \
    without it, the kept window is sent in one burst";

#[rustfmt::skip]
const REMEDIES: &[Row] = &[
    finding(SplitHead, At(Nginx), "tcp_nopush on; (needs sendfile on;), so that head and file \
                                   share segments").tested("nginx_tcp_nopush_joins_the_head"),
    finding(SplitHead, At(PythonHttpServer), "set wbufsize of the handler class larger than the response, so that head and \
                                              body are written together").tested("python_wbufsize_joins_the_head"),
    finding(SplitHead, At(Werkzeug), "WSGIRequestHandler.wbufsize larger than the response, so that head and body are \
                                      written together").tried(),
    finding(SplitHead, At(Gunicorn), "--worker-class asgi for an ASGI application; other workers have no setting for it, but a \
                                      proxy in front that buffers responses, as nginx does, sends head and body \
                                      together").tried(),
    finding(SplitHead, At(Uvicorn), NOTHING_JOINS).tried(),
    finding(SplitHead, At(Hypercorn), NOTHING_JOINS).tried(),
    finding(SplitHead, At(Aiohttp), "return web.Response with the whole body, and not a StreamResponse").tried(),
    finding(SplitHead, At(Waitress), "--send-bytes=18000 (deprecated in waitress 3), which waits for that many bytes or \
                                      for the end of the response").tried(),
    finding(SplitHead, At(Node), "pass the whole body to response.end(body), and do not call \
                                  flushHeaders() first").tried(),
    finding(SplitHead, At(Express), "pass the whole body to response.send(body), and do not call \
                                     flushHeaders() first").tried(),
    finding(SplitHead, At(Webrick), BUFFER_SOCKETS).tried(),
    finding(SplitHead, At(Php), NOTHING_JOINS).tried(),
    finding(SplitHead, At(Go), "do not call Flush before writing the body; net/http then joins \
                                head and body itself").tried(),
    finding(SplitHead, At(Jdk), NOTHING_JOINS).tried(),
    finding(SplitHead, At(Netty), "write the head without a flush, and flush with the body").tried(),
    finding(SplitHead, Server, "write head and body in one call: use writev, or a buffer \
                                that is flushed after the body").tested("joining_head_and_body_removes_the_split"),

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

    finding(FirstByte, Server, CHECK_BEHIND),
    finding(ResponsePause, Server, CHECK_BEHIND),
    finding(InitialWindow, Server, "on Linux: ip route change ROUTE initcwnd 10"),
    of(SlowStart, Either, "reuse connections, which keep their congestion windows, or raise \
                           the initial window to 10 segments"),
    of(IdleRestart, Either, KEEP_WINDOW).tested("linux_tcp_slow_start_after_idle_keeps_the_window"),
    finding(FindingId::SendBuffer, Server, "set TCP_NOTSENT_LOWAT to limit unsent data, or SO_SNDBUF \
                                            to limit unsent and unacknowledged data"),
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

    finding(RequestNagle, Client, NODELAY_AT_CLIENT),
    finding(ExpectContinue, Client, "send the content without `Expect: 100-continue` (curl: -H 'Expect:'), or wait a \
                                     shorter time for the answer"),
    finding(ConnectionReuse, Client, "keep one client or session for all requests, read each response to its end, and \
                                      do not send `Connection: close`"),
    finding(CloseRace, Client, "send GET and other idempotent requests again if a reused connection closes without a \
                                response, and keep idle connections for a shorter time than the server does"),
    finding(RefusedUpload, Client, "read while sending, and stop when a final response arrives (RFC 9112, section 9.5)"),
    finding(HappyEyeballs, Client, "try the next address of a name after 250 ms (RFC 8305, section 8)"),
    finding(WindowUpdates, Client, "do not set SO_RCVBUF; in HTTP/2, announce a larger SETTINGS_INITIAL_WINDOW_SIZE, and open \
                                    the connection's window with WINDOW_UPDATE"),

    finding(KeepAlive, At(Nginx), "keepalive_timeout 75s; keepalive_requests 1000;").tried(),
    finding(KeepAlive, At(Apache), "KeepAlive On").tried(),
    finding(KeepAlive, At(Lighttpd), "set server.max-keep-alive-requests and \
                                      server.max-keep-alive-idle above 0").tried(),
    finding(KeepAlive, At(HaProxy), "option http-keep-alive").tried(),
    finding(KeepAlive, At(Envoy), "max_requests_per_connection of common_http_protocol_options unset, or larger").tried(),
    finding(KeepAlive, At(Squid), "client_persistent_connections on").tried(),
    finding(KeepAlive, At(PythonHttpServer), "set protocol_version = \"HTTP/1.1\" in the handler class, and \
                                              send Content-Length in each response").tried(),
    finding(KeepAlive, At(Gunicorn), "--worker-class gthread, or asgi for an ASGI application: the default worker, sync, \
                                      closes every connection").tried(),
    finding(KeepAlive, At(Waitress), "send Content-Length in each response: waitress closes the connection after others").tried(),
    finding(KeepAlive, At(Werkzeug), ALWAYS_CLOSES).tried(),
    finding(KeepAlive, At(Php), ALWAYS_CLOSES).tried(),
    finding(KeepAlive, At(Tomcat), "maxKeepAliveRequests of the connector above 1 (the default is 100)").tried(),
    finding(KeepAlive, Server, "keep connections open: use HTTP/1.1, with Content-Length or \
                                chunked coding in each response"),

    idle_timeout(At(Nginx), outlasts!("keepalive_timeout")).tested("nginx_keepalive_timeout_outlasts_what_is_in_front"),
    idle_timeout(At(Apache), outlasts!("KeepAliveTimeout")).tried(),
    idle_timeout(At(Lighttpd), outlasts!("server.max-keep-alive-idle")).tried(),
    idle_timeout(At(Caddy), outlasts!("timeouts { idle } of the global option servers")).tried(),
    idle_timeout(At(HaProxy), outlasts!("timeout http-keep-alive")).tried(),
    idle_timeout(At(Envoy), outlasts!("common_http_protocol_options.idle_timeout")).tried(),
    idle_timeout(At(Traefik), outlasts!("transport.respondingTimeouts.idleTimeout of the entry point", " (from its documentation, not tried)")),
    idle_timeout(At(Squid), outlasts!("client_idle_pconn_timeout")).tried(),
    idle_timeout(At(PythonHttpServer), outlasts!("timeout of the handler class")).tried(),
    idle_timeout(At(Gunicorn), outlasts!("--keep-alive")).tried(),
    idle_timeout(At(Uvicorn), outlasts!("--timeout-keep-alive (as a worker of gunicorn: --keep-alive)")).tried(),
    idle_timeout(At(Hypercorn), outlasts!("--keep-alive")).tried(),
    idle_timeout(At(Aiohttp), outlasts!("keepalive_timeout of web.run_app()")).tried(),
    idle_timeout(At(Waitress), outlasts!("--channel-timeout")).tried(),
    idle_timeout(At(Tornado), outlasts!("idle_connection_timeout of HTTPServer")).tried(),
    idle_timeout(At(Node), outlasts!("server.keepAliveTimeout")).tried(),
    idle_timeout(At(Express), outlasts!("keepAliveTimeout of the server that app.listen() returns")).tried(),
    idle_timeout(At(Fastify), outlasts!("the option keepAliveTimeout")).tried(),
    idle_timeout(At(Puma), outlasts!("persistent_timeout")).tried(),
    idle_timeout(At(Webrick), outlasts!(":RequestTimeout")).tried(),
    idle_timeout(At(Go), outlasts!("http.Server.IdleTimeout")).tried(),
    idle_timeout(At(Jdk), outlasts!("-Dsun.net.httpserver.idleInterval, in seconds,")).tried(),
    idle_timeout(At(Netty), outlasts!("the time of IdleStateHandler, if it closes idle channels,")).tried(),
    idle_timeout(At(Undertow), outlasts!("UndertowOptions.NO_REQUEST_TIMEOUT, in milliseconds,")).tried(),
    idle_timeout(At(Jetty), outlasts!("ServerConnector.setIdleTimeout")).tried(),
    idle_timeout(At(Tomcat), outlasts!("keepAliveTimeout of the connector")).tried(),
    idle_timeout(At(Kestrel), outlasts!("KestrelServerLimits.KeepAliveTimeout", " (from its documentation, not tried)")),
    idle_timeout(Server, "let the server keep idle connections longer than what is in front of it, or let that close \
                          sooner; send Connection: close in the last response of a connection"),

    finding(Pipelining, Server, "after each request, parse what is left in the buffer, and \
                                 answer requests in order (RFC 9112, section 9.3.2)"),
    finding(EarlyResponse, Server, "after an early response, shut down the sending direction, then read and discard for some \
                                    seconds what the client still sends (lingering close) before closing the socket"),
    finding(H2Streams, Server, "allow at least 100 concurrent streams (SETTINGS_MAX_CONCURRENT_STREAMS), and answer each PING at once"),
    finding(StreamHeld, At(Nginx), "proxy_buffering off; or X-Accel-Buffering: no from the server behind it, and tcp_nodelay on; \
                                    (the default): while nginx buffers, it sets TCP_NODELAY only after the first response of \
                                    a connection, and with TLS it fills buffers of 16 KB; if it does not buffer, flush after \
                                    each event in the program behind it").tested("nginx_without_proxy_buffering_sends_each_token"),
    finding(StreamHeld, Server, "flush after each event, in the program and in each proxy before it"),
    corked_stream(At(HaProxy), "option http-no-delay").tested("haproxy_http_no_delay_sends_each_token"),
    corked_stream(Server, "clear TCP_CORK after each event, and write it without MSG_MORE, in the program and in each proxy before it"),
    finding(StreamGzip, At(Nginx), "proxy_buffering off; or gzip_types without the stream's type").tried(),
    finding(StreamGzip, Server, "do not compress streams of events, or flush the compressor after each event"),
    finding(RequestSegments, Server, "read again as soon as the socket is readable, not on a \
                                      timer, until the head is complete"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_the_server_comes_before_the_socket_option() {
        for (id, software, begins) in [
            (FindingId::NagleDelayedAck, Some(PythonHttpServer), "disable_nagle_algorithm = True"),
            (FindingId::NagleDelayedAck, Some(Jdk), "-Dsun.net.httpserver.nodelay"),
            (FindingId::NagleDelayedAck, Some(Apache), "set TCP_NODELAY"),
            (FindingId::NagleDelayedAck, None, "set TCP_NODELAY"),
            (SplitHead, Some(Nginx), "tcp_nopush on;"),
            (SplitHead, None, "write head and body"),
            (FindingId::SendBuffer, Some(Nginx), "set TCP_NOTSENT_LOWAT"),
            (FindingId::IdleRestart, Some(Nginx), "on Linux: sysctl"),
        ] {
            let remedy = id.remedy(software).unwrap();
            assert!(remedy.text.starts_with(begins), "{id} {software:?}: {}", remedy.text);
        }
        assert_eq!(FindingId::Close.remedy(None), None, "a fact needs no remedy");
    }

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
                let expected = by.and_then(|by| find(Of::Cause(cause), by));
                assert_eq!(expected.is_some(), by.is_some(), "{cause}: no row for {by:?}");
                assert_eq!(cause.remedy(direction), expected, "{cause} {direction:?}");
            }
        }
        assert!(BY.map(|(cause, _)| cause) == Cause::ALL, "every cause has a row");
    }

    #[test]
    fn each_setting_of_a_server_is_found_by_that_server() {
        let mut settings = 0;
        for id in FindingId::ALL {
            for remedy in id.remedies().filter(|remedy| remedy.software.is_some()) {
                let of_idle = FindingId::idle_timeout_remedy(remedy.software);
                let of_cork = FindingId::corked_stream_remedy(remedy.software);
                let found = [id.remedy(remedy.software), Some(of_idle), Some(of_cork)];
                assert!(found.contains(&Some(remedy)), "{id}");
                settings += 1;
            }
        }
        assert!(settings > 10, "{settings}");
    }
}
