//! The remedy of each cause and finding: the setting of a recognised server, else the socket option
//! or the way to write.
//!
//! A remedy is marked as tested only if a test applies it and the finding disappears.

use crate::{Cause, Direction, FindingId, Party, Software};

/// What the responsible party should change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Remedy {
    /// The remedy in words, without a capital letter and without a full stop.
    pub text: &'static str,
    /// The test that applies it and sees the finding disappear.
    pub tested: Option<&'static str>,
    /// The server or language with this setting; `None` if it is general.
    pub software: Option<Software>,
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
        Some(Remedy { text, tested: None, software: None })
    }
}

impl FindingId {
    /// What to change at a server that runs `software`, if known; `None` if there is nothing to
    /// remove.
    #[must_use]
    pub fn remedy(self, software: Option<Software>) -> Option<Remedy> {
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

    /// Every remedy, those for recognised servers first.
    pub fn remedies(self) -> impl Iterator<Item = Remedy> {
        let mine = move |row: &&Row| {
            row.of == Of::Finding(self)
                || self.cause().is_some_and(|it| row.of == Of::Cause(it))
                || self == Self::KeepAlive && row.of == Of::IdleTimeout
        };
        REMEDIES.iter().filter(mine).filter(|row| row.by != Client).map(Row::remedy)
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
    tested: Option<&'static str>,
}

impl Row {
    const fn tested(self, test: &'static str) -> Self {
        Self { tested: Some(test), ..self }
    }

    const fn remedy(&self) -> Remedy {
        let software = match self.by {
            By::Software(software) => Some(software),
            Server | Client | Either => None,
        };
        Remedy { text: self.text, tested: self.tested, software }
    }
}

const fn of(cause: Cause, by: By, text: &'static str) -> Row {
    Row { of: Of::Cause(cause), by, text, tested: None }
}

const fn finding(id: FindingId, by: By, text: &'static str) -> Row {
    Row { of: Of::Finding(id), by, text, tested: None }
}

const fn idle_timeout(by: By, text: &'static str) -> Row {
    Row { of: Of::IdleTimeout, by, text, tested: None }
}

use By::{Client, Either, Server, Software as At};
use Cause::{
    AcceptQueueFull, ApplicationLimited, CorkTimer, H2FlowControl, Handshake, HeadOfLine,
    IdleRestart, LossRecovery, NagleDelayedAck, NagleRtt, PathStall, Queueing, ReceiveWindow,
    RetransmissionTimeout, SendBuffer, ServerThink, ShortInitialSegment, SillyWindow, SlowStart,
    TlsHandshake,
};
use FindingId::{
    EarlyResponse, FirstByte, InitialWindow, KeepAlive, Pipelining, RequestSegments,
    ResponsePause, SplitHead,
};
use Software::{Apache, Go, HaProxy, Hyper, Java, Lighttpd, Nginx, Node, Python, Squid};

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
    finding(SplitHead, At(Python), "in http.server, set wbufsize larger than the response, so \
                                    that head and body are written \
                                    together").tested("python_wbufsize_joins_the_head"),
    finding(SplitHead, At(Node), "pass the whole body to response.end(body), and do not call \
                                  flushHeaders() first"),
    finding(SplitHead, At(Go), "do not call Flush before writing the body; net/http then joins \
                                head and body itself"),
    finding(SplitHead, Server, "write head and body in one call: use writev, or a buffer \
                                that is flushed after the body").tested("joining_head_and_body_removes_the_split"),

    of(ShortInitialSegment, At(Nginx), "tcp_nopush on; (needs sendfile on;)").tested("nginx_tcp_nopush_ends_the_short_initial_segment_s_stall"),
    of(ShortInitialSegment, Server, FULL_FIRST_RESPONSE),
    of(ShortInitialSegment, Client, FULL_FIRST_REQUEST),

    of(NagleDelayedAck, At(Nginx), "tcp_nodelay on; (this is the default, so it has been turned off)").tested("nginx_tcp_nodelay_ends_the_stall"),
    of(NagleDelayedAck, At(HaProxy), "option http-no-delay"),
    of(NagleDelayedAck, At(Python), "disable_nagle_algorithm = True in the handler class").tested("python_disable_nagle_algorithm_ends_the_stall"),
    of(NagleDelayedAck, At(Node), "http.createServer({ noDelay: true }) (the default since Node \
                                   18), or socket.setNoDelay(true)"),
    of(NagleDelayedAck, At(Go), "remove the call to SetNoDelay(false); Go turns Nagle's \
                                 algorithm off by default"),
    of(NagleDelayedAck, At(Java), "set TCP_NODELAY: Netty childOption(TCP_NODELAY, true), Tomcat \
                                   socket.tcpNoDelay, JDK -Dsun.net.httpserver.nodelay=true"),
    of(NagleDelayedAck, At(Hyper), "set_nodelay(true) on each accepted TcpStream"),
    of(NagleDelayedAck, Server, NODELAY_AT_SERVER).tested("turning_nagle_off_removes_the_stall"),
    of(NagleDelayedAck, Client, NODELAY_AT_CLIENT),
    of(NagleRtt, Server, NODELAY_AT_SERVER),
    of(NagleRtt, Client, NODELAY_AT_CLIENT),

    of(CorkTimer, At(HaProxy), "option http-no-delay"),
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

    finding(KeepAlive, At(Nginx), "keepalive_timeout 75s; keepalive_requests 1000;"),
    finding(KeepAlive, At(Apache), "KeepAlive On"),
    finding(KeepAlive, At(Lighttpd), "set server.max-keep-alive-requests and \
                                      server.max-keep-alive-idle above 0"),
    finding(KeepAlive, At(HaProxy), "option http-keep-alive"),
    finding(KeepAlive, At(Squid), "client_persistent_connections on"),
    finding(KeepAlive, At(Python), "set protocol_version = \"HTTP/1.1\" in the handler class, and \
                                    send Content-Length in each response"),
    finding(KeepAlive, Server, "keep connections open: use HTTP/1.1, with Content-Length or \
                                chunked coding in each response"),

    idle_timeout(At(Nginx), "keepalive_timeout longer than the timeout of what is in front").tested("nginx_keepalive_timeout_outlasts_what_is_in_front"),
    idle_timeout(At(Apache), "KeepAliveTimeout longer than the timeout of what is in front"),
    idle_timeout(At(Lighttpd), "server.max-keep-alive-idle longer than the timeout of what is in front"),
    idle_timeout(At(HaProxy), "timeout http-keep-alive longer than the timeout of what is in front"),
    idle_timeout(At(Squid), "client_idle_pconn_timeout longer than the timeout of what is in front"),
    idle_timeout(At(Node), "server.keepAliveTimeout longer than the timeout of what is in front"),
    idle_timeout(At(Go), "http.Server.IdleTimeout longer than the timeout of what is in front"),
    idle_timeout(At(Java), "longer than the timeout of what is in front: Tomcat keepAliveTimeout, Jetty idleTimeout"),
    idle_timeout(At(Python), "longer than the timeout of what is in front: uvicorn --timeout-keep-alive, gunicorn \
                              --keep-alive, a handler's timeout in http.server"),
    idle_timeout(Server, "let the server keep idle connections longer than what is in front of it (Node \
                          server.keepAliveTimeout, Go IdleTimeout, Tomcat keepAliveTimeout), or let that close sooner; \
                          send Connection: close in the last response of a connection"),

    finding(Pipelining, Server, "after each request, parse what is left in the buffer, and \
                                 answer requests in order (RFC 9112, section 9.3.2)"),
    finding(EarlyResponse, Server, "after an early response, shut down the sending direction, then read and discard for some \
                                    seconds what the client still sends (lingering close) before closing the socket"),
    finding(RequestSegments, Server, "read again as soon as the socket is readable, not on a \
                                      timer, until the head is complete"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_of_the_server_comes_before_the_socket_option() {
        for (id, server, begins) in [
            (
                FindingId::NagleDelayedAck,
                "BaseHTTP/0.6 Python/3.13.5",
                "disable_nagle_algorithm = True",
            ),
            (FindingId::NagleDelayedAck, "Apache-Coyote/1.1", "set TCP_NODELAY: Netty"),
            (FindingId::NagleDelayedAck, "Apache/2.4.66 (Debian)", "set TCP_NODELAY"),
            (FindingId::NagleDelayedAck, "", "set TCP_NODELAY"),
            (SplitHead, "nginx/1.26.3", "tcp_nopush on;"),
            (SplitHead, "something", "write head and body"),
            (FindingId::SendBuffer, "nginx", "set TCP_NOTSENT_LOWAT"),
            (FindingId::IdleRestart, "nginx", "on Linux: sysctl"),
        ] {
            let remedy = id.remedy(Software::recognise(server)).unwrap();
            assert!(remedy.text.starts_with(begins), "{id} {server:?}: {}", remedy.text);
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
                assert!(
                    [id.remedy(remedy.software), Some(of_idle)].contains(&Some(remedy)),
                    "{id}"
                );
                settings += 1;
            }
        }
        assert!(settings > 10, "{settings}");
    }
}
