//! What removes a finding: the setting of a server that we recognise, else the socket option or the
//! way to write.
//!
//! A remedy is marked as tested only where a test applies it and sees the finding go.

use super::card::FindingId;

/// The remedy of `id` for a server that names itself `server` (its `Server` field); `None` where
/// there is nothing to remove.
#[must_use]
pub(super) fn remedy(id: FindingId, server: Option<&str>) -> Option<String> {
    let software = server.and_then(Software::recognise);
    let of = |software| REMEDIES.iter().find(|row| row.id == id && row.software == software);
    let row = software.and_then(|software| of(Some(software))).or_else(|| of(None))?;
    Some(match row.tested {
        Some(_) => format!("{} (tested: it removes this)", row.text),
        None => row.text.to_owned(),
    })
}

/// Servers with settings of their own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Software {
    Nginx,
    Apache,
    Lighttpd,
    HaProxy,
    Squid,
    Node,
    Go,
    Java,
    Python,
    Hyper,
}

impl Software {
    /// By the product names that stand in a `Server` field.
    fn recognise(server: &str) -> Option<Self> {
        let server = server.to_ascii_lowercase();
        let row = PRODUCTS.iter().find(|(name, _)| server.contains(name));
        row.map(|(_, software)| *software)
    }
}

/// Product names in lower case; the first that is found counts (Tomcat calls itself Apache-Coyote).
const PRODUCTS: &[(&str, Software)] = &[
    ("nginx", Nginx),
    ("openresty", Nginx),
    ("coyote", Java),
    ("jetty", Java),
    ("netty", Java),
    ("apache", Apache),
    ("lighttpd", Lighttpd),
    ("haproxy", HaProxy),
    ("squid", Squid),
    ("node", Node),
    ("golang", Go),
    ("python", Python),
    ("gunicorn", Python),
    ("uvicorn", Python),
    ("hyper", Hyper),
];

struct Row {
    id: FindingId,
    /// `None`: for all others.
    software: Option<Software>,
    text: &'static str,
    /// The test that applied it and saw the finding go.
    tested: Option<&'static str>,
}

const fn row(id: FindingId, software: Option<Software>, text: &'static str) -> Row {
    Row { id, software, text, tested: None }
}

const fn tested(row: Row, test: &'static str) -> Row {
    Row { tested: Some(test), ..row }
}

use FindingId::{
    CorkTimer, IdleRestart, InitialWindow, KeepAlive, NagleDelayedAck, Pipelining, RequestSegments,
    SendBuffer, ShortInitialSegment, SplitHead,
};
use Software::{Apache, Go, HaProxy, Hyper, Java, Lighttpd, Nginx, Node, Python, Squid};

const LINUX_KEEP_WINDOW: &str = "on Linux: sysctl net.ipv4.tcp_slow_start_after_idle=0 (with pacing: a \
    kept window is sent in one burst)";

