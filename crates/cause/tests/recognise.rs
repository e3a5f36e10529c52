//! Heads of real software, and what is advised to whom.

use ackwise_cause::{FindingId, Remedy, Software};

/// One head of a 200 in a row: product and version, fields in the order and spelling received on 2026-11-28, and what it is
/// recognised as. Dates and entity tags are shortened.
#[rustfmt::skip]
const HEADS: &[(&str, &str, Option<Software>)] = &[
    ("nginx 1.22.1",             "Server: nginx/1.22.1|Date: D|Content-Type: text/html|Content-Length: 500|Last-Modified: D|Connection: keep-alive|ETag: E|Accept-Ranges: bytes", Some(Software::Nginx)),
    ("Apache 2.4.71",            "Date: D|Server: Apache/2.4.71 (Debian)|Last-Modified: D|ETag: E|Accept-Ranges: bytes|Content-Length: 500", Some(Software::Apache)),
    ("lighttpd 1.4.69",          "Content-Type: application/octet-stream|Content-Length: 500|Accept-Ranges: bytes|Date: D|Server: lighttpd/1.4.69", Some(Software::Lighttpd)),
    ("Caddy 2.11.9",             "Accept-Ranges: bytes|Content-Length: 500|Content-Type: text/html; charset=utf-8|Etag: E|Last-Modified: D|Server: Caddy|Vary: Accept-Encoding|Date: D", Some(Software::Caddy)),
    ("Caddy, respond",           "Content-Type: text/plain; charset=utf-8|Server: Caddy|Date: D|Content-Length: 23", Some(Software::Caddy)),
    ("Envoy 1.40.0",             "content-type: text/plain|date: D|content-length: 500|x-envoy-upstream-service-time: 0|server: envoy", Some(Software::Envoy)),
    ("http.server, Python 3.11", "Server: BaseHTTP/0.6 Python/3.11.7|Date: D|Content-Type: text/plain|Content-Length: 500", Some(Software::PythonHttpServer)),
    ("the same, files",          "Server: SimpleHTTP/0.6 Python/3.11.7|Date: D|Content-type: text/html; charset=utf-8|Content-Length: 489", Some(Software::PythonHttpServer)),
    ("gunicorn 27.0.1",          "Server: gunicorn|Date: D|Connection: close|Content-Type: text/plain|Content-Length: 500", Some(Software::Gunicorn)),
    ("gunicorn, chunked",        "Server: gunicorn|Date: D|Connection: close|Transfer-Encoding: chunked|Content-Type: text/plain", Some(Software::Gunicorn)),
    ("gunicorn, asgi",           "content-type: text/plain|content-length: 500|Server: gunicorn/asgi|Date: D", Some(Software::Gunicorn)),
    ("uvicorn 0.54.0",           "date: D|server: uvicorn|content-type: text/plain|content-length: 500", Some(Software::Uvicorn)),
    ("uvicorn, h11, chunked",    "date: D|server: uvicorn|content-type: text/plain|Transfer-Encoding: chunked", Some(Software::Uvicorn)),
    ("Hypercorn 0.18.0",         "content-type: text/plain|content-length: 500|date: D|server: hypercorn-h11", Some(Software::Hypercorn)),
    ("aiohttp 3.14.5",           "Content-Type: text/plain|Content-Length: 500|Date: D|Server: Python/3.11 aiohttp/3.14.5", Some(Software::Aiohttp)),
    ("Werkzeug 3.1.9",           "Server: Werkzeug/3.1.9 Python/3.11.7|Date: D|Content-Type: text/plain|Content-Length: 500|Connection: close", Some(Software::Werkzeug)),
    ("waitress 3.0.2",           "Content-Length: 500|Content-Type: text/plain|Date: D|Server: waitress", Some(Software::Waitress)),
    ("Tornado 6.6.1",            "Server: TornadoServer/6.6.1|Content-Type: text/html; charset=UTF-8|Date: D|Etag: E|Content-Length: 500", Some(Software::Tornado)),
    ("cheroot 11.1.2",           "Content-Type: text/plain|Content-Length: 500|Date: D|Server: Cheroot/11.1.2", None),
    ("daphne 4.2.3",             "Content-Type: text/plain|Content-Length: 500|Server: daphne", None),
    ("granian 2.8.9",            "content-type: text/plain|content-length: 500|server: granian|date: D", None),
    ("Node 26.10.0",             "Content-Type: text/plain|Date: D|Connection: keep-alive|Keep-Alive: timeout=5|Content-Length: 500", Some(Software::Node)),
    ("Node 20.20.2, chunked",    "Content-Type: text/plain|Date: D|Connection: keep-alive|Keep-Alive: timeout=5|Transfer-Encoding: chunked", Some(Software::Node)),
    ("Koa 3.3.0",                "Content-Type: text/plain; charset=utf-8|Content-Length: 500|Date: D|Connection: keep-alive|Keep-Alive: timeout=5", Some(Software::Node)),
    ("Express 5.3.0",            "X-Powered-By: Express|Content-Type: text/plain; charset=utf-8|Content-Length: 500|ETag: E|Date: D|Connection: keep-alive|Keep-Alive: timeout=5", Some(Software::Express)),
    ("Fastify 5.12.8",           "content-type: text/plain|content-length: 500|Date: D|Connection: keep-alive|Keep-Alive: timeout=72", Some(Software::Fastify)),
    ("Puma 5.6.5",               "Content-Type: text/plain|Content-Length: 500", None),
    ("WEBrick 1.8.1",            "Content-Type: text/plain|Server: WEBrick/1.8.1 (Ruby/3.1.2/2022-04-12)|Date: D|Content-Length: 500|Connection: Keep-Alive", Some(Software::Webrick)),
    ("php -S, PHP 8.2.36",       "Host: 127.0.0.1:24001|Date: D|Connection: close|X-Powered-By: PHP/8.2.36|Content-type: text/plain;charset=UTF-8|Content-Length: 500", Some(Software::Php)),
    ("Go 1.26.8",                "Content-Type: text/plain|Date: D|Content-Length: 500", Some(Software::Go)),
    ("Go, guessed type",         "Date: D|Content-Length: 500|Content-Type: text/plain; charset=utf-8", Some(Software::Go)),
    ("Go, more fields",          "Cache-Control: no-store|Content-Type: application/json|Set-Cookie: a=b|Vary: Accept|X-Request-Id: 1|Date: D|Content-Length: 500", Some(Software::Go)),
    ("Go, chunked",              "Content-Type: text/plain|Date: D|Transfer-Encoding: chunked", Some(Software::Go)),
    ("Go, chunked, guessed",     "Date: D|Content-Type: text/plain; charset=utf-8|Transfer-Encoding: chunked", None),
    ("Go, a file",               "Accept-Ranges: bytes|Content-Length: 392|Content-Type: text/x-python; charset=utf-8|Last-Modified: D|Date: D", None),
    ("JDK 17.0.15",              "Date: D|Content-type: text/plain|Content-length: 500", Some(Software::Jdk)),
    ("JDK, chunked",             "Date: D|Transfer-encoding: chunked|Content-type: text/plain", Some(Software::Jdk)),
    ("Netty 4.2.20",             "content-type: text/plain|content-length: 500", None),
    ("Undertow 2.4.4",           "Connection: keep-alive|Content-Type: text/plain|Content-Length: 500|Date: D", Some(Software::Undertow)),
    ("Undertow, chunked",        "Connection: keep-alive|Transfer-Encoding: chunked|Content-Type: text/plain|Date: D", Some(Software::Undertow)),
    ("Jetty 12.1.14",            "Server: Jetty(12.1.14)|Date: D|Content-Type: text/plain|Content-Length: 500", Some(Software::Jetty)),
    ("Jetty, without Server",    "Date: D|Content-Type: text/plain|Content-Length: 500", None),
    ("Tomcat 11.0.27",           "Content-Type: text/plain|Content-Length: 500|Date: D", None),
    ("Tomcat, chunked",          "Content-Type: text/plain|Transfer-Encoding: chunked|Date: D", None),
    // Behind a proxy, it is the proxy that answers.
    ("nginx, gunicorn",          "Server: nginx/1.22.1|Date: D|Content-Type: text/plain|Content-Length: 500|Connection: keep-alive", Some(Software::Nginx)),
    ("nginx, Caddy, nginx",      "Server: nginx/1.22.1|Date: D|Content-Type: text/html|Content-Length: 500|Connection: keep-alive|Accept-Ranges: bytes|Etag: E|Last-Modified: D|Via: 1.1 Caddy", Some(Software::Nginx)),
    ("nginx, Squid, nginx",      "Server: nginx/1.22.1|Date: D|Content-Type: text/html|Content-Length: 500|Connection: keep-alive|Last-Modified: D|ETag: E|Accept-Ranges: bytes|X-Cache: MISS from vm|X-Cache-Lookup: MISS from vm:24003|Via: 1.1 vm (squid/5.7)", Some(Software::Nginx)),
    ("Caddy, Go",                "Content-Length: 500|Content-Type: text/plain|Date: D|Via: 1.1 Caddy", Some(Software::Caddy)),
    ("Caddy, nginx",             "Accept-Ranges: bytes|Content-Length: 500|Content-Type: text/html|Date: D|Etag: E|Last-Modified: D|Server: nginx/1.22.1|Via: 1.1 Caddy", Some(Software::Caddy)),
    ("Squid 5.7, nginx",         "Server: nginx/1.22.1|Date: D|Content-Type: text/html|Content-Length: 500|Last-Modified: D|ETag: E|Accept-Ranges: bytes|X-Cache: MISS from vm|X-Cache-Lookup: MISS from vm:24001|Via: 1.1 vm (squid/5.7)|Connection: keep-alive", Some(Software::Squid)),
    ("Varnish 7.1, nginx",       "Server: nginx/1.22.1|Date: D|Content-Type: text/html|Content-Length: 500|Last-Modified: D|ETag: E|X-Varnish: 3|Age: 0|Via: 1.1 varnish (Varnish/7.1)|Accept-Ranges: bytes|Connection: keep-alive", None),
    ("HAProxy 2.6.12, nginx",    "server: nginx/1.22.1|date: D|content-type: text/html|content-length: 500|last-modified: D|etag: E|accept-ranges: bytes", None),
    ("HAProxy, Go",              "content-type: text/plain|date: D|content-length: 500", None),
    ("Envoy passes on, nginx",   "server: nginx/1.22.1|date: D|content-type: text/html|content-length: 500|last-modified: D|etag: E|accept-ranges: bytes|x-envoy-upstream-service-time: 0", None),
];

