//! The servers of Debian, each with the smallest configuration that lets it run here.

use std::process::Command;

use ackwise_testing::debian::{self, apache_configuration, find};

use crate::{
    missing::Missing,
    network::{BACK, PORT},
    site::Site,
};

/// A server as a test wants it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Server {
    Nginx(Nginx),
    Apache,
    Lighttpd,
    /// The standard library's `http.server`.
    Python(Python),
    /// Node's `http`, which keeps idle connections for this time, in milliseconds, and closes after it has refused an upload.
    Node(u32),
    /// The mock of a language model's server, behind a proxy or not, with these arguments.
    Tokens(u16, &'static [&'static str]),
    /// A proxy before [`Server::Tokens`] on the port [`BACK`].
    Proxy(Proxy),
}

/// A proxy, with its own defaults otherwise.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Proxy {
    Nginx,
    /// `proxy_buffering off`
    NginxUnbuffered,
    Haproxy,
    /// `option http-no-delay`
    HaproxyNoDelay,
}

/// nginx, with `sendfile on`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Nginx {
    /// Its own default otherwise: the head is written, and the file sent after it.
    HeadApart,
    /// `tcp_nopush on`, as in Debian's configuration: corked until the response is complete.
    TcpNopush,
    /// `tcp_nodelay off`, else as `HeadApart`.
    WithoutTcpNodelay,
    /// `keepalive_timeout` in seconds, and `keepalive_requests 3`.
    Keeps(u32),
}

/// The handler of `http.server`, which writes head and body apart, and what an application can change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Python {
    /// Persistent connections, and nothing else changed.
    HeadApart,
    /// `disable_nagle_algorithm = True`.
    NoDelay,
    /// A `wbufsize` larger than any response.
    Joined,
    /// As `Joined`, after 40 ms of thought.
    Thinks,
    /// As `NoDelay`, with 40 ms of thought between head and body.
    ThinksAfterHead,
    /// As `NoDelay`, with a `timeout` of 2 s in the handler.
    TimesOut,
}

impl Server {
    /// How to start it in the foreground.
    pub(crate) fn command(self, site: &Site) -> Result<Command, Missing> {
        match self {
            Self::Nginx(nginx) => nginx.command(site),
            Self::Apache => apache(site),
            Self::Lighttpd => lighttpd(site),
            Self::Python(python) => python.command(site),
            Self::Node(keeps) => node(keeps, site),
            Self::Tokens(port, arguments) => tokens(port, arguments, site),
            Self::Proxy(Proxy::Nginx) => nginx_proxy("on", site),
            Self::Proxy(Proxy::NginxUnbuffered) => nginx_proxy("off", site),
            Self::Proxy(Proxy::Haproxy) => haproxy("no option http-no-delay", site),
            Self::Proxy(Proxy::HaproxyNoDelay) => haproxy("option http-no-delay", site),
        }
    }

    /// Where it listens.
    pub(crate) fn port(self) -> u16 {
        match self {
            Self::Tokens(port, _) => port,
            _ => PORT,
        }
    }
}

impl Nginx {
    fn command(self, site: &Site) -> Result<Command, Missing> {
        let (tcp_nopush, tcp_nodelay) = match self {
            Self::HeadApart | Self::Keeps(_) => ("off", "on"),
            Self::TcpNopush => ("on", "on"),
            Self::WithoutTcpNodelay => ("off", "off"),
        };
        let more = match self {
            Self::Keeps(seconds) => format!("keepalive_timeout {seconds}s; keepalive_requests 3;"),
            _ => String::new(),
        };
        let (documents, pid) = (site.documents(), site.path("pid"));
        let (documents, pid) = (documents.display(), pid.display());
        let config = site.write(
            "nginx.conf",
            &format!(
                "daemon off;
                pid {pid};
                error_log stderr;
                worker_processes 1;
                events {{}}
                http {{
                    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                    access_log off;
                    sendfile on;
                    tcp_nopush {tcp_nopush};
                    tcp_nodelay {tcp_nodelay};
                    {more}
                    server {{ listen {PORT}; root {documents}; }}
                }}"
            ),
        );
        let mut command = Command::new(find("nginx", "nginx")?);
        command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(site.path("."));
        Ok(command)
    }
}

fn apache(site: &Site) -> Result<Command, Missing> {
    let config = apache_configuration(&site.path("."), &site.documents(), PORT, &[]);
    Ok(debian::apache(&site.write("apache.conf", &config))?)
}

fn lighttpd(site: &Site) -> Result<Command, Missing> {
    let documents = site.documents();
    let config = site.write(
        "lighttpd.conf",
        &format!("server.port = {PORT}\nserver.document-root = \"{}\"\n", documents.display()),
    );
    let mut command = Command::new(find("lighttpd", "lighttpd")?);
    command.arg("-D").arg("-f").arg(config);
    Ok(command)
}

fn tokens(port: u16, arguments: &[&str], site: &Site) -> Result<Command, Missing> {
    let mut command = Command::new(find("python3", "python3")?);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/programs/tokens.py");
    let program = std::fs::read_to_string(path).expect("the repository has it");
    command.arg(site.write("tokens.py", &program)).arg(port.to_string()).args(arguments);
    Ok(command)
}

fn nginx_proxy(buffering: &str, site: &Site) -> Result<Command, Missing> {
    let pid = site.path("pid");
    let pid = pid.display();
    let config = format!(
        "daemon off;
        pid {pid};
        error_log stderr;
        worker_processes 1;
        events {{}}
        http {{
            client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
            uwsgi_temp_path uwsgi; scgi_temp_path scgi;
            access_log off;
            proxy_http_version 1.1;
            proxy_buffering {buffering};
            server {{ listen {PORT}; location / {{ proxy_pass http://127.0.0.1:{BACK}; }} }}
        }}"
    );
    let config = site.write("nginx.conf", &config);
    let mut command = Command::new(find("nginx", "nginx")?);
    command.args(["-e", "stderr", "-c"]).arg(config).arg("-p").arg(site.path("."));
    Ok(command)
}

fn haproxy(option: &str, site: &Site) -> Result<Command, Missing> {
    let config = format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n  {option}\n\
         frontend front\n  bind :{PORT}\n  default_backend back\n\
         backend back\n  server back 127.0.0.1:{BACK}\n"
    );
    let mut command = Command::new(find("haproxy", "haproxy")?);
    command.args(["-db", "-f"]).arg(site.write("haproxy.cfg", &config));
    Ok(command)
}

fn node(keeps: u32, site: &Site) -> Result<Command, Missing> {
    let program = format!(
        "const server = require('http').createServer((request, response) => {{
            const large = request.headers['content-length'] > 1000;
            if (large) response.writeHead(413, {{ Connection: 'close' }});
            response.end('hello');
        }});
        server.keepAliveTimeout = {keeps};
        server.listen({PORT});"
    );
    let mut command = Command::new(find("node", "nodejs")?);
    command.arg(site.write("server.js", &program));
    Ok(command)
}

impl Python {
    fn command(self, site: &Site) -> Result<Command, Missing> {
        let choices: &[&str] = match self {
            Self::HeadApart => &[],
            Self::NoDelay => &["no-delay"],
            Self::Joined => &["joined"],
            Self::Thinks => &["joined", "thinks"],
            Self::ThinksAfterHead => &["no-delay", "thinks-after-head"],
            Self::TimesOut => &["no-delay", "times-out"],
        };
        let script = site.write("server.py", include_str!("server.py"));
        let mut command = Command::new(find("python3", "python3")?);
        command.arg(script).arg(PORT.to_string()).arg(site.documents()).args(choices);
        Ok(command)
    }
}