#[rustfmt::skip]
const REMEDIES: &[Row] = &[
    tested(row(SplitHead, Some(Nginx), "tcp_nopush on; (with sendfile on;): head and file share segments"), "nginx_tcp_nopush_joins_the_head"),
    tested(row(SplitHead, Some(Python), "write head and body at once: in http.server, a wbufsize larger than the response"), "python_wbufsize_joins_the_head"),
    row(SplitHead, Some(Node), "give the whole body to response.end(body) and do not call flushHeaders() before"),
    row(SplitHead, Some(Go), "do not call Flush before the body is written: net/http joins head and body by itself"),
    tested(row(SplitHead, None, "write head and body with one call: writev, or a buffer flushed after the body"), "joining_head_and_body_removes_the_split"),

    tested(row(ShortInitialSegment, Some(Nginx), "tcp_nopush on; (with sendfile on;)"), "nginx_tcp_nopush_begins_with_a_full_segment"),
    row(ShortInitialSegment, None, "write head and body with one call, so that the response begins with a full segment; TCP_NODELAY does not help here"),

    tested(row(NagleDelayedAck, Some(Nginx), "tcp_nodelay on; (the default: it has been turned off)"), "nginx_tcp_nodelay_ends_the_stall"),
    row(NagleDelayedAck, Some(HaProxy), "option http-no-delay"),
    tested(row(NagleDelayedAck, Some(Python), "disable_nagle_algorithm = True in the handler class"), "python_disable_nagle_algorithm_ends_the_stall"),
    row(NagleDelayedAck, Some(Node), "http.createServer({ noDelay: true }) (the default since Node 18), or socket.setNoDelay(true)"),
    row(NagleDelayedAck, Some(Go), "remove the call of SetNoDelay(false): net turns Nagle's algorithm off by itself"),
    row(NagleDelayedAck, Some(Java), "TCP_NODELAY: Netty childOption(…, true); Tomcat socket.tcpNoDelay; JDK -Dsun.net.httpserver.nodelay=true"),
    row(NagleDelayedAck, Some(Hyper), "set_nodelay(true) on each accepted TcpStream"),
    tested(row(NagleDelayedAck, None, "set TCP_NODELAY on accepted connections, and write head and body with one call"), "turning_nagle_off_removes_the_stall"),

    row(CorkTimer, Some(HaProxy), "option http-no-delay"),
    tested(row(CorkTimer, None, "end the cork after the last write (TCP_CORK 0), or write it without MSG_MORE"), "removing_the_cork_removes_the_wait"),

    row(InitialWindow, None, "on Linux: ip route change ROUTE initcwnd 10"),
    tested(row(IdleRestart, None, LINUX_KEEP_WINDOW), "linux_tcp_slow_start_after_idle_keeps_the_window"),
    row(SendBuffer, None, "TCP_NOTSENT_LOWAT bounds what waits unsent; SO_SNDBUF bounds the flight too"),

    row(KeepAlive, Some(Nginx), "keepalive_timeout 75s; keepalive_requests 1000;"),
    row(KeepAlive, Some(Apache), "KeepAlive On"),
    row(KeepAlive, Some(Lighttpd), "server.max-keep-alive-requests and server.max-keep-alive-idle above 0"),
    row(KeepAlive, Some(HaProxy), "option http-keep-alive"),
    row(KeepAlive, Some(Squid), "client_persistent_connections on"),
    row(KeepAlive, Some(Python), "protocol_version = \"HTTP/1.1\" in the handler class, and a Content-Length in each response"),
    row(KeepAlive, None, "keep connections open: HTTP/1.1, and a Content-Length or chunks in each response"),

    row(Pipelining, None, "read on from the same buffer after each request, and answer in the order of the requests (RFC 9112, section 9.3.2)"),
    row(RequestSegments, None, "read again as soon as there is more (readiness, not a timer), until the empty line has come"),
];

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn a_setting_of_the_server_goes_before_the_socket_option() {
        for (id, server, begins) in [
            (NagleDelayedAck, Some("BaseHTTP/0.6 Python/3.13.5"), "disable_nagle_algorithm"),
            (NagleDelayedAck, Some("Apache-Coyote/1.1"), "TCP_NODELAY"),
            (NagleDelayedAck, Some("Apache/2.4.66 (Debian)"), "set TCP_NODELAY"),
            (NagleDelayedAck, None, "set TCP_NODELAY"),
            (SplitHead, Some("nginx/1.26.3"), "tcp_nopush on;"),
            (SplitHead, Some("something"), "write head and body"),
        ] {
            let remedy = remedy(id, server).unwrap();
            assert!(remedy.starts_with(begins), "{id} {server:?}: {remedy}");
        }
        assert_eq!(remedy(FindingId::Close, None), None, "a fact needs no remedy");
    }

    #[test]
    fn a_remedy_is_called_tested_only_if_the_test_exists() {
        let tests = ["tests/kernel/remedies.rs", "../ackwise/tests/real_servers/remedies.rs"]
            .map(|path| Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
            .map(|path| fs::read_to_string(path).unwrap())
            .concat();
        for row in REMEDIES {
            if let Some(test) = row.tested {
                assert!(tests.contains(&format!("fn {test}()")), "{}: {test}", row.id);
            }
        }
    }
}