/// Not tried here: names from documentation, and heads that show nothing for sure.
#[rustfmt::skip]
const OTHERS: &[(&str, &str, Option<Software>)] = &[
    ("OpenResty",             "Server: openresty/1.25.3.1|Date: D", Some(Software::Nginx)),
    ("Kestrel",               "Content-Length: 500|Content-Type: text/plain|Date: D|Server: Kestrel", Some(Software::Kestrel)),
    ("Tomcat 7",              "Server: Apache-Coyote/1.1|Date: D", Some(Software::Tomcat)),
    ("Apache with PHP",       "Date: D|Server: Apache/2.4 (Unix) mod_wsgi/5 Python/3.11|X-Powered-By: PHP/8.2", Some(Software::Apache)),
    ("named by its operator", "content-length: 5|server: haproxy", Some(Software::HaProxy)),
    ("two servers",           "Server: Caddy|Server: gunicorn|Date: D", None),
    ("Via of two proxies",    "Server: nginx|Via: 1.1 Caddy, 1.1 vm (squid/5.7)|Connection: keep-alive", Some(Software::Squid)),
    ("Express behind more",   "Content-Type: text/plain|Date: D|X-Powered-By: Express", None),
    ("PHP-FPM, no Server",    "X-Powered-By: PHP/8.2|Content-type: text/html|Date: D", None),
    ("unknown product",       "Server: nodebb|Date: D|Connection: keep-alive|Keep-Alive: timeout=5", None),
    ("nothing",               "", None),
];

