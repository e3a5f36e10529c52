//! Which software wrote the head of a response: by `Via`, else by `Server`, else by the order and spelling of its fields.
//!
//! Unknown beats a wrong guess, because the answer selects a remedy. So each rule fits the heads of one product only, of all
//! that were tried (`crates/check/tests/heads.txt`). Tomcat, Puma, Netty and HAProxy write nothing that others do not write, so they are
//! unknown unless someone names them in `Server`.

use crate::Software;

impl Software {
    /// Recognises the software that answers by the names and values of a head's fields, in the order received;
    /// `None` if it is not known for sure.
    ///
    /// ```
    /// use ackwise_cause::Software;
    ///
    /// let server = |name: &'static str| [("Server".as_bytes(), name.as_bytes())].into_iter();
    /// assert_eq!(Software::recognise(server("nginx/1.26.3")), Some(Software::Nginx));
    /// assert_eq!(Software::recognise(server("my-server")), None);
    /// ```
    #[must_use]
    pub fn recognise<'a>(
        fields: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
    ) -> Option<Self> {
        if let Some(via) = last_via(fields.clone()) {
            return proxy(via);
        }
        let mut servers = fields.clone().filter(|(name, _)| name.eq_ignore_ascii_case(b"Server"));
        match (servers.next(), servers.next()) {
            (Some((name, products)), None) => named(name, products),
            (None, _) => by_order(fields),
            // A proxy has added its own.
            (Some(_), Some(_)) => None,
        }
    }
}

/// The last `Via`, if the proxy that answers wrote it.
///
/// A server writes `Connection` and then what it passes on, so a `Via` behind it is from further back.
fn last_via<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Option<&'a [u8]> {
    fields
        .take_while(|(name, _)| !name.eq_ignore_ascii_case(b"Connection"))
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"Via"))
        .last()
        .map(|(_, value)| value)
}

/// RFC 9110, section 7.6.3: each proxy appends its entry to `Via`, so the last one answers.
fn proxy(via: &[u8]) -> Option<Software> {
    let last = via.rsplit(|&byte| byte == b',').next()?;
    let mut words = last.split(|&byte| byte == b' ');
    words.find_map(|word| match word {
        b"Caddy" => Some(Software::Caddy),
        _ if word.starts_with(b"(squid/") => Some(Software::Squid),
        _ => None,
    })
}

/// By the field `Server`, with the products in it.
///
/// Envoy and HAProxy pass on names of fields in lower case: `server` is not the field of a server that writes `Server`.
fn named(field: &[u8], products: &[u8]) -> Option<Software> {
    let is_named = |begins: &str| {
        let mut words = products.split(|&byte| byte == b' ');
        words.any(|word| {
            let begin = word.get(..begins.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(begins.as_bytes()))
        })
    };
    let mut rows = PRODUCTS.iter().filter(|(name, ..)| name.as_bytes() == field);
    rows.find(|(_, begins, _)| is_named(begins)).map(|(.., software)| *software)
}

/// By the order and spelling of fields without `Server`.
fn by_order<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone) -> Option<Software> {
    let names = fields.clone().map(|(name, _)| name);
    if let Some(software) = on_node(fields.clone()) {
        return Some(software);
    }
    if names.clone().any(|name| name == b"Transfer-encoding" || name == b"Content-length") {
        return Some(Software::Jdk);
    }
    // It repeats the request's.
    if matches!(names.clone().next(), Some(b"Host")) {
        return Some(Software::Php);
    }
    let is_undertow = matches!(fields.clone().next(), Some((b"Connection", b"keep-alive")))
        && matches!(names.clone().last(), Some(b"Date"));
    if is_undertow {
        return Some(Software::Undertow);
    }
    is_go(names).then_some(Software::Go)
}

/// Node writes the program's fields, and then these three. Express names itself; Fastify's idle timeout is 72 s by
/// default, and its names are in lower case.
fn on_node<'a>(fields: impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone) -> Option<Software> {
    let mut own = fields.clone().skip_while(|(name, _)| *name != b"Date").skip(1);
    let (b"Connection", b"keep-alive") = own.next()? else { return None };
    let (b"Keep-Alive", timeout) = own.next()? else { return None };
    let has = |field: (&[u8], &[u8])| fields.clone().any(|it| it == field);
    let is_fastify =
        timeout == b"timeout=72" && fields.clone().any(|(name, _)| name == b"content-type");
    Some(match () {
        () if has((b"X-Powered-By", b"Express")) => Software::Express,
        () if is_fastify => Software::Fastify,
        () => Software::Node,
    })
}

/// Whether the program's fields are sorted, with those of `net/http` behind them. Jetty without its `Server` field begins a
/// chunked response as Go does one with a guessed type: that is neither.
fn is_go<'a>(names: impl Iterator<Item = &'a [u8]> + Clone) -> bool {
    let programs = names.clone().take_while(|name| *name != b"Date");
    let has_type = programs.clone().any(|name| name == b"Content-Type");
    let mut own = names.skip_while(|name| *name != b"Date").skip(1);
    let ends = match (own.next(), own.next(), own.next()) {
        (Some(b"Content-Length" | b"Transfer-Encoding"), None, None) => has_type,
        (Some(b"Content-Length"), Some(b"Content-Type"), None) => !has_type,
        _ => false,
    };
    ends && programs.is_sorted()
}

/// The field as it is spelled, how a word in it begins in any case, and the software; the first row that fits counts.
const PRODUCTS: &[(&str, &str, Software)] = &[
    ("Server", "nginx", Software::Nginx),
    ("Server", "openresty", Software::Nginx),
    ("Server", "Apache-Coyote", Software::Tomcat), // Until Tomcat 8.
    ("Server", "Apache", Software::Apache),
    ("Server", "lighttpd", Software::Lighttpd),
    ("Server", "Caddy", Software::Caddy),
    ("server", "haproxy", Software::HaProxy),
    ("server", "envoy", Software::Envoy),
    ("Server", "traefik", Software::Traefik),
    ("Server", "squid", Software::Squid),
    ("Server", "BaseHTTP/", Software::PythonHttpServer),
    ("Server", "SimpleHTTP/", Software::PythonHttpServer),
    ("Server", "gunicorn", Software::Gunicorn),
    ("server", "uvicorn", Software::Uvicorn),
    ("server", "hypercorn", Software::Hypercorn),
    ("Server", "aiohttp", Software::Aiohttp),
    ("Server", "Werkzeug", Software::Werkzeug),
    ("Server", "waitress", Software::Waitress),
    ("Server", "TornadoServer", Software::Tornado),
    ("Server", "puma", Software::Puma),
    ("Server", "WEBrick", Software::Webrick),
    ("Server", "netty", Software::Netty),
    ("server", "netty", Software::Netty),
    ("Server", "Jetty(", Software::Jetty),
    ("Server", "Kestrel", Software::Kestrel),
];
