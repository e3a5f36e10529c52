//! Servers, frameworks and proxies with settings of their own.

/// A server, a framework or a proxy with a setting of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Software {
    /// nginx and OpenResty.
    Nginx,
    /// Apache httpd.
    Apache,
    /// lighttpd.
    Lighttpd,
    /// Caddy, as a server and as a proxy.
    Caddy,
    /// HAProxy.
    HaProxy,
    /// Envoy.
    Envoy,
    /// Traefik.
    Traefik,
    /// Squid.
    Squid,
    /// The module `http.server` of Python.
    PythonHttpServer,
    /// gunicorn, with its own workers.
    Gunicorn,
    /// uvicorn, also as a worker of gunicorn.
    Uvicorn,
    /// Hypercorn.
    Hypercorn,
    /// aiohttp.
    Aiohttp,
    /// The development server of Werkzeug, and so of Flask.
    Werkzeug,
    /// waitress.
    Waitress,
    /// Tornado.
    Tornado,
    /// Node.js with its own `http` module.
    Node,
    /// Express on Node.js.
    Express,
    /// Fastify on Node.js.
    Fastify,
    /// Puma.
    Puma,
    /// `WEBrick`.
    Webrick,
    /// The built-in server of PHP (`php -S`).
    Php,
    /// `net/http` of Go.
    Go,
    /// `com.sun.net.httpserver` of the JDK.
    Jdk,
    /// Netty.
    Netty,
    /// Undertow.
    Undertow,
    /// Jetty.
    Jetty,
    /// Tomcat.
    Tomcat,
    /// Kestrel of ASP.NET Core.
    Kestrel,
}

impl Software {
    /// The product's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.product().0
    }

    /// The version to which its remedies were applied by hand on 2026-11-28; `None` if they are from its documentation.
    #[must_use]
    pub const fn version(self) -> Option<&'static str> {
        self.product().1
    }

    const fn product(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Nginx => ("nginx", Some("1.22.1")),
            Self::Apache => ("Apache", Some("2.4.71")),
            Self::Lighttpd => ("lighttpd", Some("1.4.69")),
            Self::Caddy => ("Caddy", Some("2.11.9")),
            Self::HaProxy => ("HAProxy", Some("2.6.12")),
            Self::Envoy => ("Envoy", Some("1.40.0")),
            Self::Traefik => ("Traefik", None),
            Self::Squid => ("Squid", Some("5.7")),
            Self::PythonHttpServer => ("Python's http.server", Some("3.11.7")),
            Self::Gunicorn => ("gunicorn", Some("27.0.1")),
            Self::Uvicorn => ("uvicorn", Some("0.54.0")),
            Self::Hypercorn => ("Hypercorn", Some("0.18.0")),
            Self::Aiohttp => ("aiohttp", Some("3.14.5")),
            Self::Werkzeug => ("Werkzeug", Some("3.1.9")),
            Self::Waitress => ("waitress", Some("3.0.2")),
            Self::Tornado => ("Tornado", Some("6.6.1")),
            Self::Node => ("Node", Some("26.10.0")),
            Self::Express => ("Express", Some("5.3.0")),
            Self::Fastify => ("Fastify", Some("5.12.8")),
            Self::Puma => ("Puma", Some("5.6.5")),
            Self::Webrick => ("WEBrick", Some("1.8.1")),
            Self::Php => ("php -S", Some("8.2.36")),
            Self::Go => ("Go", Some("1.26.8")),
            Self::Jdk => ("JDK", Some("17.0.15")),
            Self::Netty => ("Netty", Some("4.2.20")),
            Self::Undertow => ("Undertow", Some("2.4.4")),
            Self::Jetty => ("Jetty", Some("12.1.14")),
            Self::Tomcat => ("Tomcat", Some("11.0.27")),
            Self::Kestrel => ("Kestrel", None),
        }
    }
}