fn recognise(head: &str) -> Option<Software> {
    let fields = head.split('|').filter_map(|field| field.split_once(": "));
    Software::recognise(fields.map(|(name, value)| (name.as_bytes(), value.as_bytes())))
}

#[test]
fn real_software_is_recognised_by_its_head() {
    for (tried, head, expected) in HEADS.iter().chain(OTHERS) {
        assert_eq!(recognise(head), *expected, "{tried}: {head}");
    }
}

#[test]
fn no_software_gets_the_remedy_of_another() {
    for (tried, head, _) in HEADS.iter().chain(OTHERS) {
        let software = recognise(head);
        for remedy in all(software) {
            let is_own = remedy.software.is_none() || remedy.software == software;
            assert!(is_own, "{tried}: {}", remedy.text);
        }
    }
}

#[test]
fn a_remedy_for_any_server_names_no_product() {
    for remedy in all(None) {
        for (tried, _, software) in HEADS {
            let Some(name) = software.map(Software::name) else { continue };
            let mut words = remedy.text.split(|at: char| !at.is_alphanumeric());
            assert!(!words.any(|word| word == name), "{tried}: {}", remedy.text);
        }
    }
}

/// What `check` printed to users of gunicorn and uvicorn.
#[test]
fn settings_of_http_server_are_for_http_server_only() {
    for (tried, head, software) in HEADS {
        for remedy in all(recognise(head)) {
            let is_for_handlers = ["handler class"].iter().any(|it| remedy.text.contains(it));
            let is_http_server = *software == Some(Software::PythonHttpServer);
            assert!(is_http_server || !is_for_handlers, "{tried}: {}", remedy.text);
        }
    }
}

/// Each remedy that `check` may print for `software`.
fn all(software: Option<Software>) -> impl Iterator<Item = Remedy> {
    let findings = FindingId::ALL.into_iter().filter_map(move |id| id.remedy(software));
    findings.chain([FindingId::idle_timeout_remedy(software)])
}
